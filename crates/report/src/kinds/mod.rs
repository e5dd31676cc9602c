//! The kinds of result, one a file; a new kind is one file and one line of [`KINDS`].

mod probe;
mod replay;
mod run;
mod runs;
mod score;
mod sdf;
mod study;
mod sweep;
mod trace;
mod uflip;
mod uflip_plan;

use crate::Samples;
use crate::document::{Cell, Column, Document, Fact, Row, Table, Warning};
use crate::singles::Singles;
use crate::wording::{capitalised, exact, plain_name, plain_value};
use flashlane_measure::figure::Figure;
use serde_json::{Map, Value};

/// A kind of result: the schema it carries and how it becomes a document.
pub(crate) struct Kind {
    pub schema: &'static str,
    /// Fills in what is particular to the kind; figures, warnings and `partial` are read for all kinds alike.
    pub document: fn(&Value) -> Document,
    /// Its single requests, for a page to explore; none where the samples hold something else.
    pub singles: Option<fn(&Value, &Samples) -> Option<Singles>>,
}

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

/// The kind whose schema a result carries.
pub(crate) fn find(result: &Value) -> Option<&'static Kind> {
    let schema = result["schema"].as_str()?;
    KINDS.iter().find(|kind| kind.schema == schema)
}

/// The document of a result. One of unknown kind shows its plain fields, and says that it is unknown.
pub(crate) fn document(result: &Value) -> Document {
    let mut document = find(result).map_or_else(|| unknown(result), |kind| (kind.document)(result));
    // Of a real device only: the drive below the path and the system above it.
    document.tables.extend(result["machine"].as_object().and_then(|machine| field_table("Machine", machine)));
    document.partial = partial(&result["partial"]);
    document.warnings.extend(items(&result["warnings"]).map(warning));
    for (position, figure) in items(&result["figures"]).enumerate() {
        match serde_json::from_value::<Figure>(without_missing_points(figure)) {
            Ok(figure) => document.figures.push(figure),
            Err(error) => document.warnings.push(Warning {
                code: "unreadable-figure".into(),
                message: format!("figure {} of the result cannot be read: {error}", position + 1),
            }),
        }
    }
    document
}

/// Warnings that say what was checked: whether a run that verifies is sound.
const VERDICTS: [&str; 2] = ["verification-failed", "nothing-verified"];
/// Warnings without which no number can be read: where they lead the list, they stand before the numbers.
const CAUTIONS: [&str; 3] = ["left-out", "overloaded", "rate-not-kept"];

/// Whether what a run verified is sound; empty where it is, or where it verifies nothing.
fn verdict(result: &Value) -> String {
    let of = |warning: &&Value| warning["code"].as_str().is_some_and(|code| VERDICTS.contains(&code));
    sentence_of(items(&result["warnings"]).find(of))
}

/// What the leading warnings say of all numbers; how the measurement ended and what was verified are said elsewhere.
fn caution(result: &Value) -> String {
    let code = |warning: &Value| warning["code"].as_str().unwrap_or_default().to_owned();
    let said = |code: &str| VERDICTS.contains(&code) || matches!(code, "partial" | "trace-incomplete");
    let leading = items(&result["warnings"]).skip_while(|warning| said(&code(warning)));
    let leading = leading.take_while(|warning| CAUTIONS.contains(&code(warning).as_str()));
    leading.map(|warning| sentence_of(Some(warning))).collect::<Vec<_>>().join(" ")
}

/// A warning's message as a sentence.
fn sentence_of(warning: Option<&Value>) -> String {
    let message = warning.and_then(|warning| warning["message"].as_str()).unwrap_or_default();
    if message.is_empty() { String::new() } else { capitalised(message) + "." }
}

/// The single requests of a result, where its kind has such and they were kept.
pub(crate) fn singles(result: &Value, samples: Option<&Samples>) -> Option<Singles> {
    find(result)?.singles?(result, samples?)
}

fn unknown(result: &Value) -> Document {
    let schema = result["schema"].as_str().unwrap_or("none");
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.schema).collect();
    Document {
        kind: "Result",
        title: schema.into(),
        tables: result.as_object().and_then(|fields| field_table("Fields", fields)).into_iter().collect(),
        warnings: vec![Warning {
            code: "unknown-schema".into(),
            message: format!("the schema '{schema}' is not known here; known are {}", known.join(", ")),
        }],
        ..Document::default()
    }
}

fn partial(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(reason) => Some(reason.clone()),
        _ => Some("the measurement ended early".into()),
    }
}

fn warning(value: &Value) -> Warning {
    match value.as_str() {
        Some(message) => Warning { code: String::new(), message: message.into() },
        None => Warning {
            code: value["code"].as_str().unwrap_or_default().into(),
            message: value["message"].as_str().map_or_else(|| value.to_string(), str::to_owned),
        },
    }
}

/// JSON has no not-a-number: such a coordinate arrives as null, and its point is left out.
fn without_missing_points(figure: &Value) -> Value {
    let mut figure = figure.clone();
    for series in figure.get_mut("series").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(points) = series.get_mut("points").and_then(Value::as_array_mut) {
            points.retain(|point| !items(point).any(Value::is_null));
        }
    }
    figure
}

/// The members of an array; none where it is something else.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(members) => members.iter().all(|m| !m.is_object() && !m.is_array()),
        _ => true,
    }
}

/// A device as a result names it: a spec, or an object with one.
fn device_name(device: &Value) -> String {
    device
        .as_str()
        .or_else(|| ["spec", "name", "path", "model"].iter().find_map(|key| device[*key].as_str()))
        .unwrap_or("unnamed device")
        .to_owned()
}

/// The plain fields of an object, one a row, in plain words; none where there are none.
fn field_table(title: &str, fields: &Map<String, Value>) -> Option<Table> {
    let rows: Vec<Row> = fields
        .iter()
        .filter(|(_, value)| is_plain(value))
        .map(|(name, value)| {
            Row::new(vec![
                Cell::exact(plain_name(name), name),
                Cell::exact(plain_value(name, value), exact(value)),
            ])
        })
        .collect();
    let columns = vec![Column::left("What", "name"), Column::right("Value", "value")];
    (!rows.is_empty()).then(|| Table { title: title.into(), columns, rows, ..Table::default() })
}

/// Objects with like fields, one a row under `first`; columns are all plain fields that any of them has.
fn object_table<'a>(
    title: &str,
    first: Column,
    objects: impl Iterator<Item = (String, &'a Value)>,
) -> Option<Table> {
    let objects: Vec<(String, &Value)> = objects.collect();
    let mut names: Vec<&String> = Vec::new();
    for (_, object) in &objects {
        for (name, value) in object.as_object().into_iter().flatten() {
            if is_plain(value) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let is_text = |name: &str| objects.iter().any(|(_, object)| object[name].is_string());
    let columns = std::iter::once(first)
        .chain(names.iter().map(|name| {
            let column = Column::right(&plain_name(name), name);
            Column { right: !is_text(name), ..column }
        }))
        .collect();
    let rows: Vec<Row> = objects
        .into_iter()
        .map(|(label, object)| {
            let cell = |name: &&String| Cell::exact(plain_value(name, &object[*name]), exact(&object[*name]));
            Row::new(std::iter::once(Cell::text(label)).chain(names.iter().map(cell)).collect())
        })
        .collect();
    (!rows.is_empty()).then(|| Table { title: title.into(), columns, rows, ..Table::default() })
}

/// A fact from the field `name`, where the result has it.
fn fact(result: &Value, name: &str, label: &str) -> Option<Fact> {
    let value = result.get(name).filter(|value| !value.is_null())?;
    Some(Fact::new(label, plain_value(name, value)))
}
