//! Nitin Agrawal, Vijayan Prabhakaran, Ted Wobber, John D. Davis, Mark Manasse, Rina Panigrahy: Design Tradeoffs for
//! SSD Performance. USENIX ATC 2008; and the SSD extension for DiskSim 4.0 that came of it, which ruan12 and he14 used.
//!
//! This study reproduces the simulator, not the paper's figures: the drive `msr-32g` runs the workloads that are
//! distributed with it, and the mean response times are compared with those published there. They count from the
//! submission to the drive, which holds 20 requests; waiting before that is on the host's side.

mod model;
mod others;
pub(crate) mod synthetic;
mod synthetics;
mod traces;

use crate::study::Study;

pub(crate) const STUDY: Study = Study {
    paper: "disksim",
    title: "Agrawal et al.: Design Tradeoffs for SSD Performance, USENIX ATC 2008; the SSD extension for DiskSim 4.0",
    figures: &[synthetics::FIGURE, traces::FIGURE, others::FIGURE],
    shared: &[],
};

/// Tolerance, as a share of the published mean.
const NEAR: f64 = 0.02;

#[cfg(test)]
mod tests;
