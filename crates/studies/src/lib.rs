//! Reproductions of tables and figures of papers: claim, grid, published and measured numbers, verdict.
//!
//! A paper is a folder and a line in [`REGISTRY`]; each of its figures is a file with the paper's claim, the
//! measurement, the published numbers and the tolerance. Every number is measured on a simulated drive of one of the
//! profiles. [`score`] scores the probe, [`phase_score`] the detection of start-up and period, [`advice_score`] the
//! probe's recommendations; [`store_load`] has the clients of a store, [`get_limit`] what queueing leaves them.

pub mod advice_score;
mod chen11;
mod disksim;
mod error;
pub mod get_limit;
mod he14;
mod lab;
pub mod phase_score;
mod row;
mod ruan12;
pub mod score;
mod sdf14;
pub mod store_load;
mod study;
mod uflip09;
mod workers;

pub use error::{FigureError, StudyError};
pub use flashlane_result::study::{Row, STUDY_SCHEMA, StudyResult, Value, Verdict};
pub use lab::{Options, Progress, SharedWatch};
pub use study::{FigureStudy, SharedMeasurement, Studied, Study, run};

/// All papers.
pub const REGISTRY: &[Study] =
    &[chen11::STUDY, uflip09::STUDY, disksim::STUDY, ruan12::STUDY, sdf14::STUDY, he14::STUDY];
