//! `flashlane.sdf/1` and `flashlane.sdf_bench/1`: a device that holds blocks, and how fast puts and gets of them are.

use super::{Kind, device_name, fact, field_table, items, object_table};
use crate::document::{Cell, Column, Document, Fact, Row, Table, Tone};
use crate::wording::{capitalised, exact, plain_value};
use serde_json::{Map, Value};

pub(super) const STATUS: Kind = Kind { schema: "flashlane.sdf/1", document: status, singles: None };
pub(super) const BENCH: Kind = Kind { schema: "flashlane.sdf_bench/1", document: bench, singles: None };

fn status(result: &Value) -> Document {
    let facts = [
        fact(result, "blocks", "Blocks"),
        fact(result, "blocks_free", "Room for"),
        fact(result, "user_bytes", "User data at most"),
        fact(result, "units_erased", "Units erased"),
        fact(result, "units_bad", "Units bad").map(|fact| tinted(fact, &result["units_bad"])),
        fact(result, "units_damaged", "Units damaged").map(|fact| tinted(fact, &result["units_damaged"])),
        fact(result, "blocks_checked", "Blocks read"),
    ];
    let lanes =
        items(&result["lanes"]).map(|lane| (plain_value("lane", &lane["lane"]), without(lane, "lane")));
    let lanes: Vec<(String, Value)> = lanes.collect();
    let lanes = lanes.iter().map(|(name, lane)| (name.clone(), lane));
    let tables = [
        result["unreadable"].as_array().map(|blocks| unreadable(blocks)),
        object_table("Lanes", Column::right("Lane", "lane"), lanes),
        result["device"].as_object().and_then(|device| field_table("Device", device)),
        field_table("Layout", &layout(result)),
    ];
    Document {
        kind: "Blocks",
        verdict: result["verdict"].as_str().unwrap_or_default().to_owned(),
        title: device_name(&result["device"]),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// What a check found; for programs also where it found nothing.
fn unreadable(blocks: &[Value]) -> Table {
    let columns =
        [("Block", "id"), ("Lane", "lane"), ("Unit", "unit")].map(|(title, key)| Column::right(title, key));
    let columns: Vec<Column> = columns.into_iter().chain([Column::left("Reason", "reason")]).collect();
    let row = |block: &Value| {
        let cells = columns.iter().map(|column| {
            let value = &block[column.key.as_str()];
            Cell::exact(plain_value(&column.key, value), exact(value))
        });
        Row::new(cells.collect())
    };
    let rows = blocks.iter().map(row).collect();
    Table { title: "Unreadable blocks".into(), rows, columns, ..Table::default() }
}

fn tinted(fact: Fact, count: &Value) -> Fact {
    if count.as_u64() == Some(0) { fact } else { fact.tone(Tone::Bad) }
}

fn without(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    object.as_object_mut().and_then(|fields| fields.shift_remove(name));
    object
}

fn layout(result: &Value) -> Map<String, Value> {
    let names = ["block_bytes", "next_id", "format", "superblock_copies", "units_dirty"];
    names.iter().map(|&name| (name.to_owned(), result[name].clone())).collect()
}

fn bench(result: &Value) -> Document {
    let phases: Vec<(String, Value)> = items(&result["phases"])
        .map(|phase| {
            let name = phase["operation"].as_str().map(capitalised).unwrap_or_default();
            let mut fields = without(&without(phase, "operation"), "latency_ns");
            for (key, of) in [("mean_ns", "mean"), ("p99_ns", "p99"), ("max_ns", "max")] {
                if let Some(fields) = fields.as_object_mut() {
                    fields.insert(key.into(), phase["latency_ns"][of].clone());
                }
            }
            (name, fields)
        })
        .collect();
    let facts = phases.iter().flat_map(|(name, phase)| fact(phase, "bandwidth_bytes_per_s", name));
    let tables = [
        object_table(
            "Puts and gets",
            Column::left("", "operation"),
            phases.iter().map(|(name, phase)| (name.clone(), phase)),
        ),
        result["device"].as_object().and_then(|device| field_table("Device", device)),
        field_table("Layout", &layout(result)),
    ];
    Document {
        kind: "Blocks measured",
        title: device_name(&result["device"]),
        subtitle: format!(
            "{} in flight, {}",
            plain_value("in_flight", &result["in_flight"]),
            plain_value("placement", &result["placement"])
        ),
        facts: facts.collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}
