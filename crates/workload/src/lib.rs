//! Workloads: patterns, jobs, and their written forms.
//!
//! A [`Workload`] is plain data: jobs that run concurrently, and a stop condition. A [`Generator`] generates the
//! accesses of one job, and [`Turns`] chooses the next job where jobs share a stream. [`Workload::parse`] reads the
//! one-line form of a command line, [`Workload::parse_toml`] a job file; both have the same keys. [`FioFile::parse`]
//! reads fio job files. No code here accesses a device: [`Workload::check`] takes the limits of a device as plain
//! numbers.

mod check;
mod fio;
mod form;
mod generator;
mod job;
pub mod pattern;
mod turns;

pub use check::{Limits, Unfit};
pub use fio::{FioFile, fio_word};
pub use form::{FormError, KEYS, Key, Place, Scope};
pub use generator::{Access, Generator};
pub use job::{Arrivals, Job, Mix, Precondition, Rate, Stop, Workload};
pub use pattern::{Distribution, NAMED, Named, Pattern, Skew, Zipf};
pub use turns::Turns;
