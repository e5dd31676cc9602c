//! `flashlane.run/1`: one workload on one device.

use super::{Kind, device_name, fact, field_table, items, object_table};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::wording::{exact, plain_value, time_ns};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.run/1", document };

const STATISTICS: &[(&str, &str)] = &[
    ("min", "Shortest"),
    ("mean", "Mean"),
    ("stddev", "Standard deviation"),
    ("p50", "Median"),
    ("p90", "90% within"),
    ("p99", "99% within"),
    ("p999", "99.9% within"),
    ("max", "Longest"),
];

fn document(result: &Value) -> Document {
    let latency = &result["latency_ns"];
    let quantile = |key: &str, label: &str| Some(Fact::new(label, time_ns(latency[key].as_f64()?)));
    let facts = [
        fact(result, "iops", "Requests a second"),
        fact(result, "bandwidth_bytes_per_s", "Bandwidth"),
        quantile("mean", "Mean latency"),
        quantile("p99", "99% within"),
        fact(result, "requests", "Requests"),
        fact(result, "elapsed_s", "Elapsed"),
    ];
    let jobs = items(&result["jobs"]).enumerate().map(|(position, job)| (job_name(position, job), job));
    let counters = result["device"]["counters"].as_object();
    let tables = [
        Some(latency_table(latency)),
        object_table("Jobs", Column::left("Job", "job"), jobs).map(without_names),
        counters.and_then(|counters| field_table("Device counters", counters)),
    ];
    Document {
        kind: "Run",
        title: device_name(&result["device"]),
        subtitle: workload_name(&result["workload"]),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn workload_name(workload: &Value) -> String {
    match workload {
        Value::Null => String::new(),
        Value::Object(_) => ["spec", "name", "text"]
            .iter()
            .find_map(|key| workload[*key].as_str())
            .map_or_else(|| workload.to_string(), str::to_owned),
        other => plain_value("", other),
    }
}

fn job_name(position: usize, job: &Value) -> String {
    job["name"].as_str().map_or_else(|| format!("{}", position + 1), str::to_owned)
}

/// The name is the row's first cell already.
fn without_names(mut table: Table) -> Table {
    if let Some(position) = table.columns.iter().position(|column| column.key == "name") {
        table.columns.remove(position);
        for row in &mut table.rows {
            row.cells.remove(position);
        }
    }
    table
}

fn latency_table(latency: &Value) -> Table {
    let row = |&(key, words): &(&str, &str)| {
        let value = &latency[key];
        let shown = value.as_f64().map_or_else(|| "–".into(), time_ns);
        Row::new(vec![Cell::exact(words, key), Cell::exact(shown, exact(value))])
    };
    Table {
        title: "Latency".into(),
        columns: vec![Column::left("Statistic", "statistic"), Column::right("Latency", "latency_ns")],
        rows: STATISTICS.iter().map(row).collect(),
        note_key: "",
    }
}
