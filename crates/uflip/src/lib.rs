//! uFLIP (Bouganim, Jónsson, Bonnet, CIDR 2009): nine micro-benchmarks of a drive as a black box, with their complete
//! methodology, automated.
//!
//! [`uflip`] brings a device into a known state ([`Enforcement`]), finds the necessary length of runs
//! ([`BaselinePhases`]) and of the pause between them ([`Interference`]), runs every [`Experiment`] of the [`Plan`]
//! three times, and summarizes: the row of [`Characteristics`], the paper's seven design [`Hint`]s for this device, and
//! every response time. A [`Journal`] records completed steps, so that a stopped run can resume.
//!
//! Like the probe it is based on `measure` alone and observes only the times of a device.
//!
//! [`Enforcement`]: flashlane_result::uflip::Enforcement
//! [`BaselinePhases`]: flashlane_result::uflip::BaselinePhases
//! [`Interference`]: flashlane_result::uflip::Interference
//! [`Characteristics`]: flashlane_result::uflip::Characteristics
//! [`Hint`]: flashlane_result::uflip::Hint

mod baseline;
mod bench;
mod benchmark;
mod characteristics;
mod curve;
mod exchange;
mod experiment;
mod figures;
mod hints;
mod interference;
mod journal;
mod options;
mod phases;
mod plan;
mod row;
mod run;
mod space;
mod state;
mod summary;

pub use exchange::{ExchangeError, export, import};
pub use experiment::Experiment;
pub use flashlane_result::uflip::{Baseline, Benchmark, StateMethod, UflipResult};
pub use journal::{Journal, JournalError};
pub use options::{Effort, Options, Progress, UflipError};
pub use phases::Lengths;
pub use plan::Plan;
pub use run::{Outcome, uflip};
