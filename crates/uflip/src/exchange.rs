//! Export and import of results for exchange, as uflip.org once collected them: without private data, and checked to be
//! complete and consistent (docs/json.md).
//!
//! An exported result can be shown and compared like any other.

use crate::characteristics;
use flashlane_result::uflip::{Characteristics, Effect, Reach, UFLIP_SCHEMA, UflipResult};
use serde_json::Value;

/// A result cannot be exchanged.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// It is not JSON.
    #[error("it is no JSON: {0}")]
    NoJson(serde_json::Error),
    /// It is a result of another kind.
    #[error("its schema is {given}; results of '{UFLIP_SCHEMA}' can be exchanged")]
    Schema {
        /// The schema found, or `missing`.
        given: String,
    },
    /// It does not have the form of its schema.
    #[error("it does not have the form of '{UFLIP_SCHEMA}': {0}")]
    Form(serde_json::Error),
    /// Information needed to trust it is missing.
    #[error("it cannot be trusted without {}", lacking.join(", "))]
    Lacking {
        /// The missing items.
        lacking: Vec<String>,
    },
    /// Its row does not follow from its runs.
    #[error(
        "its row of characteristics does not follow from its runs: {given:?} stands there, {expected:?} follows"
    )]
    Row {
        /// The row found.
        given: Vec<String>,
        /// The row computed from the runs.
        expected: Vec<String>,
    },
}

/// Fields that identify a real drive and the system that it was measured on.
const IDENTITY: [(&str, &str); 4] = [
    ("drive_size_bytes", "the drive's capacity"),
    ("kernel", "the kernel"),
    ("scheduler", "the scheduler"),
    ("date", "the date"),
];

/// Returns a result for exchange, without serial numbers unless `serial` is set.
///
/// # Errors
/// [`ExchangeError`] where it is of another kind, or fails a check.
pub fn export(result: &Value, serial: bool) -> Result<Value, ExchangeError> {
    let mut exported = result.clone();
    checked(&exported)?;
    if let Some(machine) = exported.get_mut("machine").and_then(Value::as_object_mut)
        && !serial
    {
        machine.shift_remove("serial");
    }
    // A path may identify its owner.
    let machine = &exported["machine"];
    let name = machine["model"].as_str().map(str::to_owned);
    let name = name.or_else(|| Some(format!("a drive without a model ({})", machine["drive"].as_str()?)));
    if let (Some(name), Some(device)) = (name, exported["device"].as_object_mut()) {
        device.insert("name".into(), name.into());
    }
    Ok(exported)
}

/// Reads an exported result.
///
/// # Errors
/// [`ExchangeError`] where it is of another kind, or fails a check.
pub fn import(text: &[u8]) -> Result<Value, ExchangeError> {
    let value = serde_json::from_slice(text).map_err(ExchangeError::NoJson)?;
    checked(&value)?;
    Ok(value)
}

/// Returns the numbers of a row.
fn numbers(row: &Characteristics) -> impl Iterator<Item = Option<f64>> {
    let reach = |reach: Option<Reach>| [reach.map(|reach| reach.cost), reach.and_then(|reach| reach.limit)];
    let effect = |effect: Option<Effect>| effect.map(|effect| effect.cost);
    [row.sr_ms, row.rr_ms, row.sw_ms, row.rw_ms, row.pause_rw_ms]
        .into_iter()
        .chain(reach(row.locality))
        .chain(reach(row.partitions))
        .chain([effect(row.reverse), effect(row.in_place), effect(row.large_increment)])
}

/// Compares numbers up to the rounding of a JSON round trip.
fn nearly_equal(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs(),
        (a, b) => a == b,
    }
}

/// Checks the schema, the identity of the drive, and the row.
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
        // A virtual disk has no model, but its kernel name.
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
    if given.row != expected.row || !numbers(given).zip(numbers(&expected)).all(|(a, b)| nearly_equal(a, b)) {
        return Err(ExchangeError::Row { given: given.row.clone(), expected: expected.row });
    }
    Ok(result)
}
