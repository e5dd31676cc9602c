//! `flashlane.sweep/1`: one command at every point of a grid.

mod verdict;

use super::tail::{shown, with_reason};
use super::{Content, Reportable, scalar};
use crate::document::{Cell, Column, Comparable, Document, Fact, Row, Table, Tone};
use crate::format::{exact, plain_value};
use flashlane_result::sweep::{KeyRow, Measures, PointRow, PointStatus, SweepResult};
use serde_json::Value;

impl Reportable for SweepResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// A measure in the table.
struct Measure {
    /// Its field in a row.
    field: &'static str,
    title: &'static str,
    /// Whether a narrow terminal omits it.
    is_detail: bool,
    value: fn(&Measures) -> Value,
}

const fn measure(
    field: &'static str,
    title: &'static str,
    is_detail: bool,
    value: fn(&Measures) -> Value,
) -> Measure {
    Measure { field, title, is_detail, value }
}

const MEASURES: &[Measure] = &[
    measure("mean_ns", "Mean", false, |m| scalar(m.mean_ns)),
    measure("p50_ns", "p50", true, |m| scalar(m.p50_ns)),
    measure("p90_ns", "p90", true, |m| scalar(m.p90_ns)),
    measure("p99_ns", "p99", false, |m| scalar(m.p99_ns)),
    measure("p999_ns", "p99.9", true, |m| scalar(m.p999_ns)),
    measure("max_ns", "Longest", true, |m| scalar(m.max_ns)),
    measure("flush_mean_ns", "Mean flush", false, |m| scalar(m.flush_mean_ns)),
    measure("flush_p99_ns", "p99 flush", true, |m| scalar(m.flush_p99_ns)),
    measure("iops", "Requests a second", false, |m| scalar(m.iops)),
    measure("bandwidth_bytes_per_s", "Bandwidth", true, |m| scalar(m.bandwidth_bytes_per_s)),
    measure("write_amplification", "Write ampl.", false, |m| scalar(m.write_amplification)),
    measure("blocks_erased", "Blocks erased", true, |m| scalar(m.blocks_erased)),
    measure("transactions_per_s", "Transactions", false, |m| scalar(m.transactions_per_s)),
    measure("restarts", "Restarts", false, |m| scalar(m.restarts)),
    measure("pool_hit_share", "Found in the pool", false, |m| scalar(m.pool_hit_share)),
    measure("buffer_hit_share", "Buffer hits", false, |m| scalar(m.buffer_hit_share)),
    measure("sr_ms", "SR (ms)", false, |m| scalar(m.sr_ms)),
    measure("rr_ms", "RR (ms)", false, |m| scalar(m.rr_ms)),
    measure("sw_ms", "SW (ms)", false, |m| scalar(m.sw_ms)),
    measure("rw_ms", "RW (ms)", false, |m| scalar(m.rw_ms)),
    measure("requests", "Requests", true, |m| scalar(m.requests)),
    measure("elapsed_s", "Elapsed", true, |m| scalar(m.elapsed_s)),
];

fn of(result: &SweepResult) -> Document {
    let (all, measured) = (result.rows.len(), result.count(PointStatus::Measured));
    let facts = [
        Some(Fact::new("Points", plain_value("", &all.into()))),
        (result.repeat > 1).then(|| Fact::new("Repetitions of each", plain_value("", &result.repeat.into()))),
        (measured < all)
            .then(|| Fact::new("Of these measured", plain_value("", &measured.into())).tone(Tone::Bad)),
    ];
    Document {
        kind: "Sweep",
        title: result.device.clone(),
        subtitle: result.workload.clone(),
        summary: verdict::summary(result),
        facts: facts.into_iter().flatten().chain(result.knees.iter().map(verdict::knee_fact)).collect(),
        tables: vec![table(result)],
        leading: vec!["sweep".into()],
        ..Document::default()
    }
}

fn table(result: &SweepResult) -> Table {
    let rows = &result.rows;
    // Measures without any value are omitted, such as flash counters of a real drive.
    let has = |measure: &&Measure| rows.iter().any(|row| !(measure.value)(&row.measures).is_null());
    let mut measures: Vec<&Measure> = MEASURES.iter().filter(has).collect();
    let with_status = rows.iter().any(|row| row.status != PointStatus::Measured);
    let with_comparison = rows.iter().any(|row| row.compared.is_some());
    let compared_by = result.comparison.as_ref().map_or("", |comparison| &comparison.field);
    measures.sort_by_key(|measure| measure.field != compared_by);

    // The verdict is first: beside many keys it would be out of sight.
    let mut columns: Vec<Column> = Vec::new();
    columns.extend(with_comparison.then(|| Column::left("To the best", "standing")));
    let first = columns.len();
    let key_column =
        |key: &KeyRow| Column { right: key.numbers.is_some(), ..Column::left(&key.key, &key.key) };
    columns.extend(result.keys.iter().map(key_column));
    columns.extend(with_status.then(|| Column::left("Status", "status")));
    columns.extend(measures.iter().map(|measure| Column {
        // What the points are compared by is shown on the narrowest terminal.
        is_detail: measure.is_detail && measure.field != compared_by,
        is_minor: with_comparison && measure.field != compared_by,
        ..Column::right(measure.title, measure.field)
    }));

    let row = |row: &PointRow| {
        let measure_cell = |measure: &&Measure| {
            let value = (measure.value)(&row.measures);
            let requests = row.measures.requests.unwrap_or(u64::MAX);
            let value = shown(measure.field, value, requests).unwrap_or_default();
            let shown = plain_value(measure.field, &value);
            let half_width = row.half_widths.get(measure.field).filter(|_| measure.field == compared_by);
            let shown = match half_width.zip(value.as_f64()) {
                Some((half_width, mean)) if mean > 0.0 => {
                    format!("{shown} ± {}", verdict::share(half_width / mean))
                }
                _ => shown,
            };
            Cell::exact(shown, exact(&value))
        };
        let mut cells: Vec<Cell> = Vec::new();
        cells.extend(with_comparison.then(|| verdict::standing(result, row)));
        let keys = result.keys.iter();
        cells.extend(keys.map(|key| Cell::text(row.point.get(&key.key).unwrap_or_default())));
        cells.extend(with_status.then(|| status(row.status)));
        cells.extend(measures.iter().map(measure_cell));
        Row { cells, note: row.reason.clone().unwrap_or_default(), ..Row::default() }
    };
    let table = Table {
        title: "Points".into(),
        columns,
        rows: rows.iter().map(row).collect(),
        comparable: Comparable::Values { first, labels: result.keys.len() },
        note_key: if with_status { "reason" } else { "" },
        ..Table::default()
    };
    // Where rows have reasons of their own the column is for these.
    match with_status {
        true => table,
        false => with_reason(table, rows.iter().map(|row| row.measures.requests.unwrap_or(u64::MAX))),
    }
}

fn status(status: PointStatus) -> Cell {
    match status {
        PointStatus::Measured => Cell::text("measured"),
        PointStatus::Partial => Cell::text("partial").tone(Tone::Bad),
        PointStatus::Failed => Cell::exact("FAILED", "failed").tone(Tone::Bad),
        PointStatus::NotRun => Cell::exact("not run", "not-run").tone(Tone::Muted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{csv, text};
    use serde_json::json;

    fn result() -> Value {
        let row = |size: &str, mean_ns: Value, status: &str, reason: Value| {
            json!({ "point": { "buffer.size": size }, "status": status, "reason": reason, "mean_ns": mean_ns,
                "p99_ns": 2e6, "p50_ns": 1e3, "write_amplification": null })
        };
        json!({
            "schema": "flashlane.sweep/1", "command": "run", "device": "sim:x", "workload": "random-write", "seed": 0,
            "keys": [{ "key": "buffer.size", "values": ["1MiB", "2MiB", "3B"], "numbers": [1, 2, 3], "unit": "B" }],
            "rows": [
                row("1MiB", json!(250e3), "measured", Value::Null),
                row("2MiB", json!(125e3), "measured", Value::Null),
                row("3B", Value::Null, "failed", json!("too small")),
            ],
            "warnings": [], "partial": null,
        })
    }

    #[test]
    fn compared_metric_is_the_first_measure() {
        let mut sweep = result();
        sweep["comparison"] = json!({ "metric": "write-amplification", "title": "write amplification",
            "field": "write_amplification", "larger_is_better": false, "verdict": "unknown" });
        for (nth, standing) in ["best", "unknown"].into_iter().enumerate() {
            sweep["rows"][nth]["write_amplification"] = json!(1.5 + nth as f64);
            sweep["rows"][nth]["compared"] =
                json!({ "standing": standing, "difference": nth as f64, "half_width": null });
        }
        let csv = csv(sweep);
        assert!(csv.starts_with("standing,buffer.size,status,write_amplification,"), "{csv}");
    }

    #[test]
    fn failed_point_shows_its_reason_beside_measured_ones() {
        let text = text(result(), 120);
        for part in ["Sweep: sim:x", "FAILED", "    too small", "Of these measured"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("ampl"), "a column without values is omitted\n{text}");
        let csv = csv(result());
        assert!(
            csv.starts_with("buffer.size,status,mean_ns,p50_ns,p99_ns,reason\r\n1MiB,measured,250000.0,"),
            "{csv}"
        );
        assert!(csv.ends_with("3B,failed,,1000.0,2000000.0,too small\r\n"), "{csv}");
    }

    #[test]
    fn narrow_terminal_omits_details() {
        assert!(text(result(), 80).contains("p50"));
        let narrow = text(result(), 36);
        assert!(!narrow.contains("p50") && narrow.contains("Mean"), "{narrow}");
        // But not what the points are compared by.
        let mut by_median = result();
        by_median["comparison"] = json!({
            "metric": "p50", "title": "median latency", "field": "p50_ns", "larger_is_better": false,
            "verdict": "several-best",
        });
        let narrow = text(by_median, 36);
        assert!(narrow.contains("p50"), "{narrow}");
    }
}
