//! The settings of a layer in a spec.

use crate::lanes::LanesError;
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

/// Why a layer could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// No layer has this name.
    #[error("there is no layer '{given}'; there are: {allowed}")]
    NoSuchLayer {
        /// The requested name.
        given: String,
        /// Names of all layers.
        allowed: String,
    },
    /// The layer has no such setting.
    #[error("layer '{layer}' has no setting '{given}'; it knows: {allowed}")]
    NoSuchOption {
        /// The layer.
        layer: &'static str,
        /// The given key.
        given: String,
        /// The allowed keys.
        allowed: String,
    },
    /// A setting was given twice.
    #[error("layer '{layer}' is given '{key}' more than once")]
    Repeated {
        /// The layer.
        layer: &'static str,
        /// The key.
        key: String,
    },
    /// The value is invalid for the setting.
    #[error("layer '{layer}' cannot take '{key}={given}': {reason}")]
    Value {
        /// The layer.
        layer: &'static str,
        /// The key.
        key: &'static str,
        /// The given value.
        given: String,
        /// The reason and the allowed values.
        reason: String,
    },
    /// The setting needs data, and the device stores none.
    #[error(
        "'{key}' is about bytes, and '{device}' models time only; put it over one that keeps bytes, like \
         'backed({device})'"
    )]
    NeedsBytes {
        /// The setting.
        key: &'static str,
        /// The device below.
        device: String,
    },
    /// The layer adds data to a device that already stores it.
    #[error("'{device}' keeps bytes already; layer '{layer}' is for devices that model time only")]
    HasBytes {
        /// The layer.
        layer: &'static str,
        /// The device below.
        device: String,
    },
    /// The device below cannot be divided into lanes, or has other lanes than requested.
    #[error(transparent)]
    Lanes(#[from] LanesError),
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
