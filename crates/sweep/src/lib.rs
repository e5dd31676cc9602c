//! Sweeps: one experiment at every point of a grid, on all cores, and resumable.
//!
//! A grid is given as keys with their values ([`Grid`], [`Key`]); the caller turns each point into a task and provides
//! the measurement of one ([`run()`]). Points share nothing: each has its own drive, and the same seeds unless the seed
//! is swept, so that points differ by the swept values and not by chance (common random numbers: Law, Simulation
//! Modeling and Analysis, section 11.2). Random experiments are measured with several seeds, over which points are
//! compared (`compare`). The result ([`result_of`]) is in the grid's order and depends neither on the number of points
//! measured at a time nor on the points found in a [`Store`].

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
mod point;
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
pub use point::PointResult;
pub use result::{About, result_of};
pub use run::{Options, Planned, PointError, Progress, SweepOutcome, Task, run};
pub use store::{Loaded, Store, fingerprint, fingerprint_of};
pub use values::{Key, POINTS_MAX, ValuesError};
