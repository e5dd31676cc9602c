//! `flashlane.run/1`: one workload on one device.

use super::{Kind, device_name, fact, field_table, items, object_table};
use crate::Samples;
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::singles::Singles;
use crate::wording::{capitalised, exact, number, time_ns};
use flashlane_measure::figures::plural;
use serde_json::{Map, Value};

pub(super) const KIND: Kind = Kind { schema: "flashlane.run/1", document, singles: Some(singles) };

const STATISTICS: &[(&str, &str)] = &[
    ("min", "Shortest"),
    ("mean", "Mean"),
    ("stddev", "Standard deviation"),
    ("p50", "p50"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("p9999", "p99.99"),
    ("max", "Longest"),
];

fn document(result: &Value) -> Document {
    let latency = &result["latency_ns"];
    let facts = [
        fact(result, "iops", "Requests a second"),
        fact(result, "offered_iops", "Offered a second"),
        fact(result, "bandwidth_bytes_per_s", "Bandwidth"),
        mean(latency, &result["confidence"]),
        latency["p99"].as_f64().map(|ns| Fact::new("p99", time_ns(ns))),
        fact(result, "requests", "Requests"),
        fact(result, "elapsed_s", "Elapsed"),
        result["harness_ns_per_request"]
            .as_f64()
            .map(|ns| Fact::new("Measuring costs", format!("{} a request", time_ns(ns)))),
    ];
    let jobs: Vec<(String, Value)> = items(&result["jobs"]).enumerate().map(job).collect();
    let jobs = jobs.iter().map(|(name, fields)| (name.clone(), fields));
    let counters = result["device"]["counters"].as_object().map(counted);
    let device = result["device"].as_object().map(without_name);
    let tables = [
        Some(latency_table(result).beside(["latency-distribution", "latency-over-time"])),
        counters.and_then(|counters| field_table("Device counters", &counters)),
        device.and_then(|device| field_table("Device", &device)),
        result["precondition"].as_object().and_then(|done| field_table("Preconditioning", done)),
        result["verified"].as_object().and_then(|checked| field_table("Verified", checked)),
        object_table("Jobs", Column::left("Job", "job"), jobs),
    ];
    Document {
        kind: "Run",
        title: device_name(&result["device"]),
        subtitle: result["workload"].as_str().unwrap_or_default().into(),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// The requests that were kept, over time and by operation.
pub(super) fn singles(_: &Value, samples: &Samples) -> Option<Singles> {
    let column = |name| samples.u64(name);
    Singles::over_time(column("submitted_ns")?, column("latency_ns")?, column("operation")?)
}

/// The mean latency, with how well it is known where that was worked out.
pub(super) fn mean(latency: &Value, confidence: &Value) -> Option<Fact> {
    let mean_ns = latency["mean"].as_f64()?;
    let mut text = time_ns(mean_ns);
    if let Some(half_ns) = confidence["half_width_ns"].as_f64().filter(|_| mean_ns > 0.0) {
        let percent = 100.0 * half_ns / mean_ns;
        // Two digits: the interval is no better known than that.
        text += &format!(" ±{}%", number(format!("{percent:.1e}").parse().unwrap_or(percent)));
    }
    Some(Fact::new("Mean latency", text))
}

/// A job's own fields and the two latencies to tell it by; what it was asked is said once above.
fn job((position, job): (usize, &Value)) -> (String, Value) {
    let mut fields = job.as_object().cloned().unwrap_or_default();
    let name = fields.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    if let Some(latency) = fields.remove("latency_ns") {
        for (key, name) in [("mean", "mean_ns"), ("p99", "p99_ns")] {
            fields.insert(name.into(), latency[key].clone());
        }
    }
    (name.unwrap_or_else(|| format!("{}", position + 1)), Value::Object(fields))
}

pub(super) fn without_name(device: &Map<String, Value>) -> Map<String, Value> {
    device.iter().filter(|(key, _)| *key != "name").map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What the device counted; what never happened is left out.
pub(super) fn counted(counters: &Map<String, Value>) -> Map<String, Value> {
    let happened = |value: &Value| !value.is_null() && value.as_f64() != Some(0.0);
    let happened = counters.iter().filter(|(_, value)| happened(value));
    happened.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// All requests, and each operation beside them where there are several.
pub(super) fn latency_table(result: &Value) -> Table {
    let operations = result["operations"].as_object().filter(|operations| operations.len() > 1);
    let all = if operations.is_some() { "All" } else { "Latency" };
    let mut subjects = vec![(all.to_owned(), "latency_ns".to_owned(), &result["latency_ns"])];
    for (name, operation) in operations.into_iter().flatten() {
        subjects.push((capitalised(&plural(name)), format!("{name}_ns"), &operation["latency_ns"]));
    }
    let row = |&(key, words): &(&str, &str)| {
        let cell = |(_, _, latency): &(String, String, &Value)| {
            let value = &latency[key];
            Cell::exact(value.as_f64().map_or_else(|| "–".into(), time_ns), exact(value))
        };
        Row::new(std::iter::once(Cell::exact(words, key)).chain(subjects.iter().map(cell)).collect())
    };
    let columns = subjects.iter().map(|(title, key, _)| Column::right(title, key));
    Table {
        title: "Latency".into(),
        columns: std::iter::once(Column::left("Statistic", "statistic")).chain(columns).collect(),
        rows: STATISTICS.iter().map(row).collect(),
        ..Table::default()
    }
}
