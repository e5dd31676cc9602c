//! The table of energy, for runs and replays on simulated drives whose profile states powers.

use super::scalar;
use crate::document::{Cell, Column, Fact, Row, Table};
use crate::format::{capitalised, exact, number, percent};
use flashlane_result::energy::EnergyRow;

/// Returns the energy of each use with its share; `None` where none was counted.
pub(super) fn energy(energy: Option<&EnergyRow>) -> Option<Table> {
    let energy = energy?;
    let row = |words: String, key: &str, joules: f64| {
        let share = joules / energy.total_j.max(f64::MIN_POSITIVE);
        Row::new(vec![
            Cell::exact(words, key),
            Cell::exact(quantity(joules, "J"), exact(&scalar(joules))),
            Cell::exact(percent(share), exact(&scalar(share))),
        ])
    };
    let uses = energy.by_use_j.iter().map(|(name, joules)| row(capitalised(name), name, *joules));
    let rows = uses.chain([row("All".into(), "total_j", energy.total_j)]).collect();
    let columns = vec![
        Column::left("Use", "use"),
        Column::right("Energy", "energy_j"),
        Column::right("Share", "share"),
    ];
    Some(Table { title: "Energy".into(), columns, rows, ..Table::default() }.beside(["power-over-time"]))
}

/// Three digits: powers are not better known.
fn round(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Returns the powers, and the energy of a request and of a gigabyte, where they are known.
pub(super) fn facts(energy: Option<&EnergyRow>) -> impl Iterator<Item = Option<Fact>> {
    let fact = |label: &str, value: Option<f64>, unit: &str| {
        Some(Fact::exact(label, quantity(value?, unit), exact(&scalar(value))))
    };
    [
        fact("Mean power", energy.map(|energy| energy.mean_w), "W"),
        fact("Peak power", energy.and_then(|energy| energy.peak_w), "W"),
        fact("Energy a request", energy.and_then(|energy| energy.per_request_mj), "mJ"),
        fact("Energy a gigabyte", energy.and_then(|energy| energy.per_gb_j), "J"),
    ]
    .into_iter()
}

/// Returns a quantity in words: three digits and the unit.
fn quantity(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(round(value)))
}
