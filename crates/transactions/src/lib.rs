//! Transactions as a workload.
//!
//! A [`recording`] holds the page accesses of a database's transactions, as its buffer manager saw them. [`run`] runs
//! them on any device as the database would: clients in a closed loop or at recorded times, a buffer pool whose misses
//! read and whose evicted dirty pages are written, and locks held to commit.
//!
//! ```text
//! Source ──> Clients ──> Locks ──> Pool ──> device
//! ```
//!
//! A transaction's page access costs an event, a lock and a table access; `cargo bench -p flashlane-transactions`
//! prints how many there are in a second of processor time.

mod clients;
mod doubt;
mod locks;
mod pool;
mod processors;
mod readahead;
mod record;
pub mod recording;
mod run;
mod schedule;
mod schema;
mod setup;
mod slow;
mod source;
pub mod synthetic;

pub use doubt::Doubt;
pub use recording::{
    Header, LeftOut, OpenError, ReadError, RecordedAccess, Recording, Relation, Transaction,
};
pub use run::{Partial, Restart, Run, run};
pub use setup::{CLIENTS_MOST, CPU_FACTOR_MOST, POOL_PAGES_MOST, Pace, Setup, Unfit};
pub use source::{Repeated, Source, Survey};

#[cfg(test)]
mod tests;
