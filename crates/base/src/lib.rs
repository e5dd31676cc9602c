//! Units, time, operations, seeded randomness and histograms, used by all other crates.
//!
//! Plain data without devices or files, the same on every machine.

pub mod histogram;
mod operation;
pub mod random;
pub mod shell;
mod short_bytes;
pub mod suggest;
pub mod time;
pub mod units;

pub use histogram::{BEYOND, Histogram, Latency, requests_needed};
pub use operation::Operation;
pub use random::{Random, Seed};
pub use short_bytes::ShortBytes;
pub use time::{Duration, Instant};
