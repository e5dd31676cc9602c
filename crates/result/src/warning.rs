//! Warnings in results.

use serde::{Deserialize, Serialize};

/// A warning about a result, converted from a typed doubt of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Short, stable code for programs.
    pub code: String,
    /// Message for the reader.
    pub message: String,
    /// For devices that store blocks: the erase units concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
}

impl Warning {
    /// Creates a warning.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), units: Vec::new() }
    }
}
