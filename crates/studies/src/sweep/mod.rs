//! Sweeps: one experiment at every point of a grid, on all cores, that can be taken up again.
//!
//! A grid is written as keys with their values ([`Grid`], [`Key`]); whoever sweeps turns each point into a task and
//! says how one is measured ([`run()`]). Points share nothing: each has a drive of its own, and the same seed unless the
//! seed is swept, so that neighbours differ by what was swept and not by luck (common random numbers: Law, Simulation
//! Modeling and Analysis, section 11.2). The result ([`SweepResult`]) is in the grid's order and does not depend on how
//! many points were measured at a time, nor on which of them a [`Store`] still had.

mod decimal;
mod figure;
mod grid;
mod metric;
mod result;
mod run;
mod store;
#[cfg(test)]
mod tests;
mod values;

pub use figure::figure;
pub use grid::{Grid, GridError, POINTS_MAX};
pub use metric::{METRICS, Metric};
pub use result::{KeyRow, Measures, Outcome, PointRow, PointStatus, SWEEP_SCHEMA, SweepResult};
pub use run::{Halt, Options, Planned, Progress, Swept, Task, run};
pub use store::{Loaded, Store, fingerprint, fingerprint_of};
pub use values::{Key, ValuesError};
