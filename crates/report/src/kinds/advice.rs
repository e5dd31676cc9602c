//! `flashlane.advice/1`: the cost model of a device, and settings or plans that follow from it.

use super::{Content, Reportable, cell};
use crate::document::{Advice, Cell, Column, Document, Row, Table, Tone};
use crate::format::{capitalised, plain_value};
use flashlane_result::advice::{AdviceResult, CostRow, Interval, KeptRow, PlanRow, ScanRow, SettingRow};
use std::collections::{BTreeMap, BTreeSet};

impl Reportable for AdviceResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &AdviceResult) -> Document {
    let mut tables = Vec::new();
    tables.extend((!result.plans.is_empty()).then(|| plan_table(&result.plans)));
    tables.extend((!result.settings.is_empty()).then(|| setting_table(&result.settings)));
    tables.extend((!result.kept.is_empty()).then(|| kept_table(&result.kept)));
    tables.extend([random_table(&result.random), scan_table(&result.scans)]);
    Document {
        kind: "Advice",
        title: result.device.clone(),
        subtitle: format!(
            "{}, from reads of pages of {}",
            result.program,
            plain_value("page_bytes", &result.page_bytes.into())
        ),
        headline: headline(result),
        advice: result.settings.iter().map(advice).collect(),
        tables,
        ..Document::default()
    }
}

fn headline(result: &AdviceResult) -> String {
    match result.plans.as_slice() {
        [best, next, ..] if best.predicted_ns.high >= next.predicted_ns.low => {
            return format!("'{}' and '{}' take equally long by prediction.", best.name, next.name);
        }
        [best, ..] => return format!("'{}' is the fastest by prediction.", best.name),
        [] => {}
    }
    match result.settings.as_slice() {
        [] => "Keep the defaults: no setting is predicted to gain 5%.".into(),
        [_] => "Change one setting.".into(),
        settings => format!("Change {} settings.", settings.len()),
    }
}

/// Returns the setting with the line that sets it, its effect, its evidence and its limits.
fn advice(setting: &SettingRow) -> Advice {
    let effect = &setting.effect;
    let mut evidence = format!("predicted {} on {}", times(&effect.predicted), effect.on);
    if let Some(measured) = &effect.measured {
        evidence += &format!("; measured {}", times(measured));
    }
    let measured = capitalised(&setting.measured);
    evidence += &format!(". {measured}. Does not hold if {}.", setting.void_when);
    let text = format!("Set {} to {}, now {}.", setting.name, setting.proposed, setting.now);
    Advice { text, evidence: capitalised(&evidence), command: setting.apply.clone() }
}

/// Formats how many times as fast something is.
fn times(gain: &Interval) -> String {
    format!("{:.2} times as fast ({:.2} to {:.2})", gain.value, gain.low, gain.high)
}

/// Returns a cell with an interval in plain numbers.
fn gain(gain: Option<&Interval>) -> Cell {
    match gain {
        Some(gain) => Cell::exact(
            format!("{:.2} ({:.2} to {:.2})", gain.value, gain.low, gain.high),
            gain.value.to_string(),
        ),
        None => Cell::text("–"),
    }
}

/// Returns a cell that says whether a prediction held.
fn held(holds: Option<bool>) -> Cell {
    match holds {
        Some(true) => Cell::text("yes"),
        Some(false) => Cell::text("no").tone(Tone::Bad),
        None => Cell::text("–"),
    }
}

fn setting_table(settings: &[SettingRow]) -> Table {
    let row = |setting: &SettingRow| {
        let cells = vec![
            Cell::text(setting.name.as_str()),
            Cell::text(setting.now.as_str()),
            Cell::text(setting.proposed.as_str()),
            gain(Some(&setting.effect.predicted)),
            gain(setting.effect.measured.as_ref()),
            held(setting.effect.holds),
            Cell::text(setting.scope.as_str()),
        ];
        Row { note: format!("'{}' undoes that", setting.undo), ..Row::new(cells) }
    };
    Table {
        title: "Settings to change".into(),
        columns: vec![
            Column::left("Setting", "name"),
            Column::right("Now", "now"),
            Column::right("Proposed", "proposed"),
            Column::right("Predicted, times as fast", "predicted"),
            Column::right("Measured", "measured"),
            Column::left("Held", "holds"),
            Column::left("Scope", "scope"),
        ],
        rows: settings.iter().map(row).collect(),
        ..Table::default()
    }
}

fn kept_table(kept: &[KeptRow]) -> Table {
    let row = |kept: &KeptRow| {
        Row::new(vec![
            Cell::text(kept.name.as_str()),
            Cell::text(kept.now.as_str()),
            Cell::text(kept.why.as_str()),
        ])
    };
    Table {
        title: "Settings to keep".into(),
        columns: vec![
            Column::left("Setting", "name"),
            Column::right("Value", "now"),
            Column::left("Why", "why"),
        ],
        rows: kept.iter().map(row).collect(),
        ..Table::default()
    }
}

fn plan_table(plans: &[PlanRow]) -> Table {
    let time = |time: Option<&Interval>| match time {
        Some(time) => cell("time_ns", time.value),
        None => Cell::text("–"),
    };
    let row = |plan: &PlanRow| {
        Row::new(vec![
            Cell::text(plan.name.as_str()),
            time(Some(&plan.predicted_ns)),
            time(plan.measured_ns.as_ref()),
            held(plan.holds),
        ])
    };
    Table {
        title: "Plans, fastest first".into(),
        columns: vec![
            Column::left("Plan", "name"),
            Column::right("Predicted", "predicted_ns"),
            Column::right("Measured", "measured_ns"),
            Column::left("Held", "holds"),
        ],
        rows: plans.iter().map(row).collect(),
        ..Table::default()
    }
}

fn random_table(random: &[CostRow]) -> Table {
    let costs = random.iter().map(|cost| (cost.band_bytes, cost.in_flight, &cost.page_ns));
    cost_table(
        "Time of a page at random, by reads in flight",
        Column::right("Spread over", "band_bytes"),
        costs,
    )
}

fn scan_table(scans: &[ScanRow]) -> Table {
    let costs = scans.iter().map(|cost| (cost.request_bytes, cost.in_flight, &cost.page_ns));
    cost_table(
        "Time of a page of a scan, by requests in flight",
        Column::right("Request", "request_bytes"),
        costs,
    )
}

/// Returns a table of times of a page: a row for each number of bytes, a column for each depth.
fn cost_table<'a>(
    title: &str,
    bytes: Column,
    costs: impl Iterator<Item = (u64, u32, &'a Interval)> + Clone,
) -> Table {
    let sizes: BTreeSet<u64> = costs.clone().map(|(bytes, ..)| bytes).collect();
    let depths: BTreeSet<u32> = costs.clone().map(|(_, in_flight, _)| in_flight).collect();
    let times: BTreeMap<(u64, u32), f64> =
        costs.map(|(bytes, in_flight, page_ns)| ((bytes, in_flight), page_ns.value)).collect();
    let row = |size: &u64| {
        let time = |depth: &u32| match times.get(&(*size, *depth)) {
            Some(time) => cell("page_ns", *time),
            None => Cell::text("–"),
        };
        let mut cells = vec![cell("request_bytes", *size)];
        cells.extend(depths.iter().map(time));
        Row::new(cells)
    };
    let mut columns = vec![bytes];
    columns
        .extend(depths.iter().map(|depth| Column::right(&depth.to_string(), &format!("page_ns_at_{depth}"))));
    Table { title: title.into(), columns, rows: sizes.iter().map(row).collect(), ..Table::default() }
}
