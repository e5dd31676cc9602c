//! Transactions as a workload.
//!
//! A [`recording`] holds the page accesses of a database's transactions, as its buffer manager saw them.

pub mod recording;
pub mod synthetic;

pub use recording::{Access, Header, LeftOut, Recording, Relation, Transaction};
