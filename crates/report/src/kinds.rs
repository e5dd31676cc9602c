//! The kinds of result, one a file; a new kind is one file and one line of [`KINDS`].
//!
//! A kind reads its JSON into its type once ([`read`]); its document is made of that type's fields.

mod probe;
mod replay;
mod run;
mod runs;
mod score;
mod sdf;
mod study;
mod sweep;
mod tail;
mod trace;
mod uflip;
mod uflip_plan;

use crate::ReportError;
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::format::{capitalised, exact, plain_name, plain_value};
use flashlane_result::{Common, ReadError, Warning};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A kind of result: the schema it carries and how it becomes a document.
pub(crate) struct Kind {
    pub schema: &'static str,
    pub read: fn(&Value) -> Result<Document, ReadError>,
}

/// A number of a `T` as a table shows it: the field's name, its title, and its value.
type Number<T, V> = (&'static str, &'static str, fn(&T) -> V);

/// Every kind of result there is.
pub(crate) const KINDS: &[Kind] = &[
    probe::KIND,
    run::KIND,
    runs::KIND,
    replay::KIND,
    study::KIND,
    score::KIND,
    sweep::KIND,
    trace::KIND,
    uflip::KIND,
    uflip_plan::KIND,
    sdf::STATUS,
    sdf::BENCH,
];

/// What tells the kind of a result.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Value,
}

/// The document of a result.
pub(crate) fn read(json: &Value) -> Result<Document, ReportError> {
    let Head { schema } = flashlane_result::read(json)?;
    match KINDS.iter().find(|kind| schema == kind.schema) {
        Some(kind) => Ok((kind.read)(json)?),
        None => {
            let given =
                if schema.is_null() { "of the result is missing and".to_owned() } else { schema.to_string() };
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.schema).collect();
            Err(ReportError::Schema { given, known: known.join(", ") })
        }
    }
}

/// Reads a result of type `T`. `document` fills in what is particular to the kind; the rest is the same for all.
fn document<T: flashlane_result::Kind>(
    json: &Value,
    document: fn(&T) -> Document,
) -> Result<Document, ReadError> {
    let result: T = flashlane_result::read(json)?;
    let mut document = document(&result);
    let Common { warnings, partial, figures, machine } = result.common();
    // Of a real device only: the drive below the path and the system above it.
    document.tables.extend(machine.and_then(|machine| field_table("Machine", &fields(machine))));
    document.partial = partial.map(str::to_owned);
    document.warnings = warnings.to_vec();
    document.figures = figures.to_vec();
    Ok(document)
}

/// Warnings that say what was checked: whether a run that verifies is sound.
const VERDICTS: [&str; 2] = ["verification-failed", "nothing-verified"];
/// Warnings without which no number can be read: where they lead the list, they stand before the numbers.
const CAUTIONS: [&str; 3] = ["left-out", "overloaded", "rate-not-kept"];

/// Whether what a run verified is sound; empty where it is, or where it verifies nothing.
fn verdict(warnings: &[Warning]) -> String {
    warnings.iter().find(|warning| VERDICTS.contains(&&*warning.code)).map(sentence_of).unwrap_or_default()
}

/// What the leading warnings say of all numbers; how the measurement ended and what was verified are said elsewhere.
fn caution(warnings: &[Warning]) -> String {
    let said = |code: &str| VERDICTS.contains(&code) || matches!(code, "partial" | "trace-incomplete");
    let leading = warnings.iter().skip_while(|warning| said(&warning.code));
    let leading = leading.take_while(|warning| CAUTIONS.contains(&&*warning.code));
    leading.map(sentence_of).collect::<Vec<_>>().join(" ")
}

/// A warning's message as a sentence.
fn sentence_of(warning: &Warning) -> String {
    if warning.message.is_empty() { String::new() } else { capitalised(&warning.message) + "." }
}

/// A single value as JSON has it.
fn scalar(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A part of a result field by field, for a table that shows all of it; a field that is not known is `null`.
fn fields(part: &impl Serialize) -> Map<String, Value> {
    match scalar(part) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The fields of these names, in this order; a table shows one that is not known as such.
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

/// A cell with a value whose name says how it is shown.
fn cell(name: &str, value: impl Serialize) -> Cell {
    let value = scalar(value);
    Cell::exact(plain_value(name, &value), exact(&value))
}

/// The plain fields, one a row, in plain words; none where there are none.
fn field_table(title: &str, fields: &Map<String, Value>) -> Option<Table> {
    let rows: Vec<Row> = fields
        .iter()
        .filter(|(_, value)| is_plain(value))
        .map(|(name, value)| Row::new(vec![Cell::exact(plain_name(name), name), cell(name, value)]))
        .collect();
    let columns = vec![Column::left("What", "name"), Column::right("Value", "value")];
    (!rows.is_empty()).then(|| Table { title: title.into(), columns, rows, ..Table::default() })
}

/// Parts with like fields, one a row under `first`; columns are all plain fields that any of them has.
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

/// A fact whose name says how its value is shown; none where it is not known.
fn fact(name: &str, label: &str, value: impl Serialize) -> Option<Fact> {
    let value = scalar(value);
    (!value.is_null()).then(|| Fact::new(label, plain_value(name, &value)))
}
