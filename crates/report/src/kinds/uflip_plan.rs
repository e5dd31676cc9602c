//! `flashlane.uflip-plan/1`: what uFLIP would do to a device.

use super::{Kind, device_name, fact, items};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::wording::{capitalised, exact, number, percent, plain_value, time_ns};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.uflip-plan/1", document, singles: None };

/// What is counted of each micro-benchmark: field and title.
const COUNTS: &[(&str, &str)] = &[
    ("runs", "Runs"),
    ("ios", "I/Os"),
    ("read_bytes", "Read"),
    ("written_bytes", "Written"),
    ("paused_ns", "In pauses"),
];

fn document(result: &Value) -> Document {
    let total = &result["total"];
    let written =
        result["device_writes"].as_f64().map(|times| format!("{} times its capacity", number(times)));
    let endurance = result["endurance_share"].as_f64();
    let facts = [
        fact(result, "mode", "Mode"),
        fact(result, "area_bytes", "Part of the device"),
        written.map(|times| Fact::new("Written", times)),
        endurance.map(|share| Fact::new("Of its rated endurance", percent(share))),
    ];
    let row = |name: String, counts: &Value| {
        let cell = |(field, _): &(&str, &str)| {
            Cell::exact(plain_value(field, &counts[*field]), exact(&counts[*field]))
        };
        Row::new([Cell::text(name)].into_iter().chain(COUNTS.iter().map(cell)).collect())
    };
    let benchmarks = items(&result["benchmarks"])
        .map(|counts| row(capitalised(counts["benchmark"].as_str().unwrap_or_default()), counts));
    let columns = COUNTS.iter().map(|(field, title)| Column::right(title, field));
    Document {
        kind: "uFLIP, planned",
        title: device_name(&result["device"]),
        subtitle: "What would be done; nothing was".into(),
        summary: summary(result),
        facts: facts.into_iter().flatten().collect(),
        tables: vec![Table {
            title: "Plan".into(),
            columns: [Column::left("Micro-benchmark", "benchmark")].into_iter().chain(columns).collect(),
            rows: benchmarks.chain([row("All, with state and phases".into(), total)]).collect(),
            ..Table::default()
        }],
        ..Document::default()
    }
}

fn summary(result: &Value) -> String {
    let (Some(expected_s), Some(read_ns)) =
        (result["expected_s"].as_f64(), result["random_read_ns"].as_f64())
    else {
        return String::new();
    };
    format!(
        "Some {}, were every run as long as the paper's and every I/O as fast as a random read of 32 KiB is now, {}.",
        time_ns(expected_s * 1e9),
        time_ns(read_ns)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_plan_says_what_it_would_cost() {
        let counts =
            json!({ "runs": 3, "ios": 300, "read_bytes": 0, "written_bytes": 1 << 20, "paused_ns": 0 });
        let mut order = counts.clone();
        order["benchmark"] = "order".into();
        let plan = json!({
            "schema": "flashlane.uflip-plan/1", "device": { "name": "x", "capacity_bytes": 1 << 30 }, "mode": "quick",
            "benchmarks": [order], "total": counts, "device_writes": 1.5, "endurance_share": 0.001,
            "expected_s": 90.0, "random_read_ns": 200e3,
        });
        let text = crate::text(&plan, 100);
        for part in ["Order", "1.5 times its capacity", "0.1%", "1 MiB", "90 s", "200 µs"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
