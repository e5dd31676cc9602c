//! Luc Bouganim, Björn Þór Jónsson, Philippe Bonnet: uFLIP: Understanding Flash IO Patterns. CIDR 2009.
//!
//! The paper's drives by mechanism: page mapping with a log of blocks reclaimed in the background, hybrid log blocks,
//! block mapping. uFLIP itself (`flashlane_uflip`) is run on them as on any drive, and what it says is compared with
//! what the paper says of the drives that they are like.

mod alignment;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod state;
mod table3;

use crate::FigureError;
use crate::lab::Lab;
use crate::study::Study;
use flashlane_measure::figure::Figure;
use flashlane_uflip::{Baseline, BaselinePhases, Benchmark, Effort, Options, Outcome, StateMethod};

pub(crate) const STUDY: Study = Study {
    paper: "uflip09",
    title: "Bouganim, Jónsson, Bonnet: uFLIP: Understanding Flash IO Patterns, CIDR 2009",
    figures: &[
        table3::FIGURE,
        fig3::FIGURE,
        fig4::FIGURE,
        fig5::FIGURE,
        fig6::FIGURE,
        fig7::FIGURE,
        fig8::FIGURE,
        alignment::FIGURE,
        state::FIGURE,
    ],
};

/// Runs some micro-benchmarks on a drive in a random state.
fn uflip(lab: &mut Lab<'_>, profile: &str, benchmarks: &[Benchmark]) -> Result<Outcome, FigureError> {
    // Figures of single sizes need the whole grid of these.
    let whole = matches!(benchmarks, [Benchmark::Granularity | Benchmark::Alignment]);
    let effort = if whole { Effort::Full } else { lab.either(Effort::Full, Effort::Normal) };
    let options =
        Options { effort, benchmarks: benchmarks.to_vec(), state: StateMethod::Random, ..Options::default() };
    lab.uflip(profile, options)
}

/// The phases of a baseline.
fn phases(outcome: &Outcome, baseline: Baseline) -> &BaselinePhases {
    let found = outcome.result.phases.iter().find(|phases| phases.baseline == baseline);
    found.expect("a simulated drive is written to, so every baseline is run")
}

/// The response times of the methodology's runs of this name and baseline, in nanoseconds.
fn singles<'a>(outcome: &'a Outcome, id: &str) -> &'a [u64] {
    let run =
        outcome.result.runs.iter().find(|run| run.id == id).expect("the methodology's runs are always made");
    &outcome.latencies_ns[run.first_sample as usize..][..run.samples as usize]
}

/// The mean response time of a baseline at a value of a micro-benchmark, over the repetitions, in milliseconds.
fn mean_ms(outcome: &Outcome, benchmark: Benchmark, baseline: Baseline, value: i64) -> f64 {
    let of = |run: &&flashlane_uflip::RunRow| {
        run.benchmark == Some(benchmark)
            && run.first == baseline
            && run.second.is_none()
            && run.value == value
    };
    let means: Vec<f64> =
        outcome.result.runs.iter().filter(of).map(|run| run.summary.mean_ns / 1e6).collect();
    means.iter().sum::<f64>() / means.len() as f64
}

/// A plot of a benchmark under another name.
fn figure(outcome: &Outcome, id: &str, renamed: &str) -> Option<Figure> {
    let figure = outcome.result.figures.iter().find(|figure| figure.id == id)?;
    Some(Figure { id: renamed.into(), ..figure.clone() })
}

#[cfg(test)]
mod tests;
