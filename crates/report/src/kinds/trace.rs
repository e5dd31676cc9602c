//! `flashlane.trace/1`: what a recorded trace holds.

use super::{Kind, fact, field_table, items, object_table};
use crate::document::{Cell, Column, Document, Row, Table};
use crate::wording::{capitalised, exact, plain_value, time_ns};
use serde_json::{Map, Value};

pub(super) const KIND: Kind = Kind { schema: "flashlane.trace/1", document, singles: None };

const STATISTICS: &[(&str, &str)] = &[
    ("min", "Shortest"),
    ("mean", "Mean"),
    ("p50", "p50"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("max", "Longest"),
];

fn document(result: &Value) -> Document {
    let facts = [
        fact(result, "requests", "Requests"),
        fact(result, "span_s", "Span"),
        fact(result, "transferred_bytes", "Transferred"),
        fact(result, "footprint_bytes", "Footprint"),
        fact(result, "highest_bytes", "Highest address"),
        fact(result, "sequential_share", "Sequential"),
    ];
    let operations = result["operations"].as_object().into_iter().flatten();
    let operations = operations.map(|(name, share)| (capitalised(name), share));
    let tables = [
        object_table("Requests", Column::left("Operation", "operation"), operations),
        Some(size_table(result)),
        Some(time_table(result)),
        device_table(result),
        field_table("Lines", &counts(result)),
        refusal_table(result),
    ];
    let compression = result["compression"].as_str().map(|name| format!(", compressed with {name}"));
    // How its numbers are to be read: a wrong guess would be off by a factor of a thousand, or reads be writes.
    let units = [("time_unit", "; time: "), ("codes", "; ")];
    let units = units.map(|(name, words)| result[name].as_str().map(|text| format!("{words}{text}")));
    let format = plain_value("", &result["format"]);
    Document {
        kind: "Trace",
        title: plain_value("", &result["trace"]),
        subtitle: format!(
            "format {format}{}{}",
            compression.unwrap_or_default(),
            units.into_iter().flatten().collect::<String>()
        ),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn size_table(result: &Value) -> Table {
    let row = |class: &Value| {
        let cell = |name: &str| Cell::exact(plain_value(name, &class[name]), exact(&class[name]));
        Row::new(vec![cell("at_most_bytes"), cell("reads"), cell("writes")])
    };
    Table {
        title: "Sizes".into(),
        columns: vec![
            Column::right("Up to", "at_most_bytes"),
            Column::right("Reads", "reads"),
            Column::right("Writes", "writes"),
        ],
        rows: items(&result["sizes"]).map(row).collect(),
        ..Table::default()
    }
}

/// Times from request to request, and, where they were recorded, those that requests took.
fn time_table(result: &Value) -> Table {
    let subjects = [("Between requests", "between_ns"), ("Response time", "took_ns")];
    let subjects: Vec<_> = subjects.into_iter().filter(|(_, key)| result[*key].is_object()).collect();
    let row = |&(key, words): &(&str, &str)| {
        let cell = |(_, subject): &(&str, &str)| {
            let value = &result[*subject][key];
            Cell::exact(value.as_f64().map_or_else(|| "–".into(), time_ns), exact(value))
        };
        Row::new(std::iter::once(Cell::exact(words, key)).chain(subjects.iter().map(cell)).collect())
    };
    let columns = subjects.iter().map(|(title, key)| Column::right(title, key));
    Table {
        title: "Times".into(),
        columns: std::iter::once(Column::left("Statistic", "statistic")).chain(columns).collect(),
        rows: STATISTICS.iter().map(row).collect(),
        ..Table::default()
    }
}

fn device_table(result: &Value) -> Option<Table> {
    let devices = items(&result["devices"]).map(|device| {
        let fields = device.as_object().into_iter().flatten();
        let fields: Map<String, Value> = fields
            .filter(|(name, value)| *name != "number" && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        (exact(&device["number"]), Value::Object(fields))
    });
    let devices: Vec<(String, Value)> = devices.collect();
    let devices = devices.iter().map(|(number, fields)| (number.clone(), fields));
    object_table("Devices", Column::left("Device", "device"), devices)
}

fn counts(result: &Value) -> Map<String, Value> {
    let names = ["lines", "skipped", "refused"];
    names.iter().map(|name| ((*name).to_owned(), result[*name].clone())).collect()
}

fn refusal_table(result: &Value) -> Option<Table> {
    let row = |refusal: &Value| Row::new(vec![Cell::text(plain_value("", &refusal["message"]))]);
    let rows: Vec<Row> = items(&result["refusals"]).map(row).collect();
    let columns = vec![Column::left("The first", "message")];
    (!rows.is_empty()).then(|| Table { title: "Refused".into(), columns, rows, ..Table::default() })
}
