//! A policy's own settings in a profile.

use flashlane_policy::Options;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A policy's settings as they stand in a profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct PolicyOptions(BTreeMap<String, toml::Value>);

impl PolicyOptions {
    /// Returns the settings in the form that policies read.
    pub fn options(&self) -> Options {
        Options::new(self.0.iter().map(|(name, value)| {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), text)
        }))
    }
}
