//! Luc Bouganim, Björn Þór Jónsson, Philippe Bonnet: uFLIP: Understanding Flash IO Patterns. CIDR 2009.
//!
//! The paper's drives by mechanism: page mapping with a log of blocks reclaimed in the background, hybrid log blocks,
//! block mapping. uFLIP itself (`flashlane_uflip`) is run on them as on any drive, and what it says is compared with
//! what the paper says of the drives that they are like.

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

/// What uFLIP says of a drive.
fn benchmarked(lab: &Lab<'_>, profile: &str, outcome: &mut Outcome) -> Benchmarked {
    let found: Benchmarked = lab.shared(profile);
    outcome.warnings.extend(found.left_out());
    found
}

/// The phases of a baseline.
fn phases(found: &Benchmarked, baseline: Baseline) -> &BaselinePhases {
    let found = found.result.phases.iter().find(|phases| phases.baseline == baseline);
    found.expect("a simulated drive is written to, so every baseline is run")
}

/// A plot of a benchmark under another name.
fn figure(found: &Benchmarked, id: &str, renamed: &str) -> Option<Figure> {
    let figure = found.result.figures.iter().find(|figure| figure.id == id)?;
    Some(Figure { id: renamed.into(), ..figure.clone() })
}

#[cfg(test)]
mod tests;
