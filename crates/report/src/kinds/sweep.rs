//! `flashlane.sweep/1`: one command at every point of a grid.

mod verdict;

use super::{Kind, items};
use crate::document::{Cell, Column, Document, Fact, Row, Table, Tone};
use crate::wording::{exact, plain_value};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.sweep/1", document, singles: None };

/// The measures that are shown: field, title, and whether a narrow terminal can do without.
const MEASURES: &[(&str, &str, bool)] = &[
    ("mean_ns", "Mean", false),
    ("p50_ns", "p50", true),
    ("p90_ns", "p90", true),
    ("p99_ns", "p99", false),
    ("p999_ns", "p99.9", true),
    ("max_ns", "Longest", true),
    ("iops", "Requests a second", false),
    ("bandwidth_bytes_per_s", "Bandwidth", true),
    ("write_amplification", "Write ampl.", false),
    ("blocks_erased", "Blocks erased", true),
    ("buffer_hit_share", "Buffer hits", false),
    ("sr_ms", "SR (ms)", false),
    ("rr_ms", "RR (ms)", false),
    ("sw_ms", "SW (ms)", false),
    ("rw_ms", "RW (ms)", false),
    ("requests", "Requests", true),
    ("elapsed_s", "Elapsed", true),
];

fn document(result: &Value) -> Document {
    let rows: Vec<&Value> = items(&result["rows"]).collect();
    let measured = rows.iter().filter(|row| is_measured(row)).count();
    let repeat = result["repeat"].as_u64().filter(|&repeat| repeat > 1);
    let facts = [
        Some(Fact::new("Points", plain_value("", &rows.len().into()))),
        repeat.map(|repeat| Fact::new("Repetitions of each", plain_value("", &repeat.into()))),
        (measured < rows.len())
            .then(|| Fact::new("Of these measured", plain_value("", &measured.into())).tone(Tone::Bad)),
    ];
    Document {
        kind: "Sweep",
        title: result["device"].as_str().unwrap_or("unnamed device").into(),
        subtitle: result["workload"].as_str().unwrap_or_default().into(),
        summary: verdict::summary(result, &rows),
        facts: facts.into_iter().flatten().collect(),
        tables: vec![table(result, &rows)],
        leading: vec!["sweep".into()],
        ..Document::default()
    }
}

fn is_measured(row: &Value) -> bool {
    row["status"] == "measured"
}

fn settings(row: &Value) -> String {
    let point = row["point"].as_object().into_iter().flatten();
    point.map(|(key, value)| format!("{key}={}", exact(value))).collect::<Vec<_>>().join(",")
}

fn table(result: &Value, rows: &[&Value]) -> Table {
    let keys: Vec<(&str, bool)> = items(&result["keys"])
        .filter_map(|key| Some((key["key"].as_str()?, key["numbers"].is_array())))
        .collect();
    // What no point has is not shown: flash counts of a real drive, hits where there is no buffer.
    let has = |name: &str| rows.iter().any(|row| row[name].is_number());
    let measures: Vec<_> = MEASURES.iter().filter(|(name, ..)| has(name)).collect();
    let with_status = rows.iter().any(|row| !is_measured(row));
    let compared_by = result["comparison"]["field"].as_str().unwrap_or_default();

    let key_column = |&(key, is_number): &(&str, bool)| Column { right: is_number, ..Column::left(key, key) };
    let measure_column =
        |&&(name, title, is_detail): &&(&str, &str, bool)| Column { is_detail, ..Column::right(title, name) };
    let mut columns: Vec<Column> = keys.iter().map(key_column).collect();
    columns.extend(with_status.then(|| Column::left("Status", "status")));
    let with_comparison = rows.iter().any(|row| row["compared"].is_object());
    columns.extend(with_comparison.then(|| Column::left("To the best", "standing")));
    columns.extend(measures.iter().map(measure_column));

    let row = |row: &&Value| {
        let key_cell = |(key, _): &(&str, bool)| Cell::text(exact(&row["point"][*key]));
        let measure_cell = |(name, ..): &&(&str, &str, bool)| {
            let value = plain_value(name, &row[*name]);
            let half_width = row["half_widths"][*name].as_f64().zip(row[*name].as_f64());
            let shown = match half_width.filter(|_| *name == compared_by) {
                Some((half_width, mean)) if mean > 0.0 => {
                    format!("{value} ± {}", verdict::share(half_width / mean))
                }
                _ => value,
            };
            Cell::exact(shown, exact(&row[*name]))
        };
        let mut cells: Vec<Cell> = keys.iter().map(key_cell).collect();
        cells.extend(with_status.then(|| status(row)));
        cells.extend(with_comparison.then(|| verdict::standing(result, row)));
        cells.extend(measures.iter().map(measure_cell));
        Row { cells, note: row["reason"].as_str().unwrap_or_default().to_owned(), ..Row::default() }
    };
    Table {
        title: "Points".into(),
        columns,
        rows: rows.iter().map(row).collect(),
        note_key: if with_status { "reason" } else { "" },
        ..Table::default()
    }
}

fn status(row: &Value) -> Cell {
    match row["status"].as_str().unwrap_or("–") {
        "measured" => Cell::text("measured"),
        "partial" => Cell::text("partial").tone(Tone::Bad),
        "failed" => Cell::exact("FAILED", "failed").tone(Tone::Bad),
        "not-run" => Cell::exact("not run", "not-run").tone(Tone::Muted),
        other => Cell::text(other).tone(Tone::Muted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result() -> Value {
        let row = |size: &str, mean_ns: Value, status: &str, reason: Value| {
            json!({ "point": { "buffer.size": size }, "status": status, "reason": reason, "mean_ns": mean_ns,
                "p99_ns": 2e6, "p50_ns": 1e3, "write_amplification": null })
        };
        json!({
            "schema": "flashlane.sweep/1", "device": "sim:x", "workload": "random-write",
            "keys": [{ "key": "buffer.size", "values": ["1MiB", "2MiB", "3B"], "numbers": [1, 2, 3], "unit": "B" }],
            "rows": [
                row("1MiB", json!(250e3), "measured", Value::Null),
                row("2MiB", json!(125e3), "measured", Value::Null),
                row("3B", Value::Null, "failed", json!("too small")),
            ],
        })
    }

    #[test]
    fn a_failed_point_keeps_its_reason_and_the_others_their_numbers() {
        let text = crate::text(&result(), 120);
        for part in ["Sweep: sim:x", "FAILED", "    too small", "Of these measured"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("ampl"), "a column that nobody has is left out\n{text}");
        let csv = crate::csv(&result());
        assert!(
            csv.starts_with("buffer.size,status,mean_ns,p50_ns,p99_ns,reason\r\n1MiB,measured,250000.0,"),
            "{csv}"
        );
        assert!(csv.ends_with("3B,failed,,1000.0,2000000.0,too small\r\n"), "{csv}");
    }

    #[test]
    fn a_narrow_terminal_goes_without_details() {
        assert!(crate::text(&result(), 80).contains("p50"));
        let narrow = crate::text(&result(), 36);
        assert!(!narrow.contains("p50") && narrow.contains("Mean"), "{narrow}");
    }
}
