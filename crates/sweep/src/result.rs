//! Builds the result of a sweep, `flashlane.sweep/1`, from its outcomes.

use crate::compare::compare;
use crate::figure::figures;
use crate::grid::Grid;
use crate::knee::knees;
use crate::measures::{half_widths, mean_of};
use crate::metric::Metric;
use crate::outcome::Outcome;
use flashlane_result::Warning;
use flashlane_result::sweep::{
    Comparison, KeyRow, Measures, PointRow, PointStatus, Repetition, SWEEP_SCHEMA, Standing, SweepResult,
    Verdict,
};
use std::collections::BTreeMap;

/// The subject of a sweep.
#[derive(Clone, Debug)]
pub struct About {
    /// The command at each point: `run`, `replay`, `uflip`.
    pub command: &'static str,
    /// The device, before a point's settings.
    pub device: String,
    /// The workload, before a point's settings.
    pub workload: String,
    /// The seed of the first repetition.
    pub seed: u64,
    /// Whether a point has no randomness, so that repeated measurements are identical.
    pub is_exact: bool,
}

/// Returns the result of a sweep of `grid`; `y` is the metric of the comparison and the figure. `outcomes` MUST have
/// all points in the grid's order, once for each repetition, of which there is at least one.
pub fn result_of(about: About, grid: &Grid, outcomes: &[Outcome], y: &Metric) -> SweepResult {
    assert!(
        !outcomes.is_empty() && outcomes.len().is_multiple_of(grid.len()),
        "all points have the same number of repetitions"
    );
    let repeat = outcomes.len() / grid.len();
    let left_out = outcomes.iter().filter(|outcome| outcome.status == PointStatus::NotRun).count();
    let (done, all) = (outcomes.len() - left_out, outcomes.len());
    let what = if repeat > 1 { "measurements" } else { "points" };
    let repetitions: Vec<Vec<&Outcome>> =
        (0..grid.len()).map(|at| outcomes[at..].iter().step_by(grid.len()).collect()).collect();
    let mut rows: Vec<PointRow> =
        repetitions.iter().enumerate().map(|(at, all)| point_row(grid, at, all, about.seed)).collect();
    // Measurements that all ended early say little of the points, and nothing of which is best.
    let is_measured = outcomes.iter().any(|outcome| outcome.status == PointStatus::Measured);
    let not_compared = not_compared(&repetitions);
    let comparison = is_measured
        .then(|| comparison(grid, &repetitions, &not_compared, y, about.is_exact, &mut rows))
        .flatten();
    let knees = match is_measured {
        true => knees(grid, &rows, &repetitions, &not_compared, about.is_exact),
        false => Vec::new(),
    };
    SweepResult {
        schema: SWEEP_SCHEMA.into(),
        command: about.command.into(),
        device: about.device,
        workload: about.workload,
        seed: about.seed,
        repeat: repeat as u64,
        keys: grid.keys().iter().map(KeyRow::from).collect(),
        figures: figures(grid, &rows, &repetitions, &knees, y),
        warnings: warnings(grid, outcomes, best(&rows)),
        partial: (left_out > 0).then(|| format!("stopped on request after {done} of {all} {what}")),
        comparison,
        knees,
        rows,
        machine: None,
    }
}

fn point_row(grid: &Grid, at: usize, repetitions: &[&Outcome], seed: u64) -> PointRow {
    let settings = grid.point(at).into_iter();
    let (status, reason) = Outcome::ending(repetitions);
    let measured = repetitions.iter().zip(0..).filter(|(outcome, _)| outcome.has_measures());
    let all: Vec<&Measures> = measured.clone().map(|(outcome, _)| &outcome.measures).collect();
    let repetition = |(outcome, nth): (&&Outcome, u64)| Repetition {
        seed: seed.wrapping_add(nth),
        measures: outcome.measures.clone(),
    };
    PointRow {
        point: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        status,
        reason,
        compared: None,
        measures: mean_of(&all),
        half_widths: half_widths(&all),
        repetitions: if repetitions.len() > 1 { measured.map(repetition).collect() } else { Vec::new() },
    }
}

/// Returns for each point whether the comparison leaves it out: GC was not in balance in a repetition, or, where it was
/// not at another point, did not begin.
fn not_compared(repetitions: &[Vec<&Outcome>]) -> Vec<bool> {
    let in_any = |of: fn(&Outcome) -> bool| move |all: &Vec<&Outcome>| all.iter().any(|outcome| of(outcome));
    let is_any = repetitions.iter().any(in_any(Outcome::is_out_of_balance));
    let is_left_out =
        |all| in_any(Outcome::is_out_of_balance)(all) || (is_any && in_any(Outcome::is_without_gc)(all));
    repetitions.iter().map(is_left_out).collect()
}

/// Compares the points over their repetitions; the values of a swept seed are repetitions too. Those that are
/// [`not_compared`] have no value.
fn comparison(
    grid: &Grid,
    repetitions: &[Vec<&Outcome>],
    not_compared: &[bool],
    y: &Metric,
    is_exact: bool,
    rows: &mut [PointRow],
) -> Option<Comparison> {
    let mut places: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut values: Vec<Vec<Option<f64>>> = Vec::new();
    let mut place_of = Vec::with_capacity(rows.len());
    for (at, repetitions) in repetitions.iter().enumerate() {
        let place = *places.entry(grid.places_without_seed(at)).or_insert(values.len());
        if place == values.len() {
            values.push(Vec::new());
        }
        let value = |outcome: &&Outcome| y.of(&outcome.measures).filter(|_| outcome.has_measures());
        values[place].extend(repetitions.iter().map(value));
        place_of.push(place);
    }
    for (place, is_left_out) in place_of.iter().zip(not_compared) {
        if *is_left_out {
            values[*place].fill(None);
        }
    }
    let compared = compare(&values, y.larger_is_better, is_exact);
    let count = |standing: Standing| compared.iter().flatten().filter(|c| c.standing == standing).count();
    let verdict = match (count(Standing::Unknown), count(Standing::NoDifference), count(Standing::Worse)) {
        (1.., _, _) => Verdict::Unknown,
        _ if count(Standing::TooFewRepetitions) > 0 => Verdict::TooFewRepetitions,
        (0, 0, 0) => return None,
        (_, _, 0) => Verdict::NoDifference,
        (_, 0, _) => Verdict::OneBest,
        _ => Verdict::SeveralBest,
    };
    for (row, place) in rows.iter_mut().zip(place_of) {
        row.compared = compared[place].filter(|_| row.status != PointStatus::NotRun);
    }
    Some(Comparison {
        metric: y.name.into(),
        title: y.title.into(),
        field: y.field.into(),
        larger_is_better: y.larger_is_better,
        verdict,
    })
}

/// Returns the place of the best point in the grid.
fn best(rows: &[PointRow]) -> Option<usize> {
    rows.iter().position(|row| row.compared.is_some_and(|compared| compared.standing == Standing::Best))
}

/// Returns one warning for each code, in the order in which the codes first occur, with the text of the best point if
/// that has it, since the comparison is about that one.
fn warnings(grid: &Grid, outcomes: &[Outcome], best: Option<usize>) -> Vec<Warning> {
    let is_best = |at: usize| best == Some(at % grid.len());
    let mut kinds: Vec<(&Warning, usize, usize)> = Vec::new();
    for (at, outcome) in outcomes.iter().enumerate() {
        for warning in &outcome.warnings {
            match kinds.iter_mut().find(|(kind, ..)| kind.code == warning.code) {
                Some((kind, example, points)) => {
                    *points += 1;
                    if is_best(at) && !is_best(*example) {
                        (*kind, *example) = (warning, at);
                    }
                }
                None => kinds.push((warning, at, 1)),
            }
        }
    }
    let summarized = |(warning, at, points): (&Warning, usize, usize)| {
        let settings = grid
            .point(at % grid.len())
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>();
        let message = format!(
            "at {points} of {} {}, {} {}: {}",
            outcomes.len(),
            if outcomes.len() > grid.len() { "measurements" } else { "points" },
            if is_best(at) { "also at the best one," } else { "first at" },
            settings.join(","),
            warning.message
        );
        Warning::new(warning.code.clone(), message)
    };
    kinds.into_iter().map(summarized).collect()
}
