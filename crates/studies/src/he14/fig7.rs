//! Figure 7: the layer on drives like the paper's.

use super::layered::{LAYER, OFF, ON, PLAIN, Runs, SSDS, extra_percent};
use super::method::{Measured, WORKLOADS, change_percent};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::study::Verdict;
use flashlane_result::{Axis, Figure, Series, Warning};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig7",
    "Section 5.3, a library over five real drives: mean response time falls by 14 to 22%, that of the slowest hundredth by 20 to 39%. Here the layer over fragmented simulated drives of these kinds; the rows are in the mean of the three workloads, with the write cache of each drive and without",
    measure,
);

/// Changes by the layer in percent: on a drive, with its write cache or without, for each workload.
struct Changes {
    drive: &'static str,
    cache: &'static str,
    mean: [f64; WORKLOADS.len()],
    worst: [f64; WORKLOADS.len()],
    /// Extra writes in percent of the others, in the mean of the workloads.
    extra: f64,
}

impl Changes {
    fn of(runs: &Runs, drive: &'static str, cache: &'static str) -> Self {
        let both = |workload| [PLAIN, LAYER].map(|form| runs.get(workload, cache, form));
        let change = |of: fn(&Measured) -> f64| {
            WORKLOADS.map(|workload| {
                let [plain, layer] = both(workload);
                change_percent(of(plain), of(layer))
            })
        };
        let extra = WORKLOADS.map(|workload| extra_percent(runs.get(workload, cache, LAYER)));
        Self {
            drive,
            cache,
            mean: change(|of| of.mean_ms),
            worst: change(|of| of.worst_ms),
            extra: mean(&extra),
        }
    }
}

fn mean(of_workloads: &[f64]) -> f64 {
    of_workloads.iter().sum::<f64>() / of_workloads.len() as f64
}

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let all: Vec<Changes> = SSDS
        .iter()
        .flat_map(|ssd| {
            let runs = Runs::of(lab, ssd);
            [ON, OFF].map(|cache| Changes::of(&runs, ssd.name, cache))
        })
        .collect();
    for of in &all {
        let quantity =
            |what: &str| format!("{}, cache {}: change of {what} by the layer", of.drive, of.cache);
        let [all, slowest] = [mean(&of.mean), mean(&of.worst)];
        outcome.rows.push(row::at_most(&quantity("mean response time"), "-14 to -22", all, "%", -10.0));
        outcome.rows.push(row::at_most(
            &quantity("the slowest hundredth"),
            "-20 to -39",
            slowest,
            "%",
            -20.0,
        ));
    }
    if outcome.rows.iter().any(|row| row.verdict == Verdict::Missed) {
        outcome.warnings.push(Warning::new("layer-gains-less", explain(&all)));
    }
    outcome.figures.push(draw("fig7-mean", "Mean response time", &all, |of| &of.mean));
    outcome.figures.push(draw("fig7-worst", "Mean of the slowest hundredth", &all, |of| &of.worst));
    Ok(outcome)
}

/// Says what keeps the layer from gaining more.
fn explain(all: &[Changes]) -> String {
    let of = |changes: &Changes| {
        format!(
            "{}, cache {}: {:+.0}% with {:.1}% extra writes",
            changes.drive,
            changes.cache,
            mean(&changes.mean),
            changes.extra
        )
    };
    format!(
        "a partition of these drives is no chip: the mapping spreads each over all chips. Where writes wait for room in the write cache, or behind reads that wait for GC, a copy waits behind the write that it is to overtake, and most reads that wait for GC are of pages without a copy. Where copies cost more than they save, the layer gives them up and gains nothing. Changes of mean response time: {}",
        all.iter().map(of).collect::<Vec<_>>().join("; ")
    )
}

fn draw(id: &str, title: &str, all: &[Changes], of: fn(&Changes) -> &[f64; WORKLOADS.len()]) -> Figure {
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis {
            names: all.iter().map(|of| format!("{}, cache {}", of.drive, of.cache)).collect(),
            ..Axis::linear("drive", "")
        },
        y: Axis::linear("change by the layer", "%"),
        series: WORKLOADS
            .iter()
            .enumerate()
            .map(|(at, workload)| Series {
                name: workload.name.into(),
                points: all.iter().zip(0..).map(|(changes, x)| (f64::from(x), of(changes)[at])).collect(),
                ..Series::default()
            })
            .collect(),
        ..Figure::default()
    }
}
