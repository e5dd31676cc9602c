//! Measurements from a file: the three forms that it may have.

use crate::measurement::{Measurement, ReadError};
use crate::{csv, fio, probe};

/// Reads measurements from the text of a CSV file, of fio's JSON, or of a probe's result.
///
/// # Errors
/// [`ReadError`] names the line or field, what was given and what is allowed.
pub fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let rows = if text.trim_start().starts_with('{') {
        let json: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            ReadError::new(format!("line {}", error.line()), None, format!("it is no JSON: {error}"))
        })?;
        if json.get("schema").is_some() { probe::read(&json)? } else { fio::read(&json)? }
    } else {
        csv::read(text)?
    };
    match rows.is_empty() {
        true => Err(ReadError::new("the file", None, "it has no measurements")),
        false => Ok(rows),
    }
}
