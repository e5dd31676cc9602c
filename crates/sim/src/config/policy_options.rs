//! A policy's own settings in a profile.

use super::refusal::Refusal;
use flashlane_base::suggest::hint;
use flashlane_policy::{OptionError, Options};
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

    /// Builds a policy once, so that its name and options are refused when the profile is read and not during a run.
    /// `fields` are those of the name and of the options.
    ///
    /// # Errors
    /// [`Refusal`] of the name, or of the options.
    pub(crate) fn check<P>(
        &self,
        fields: (&'static str, &'static str),
        build: impl FnOnce(&Options) -> Result<P, OptionError>,
    ) -> Result<P, Refusal> {
        build(&self.options()).map_err(|error| match &error {
            OptionError::Policy { given, known, .. } => {
                let hint = hint(given, known.split(", "));
                (fields.0, format!("{error}{hint}"))
            }
            // Only a buffer's policies can be unsuited, and only because of where the buffer stands.
            OptionError::Unsuited { .. } => (
                "buffer.placement",
                format!("{error}; allowed: \"below\", or a mapping that binds a page to a place"),
            ),
            _ => (fields.1, error.to_string()),
        })
    }

    /// Marks the settings, but those that `is_own`, as those of the policy that was replaced.
    pub(crate) fn inherit(&mut self, is_own: impl Fn(&str) -> bool) {
        self.inherited = self.values.keys().filter(|name| !is_own(name)).cloned().collect();
    }
}
