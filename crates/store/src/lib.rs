//! A key-value store on the blocks of software-defined flash, after sdf14 (Ouyang et al., SDF, ASPLOS 2014, section
//! 2.4).
//!
//! Keys are parted into *slices* by range. A slice is a log-structured merge tree: writes go to a *container* in memory
//! and to a log on a device beside; a full container becomes a *patch* of exactly one block; patches are merged in the
//! background. The index and a filter of every patch are in memory, so that a get is one read of the device, or none
//! where a cache holds what it would read.
//!
//! [`Store`] has calls that queue an operation and return at once, and a [`reap`](Store::reap) that returns completed
//! ones, like [`Blocks`](flashlane_block::Blocks) below; nothing waits and there are no threads, so that a run on
//! simulated devices repeats exactly. [`KeyValueStore`] has calls that wait, for programs that do one thing at a time.
//! The header of `store.rs` lists the promises, that of `recovery.rs` why it holds after a power cut. Tables and files
//! are crates over it, which have their keys in a [`space`] each.

mod backup;
mod builder;
pub mod bytes;
mod cache;
mod clocks;
mod container;
mod core;
mod counters;
mod cursor;
mod dropped;
mod entries;
mod entry;
mod error;
mod expiring;
mod filter;
mod footer;
mod heads;
mod index;
mod key_value;
mod levels;
mod loader;
mod log;
mod loss;
mod merging;
mod operation;
mod options;
mod pacing;
mod patch;
mod reads;
mod recovery;
mod requirements;
mod routes;
mod salvage;
mod scans;
mod slice;
mod snapshots;
pub mod space;
mod statement;
mod store;
#[cfg(test)]
mod tests;
pub mod text;
mod writes;

pub use backup::{Backup, BackupEntry, BackupError, BackupReader, is_backup, whole_backup};
pub use bytes::end_of_prefix;
pub use counters::Counters;
pub use entries::Entries;
pub use error::{
    CreateError, Gap, OpenError, OptionsError, ReadFailure, SalvageError, ScanFailure, StoreError,
    WriteError, WriteFailure,
};
pub use flashlane_block::LaneStatus;
pub use footer::{MARK_BYTES, is_block_of_a_store};
pub use key_value::KeyValueStore;
pub use loader::Loader;
pub use log::{Durability, LogOverwritten};
pub use loss::Loss;
pub use operation::{Batch, Finished, Item, Outcome, Page, Snapshot, Ticket, Value};
pub use options::{Slices, StoreOptions};
pub use requirements::Requirements;
pub use salvage::{Damage, LostKeys, LostRange};
pub use store::{LogHeader, SliceStatus, Status, Store};
