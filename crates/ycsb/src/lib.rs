//! The core workloads of YCSB (Cooper et al., *Benchmarking cloud serving systems with YCSB*, SoCC 2010, section 4) on
//! the store, without a server: records that are loaded, then clients that each have one operation in flight.
//!
//! [`Bench`] drives a store by its completions, so a run on simulated devices is in virtual time and repeats.
//! `docs/store.md` says what differs from YCSB's own program.

mod bench;
mod records;
mod requests;
mod workload;

pub use bench::{Bench, BenchError, Options, Outcome};
pub use records::slices;
pub use workload::{CORE, Operation, Requests, Workload};
