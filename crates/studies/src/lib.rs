//! The papers' tables and figures again: claim, grid, published beside measured, verdict.
//!
//! A paper is a folder and a line in [`REGISTRY`]; each of its figures is a file with what the paper claims, what is
//! measured for it, what was published and how close one has to come. Every number is measured on a simulated drive
//! of one of the profiles; nothing is looked up. [`score`] is the probe's score,
//! [`phase_score`] that of finding start-up and period.

pub mod advice_score;
mod chen11;
mod crew;
mod disksim;
mod error;
mod lab;
pub mod phase_score;
mod row;
mod ruan12;
pub mod score;
mod sdf14;
mod study;
mod uflip09;

pub use error::{FigureError, StudyError};
pub use flashlane_result::study::{Row, STUDY_SCHEMA, StudyResult, Value, Verdict};
pub use lab::{Options, Progress, Watch};
pub use study::{FigureStudy, SharedMeasurement, Studied, Study, run};

/// All papers.
pub const REGISTRY: &[Study] = &[chen11::STUDY, uflip09::STUDY, disksim::STUDY, ruan12::STUDY, sdf14::STUDY];
