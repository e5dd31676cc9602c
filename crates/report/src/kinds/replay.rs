//! `flashlane.replay/1`: a recorded trace on one device.

use super::energy::{energy, facts as energy_facts};
use super::over_time::{Slice, over_time};
use super::run::{counter_table, device_table, harness, latency_table, mean, mean_flush, nonzero};
use super::tail::{p99_fact, shown, with_reason};
use super::time_split::time_split;
use super::{
    Content, Reportable, caution, fact, field_table, fields, named, part_table, rate_fact, scalar, time_cell,
};
use crate::document::{Cell, Column, Document, Fact, Row, SampleStructure, Table};
use crate::format::{exact, number, plain_value, time_ns};
use flashlane_base::Latency;
use flashlane_result::replay::{ReplayResult, SliceRow};

impl Reportable for ReplayResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &ReplayResult) -> Document {
    let latency = &result.latency_ns;
    let caution = caution(&result.warnings);
    let asked = result.asked_bandwidth_bytes_per_s.filter(|_| !caution.is_empty());
    let facts = [
        rate_fact("iops", "Requests a second", result.iops, result.elapsed_s),
        rate_fact("bandwidth_bytes_per_s", "Bandwidth", result.bandwidth_bytes_per_s, result.elapsed_s),
        fact("asked_bandwidth_bytes_per_s", "The trace asks for", asked),
        Some(mean(latency, result.confidence)),
        mean_flush(&result.operations),
        Some(p99_fact("p99", latency, result.requests)),
        Some(Fact::exact("Longest", time_ns(latency.max), exact(&scalar(latency.max)))),
        fact("requests", "Requests", result.requests),
        fact("elapsed_s", "Elapsed", result.elapsed_s),
        result.lateness_ns.map(|late| p99_fact("Submitted late, p99", &late, result.requests)),
        harness(result.harness_ns_per_request, "a request"),
    ];
    let slowest = (1..).zip(&result.slowest).map(|(place, slow)| (format!("{place}"), fields(slow)));
    let tables = [
        Some(
            latency_table(latency, result.requests, &result.operations)
                .beside(["latency-distribution", "latency-over-time"]),
        ),
        compared(result),
        time_split(&result.time_split),
        energy(result.energy.as_ref()),
        part_table("Slowest requests", Column::right("Place", "place"), slowest),
        over_time(result.over_time.slice_s, &result.over_time.slices, slice)
            .map(|table| table.beside(["throughput-over-time"])),
        result.trace.as_ref().and_then(|trace| field_table("Trace", &fields(trace))),
        fitted(result),
        counter_table(&result.device.counters),
        device_table(&result.device),
    ];
    Document {
        kind: "Replay",
        title: result.device.name.clone(),
        subtitle: subtitle(result),
        caution,
        facts: facts.into_iter().chain(energy_facts(result.energy.as_ref())).flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        sample_structure: SampleStructure::OverTime,
        ..Document::default()
    }
}

/// Formats the trace and the pace.
fn subtitle(result: &ReplayResult) -> String {
    let speed = match result.speed {
        Some(speed) if speed != 1.0 => format!(", {} times as fast as recorded", number(speed)),
        _ => String::new(),
    };
    let pace = match result.pace.as_str() {
        "open" => format!("at its time stamps{speed}"),
        "think" => format!("with its pauses kept{speed}"),
        "closed" => format!("{} in flight", plain_value("", &scalar(result.in_flight))),
        _ => String::new(),
    };
    match &result.trace {
        Some(trace) => format!("{}, {pace}", trace.name),
        None => pace,
    }
}

/// Compares the latency with its parts and the recorded one.
fn compared(result: &ReplayResult) -> Option<Table> {
    let subjects = [
        ("latency_ns", "From arrival", Some(result.latency_ns)),
        ("device_latency_ns", "From submission", Some(result.device_latency_ns)),
        ("recorded_latency_ns", "In the recording", result.recorded_latency_ns),
        ("lateness_ns", "Submitted late by", result.lateness_ns),
    ];
    let row = |(key, words, latency): (&str, &str, Option<Latency>)| {
        let Latency { mean, p50, p99, max, .. } = latency?;
        let cells = [Some(mean), Some(p50), shown("p99", p99, result.requests), Some(max)].map(time_cell);
        Some(Row::new([Cell::exact(words, key)].into_iter().chain(cells).collect()))
    };
    let rows = subjects.into_iter().filter_map(row).collect();
    let columns = vec![
        Column::left("Latency", "latency"),
        Column::right("Mean", "mean"),
        Column::right("p50", "p50"),
        Column::right("p99", "p99"),
        Column::right("Longest", "max"),
    ];
    let table = Table { title: "From arrival and from submission".into(), columns, rows, ..Table::default() };
    Some(with_reason(table, std::iter::repeat(result.requests)))
}

/// Returns a slice's numbers.
fn slice(row: &SliceRow) -> Slice {
    let fields = named([
        ("requests", scalar(row.requests)),
        ("iops", scalar(row.iops)),
        ("bandwidth_bytes_per_s", scalar(row.bandwidth_bytes_per_s)),
        ("mean_ns", scalar(row.mean_ns)),
        ("p99_ns", scalar(row.p99_ns.and_then(|p99| shown("p99", p99, row.requests)))),
        ("max_ns", scalar(row.max_ns)),
    ]);
    Slice { from_s: row.from_s, requests: row.requests, fields }
}

/// Returns the changes that fitted the trace to the device, without zero counts.
fn fitted(result: &ReplayResult) -> Option<Table> {
    let of = &result.fitted;
    let mut fields = nonzero(named([
        ("records", scalar(of.records)),
        ("zero_length", scalar(of.zero_length)),
        ("left_out", scalar(of.left_out)),
        ("folded", scalar(of.folded)),
        ("widened", scalar(of.widened)),
        ("backwards", scalar(of.backwards)),
        ("untimed", scalar(of.untimed)),
    ]));
    fields.extend(named([
        ("beyond_the_end", scalar(&result.beyond)),
        ("unaligned", scalar(&result.unaligned)),
    ]));
    field_table("Trace on the device", &fields)
}
