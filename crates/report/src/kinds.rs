//! The kinds of result, a file each; a new kind is one file and one line of [`READERS`].
//!
//! Each file implements [`Reportable`] for the type of its kind. [`read`] parses the JSON of a file into that type
//! once.

mod advice;
mod calibration;
mod energy;
mod over_time;
mod probe;
mod probe_diagram;
mod replay;
mod run;
mod runs;
mod score;
mod sdf;
mod study;
mod sweep;
mod tail;
mod time_split;
mod trace;
mod transactions;
mod uflip;
mod uflip_plan;

use crate::ReportError;
use crate::document::{Cell, Column, Comparable, Document, Fact, Row, Table};
use crate::format::{capitalised, exact, plain_name, plain_value, time_ns};
use flashlane_result::advice::AdviceResult;
use flashlane_result::calibration::CalibrationResult;
use flashlane_result::probe::ProbeResult;
use flashlane_result::replay::ReplayResult;
use flashlane_result::run::{RunResult, RunsResult};
use flashlane_result::score::Score;
use flashlane_result::sdf::{SdfBenchResult, SdfResult};
use flashlane_result::study::StudyResult;
use flashlane_result::sweep::SweepResult;
use flashlane_result::trace::TraceResult;
use flashlane_result::transactions::TransactionsResult;
use flashlane_result::uflip::UflipResult;
use flashlane_result::uflip_plan::UflipPlan;
use flashlane_result::{Common, ReadError, Warning, WarningCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A kind of result that can be shown.
pub trait Reportable: flashlane_result::Kind {
    /// Returns the content of its report, from the fields of the kind; the common ones are added to it.
    #[doc(hidden)]
    fn content(&self) -> Content;
}

/// Content of a report.
#[derive(Debug)]
pub struct Content(pub(crate) Document);

/// The reader of a kind's files.
pub(crate) struct Reader {
    pub schema: &'static str,
    read: fn(&Value) -> Result<Document, ReadError>,
}

const fn reader<T: Reportable>() -> Reader {
    Reader { schema: T::SCHEMA, read: |json| Ok(document(&flashlane_result::read::<T>(json)?)) }
}

/// A number of a `T` in a table: the field's name, its title, and its value.
type Number<T, V> = (&'static str, &'static str, fn(&T) -> V);

/// The readers of all kinds.
pub(crate) const READERS: &[Reader] = &[
    reader::<ProbeResult>(),
    reader::<RunResult>(),
    reader::<RunsResult>(),
    reader::<ReplayResult>(),
    reader::<StudyResult>(),
    reader::<Score>(),
    reader::<SweepResult>(),
    reader::<TraceResult>(),
    reader::<TransactionsResult>(),
    reader::<UflipResult>(),
    reader::<UflipPlan>(),
    reader::<SdfResult>(),
    reader::<SdfBenchResult>(),
    reader::<AdviceResult>(),
    reader::<CalibrationResult>(),
];

/// The field that identifies the kind of a result.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Value,
}

/// Reads the JSON of a result.
pub(crate) fn read(json: &Value) -> Result<Document, ReportError> {
    let Head { schema } = flashlane_result::read(json)?;
    match READERS.iter().find(|kind| schema == kind.schema) {
        Some(kind) => Ok((kind.read)(json)?),
        None => {
            let given =
                if schema.is_null() { "of the result is missing and".to_owned() } else { schema.to_string() };
            let known: Vec<&str> = READERS.iter().map(|kind| kind.schema).collect();
            Err(ReportError::Schema { given, known: known.join(", ") })
        }
    }
}

/// Converts a result to a document.
pub(crate) fn document(result: &impl Reportable) -> Document {
    let Content(mut document) = result.content();
    let Common { warnings, partial, figures, machine } = result.common();
    // For real devices only: the drive and the system.
    document.tables.extend(machine.and_then(|machine| field_table("Machine", &fields(machine))));
    document.partial = partial.map(str::to_owned);
    document.warnings = warnings.to_vec();
    document.figures = figures.to_vec();
    document
}

/// Warnings about verification.
const VERDICTS: [WarningCode; 2] = [WarningCode::VerificationFailed, WarningCode::NothingVerified];
/// Warnings that concern all numbers: where they lead the list, they are shown before the numbers.
const CAUTIONS: [WarningCode; 6] = [
    WarningCode::LeftOut,
    WarningCode::Overloaded,
    WarningCode::BehindRecording,
    WarningCode::RateNotKept,
    WarningCode::RepliesLate,
    WarningCode::Stretched,
];
/// Warnings that are shown elsewhere.
const EARLY_ENDS: [WarningCode; 2] = [WarningCode::Partial, WarningCode::TraceIncomplete];

/// Returns the warning about verification; empty where it succeeded or was not requested.
fn verdict(warnings: &[Warning]) -> String {
    warnings.iter().find(|warning| VERDICTS.contains(&warning.code)).map(sentence_of).unwrap_or_default()
}

/// Returns the leading warnings that concern all numbers; an early end and verification are shown elsewhere.
fn caution(warnings: &[Warning]) -> String {
    let leading = warnings
        .iter()
        .skip_while(|warning| VERDICTS.contains(&warning.code) || EARLY_ENDS.contains(&warning.code));
    let leading = leading.take_while(|warning| CAUTIONS.contains(&warning.code));
    leading.map(sentence_of).collect::<Vec<_>>().join(" ")
}

/// Formats a warning's message as a sentence.
fn sentence_of(warning: &Warning) -> String {
    if warning.message.is_empty() { String::new() } else { capitalised(&warning.message) + "." }
}

/// Converts a value to JSON.
fn scalar(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns a rate over `elapsed_s`; `None` over no time, which such a rate says nothing about.
fn rate(of: f64, elapsed_s: f64) -> Option<f64> {
    (elapsed_s > 0.0).then_some(of)
}

/// Returns a fact with a rate over `elapsed_s`, a dash over no time.
fn rate_fact(name: &str, label: &str, of: f64, elapsed_s: f64) -> Option<Fact> {
    let value = scalar(rate(of, elapsed_s));
    Some(Fact::exact(label, plain_value(name, &value), exact(&value)))
}

/// Returns a cell with a time, which may be unknown.
fn time_cell(ns: Option<f64>) -> Cell {
    Cell::exact(ns.map_or_else(|| "–".into(), time_ns), exact(&scalar(ns)))
}

/// Returns all fields of a part of a result; unknown ones are `null`.
fn fields(part: &impl Serialize) -> Map<String, Value> {
    match scalar(part) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Returns fields with these names, in this order.
fn named<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(members) => members.iter().all(|m| !m.is_object() && !m.is_array()),
        _ => true,
    }
}

/// Returns a cell with a value; its name determines the format.
fn cell(name: &str, value: impl Serialize) -> Cell {
    let value = scalar(value);
    Cell::exact(plain_value(name, &value), exact(&value))
}

/// Returns a table with a row for each plain field; `None` without such fields.
fn field_table(title: &str, fields: &Map<String, Value>) -> Option<Table> {
    let rows: Vec<Row> = fields
        .iter()
        .filter(|(_, value)| is_plain(value))
        .map(|(name, value)| Row::new(vec![Cell::exact(plain_name(name), name), cell(name, value)]))
        .collect();
    let columns = vec![Column::left("What", "name"), Column::right("Value", "value")];
    let comparable = Comparable::Values { first: 0, labels: 1 };
    (!rows.is_empty()).then(|| Table { title: title.into(), columns, rows, comparable, ..Table::default() })
}

/// Returns a table with a row for each part, labelled in column `first`; the columns are all plain fields of any part.
fn part_table(
    title: &str,
    first: Column,
    parts: impl Iterator<Item = (String, Map<String, Value>)>,
) -> Option<Table> {
    let parts: Vec<(String, Map<String, Value>)> = parts.collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, value) in parts.iter().flat_map(|(_, fields)| fields) {
        if is_plain(value) && !names.contains(&name) {
            names.push(name);
        }
    }
    let is_text =
        |name: &String| parts.iter().any(|(_, fields)| fields.get(name).is_some_and(Value::is_string));
    let columns = std::iter::once(first)
        .chain(names.iter().map(|name| {
            let column = Column::right(&plain_name(name), name);
            Column { right: !is_text(name), ..column }
        }))
        .collect();
    let rows: Vec<Row> = parts
        .iter()
        .map(|(label, fields)| {
            let cells = names.iter().map(|name| cell(name, fields.get(*name)));
            Row::new(std::iter::once(Cell::text(label.as_str())).chain(cells).collect())
        })
        .collect();
    (!rows.is_empty()).then(|| Table { title: title.into(), columns, rows, ..Table::default() })
}

/// Returns a fact; its name determines the format. `None` for an unknown value.
fn fact(name: &str, label: &str, value: impl Serialize) -> Option<Fact> {
    let value = scalar(value);
    (!value.is_null()).then(|| Fact::exact(label, plain_value(name, &value), exact(&value)))
}
