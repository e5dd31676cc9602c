//! Why a layer could not be put over a device.

use crate::lanes::error::LanesError;

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
    /// The layer does not work over this device.
    #[error("layer '{layer}' cannot be put over '{device}': {reason}")]
    Unsuited {
        /// The layer.
        layer: &'static str,
        /// The device below.
        device: String,
        /// The reason, and the devices that do.
        reason: String,
    },
    /// The device below cannot be divided into lanes, or has other lanes than requested.
    #[error(transparent)]
    Lanes(#[from] LanesError),
}
