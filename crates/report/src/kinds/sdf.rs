//! `flashlane.sdf/1` and `flashlane.sdf_bench/1`: a device that stores blocks, and the speed of puts and gets.

use super::tail::{shown, with_reason};
use super::{Content, Reportable, cell, fact, field_table, fields, named, part_table, scalar};
use crate::document::{Column, Document, Fact, Row, Table, Tone};
use crate::format::{capitalised, plain_value};
use flashlane_result::sdf::{LaneRow, PhaseRow, SdfBenchResult, SdfResult, UnreadableRow};
use serde_json::{Map, Value};

impl Reportable for SdfResult {
    fn content(&self) -> Content {
        Content(status(self))
    }
}

impl Reportable for SdfBenchResult {
    fn content(&self) -> Content {
        Content(bench(self))
    }
}

fn status(result: &SdfResult) -> Document {
    let facts = [
        fact("blocks", "Blocks", result.blocks),
        fact("blocks_free", "Room for", result.blocks_free),
        fact("user_bytes", "User data at most", result.user_bytes),
        fact("units_erased", "Units erased", result.units_erased),
        bad("units_bad", "Units bad", result.units_bad),
        bad("units_damaged", "Units damaged", result.units_damaged),
        fact("blocks_checked", "Blocks read", result.blocks_checked),
    ];
    let tables = [
        result.unreadable.as_deref().map(unreadable),
        part_table("Lanes", Column::right("Lane", "lane"), result.lanes.iter().map(lane)),
        field_table("Device", &fields(&result.device)),
        field_table(
            "Layout",
            &named([
                ("block_bytes", scalar(result.block_bytes)),
                ("next_id", scalar(result.next_id)),
                ("format", scalar(&result.format)),
                ("superblock_copies", scalar(result.superblock_copies)),
                ("units_dirty", scalar(result.units_dirty)),
            ]),
        ),
    ];
    Document {
        kind: "Blocks",
        verdict: result.verdict.clone().unwrap_or_default(),
        title: result.device.name.clone(),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// Returns a count, shown as bad unless zero.
fn bad(name: &str, label: &str, count: u64) -> Option<Fact> {
    let tone = if count == 0 { Tone::Plain } else { Tone::Bad };
    fact(name, label, count).map(|fact| fact.tone(tone))
}

fn lane(lane: &LaneRow) -> (String, Map<String, Value>) {
    let mut fields = named([
        ("blocks", scalar(lane.blocks)),
        ("units_erased", scalar(lane.units_erased)),
        ("units_dirty", scalar(lane.units_dirty)),
        ("units_bad", scalar(lane.units_bad)),
        ("units_damaged", scalar(lane.units_damaged)),
        ("erases_least", scalar(lane.erases_least)),
        ("erases_mean", scalar(lane.erases_mean)),
        ("erases_most", scalar(lane.erases_most)),
    ]);
    fields.retain(|_, value| !value.is_null());
    (plain_value("lane", &lane.lane.into()), fields)
}

/// Returns the unreadable blocks that a check found; may be empty.
fn unreadable(blocks: &[UnreadableRow]) -> Table {
    let row = |block: &UnreadableRow| {
        Row::new(vec![
            cell("id", block.id),
            cell("lane", block.unit.lane),
            cell("unit", block.unit.unit),
            cell("reason", &block.reason),
        ])
    };
    Table {
        title: "Unreadable blocks".into(),
        columns: vec![
            Column::right("Block", "id"),
            Column::right("Lane", "lane"),
            Column::right("Unit", "unit"),
            Column::left("Reason", "reason"),
        ],
        rows: blocks.iter().map(row).collect(),
        ..Table::default()
    }
}

fn bench(result: &SdfBenchResult) -> Document {
    let name = |phase: &PhaseRow| capitalised(&phase.operation);
    let facts = result
        .phases
        .iter()
        .filter_map(|phase| fact("bandwidth_bytes_per_s", &name(phase), phase.bandwidth_bytes_per_s));
    let phases = result.phases.iter().map(|phase| {
        let fields = named([
            ("requests", scalar(phase.requests)),
            ("request_bytes", scalar(phase.request_bytes)),
            ("in_flight", scalar(phase.in_flight)),
            ("elapsed_s", scalar(phase.elapsed_s)),
            ("bandwidth_bytes_per_s", scalar(phase.bandwidth_bytes_per_s)),
            ("mean_ns", scalar(phase.latency_ns.mean)),
            ("p99_ns", scalar(shown("p99", phase.latency_ns.p99, phase.requests))),
            ("max_ns", scalar(phase.latency_ns.max)),
        ]);
        (name(phase), fields)
    });
    let tables = [
        part_table("Puts and gets", Column::left("", "operation"), phases)
            .map(|table| with_reason(table, result.phases.iter().map(|phase| phase.requests))),
        field_table("Device", &fields(&result.device)),
        field_table(
            "Layout",
            &named([
                ("block_bytes", scalar(result.block_bytes)),
                ("next_id", scalar(result.next_id)),
                ("format", scalar(&result.format)),
                ("superblock_copies", scalar(result.superblock_copies)),
                ("units_dirty", scalar(result.units_dirty)),
            ]),
        ),
    ];
    Document {
        kind: "Blocks measured",
        title: result.device.name.clone(),
        subtitle: format!("{} in flight, {}", plain_value("", &result.in_flight.into()), result.placement),
        facts: facts.collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}
