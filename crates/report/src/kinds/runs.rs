//! `flashlane.runs/1`: several runs, one after the other, on one device.

use super::run::FLUSH;
use super::tail::{shown, with_reason};
use super::{Content, Reportable, caution, named, part_table, rate, scalar, verdict};
use crate::document::{Column, Document};
use flashlane_result::run::{RunResult, RunsResult};
use serde_json::{Map, Value};

impl Reportable for RunsResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &RunsResult) -> Document {
    let runs = (1..).zip(&result.runs).map(run);
    Document {
        kind: "Runs",
        verdict: verdict(&result.warnings),
        caution: caution(&result.warnings),
        title: result.device.clone(),
        tables: part_table("Runs, one after the other", Column::left("Run", "run"), runs)
            .map(|table| with_reason(table, result.runs.iter().map(|run| run.requests)))
            .into_iter()
            .collect(),
        ..Document::default()
    }
}

/// Returns a run's label, from its number and jobs, and its main numbers.
fn run((nth, run): (usize, &RunResult)) -> (String, Map<String, Value>) {
    let jobs: Vec<&str> = run.jobs.iter().map(|job| job.name.as_str()).collect();
    let flush = run.operations.get(FLUSH);
    let mut fields = named([
        ("requests", scalar(run.requests)),
        ("elapsed_s", scalar(run.elapsed_s)),
        ("iops", scalar(rate(run.iops, run.elapsed_s))),
        ("bandwidth_bytes_per_s", scalar(rate(run.bandwidth_bytes_per_s, run.elapsed_s))),
        ("mean_ns", scalar(run.latency_ns.mean)),
        ("p99_ns", scalar(shown("p99", run.latency_ns.p99, run.requests))),
        ("flush_mean_ns", scalar(flush.map(|flush| flush.latency_ns.mean))),
        ("flush_p99_ns", scalar(flush.and_then(|flush| shown("p99", flush.latency_ns.p99, flush.requests)))),
    ]);
    // Columns of flushes only where a run has any.
    fields.retain(|name, value| !value.is_null() || !name.starts_with(FLUSH));
    (format!("{nth}: {}", jobs.join(", ")), fields)
}
