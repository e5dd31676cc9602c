//! The result that `--out` keeps of a served device: a run, with the clients as its workload.

use flashlane_base::{Duration, Histogram};
use flashlane_device::{Counters, DataDevice};
use flashlane_measure::figures::{bins, distribution};
use flashlane_measure::rate::per_second;
use flashlane_measure::schema::{device_row, operations};
use flashlane_result::run::{DeviceRow, RUN_SCHEMA, RunResult};
use flashlane_result::{Axis, Figure, Series, Warning, WarningCode};
use flashlane_serve::{OperationStats, Served, Stats};

/// A second in which something was asked.
pub struct Second {
    /// Its end, from the start on.
    pub at_s: f64,
    pub mean_ns: f64,
    pub p99_ns: f64,
}

/// What is known at the end of a run.
pub struct Ended<'a> {
    /// For whom it was served.
    pub whom: &'a str,
    pub elapsed: Duration,
    /// Counters of the device since the start.
    pub counters: Counters,
    pub seconds: &'a [Second],
    /// Slowdown of a simulated drive.
    pub slowdown: Option<u32>,
    /// The sentence that says why the run is not valid, if it is not.
    pub invalid: Option<String>,
    pub seed: u64,
}

/// Returns the result. Its times are those that clients saw, with the slowdown in them.
pub fn result<D: DataDevice>(served: &Served<D>, ended: Ended<'_>) -> RunResult {
    let stats = served.total();
    let moving = moving(stats);
    let mut all = Histogram::new();
    moving.iter().for_each(|(_, of)| all.merge(&of.latency));
    let (requests, bytes) = (all.len(), moving.iter().map(|(_, of)| of.bytes).sum());
    let latencies = || moving.iter().map(|(name, of)| (*name, &of.latency));
    let flushes = Some(("flush", &stats.flushes.latency)).filter(|(_, latency)| !latency.is_empty());
    let mut warnings: Vec<Warning> =
        ended.invalid.iter().map(|reason| Warning::new(WarningCode::RepliesLate, reason.clone())).collect();
    if let Some(slowdown) = ended.slowdown.filter(|&slowdown| slowdown > 1) {
        let text = format!("times are {slowdown} times those of the drive, and rates as much lower");
        warnings.push(Warning::new(WarningCode::Stretched, text));
    }
    if stats.failed() > 0 {
        warnings.push(Warning::new("requests-failed", format!("{} requests failed", stats.failed())));
    }
    if requests == 0 {
        warnings.push(Warning::new("nothing-asked", "no client read or wrote anything"));
    }
    let mut figures = Vec::new();
    if requests > 0 {
        figures.push(distribution(latencies(), &all, bytes));
        figures.extend(over_time(ended.seconds));
    }
    if ended.slowdown.is_some() && !stats.lateness.is_empty() {
        figures.push(lateness(&stats.lateness));
    }
    RunResult {
        schema: RUN_SCHEMA.into(),
        // A simulated drive in real time counts as real where its times are measured.
        device: DeviceRow {
            simulated: ended.slowdown.is_some(),
            ..device_row(served.info(), &ended.counters)
        },
        workload: format!("served to {}", ended.whom),
        seed: ended.seed,
        requests,
        elapsed_s: ended.elapsed.as_s_f64(),
        iops: per_second(requests, ended.elapsed),
        bandwidth_bytes_per_s: per_second(bytes, ended.elapsed),
        latency_ns: all.latency(),
        confidence: None,
        operations: operations(latencies().chain(flushes), ended.elapsed),
        failures: Vec::new(),
        time_split: Vec::new(),
        energy: None,
        jobs: Vec::new(),
        fairness: None,
        offered_iops: None,
        precondition: None,
        verified: None,
        harness_ns_per_request: None,
        warnings,
        partial: None,
        figures,
        machine: None,
    }
}

/// Returns the operations that move data or free it, those that occurred.
fn moving(stats: &Stats) -> Vec<(&'static str, &OperationStats)> {
    let all = [("read", &stats.reads), ("write", &stats.writes), ("trim", &stats.trims)];
    all.into_iter().filter(|(_, of)| !of.latency.is_empty()).collect()
}

/// Draws the latency of each second in which something was asked.
fn over_time(seconds: &[Second]) -> Option<Figure> {
    let series = |name: &str, of: fn(&Second) -> f64| Series {
        name: name.into(),
        points: seconds.iter().map(|second| (second.at_s, of(second).max(1.0) / 1e3)).collect(),
        ..Series::default()
    };
    (!seconds.is_empty()).then(|| Figure {
        id: "latency-over-time".into(),
        title: "Latency over time".into(),
        x: Axis::linear("time", "s"),
        y: Axis::log("latency", "us"),
        series: vec![series("mean", |second| second.mean_ns), series("p99", |second| second.p99_ns)],
        caption: "Each second in which something was asked.".into(),
        ..Figure::default()
    })
}

/// Draws the distribution of lateness.
fn lateness(lateness: &Histogram) -> Figure {
    Figure {
        id: "lateness-distribution".into(),
        title: "Distribution of lateness".into(),
        x: Axis::log("lateness", "us"),
        y: Axis::linear("replies", "%"),
        series: vec![Series {
            name: "replies".into(),
            points: bins(lateness, lateness.len()),
            ..Series::default()
        }],
        caption: "From the simulated end of a request until its reply was handed out.".into(),
        ..Figure::default()
    }
}
