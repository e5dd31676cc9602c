//! Sweeps: one experiment at every point of a grid, on all cores, that can be taken up again.
//!
//! A grid is written as keys with their values ([`Grid`], [`Key`]); whoever sweeps turns each point into a task and
//! says how one is measured ([`run()`]). Points share nothing: each has a drive of its own, and the same seeds unless the
//! seed is swept, so that neighbours differ by what was swept and not by luck (common random numbers: Law, Simulation
//! Modeling and Analysis, section 11.2). What is random is measured under several seeds, and points are compared over
//! these (`compare`). The result ([`result_of`]) is in the grid's order and does not depend on how many points were
//! measured at a time, nor on which of them a [`Store`] still had.

mod compare;
mod decimal;
mod distribution;
mod figure;
mod grid;
mod knee;
mod measures;
mod metric;
mod outcome;
mod parallel;
mod result;
mod row;
mod run;
mod store;
#[cfg(test)]
mod tests;
mod values;

pub use grid::{Grid, GridError};
pub use metric::{METRICS, Metric};
pub use outcome::Outcome;
pub use parallel::in_parallel;
pub use result::{About, result_of};
pub use run::{Halt, Options, Planned, Progress, Swept, Task, run};
pub use store::{Loaded, Store, fingerprint, fingerprint_of};
pub use values::{Key, POINTS_MAX, ValuesError};
