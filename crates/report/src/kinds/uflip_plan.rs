//! `flashlane.uflip-plan/1`: the I/O that uFLIP would issue to a device.

use super::{Content, Number, Reportable, cell, fact, scalar};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::format::{capitalised, number, percent, time_ns};
use flashlane_result::uflip_plan::{Estimate, UflipPlan};

impl Reportable for UflipPlan {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// Columns for each micro-benchmark: field, title and value.
const COUNTS: &[Number<Estimate, u64>] = &[
    ("runs", "Runs", |estimate| estimate.runs),
    ("ios", "I/Os", |estimate| estimate.ios),
    ("read_bytes", "Read", |estimate| estimate.read_bytes),
    ("written_bytes", "Written", |estimate| estimate.written_bytes),
    ("paused_ns", "In pauses", |estimate| estimate.paused_ns),
];

fn of(plan: &UflipPlan) -> Document {
    let facts = [
        fact("mode", "Mode", &plan.mode),
        fact("area_bytes", "Part of the device", plan.area_bytes),
        Some(Fact::new("Written", format!("{} times its capacity", number(plan.device_writes)))),
        plan.endurance_share.map(|share| Fact::new("Of its rated endurance", percent(share))),
    ];
    let is_simulated = plan.device.simulated;
    let is_written = is_simulated && plan.total.enforcements > 0;
    let row = |name: String, estimate: &Estimate| {
        let counts = COUNTS.iter().map(|(field, _, count)| cell(field, scalar(count(estimate))));
        Row::new([Cell::text(name)].into_iter().chain(counts).collect())
    };
    let benchmarks = plan.benchmarks.iter();
    let benchmarks = benchmarks.map(|one| row(capitalised(one.benchmark.name()), &one.estimate));
    let columns = COUNTS.iter().map(|(field, title, _)| Column::right(title, field));
    Document {
        kind: "uFLIP, planned",
        title: plan.device.name.clone(),
        subtitle: "What would be done; nothing was".into(),
        summary: format!(
            "Some {}{}, were every run as long as the paper's and every I/O as fast as a random read of 32 KiB {}, {}.",
            time_ns(plan.expected_s * 1e9),
            if is_simulated { " of the device's time, which is simulated" } else { "" },
            if is_written { "of an area just written" } else { "is now" },
            time_ns(plan.random_read_ns)
        ),
        facts: facts.into_iter().flatten().collect(),
        tables: vec![Table {
            title: "Plan".into(),
            columns: [Column::left("Micro-benchmark", "benchmark")].into_iter().chain(columns).collect(),
            rows: benchmarks.chain([row("All, with state and phases".into(), &plan.total)]).collect(),
            ..Table::default()
        }],
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::text;
    use serde_json::json;

    #[test]
    fn plan_shows_its_cost() {
        let counts = json!({ "runs": 3, "ios": 300, "read_bytes": 0, "written_bytes": 1 << 20, "enforcements": 0,
            "paused_ns": 0 });
        let mut order = counts.clone();
        order["benchmark"] = "order".into();
        let plan = json!({
            "schema": "flashlane.uflip-plan/1",
            "device": { "name": "x", "capacity_bytes": 1 << 30, "simulated": true }, "mode": "quick",
            "area_bytes": 1 << 30, "benchmarks": [order], "total": counts, "device_writes": 1.5,
            "endurance_share": 0.001, "expected_s": 90.0, "random_read_ns": 200e3, "warnings": [], "partial": null,
        });
        let mut written = plan.clone();
        written["total"]["enforcements"] = 1.into();
        let shown = text(written, 100).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("of the device's time, which is simulated"), "{shown}");
        assert!(shown.contains("as a random read of 32 KiB of an area just written, 200 µs"), "{shown}");
        let text = text(plan, 100);
        for part in ["Order", "1.5 times its capacity", "0.1%", "1 MiB", "90 s", "200 µs"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
