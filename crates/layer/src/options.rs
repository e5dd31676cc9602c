//! The settings of a layer in a spec.

use crate::error::LayerError;
use std::fmt::Display;

/// The help text of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHelp {
    /// The key.
    pub key: &'static str,
    /// Form of its value: `SHARE|@N`.
    pub value: &'static str,
    /// Effect, in one line.
    pub summary: &'static str,
}

/// The settings given to a layer: known keys only, each at most once.
pub(crate) struct Options<'a> {
    layer: &'static str,
    given: &'a [(String, String)],
}

impl<'a> Options<'a> {
    pub fn new(
        layer: &'static str,
        known: &[OptionHelp],
        given: &'a [(String, String)],
    ) -> Result<Self, LayerError> {
        for (i, (key, _)) in given.iter().enumerate() {
            if !known.iter().any(|option| option.key == key) {
                let allowed = match known {
                    [] => "none".into(),
                    known => known.iter().map(|option| option.key).collect::<Vec<_>>().join(", "),
                };
                return Err(LayerError::NoSuchOption { layer, given: key.clone(), allowed });
            }
            if given[..i].iter().any(|(earlier, _)| earlier == key) {
                return Err(LayerError::Repeated { layer, key: key.clone() });
            }
        }
        Ok(Self { layer, given })
    }

    /// Returns the value of `key`, parsed with `parse`; `None` where it was not given.
    pub fn read<T, E: Display>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, LayerError> {
        let Some((_, given)) = self.given.iter().find(|(k, _)| k == key) else { return Ok(None) };
        parse(given).map(Some).map_err(|reason| LayerError::Value {
            layer: self.layer,
            key,
            given: given.clone(),
            reason: reason.to_string(),
        })
    }
}
