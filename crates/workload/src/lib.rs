//! What is asked of a drive: patterns, jobs, and the forms they are written in.
//!
//! A [`Workload`] is plain data: jobs that run side by side, and a rule for when to stop. A [`Generator`] turns one job
//! into its accesses, and [`Turns`] tells whose turn it is where jobs share a stream. [`Workload::parse`] reads the
//! short form of a command line, [`Workload::parse_toml`] a job file; both know the same keys. [`FioFile::parse`] reads job
//! files of fio. Nothing here touches a
//! device: whether a workload fits one is asked with plain numbers ([`Workload::check`]).

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
pub use pattern::{Distribution, NAMED, Named, Pattern, Skew};
pub use turns::Turns;
