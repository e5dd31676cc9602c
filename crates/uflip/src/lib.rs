//! uFLIP (Bouganim, Jónsson, Bonnet, CIDR 2009): nine micro-benchmarks of a drive seen as a black box, with the
//! methodology that makes their numbers mean something, whole and automatic.
//!
//! [`uflip`] brings a device into a known state ([`Enforcement`]), finds how long a run has to be ([`BaselinePhases`])
//! and how far apart runs have to stand ([`Interference`]), runs every [`Experiment`] of the [`Plan`] three times, and
//! sums up: the row of [`Characteristics`], the paper's seven design [`Hint`]s recomputed for this device, and every
//! response time. What is done is kept in a [`Journal`], so that a run that was stopped goes on where it was.
//!
//! Like the probe it stands on `measure` alone and sees nothing of a device but how long it takes.
//!
//! [`Enforcement`]: flashlane_result::uflip::Enforcement
//! [`BaselinePhases`]: flashlane_result::uflip::BaselinePhases
//! [`Interference`]: flashlane_result::uflip::Interference
//! [`Characteristics`]: flashlane_result::uflip::Characteristics
//! [`Hint`]: flashlane_result::uflip::Hint

mod baseline;
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
mod rig;
mod row;
mod run;
mod space;
mod state;
mod summary;

pub use exchange::{ExchangeError, export, import};
pub use experiment::Experiment;
pub use flashlane_result::uflip::{Baseline, Benchmark, StateMethod, UflipResult};
pub use journal::{Journal, JournalError};
pub use options::{Effort, Options, Progress, UflipError, Watch};
pub use phases::Lengths;
pub use plan::Plan;
pub use run::{Outcome, uflip};
