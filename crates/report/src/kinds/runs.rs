//! `flashlane.runs/1`: runs that were made in turn on one device.

use super::{Kind, caution, device_name, items, object_table, verdict};
use crate::document::{Column, Document};
use serde_json::{Value, json};

pub(super) const KIND: Kind = Kind { schema: "flashlane.runs/1", document, singles: None };

fn document(result: &Value) -> Document {
    let runs: Vec<(String, Value)> = (1..).zip(items(&result["runs"])).map(run).collect();
    let runs = runs.iter().map(|(name, fields)| (name.clone(), fields));
    Document {
        kind: "Runs",
        verdict: verdict(result),
        caution: caution(result),
        title: device_name(&result["device"]),
        tables: object_table("Runs, one after the other", Column::left("Run", "run"), runs)
            .into_iter()
            .collect(),
        ..Document::default()
    }
}

/// A run by its number and jobs, and the numbers to tell it by.
fn run((nth, run): (usize, &Value)) -> (String, Value) {
    let jobs: Vec<&str> = items(&run["jobs"]).filter_map(|job| job["name"].as_str()).collect();
    let latency = &run["latency_ns"];
    let fields = json!({
        "requests": run["requests"],
        "elapsed_s": run["elapsed_s"],
        "iops": run["iops"],
        "bandwidth_bytes_per_s": run["bandwidth_bytes_per_s"],
        "mean_ns": latency["mean"],
        "p99_ns": latency["p99"],
    });
    (format!("{nth}: {}", jobs.join(", ")), fields)
}
