//! A policy's own settings in a profile.

use flashlane_policy::Options;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A policy's settings as they stand in a profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "BTreeMap<String, toml::Value>")]
pub struct PolicyOptions {
    values: BTreeMap<String, toml::Value>,
    /// Settings of the policy that was replaced by another one, which may not know them.
    inherited: BTreeSet<String>,
}

impl From<BTreeMap<String, toml::Value>> for PolicyOptions {
    fn from(values: BTreeMap<String, toml::Value>) -> Self {
        Self { values, inherited: BTreeSet::new() }
    }
}

impl PolicyOptions {
    /// Returns the settings in the form that policies read.
    pub fn options(&self) -> Options {
        let values = self.values.iter().map(|(name, value)| {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), text)
        });
        Options::new(values).inheriting(self.inherited.iter().cloned())
    }

    /// Marks the settings, but those that `is_own`, as those of the policy that was replaced.
    pub(crate) fn inherit(&mut self, is_own: impl Fn(&str) -> bool) {
        self.inherited = self.values.keys().filter(|name| !is_own(name)).cloned().collect();
    }
}
