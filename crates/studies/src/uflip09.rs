//! Luc Bouganim, Björn Þór Jónsson, Philippe Bonnet: uFLIP: Understanding Flash IO Patterns. CIDR 2009.
//!
//! The paper's drives by mechanism: page mapping with a log of blocks reclaimed in the background, hybrid log blocks,
//! block mapping. uFLIP (`flashlane_uflip`) runs on them as on any drive, and its results are compared with the paper's
//! for drives of the same kind.

mod alignment;
mod drives;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod state;
mod table3;

use crate::lab::Lab;
use crate::study::{Outcome, Study};
use drives::Benchmarked;
use flashlane_result::Figure;
use flashlane_result::uflip::{Baseline, BaselinePhases};

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
    shared: drives::DRIVES,
};

/// Returns uFLIP's result for a drive.
fn benchmarked(lab: &Lab<'_>, profile: &str, outcome: &mut Outcome) -> Benchmarked {
    let found: Benchmarked = lab.shared(profile);
    outcome.warnings.extend(found.left_out());
    found
}

/// Returns the phases of a baseline.
fn phases(found: &Benchmarked, baseline: Baseline) -> &BaselinePhases {
    let found = found.result.phases.iter().find(|phases| phases.baseline == baseline);
    found.expect("a simulated drive is written to, so every baseline is run")
}

/// Returns the plot of a benchmark under another name.
fn figure(found: &Benchmarked, id: &str, renamed: &str) -> Option<Figure> {
    let figure = found.result.figures.iter().find(|figure| figure.id == id)?;
    Some(Figure { id: renamed.into(), ..figure.clone() })
}

#[cfg(test)]
mod tests;
