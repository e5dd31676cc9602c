//! Units, time, seeded randomness and histograms: what every other crate counts in. And the one way to write a file.
//!
//! Nothing here knows of devices. Everything but files is plain data, the same on every machine.

pub mod histogram;
mod operation;
pub mod random;
pub mod time;
pub mod units;

pub use histogram::{BEYOND, Histogram, Latency, requests_needed};
pub use operation::Operation;
pub use random::{Random, Seed};
pub use time::{Duration, Instant};
