//! `flashlane.run/1`: one workload on one device.

use super::{Kind, caution, device_name, fact, field_table, items, object_table, verdict};
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
        mean_flush(result),
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
    let tables = [
        Some(latency_table(result).beside(["latency-distribution", "latency-over-time"])),
        counters.and_then(|counters| field_table("Device counters", &counters)),
        device_table(&result["device"]),
        result["precondition"].as_object().and_then(|done| field_table("Preconditioning", done)),
        result["verified"].as_object().and_then(verified),
        object_table("Jobs", Column::left("Job", "job"), jobs),
    ];
    Document {
        kind: "Run",
        verdict: verdict(result),
        caution: caution(result),
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

/// The mean latency of flushes, which are in none of the other numbers.
pub(super) fn mean_flush(result: &Value) -> Option<Fact> {
    let mean_ns = result["operations"]["flush"]["latency_ns"]["mean"].as_f64()?;
    Some(Fact::new("Mean of flushes", time_ns(mean_ns)))
}

/// The device without its name, which is the title.
pub(super) fn device_table(device: &Value) -> Option<Table> {
    let fields = device.as_object()?.iter().filter(|(key, _)| *key != "name");
    // Beside a workload's own depth it must not be taken for that.
    let named = |key: &str| if key == "depth" { "depth_limit".to_owned() } else { key.to_owned() };
    field_table("Device", &fields.map(|(key, value)| (named(key), value.clone())).collect())
}

/// What was checked of what was written.
fn verified(fields: &Map<String, Value>) -> Option<Table> {
    let names = [
        ("mismatches", "units_that_do_not_match"),
        ("unit_bytes", "checked_in_units_of_bytes"),
        ("checked_bytes", "read_and_checked_bytes"),
        ("unchecked_bytes", "read_but_not_written_by_this_run_bytes"),
        ("read_back_bytes", "read_back_at_the_end_and_checked_bytes"),
    ];
    let known = |(key, name): &(&str, &str)| Some(((*name).to_owned(), fields.get(*key)?.clone()));
    field_table("Verification", &names.iter().filter_map(known).collect())
}

/// What the device counted; what never happened is left out.
pub(super) fn counted(counters: &Map<String, Value>) -> Map<String, Value> {
    let happened = |value: &Value| !value.is_null() && value.as_f64() != Some(0.0);
    let happened = counters.iter().filter(|(_, value)| happened(value));
    happened.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// All accesses, and each operation beside them where there are several; flushes, which are none, always by themselves.
pub(super) fn latency_table(result: &Value) -> Table {
    let operations = result["operations"].as_object().filter(|operations| operations.len() > 1);
    let all = match operations {
        None => "Latency",
        Some(operations) if operations.contains_key("flush") => "All but flushes",
        Some(_) => "All",
    };
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
