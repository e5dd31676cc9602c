//! A policy's own settings in a profile, and what is refused of a policy's name and settings.

use super::refusal::Refusal;
use super::words;
use flashlane_policy::{OptionError, Options};
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

/// Builds a policy once, so that its name and options are refused when the profile is read and not during a run.
/// `fields` are those of the name and of the options.
pub(super) fn check<P>(
    fields: (&'static str, &'static str),
    options: &PolicyOptions,
    build: impl FnOnce(&Options) -> Result<P, OptionError>,
) -> Result<P, Refusal> {
    build(&options.options()).map_err(|error| match &error {
        OptionError::Policy { given, known, .. } => {
            let hint = words::hint(given, known.split(", "));
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
