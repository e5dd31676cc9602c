//! `flashlane.replay/1`: a recorded trace on one device.

use super::run::{counted, device_table, latency_table, mean, mean_flush, singles};
use super::{Kind, caution, device_name, fact, field_table, items, object_table};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::wording::{exact, number, plain_value, time_ns};
use serde_json::{Map, Value};

pub(super) const KIND: Kind = Kind { schema: "flashlane.replay/1", document, singles: Some(singles) };

fn document(result: &Value) -> Document {
    let latency = &result["latency_ns"];
    let within = |key: &str, label| latency[key].as_f64().map(|ns| Fact::new(label, time_ns(ns)));
    let caution = caution(result);
    let late = |ns: f64| Fact::new("Submitted late, p99", time_ns(ns));
    let facts = [
        fact(result, "iops", "Requests a second"),
        fact(result, "bandwidth_bytes_per_s", "Bandwidth"),
        (!caution.is_empty())
            .then(|| fact(result, "asked_bandwidth_bytes_per_s", "The trace asks for"))
            .flatten(),
        mean(latency, &result["confidence"]),
        mean_flush(result),
        within("p99", "p99"),
        within("max", "Longest"),
        fact(result, "requests", "Requests"),
        fact(result, "elapsed_s", "Elapsed"),
        result["lateness_ns"]["p99"].as_f64().map(late),
        result["harness_ns_per_request"]
            .as_f64()
            .map(|ns| Fact::new("Measuring costs", format!("{} a request", time_ns(ns)))),
    ];
    let counters = result["device"]["counters"].as_object().map(counted);
    let slowest = items(&result["slowest"]).enumerate().map(|(place, slow)| (format!("{}", place + 1), slow));
    let tables = [
        Some(latency_table(result).beside(["latency-distribution", "latency-over-time"])),
        compared(result),
        object_table("Slowest requests", Column::right("Place", "place"), slowest),
        over_time(result).map(|table| table.beside(["throughput-over-time"])),
        result["trace"].as_object().and_then(|trace| field_table("Trace", trace)),
        fitted(result),
        counters.and_then(|counters| field_table("Device counters", &counters)),
        device_table(&result["device"]),
    ];
    Document {
        kind: "Replay",
        title: device_name(&result["device"]),
        subtitle: subtitle(result),
        caution,
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// The trace, and what decided when a request was issued.
fn subtitle(result: &Value) -> String {
    let speed = match result["speed"].as_f64() {
        Some(speed) if speed != 1.0 => format!(", {} times as fast as recorded", number(speed)),
        _ => String::new(),
    };
    let pace = match result["pace"].as_str() {
        Some("open") => format!("at its time stamps{speed}"),
        Some("think") => format!("with its pauses kept{speed}"),
        Some("closed") => format!("{} in flight", plain_value("", &result["in_flight"])),
        _ => String::new(),
    };
    match result["trace"]["name"].as_str() {
        Some(name) => format!("{name}, {pace}"),
        None => pace,
    }
}

/// The latency beside what it is made of and what was recorded.
fn compared(result: &Value) -> Option<Table> {
    let subjects = [
        ("latency_ns", "From arrival"),
        ("device_latency_ns", "From submission"),
        ("recorded_latency_ns", "In the recording"),
        ("lateness_ns", "Submitted late by"),
    ];
    let row = |&(key, words): &(&str, &str)| {
        let statistics = Some(&result[key]).filter(|statistics| statistics.is_object())?;
        let cell = |name: &str| {
            let value = &statistics[name];
            Cell::exact(value.as_f64().map_or_else(|| "–".into(), time_ns), exact(value))
        };
        Some(Row::new(vec![Cell::exact(words, key), cell("mean"), cell("p50"), cell("p99"), cell("max")]))
    };
    let rows: Vec<Row> = subjects.iter().filter_map(row).collect();
    let columns = vec![
        Column::left("Latency", "latency"),
        Column::right("Mean", "mean"),
        Column::right("p50", "p50"),
        Column::right("p99", "p99"),
        Column::right("Longest", "max"),
    ];
    (rows.len() > 1).then(|| Table { title: "Where the time goes".into(), columns, rows, ..Table::default() })
}

/// The most rows of the table over time; the plots have every slice.
const ROWS: usize = 16;

/// Every so many of the slices.
fn over_time(result: &Value) -> Option<Table> {
    let slices: Vec<&Value> = items(&result["over_time"]["slices"]).collect();
    let step = slices.len().div_ceil(ROWS).max(1);
    let row = |slice: &Value| {
        let fields = slice.as_object().into_iter().flatten().filter(|(name, _)| *name != "from_s");
        let fields = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        (plain_value("from_s", &slice["from_s"]), Value::Object(fields))
    };
    let rows: Vec<(String, Value)> = slices.into_iter().step_by(step).map(row).collect();
    let width = plain_value("slice_s", &result["over_time"]["slice_s"]);
    let title = match step {
        1 => format!("Over time, {width} each"),
        step => format!("Over time, {width} each, one of every {step}"),
    };
    let rows = rows.iter().map(|(from, slice)| (from.clone(), slice));
    object_table(&title, Column::right("From", "from_s"), rows)
}

/// How the trace fitted the device; what did not happen is left out.
fn fitted(result: &Value) -> Option<Table> {
    let mut fields: Map<String, Value> = counted(result["fitted"].as_object()?);
    fields.remove("first_left_out");
    fields.insert("beyond_the_end".into(), result["beyond"].clone());
    fields.insert("unaligned".into(), result["unaligned"].clone());
    field_table("Trace on the device", &fields)
}
