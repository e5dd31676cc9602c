//! `flashlane.advice/1`: the cost model of a device, and settings or plans that follow from it.

use super::{Content, Reportable, cell};
use crate::document::{Advice, Cell, Column, Document, Row, Table, Tone};
use crate::format::{capitalised, plain_value};
use flashlane_result::advice::{
    AdviceResult, CostRow, Effect, Interval, KeptRow, PlanRow, ScanRow, SettingRow, WithdrawnRow,
};
use std::collections::{BTreeMap, BTreeSet};

impl Reportable for AdviceResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &AdviceResult) -> Document {
    let mut tables = Vec::new();
    tables.extend((!result.plans.is_empty()).then(|| plan_table(&result.plans)));
    tables.extend((!result.withdrawn.is_empty()).then(|| withdrawn_table(&result.withdrawn)));
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
        advice: result.withdrawn.iter().map(withdrawal).chain(result.settings.iter().map(advice)).collect(),
        tables,
        ..Document::default()
    }
}

fn headline(result: &AdviceResult) -> String {
    if let [first, second, ..] = result.plans.as_slice() {
        return plan_headline(first, second, &result.plans);
    }
    let undecided = result.kept.iter().filter(|kept| kept.undecided).count();
    let change = match result.settings.len() {
        0 if result.withdrawn.is_empty() && undecided > 0 => {
            return format!(
                "Too noisy to tell: {undecided} of {} settings may gain 5% or more; measure again.",
                result.kept.len()
            );
        }
        0 if result.withdrawn.is_empty() => {
            return "Keep the defaults: no setting is predicted to gain 5%.".into();
        }
        0 => "Keep the defaults".into(),
        1 => "Change one setting".into(),
        settings => format!("Change {settings} settings"),
    };
    let withdrawn = match result.withdrawn.len() {
        0 => String::new(),
        1 => ": one that was predicted to gain measured no gain of 5% and is withdrawn".into(),
        withdrawn => {
            format!(": {withdrawn} that were predicted to gain measured no gain of 5% and are withdrawn")
        }
    };
    let noisy = match undecided {
        0 => String::new(),
        1 => " Too noisy to tell: one other setting may gain 5% or more; measure again.".into(),
        undecided => {
            format!(" Too noisy to tell: {undecided} other settings may gain 5% or more; measure again.")
        }
    };
    format!("{change}{withdrawn}.{noisy}")
}

/// Names the fastest plan, and the one that was predicted to be if that is another one.
fn plan_headline(first: &PlanRow, second: &PlanRow, plans: &[PlanRow]) -> String {
    let (times, by) = match (&first.measured_ns, &second.measured_ns) {
        (Some(first), Some(second)) => ((first, second), "measurement"),
        _ => ((&first.predicted_ns, &second.predicted_ns), "prediction"),
    };
    if times.0.high >= times.1.low {
        return format!("'{}' and '{}' take equally long by {by}.", first.name, second.name);
    }
    let predicted = plans.iter().min_by(|a, b| a.predicted_ns.value.total_cmp(&b.predicted_ns.value));
    match predicted.filter(|predicted| predicted.name != first.name) {
        Some(predicted) => {
            format!("'{}' is the fastest by {by}, and not '{}', as predicted.", first.name, predicted.name)
        }
        None => format!("'{}' is the fastest by {by}.", first.name),
    }
}

/// Returns the setting with the line that sets it, its effect, its evidence and its limits.
fn advice(setting: &SettingRow) -> Advice {
    let stays = match &setting.effect {
        Effect { predicted, measured: Some(measured), holds: Some(false), .. }
            if measured.value < predicted.value =>
        {
            ", which still is a gain of 5% or more"
        }
        _ => "",
    };
    let evidence = format!(
        "{}{stays}. {}. Does not hold if {}.",
        gains(&setting.effect),
        capitalised(&setting.measured),
        setting.void_when
    );
    let text = format!("Set {} to {}, now {}.", setting.name, setting.proposed, setting.now);
    Advice { text, evidence: capitalised(&evidence), commands: vec![setting.apply.clone()] }
}

/// Returns a setting to keep against the prediction, with both gains.
fn withdrawal(setting: &WithdrawnRow) -> Advice {
    Advice {
        text: format!("Keep {} at {}: {} is withdrawn.", setting.name, setting.now, setting.proposed),
        evidence: capitalised(&format!("{}; {}.", gains(&setting.effect), setting.why)),
        commands: Vec::new(),
    }
}

/// Formats the predicted and the measured gain of a setting; one that the other contradicts comes behind it.
fn gains(effect: &Effect) -> String {
    let (predicted, on) = (times(&effect.predicted), &effect.on);
    let Some(measured) = &effect.measured else { return format!("predicted {predicted} on {on}") };
    match effect.holds {
        Some(true) => format!("predicted {predicted} on {on}; measured {}", times(measured)),
        Some(false) => format!("measured {} on {on}, where {predicted} was predicted", times(measured)),
        None => format!(
            "measured {} on {on}, where {predicted} was predicted: the intervals are too wide to tell whether that held",
            times(measured)
        ),
    }
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
fn held(predicted: &Interval, measured: Option<&Interval>, holds: Option<bool>) -> Cell {
    match (measured, holds) {
        (None, _) => Cell::text("–"),
        (Some(_), Some(true)) => Cell::text("yes"),
        (Some(measured), Some(false)) => {
            let word = if measured.value < predicted.value { "no: less" } else { "no: more" };
            Cell::text(word).tone(Tone::Bad)
        }
        (Some(_), None) => Cell::text("too noisy to tell").tone(Tone::Muted),
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
            held(&setting.effect.predicted, setting.effect.measured.as_ref(), setting.effect.holds),
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

fn withdrawn_table(settings: &[WithdrawnRow]) -> Table {
    let row = |setting: &WithdrawnRow| {
        Row::new(vec![
            Cell::text(setting.name.as_str()),
            Cell::text(setting.now.as_str()),
            Cell::text(setting.proposed.as_str()),
            gain(Some(&setting.effect.predicted)),
            gain(setting.effect.measured.as_ref()),
            Cell::text(setting.why.as_str()),
        ])
    };
    Table {
        title: "Settings withdrawn".into(),
        columns: vec![
            Column::left("Setting", "name"),
            Column::right("Now", "now"),
            Column::right("Proposed", "proposed"),
            Column::right("Predicted, times as fast", "predicted"),
            Column::right("Measured", "measured"),
            Column::left("Why", "why"),
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
            held(&plan.predicted_ns, plan.measured_ns.as_ref(), plan.holds),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(value: f64) -> Interval {
        Interval { low: value, value, high: value }
    }

    fn effect(predicted: f64, measured: f64) -> Effect {
        let (predicted, measured) = (interval(predicted), Some(interval(measured)));
        Effect { on: "a scan".into(), predicted, measured, holds: Some(false) }
    }

    #[test]
    fn withdrawn_setting_comes_first_with_both_gains() {
        let withdrawn = WithdrawnRow {
            name: "depth".into(),
            now: "1".into(),
            proposed: "8".into(),
            why: "the lower end of the measured gain is below 1.05".into(),
            effect: effect(2.0, 1.0),
        };
        let result = AdviceResult { withdrawn: vec![withdrawn], ..AdviceResult::default() };
        let document = of(&result);
        assert!(document.headline.starts_with("Keep the defaults: one that was"), "{}", document.headline);
        let first = &document.advice[0];
        assert_eq!(first.text, "Keep depth at 1: 8 is withdrawn.");
        assert!(first.commands.is_empty(), "nothing is to be set");
        for part in ["Measured 1.00 times as fast", "2.00 times as fast (2.00 to 2.00) was predicted"] {
            assert!(first.evidence.contains(part), "{}", first.evidence);
        }
        assert_eq!(document.tables[0].title, "Settings withdrawn");
    }

    #[test]
    fn setting_that_gains_less_than_predicted_says_why_it_stays() {
        let setting = SettingRow {
            name: "depth".into(),
            now: "1".into(),
            proposed: "8".into(),
            scope: String::new(),
            apply: "depth=8".into(),
            undo: "depth=1".into(),
            measured: "two times".into(),
            formula: String::new(),
            void_when: "it rains".into(),
            effect: effect(1.19, 1.06),
        };
        let document = of(&AdviceResult { settings: vec![setting], ..AdviceResult::default() });
        let evidence = &document.advice[0].evidence;
        assert!(evidence.contains("was predicted, which still is a gain of 5% or more"), "{evidence}");
        let cells = &document.tables[0].rows[0].cells;
        assert!(cells.iter().any(|cell| cell.text == "no: less"), "{cells:?}");
    }

    #[test]
    fn gains_within_their_error_are_called_too_noisy() {
        let kept = |undecided| KeptRow {
            name: "depth".into(),
            now: "1".into(),
            why: "8 is predicted to gain 2.51 times".into(),
            undecided,
        };
        let headline = |kept: Vec<KeptRow>| of(&AdviceResult { kept, ..AdviceResult::default() }).headline;
        assert!(headline(vec![kept(true), kept(false)]).starts_with("Too noisy to tell: 1 of 2 settings"));
        assert!(headline(vec![kept(false)]).starts_with("Keep the defaults"));
        let beside_others = |kept: Vec<KeptRow>| {
            let setting = WithdrawnRow {
                name: "size".into(),
                now: "1".into(),
                proposed: "8".into(),
                why: String::new(),
                effect: effect(2.0, 1.0),
            };
            of(&AdviceResult { kept, withdrawn: vec![setting], ..AdviceResult::default() }).headline
        };
        let one = beside_others(vec![kept(true), kept(false)]);
        assert!(one.starts_with("Keep the defaults: one that was predicted"), "{one}");
        assert!(one.ends_with(
            "withdrawn. Too noisy to tell: one other setting may gain 5% or more; measure again."
        ));
        assert!(beside_others(vec![kept(true); 2]).contains(" 2 other settings may gain"));
        assert!(!beside_others(vec![kept(false)]).contains("noisy"));
        let unclear = Effect { holds: None, ..effect(8.7, 4.26) };
        assert!(gains(&unclear).ends_with("too wide to tell whether that held"), "{}", gains(&unclear));
    }

    #[test]
    fn fastest_plan_is_the_measured_one() {
        let plan = |name: &str, predicted, measured| PlanRow {
            name: name.into(),
            predicted_ns: interval(predicted),
            measured_ns: Some(interval(measured)),
            holds: Some(false),
        };
        let plans = vec![plan("hash", 9.0, 5.0), plan("index", 8.0, 10.0)];
        let result = AdviceResult { plans, ..AdviceResult::default() };
        let expected = "'hash' is the fastest by measurement, and not 'index', as predicted.";
        assert_eq!(of(&result).headline, expected);
    }
}
