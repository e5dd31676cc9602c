//! Calibration: the constants of a simulated drive that predict what was measured of a real one.
//!
//! [`read`] takes measurements from a CSV file, fio's JSON or a probe's result; [`calibrate`] fits a profile to them
//! and returns the twin with its report. The search is Levenberg and Marquardt's over the logarithms of the constants
//! (Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear Parameters", 1963), from the start profile, and
//! over the counts of channels, packages and planes. It is deterministic: every prediction is a simulation with the
//! same seeds.
//!
//! Cost: some hundred predictions of each workload, a few milliseconds each, on all cores. The drive that is simulated
//! has fewer blocks than the profile's, as many as its reserve needs: reads and writes at random do not depend on them.

mod algebra;
mod contradictions;
mod counts;
mod csv;
mod fio;
mod fit;
mod measurement;
mod predict;
mod probe;
mod reading;
mod report;
mod search;
mod start;

pub use fit::{Constant, Fit, Options, calibrate};
pub use measurement::{Measurement, Quantity, ReadError};
pub use reading::read;
pub use report::result_of;
pub use start::{Start, StartError};

#[cfg(test)]
mod tests;
