//! A doubt about a result, as it is kept and shown.

use serde::{Deserialize, Serialize};

/// A doubt about a result. What raises it is a typed doubt of those who measured; this is what travels with the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Short and stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// Of a device with blocks: the erase units that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
}

impl Warning {
    /// A warning of this code that says `message`.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), units: Vec::new() }
    }
}
