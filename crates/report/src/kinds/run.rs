//! `flashlane.run/1`: one workload on one device.

use super::energy::{energy, facts as energy_facts};
use super::tail::{p99_fact, shown, why_not, with_reason};
use super::time_split::time_split;
use super::{
    Content, Number, Reportable, caution, fact, field_table, fields, named, part_table, rate, rate_fact,
    scalar, time_cell, verdict,
};
use crate::document::{Cell, Column, Comparable, Document, Fact, Row, SampleStructure, Table};
use crate::format::{capitalised, exact, number, time_ns};
use flashlane_base::Latency;
use flashlane_result::run::{
    ConfidenceRow, CounterRow, DeviceRow, FailureRow, JobRow, OperationRow, PreconditionRow, RunResult,
    VerifiedRow, plural,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Reportable for RunResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// The statistics of a latency, with their titles.
const STATISTICS: &[Number<Latency, f64>] = &[
    ("min", "Shortest", |latency| latency.min),
    ("mean", "Mean", |latency| latency.mean),
    ("stddev", "Standard deviation", |latency| latency.stddev),
    ("p50", "p50", |latency| latency.p50),
    ("p90", "p90", |latency| latency.p90),
    ("p99", "p99", |latency| latency.p99),
    ("p999", "p99.9", |latency| latency.p999),
    ("p9999", "p99.99", |latency| latency.p9999),
    ("max", "Longest", |latency| latency.max),
];

fn of(result: &RunResult) -> Document {
    let latency = &result.latency_ns;
    let facts = [
        rate_fact("iops", "Requests a second", result.iops, result.elapsed_s),
        fact("offered_iops", "Offered a second", result.offered_iops),
        rate_fact("bandwidth_bytes_per_s", "Bandwidth", result.bandwidth_bytes_per_s, result.elapsed_s),
        Some(mean(latency, result.confidence)),
        mean_flush(&result.operations),
        Some(p99_fact("p99", latency, result.requests)),
        fact("fairness", "Fairness", result.fairness),
        fact("requests", "Requests", result.requests),
        fact("elapsed_s", "Elapsed", result.elapsed_s),
        harness(result.harness_ns_per_request, "a request"),
    ];
    let jobs = part_table(
        "Jobs",
        Column::left("Job", "job"),
        result.jobs.iter().map(|row| job(row, result.elapsed_s)),
    )
    .map(|table| with_reason(table, result.jobs.iter().map(|job| job.requests)));
    // Of one job it repeats the run.
    let (of_several, of_one) = if result.jobs.len() > 1 { (jobs, None) } else { (None, jobs) };
    let tables = [
        Some(
            latency_table(latency, result.requests, &result.operations)
                .beside(["latency-distribution", "latency-over-time"]),
        ),
        failure_table(&result.failures),
        of_several,
        time_split(&result.time_split),
        energy(result.energy.as_ref()),
        counter_table(&result.device.counters),
        device_table(&result.device),
        result.precondition.as_ref().and_then(preconditioned),
        result.verified.as_ref().and_then(verified),
        of_one,
    ];
    Document {
        kind: "Run",
        verdict: verdict(&result.warnings),
        caution: caution(&result.warnings),
        title: result.device.name.clone(),
        subtitle: result.workload.clone(),
        facts: facts.into_iter().chain(energy_facts(result.energy.as_ref())).flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        sample_structure: SampleStructure::OverTime,
        ..Document::default()
    }
}

/// Returns the mean latency, with its confidence interval where known.
pub(super) fn mean(latency: &Latency, confidence: Option<ConfidenceRow>) -> Fact {
    let mut text = time_ns(latency.mean);
    if let Some(confidence) = confidence.filter(|_| latency.mean > 0.0) {
        let percent = 100.0 * confidence.half_width_ns / latency.mean;
        // Two digits: the interval is not more exact than that.
        text += &format!(" ±{}%", number(format!("{percent:.1e}").parse().unwrap_or(percent)));
    }
    Fact::exact("Mean latency", text, exact(&scalar(latency.mean)))
}

/// Returns a job's fields with its mean and p99 latency.
fn job(job: &JobRow, elapsed_s: f64) -> (String, Map<String, Value>) {
    let mut fields = named([
        ("workload", scalar(&job.workload)),
        ("requests", scalar(job.requests)),
        ("iops", scalar(rate(job.iops, elapsed_s))),
        ("bandwidth_bytes_per_s", scalar(rate(job.bandwidth_bytes_per_s, elapsed_s))),
        ("offered_iops", scalar(job.offered_iops)),
        ("lag_ns", scalar(job.lag_ns)),
        ("mean_ns", scalar(job.latency_ns.mean)),
        ("p99_ns", scalar(shown("p99", job.latency_ns.p99, job.requests))),
        ("mean_alone_ns", scalar(job.alone.map(|alone| alone.mean_ns))),
        ("p99_alone_ns", scalar(job.alone.and_then(|alone| shown("p99", alone.p99_ns, job.requests)))),
        ("slowdown", scalar(job.alone.map(|alone| alone.slowdown))),
    ]);
    fields.retain(|name, value| !value.is_null() || name == "p99_ns");
    (job.name.clone(), fields)
}

/// Returns the mean latency of flushes, which no other number includes.
pub(super) fn mean_flush(operations: &BTreeMap<String, OperationRow>) -> Option<Fact> {
    let flush = operations.get(FLUSH)?;
    let mean = flush.latency_ns.mean;
    Some(Fact::exact("Mean of flushes", time_ns(mean), exact(&scalar(mean))))
}

/// Returns the cost of measuring a real device.
pub(super) fn harness(ns: Option<f64>, each: &str) -> Option<Fact> {
    ns.map(|ns| Fact::new("Measuring costs", format!("{} {each}", time_ns(ns))))
}

/// Returns the device's fields, without the name, which is the title.
pub(super) fn device_table(device: &DeviceRow) -> Option<Table> {
    let mut fields = named([
        ("capacity_bytes", scalar(device.capacity_bytes)),
        ("over_provisioning_share", scalar(device.over_provisioning_share)),
        ("read_unit_bytes", scalar(device.read_unit_bytes)),
        ("write_unit_bytes", scalar(device.write_unit_bytes)),
        // Named so that it is not confused with the workload's depth.
        ("depth_limit", scalar(device.depth)),
        ("simulated", scalar(device.simulated)),
    ]);
    fields.retain(|_, value| !value.is_null());
    field_table("Device", &fields)
}

/// Returns how the device was preconditioned.
fn preconditioned(done: &PreconditionRow) -> Option<Table> {
    let fields = named([
        ("sequential_bytes", scalar(done.sequential_bytes)),
        ("written_bytes", scalar(done.written_bytes)),
        ("rounds_iops", scalar(&done.rounds_iops)),
        ("steady", scalar((!done.rounds_iops.is_empty()).then_some(done.steady))),
        ("excursion_share", scalar(done.excursion)),
        ("slope_share", scalar(done.slope)),
    ]);
    field_table("Preconditioning", &fields)
}

/// Returns the requests that failed while the run went on.
fn failure_table(failures: &[FailureRow]) -> Option<Table> {
    let row = |failure: &FailureRow| {
        let latency = &failure.latency_ns;
        let fields = named([
            ("cause", scalar(&failure.cause)),
            ("requests", scalar(failure.requests)),
            ("mean_ns", scalar(latency.mean)),
            ("p99_ns", scalar(shown("p99", latency.p99, failure.requests))),
            ("longest_ns", scalar(latency.max)),
        ]);
        (plural(&failure.operation), fields)
    };
    part_table("Failed requests", Column::left("Requests", "operation"), failures.iter().map(row))
}

/// Returns the results of verification.
fn verified(of: &VerifiedRow) -> Option<Table> {
    let fields = named([
        ("units_that_do_not_match", scalar(of.mismatches)),
        ("checked_in_units_of_bytes", scalar(of.unit_bytes)),
        ("read_and_checked_bytes", scalar(of.checked_bytes)),
        ("read_but_not_written_by_this_run_bytes", scalar(of.unchecked_bytes)),
        ("read_back_at_the_end_and_checked_bytes", scalar(of.read_back_bytes)),
    ]);
    field_table("Verification", &fields)
}

/// Returns the device's counters.
pub(super) fn counter_table(counters: &CounterRow) -> Option<Table> {
    let mut counts = nonzero(fields(counters));
    // The table of energy has them.
    counts.retain(|name, _| !name.starts_with("energy_"));
    field_table("Device counters", &counts)
}

/// Removes zero and unknown counts.
pub(super) fn nonzero(mut counts: Map<String, Value>) -> Map<String, Value> {
    counts.retain(|_, value| !value.is_null() && value.as_f64() != Some(0.0));
    counts
}

/// The name of flushes among operations.
pub(super) const FLUSH: &str = "flush";

/// Returns the latency of all accesses, and of each operation where there are several. Flushes are not accesses.
pub(super) fn latency_table(
    latency: &Latency,
    requests: u64,
    operations: &BTreeMap<String, OperationRow>,
) -> Table {
    let has_several = operations.len() > 1;
    let all = match (has_several, operations.contains_key(FLUSH)) {
        (false, _) => "Latency",
        (true, true) => "All but flushes",
        (true, false) => "All",
    };
    let mut subjects = vec![(all.to_owned(), "latency_ns".to_owned(), latency, requests)];
    for (name, operation) in operations.iter().filter(|_| has_several) {
        let title = capitalised(&plural(name));
        subjects.push((title, format!("{name}_ns"), &operation.latency_ns, operation.requests));
    }
    statistics_table("Latency", &subjects)
}

/// Returns the statistics of several latencies: of each the title, the key, and the number of requests.
pub(super) fn statistics_table(title: &str, subjects: &[(String, String, &Latency, u64)]) -> Table {
    let row = |&(key, words, statistic): &(&str, &str, fn(&Latency) -> f64)| {
        let cells = subjects
            .iter()
            .map(|(_, _, latency, requests)| time_cell(shown(key, statistic(latency), *requests)));
        let fewest = subjects.iter().map(|(.., requests)| *requests).min().unwrap_or(0);
        let cells = std::iter::once(Cell::exact(words, key)).chain(cells).collect();
        Row { note: why_not(key, fewest), ..Row::new(cells) }
    };
    let columns = subjects.iter().map(|(title, key, ..)| Column::right(title, key));
    Table {
        title: title.into(),
        columns: std::iter::once(Column::left("Statistic", "statistic")).chain(columns).collect(),
        rows: STATISTICS.iter().map(row).collect(),
        comparable: Comparable::Values { first: 0, labels: 1 },
        ..Table::default()
    }
}
