//! Results that people exchange, as uflip.org once collected them: the result itself, without what others have no use
//! for or should not see, and checked for what is needed to trust it (docs/json.md).
//!
//! An exported result can be shown and compared like any other.

use crate::characteristics;
use flashlane_result::uflip::{Characteristics, Effect, Reach, UFLIP_SCHEMA, UflipResult};
use serde_json::Value;

/// Why a result cannot be exchanged.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    NoJson(serde_json::Error),
    /// It is of another kind.
    #[error("its schema is {given}; what is exchanged is '{UFLIP_SCHEMA}'")]
    Schema {
        /// The schema as it stands there, or `missing`.
        given: String,
    },
    /// It does not have the form of its schema.
    #[error("it does not have the form of '{UFLIP_SCHEMA}': {0}")]
    Form(serde_json::Error),
    /// Something that is needed to trust it is missing.
    #[error("it cannot be trusted without {}", lacking.join(", "))]
    Lacking {
        /// What is missing.
        lacking: Vec<String>,
    },
    /// Its row does not follow from its runs.
    #[error(
        "its row of characteristics does not follow from its runs: {given:?} stands there, {expected:?} follows"
    )]
    Row {
        /// The row that stands there.
        given: Vec<String>,
        /// The row that follows.
        expected: Vec<String>,
    },
}

/// Of a real drive, what has to be known of it and of the system that it was measured on.
const IDENTITY: [(&str, &str); 4] = [
    ("drive_size_bytes", "the drive's capacity"),
    ("kernel", "the kernel"),
    ("scheduler", "the scheduler"),
    ("date", "the date"),
];

/// A result as it is given to others. Serial numbers are left out unless `serial` asks for them.
///
/// # Errors
/// [`ExchangeError`] where it is of another kind, or could not be trusted.
pub fn export(result: &Value, serial: bool) -> Result<Value, ExchangeError> {
    let mut exported = result.clone();
    checked(&exported)?;
    if let Some(machine) = exported.get_mut("machine").and_then(Value::as_object_mut)
        && !serial
    {
        machine.shift_remove("serial");
    }
    // A path says more of its owner than of the drive.
    let machine = &exported["machine"];
    let name = machine["model"].as_str().map(str::to_owned);
    let name = name.or_else(|| Some(format!("a drive without a model ({})", machine["drive"].as_str()?)));
    if let (Some(name), Some(device)) = (name, exported["device"].as_object_mut()) {
        device.insert("name".into(), name.into());
    }
    Ok(exported)
}

/// Reads a result that was exported.
///
/// # Errors
/// [`ExchangeError`] where it is none, or cannot be trusted.
pub fn import(text: &[u8]) -> Result<Value, ExchangeError> {
    let value = serde_json::from_slice(text).map_err(ExchangeError::NoJson)?;
    checked(&value)?;
    Ok(value)
}

/// The numbers of a row.
fn numbers(row: &Characteristics) -> impl Iterator<Item = Option<f64>> {
    let reach = |reach: Option<Reach>| [reach.map(|reach| reach.cost), reach.and_then(|reach| reach.limit)];
    let effect = |effect: Option<Effect>| effect.map(|effect| effect.cost);
    [row.sr_ms, row.rr_ms, row.sw_ms, row.rw_ms, row.pause_rw_ms]
        .into_iter()
        .chain(reach(row.locality))
        .chain(reach(row.partitions))
        .chain([effect(row.reverse), effect(row.in_place), effect(row.large_increment)])
}

/// The same, but for what writing numbers down and reading them again may change.
fn alike(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs(),
        (a, b) => a == b,
    }
}

/// Whether a result is one of ours and says what is needed to trust it.
fn checked(value: &Value) -> Result<UflipResult, ExchangeError> {
    if value["schema"] != UFLIP_SCHEMA {
        let given = value.get("schema").map_or_else(|| "missing".to_owned(), Value::to_string);
        return Err(ExchangeError::Schema { given });
    }
    let result: UflipResult = serde_json::from_value(value.clone()).map_err(ExchangeError::Form)?;
    let mut lacking: Vec<String> = Vec::new();
    if !result.device.simulated {
        let machine = &value["machine"];
        lacking.extend(
            IDENTITY
                .iter()
                .filter(|(field, _)| machine[*field].is_null())
                .map(|(_, what)| (*what).to_owned()),
        );
        // A virtual disk has no model, but a name in its kernel.
        if machine["model"].is_null() && machine["drive"].is_null() {
            lacking.push("the drive's model".into());
        }
    }
    if result.partial.is_some() {
        lacking.push("its end: it is partial".into());
    }
    if result.runs.is_empty() {
        lacking.push("its runs".into());
    }
    if !lacking.is_empty() {
        return Err(ExchangeError::Lacking { lacking });
    }
    let expected = characteristics::of_runs(&result.runs);
    let given = &result.characteristics;
    if given.row != expected.row || !numbers(given).zip(numbers(&expected)).all(|(a, b)| alike(a, b)) {
        return Err(ExchangeError::Row { given: given.row.clone(), expected: expected.row });
    }
    Ok(result)
}
