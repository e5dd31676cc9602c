//! `flashlane.trace/1`: statistics of a recorded trace.

use super::tail::{shown, why_not};
use super::{
    Content, Number, Reportable, cell, fact, field_table, fields, named, part_table, scalar, time_cell,
};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::format::capitalised;
use flashlane_base::Latency;
use flashlane_base::units::format_bytes;
use flashlane_result::trace::{RefusalRow, SizeRow, TraceDeviceRow, TraceResult};

impl Reportable for TraceResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// The statistics of times, with their titles.
const STATISTICS: &[Number<Latency, f64>] = &[
    ("min", "Shortest", |times| times.min),
    ("mean", "Mean", |times| times.mean),
    ("p50", "p50", |times| times.p50),
    ("p90", "p90", |times| times.p90),
    ("p99", "p99", |times| times.p99),
    ("p999", "p99.9", |times| times.p999),
    ("max", "Longest", |times| times.max),
];

/// Granules up to this size are not named.
const FINE_BYTES: u64 = 4096;

/// Returns the bytes touched; where they were counted in coarse granules, with their size.
fn footprint(result: &TraceResult) -> Option<Fact> {
    let granule = result.granule_bytes;
    let mut fact = fact("footprint_bytes", "Footprint", result.footprint_bytes)?;
    if granule > FINE_BYTES {
        fact.value.text += &format!(" (at most: counted in granules of {})", format_bytes(granule));
    }
    Some(fact)
}

fn of(result: &TraceResult) -> Document {
    let facts = [
        fact("requests", "Requests", result.requests),
        fact("span_s", "Span", result.span_s),
        fact("transferred_bytes", "Transferred", result.transferred_bytes),
        footprint(result),
        fact("highest_bytes", "Highest address", result.highest_bytes),
        fact("sequential_share", "Sequential", result.sequential_share),
    ];
    let operations = result.operations.0.iter().map(|(name, share)| (capitalised(name), fields(share)));
    let lines = named([
        ("lines", scalar(result.lines)),
        ("skipped", scalar(result.skipped)),
        ("refused", scalar(result.refused)),
    ]);
    let tables = [
        part_table("Requests", Column::left("Operation", "operation"), operations),
        Some(size_table(&result.sizes)),
        Some(time_table(result)),
        device_table(&result.devices),
        field_table("Lines", &lines),
        refusal_table(&result.refusals),
    ];
    let compression = result.compression.iter().map(|name| format!(", compressed with {name}"));
    // Shows how numbers were interpreted: a wrong guess would change times by a factor of 1000, or swap reads and
    // writes.
    let time_unit = result.time_unit.iter().map(|unit| format!("; time: {unit}"));
    let codes = result.codes.iter().map(|codes| format!("; {codes}"));
    Document {
        kind: "Trace",
        title: result.trace.clone(),
        subtitle: std::iter::once(format!("format {}", result.format))
            .chain(compression)
            .chain(time_unit)
            .chain(codes)
            .collect(),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn size_table(sizes: &[SizeRow]) -> Table {
    let row = |class: &SizeRow| {
        Row::new(vec![
            cell("at_most_bytes", class.at_most_bytes),
            cell("reads", class.reads),
            cell("writes", class.writes),
        ])
    };
    Table {
        title: "Sizes".into(),
        columns: vec![
            Column::right("Up to", "at_most_bytes"),
            Column::right("Reads", "reads"),
            Column::right("Writes", "writes"),
        ],
        rows: sizes.iter().map(row).collect(),
        ..Table::default()
    }
}

/// Returns the times between requests, and the response times where recorded.
fn time_table(result: &TraceResult) -> Table {
    let between = ("Between requests", "between_ns", result.between_ns);
    let took = result.took_ns.map(|took| ("Response time", "took_ns", took));
    let subjects: Vec<_> = [between].into_iter().chain(took).collect();
    let row = |&(key, words, statistic): &(&str, &str, fn(&Latency) -> f64)| {
        let cells =
            subjects.iter().map(|(.., times)| time_cell(shown(key, statistic(times), result.requests)));
        let cells = std::iter::once(Cell::exact(words, key)).chain(cells).collect();
        Row { note: why_not(key, result.requests), ..Row::new(cells) }
    };
    let columns = subjects.iter().map(|(title, key, _)| Column::right(title, key));
    Table {
        title: "Times".into(),
        columns: std::iter::once(Column::left("Statistic", "statistic")).chain(columns).collect(),
        rows: STATISTICS.iter().map(row).collect(),
        ..Table::default()
    }
}

fn device_table(devices: &[TraceDeviceRow]) -> Option<Table> {
    let device = |device: &TraceDeviceRow| {
        let mut fields = named([("name", scalar(&device.name)), ("requests", scalar(device.requests))]);
        fields.retain(|_, value| !value.is_null());
        (device.number.to_string(), fields)
    };
    part_table("Devices", Column::left("Device", "device"), devices.iter().map(device))
}

fn refusal_table(refusals: &[RefusalRow]) -> Option<Table> {
    let rows: Vec<Row> =
        refusals.iter().map(|refusal| Row::new(vec![Cell::text(&*refusal.message)])).collect();
    let columns = vec![Column::left("The first", "message")];
    (!rows.is_empty()).then(|| Table { title: "Refused".into(), columns, rows, ..Table::default() })
}
