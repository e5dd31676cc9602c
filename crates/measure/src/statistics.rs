//! Statistics that do not assume independent samples, and samples in bounded memory.

mod batch_means;
mod interval;
mod over_time;
pub mod phases;
mod samples;
pub mod steady_state;
mod time_parts;

pub use batch_means::{BatchMeans, Confidence};
pub use interval::student_t;
pub use over_time::{OverTime, Slice};
pub use samples::{Sample, Samples};
pub use time_parts::{Band, TimeParts};

#[cfg(test)]
mod tests;
