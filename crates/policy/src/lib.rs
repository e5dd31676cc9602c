//! Policies of a drive's firmware, and of a database's buffer pool and a store's merges above it: a folder per family,
//! a file per policy.
//!
//! A policy gets a read-only view and returns a choice; the engine checks that the choice is legal and applies it. A
//! policy never sees the engine, the clock or another policy. A new policy is one file in its family's folder, with its
//! options and tests inside, and one line in the family's `REGISTRY`. A program adds its own policies to [`Policies`].
//!
//! Policies of the firmware speak of pages, as their papers do: a *page* is what the drive places as one, a mapping
//! unit.

pub mod allocation;
pub mod arbitration;
pub mod buffer;
pub mod cleaning;
pub mod map_cache;
pub mod mapping;
pub mod merge;
mod options;
pub mod pacing;
mod policies;
pub mod pool;
pub mod readahead;
pub mod registry;
pub mod replication;
pub mod scheduling;
mod slot_lists;
pub mod wear;

pub use options::{OptionError, Options};
pub use policies::Policies;
