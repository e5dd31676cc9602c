//! Tests of real devices: conformance, refusals, and orderly ends.

// Threads are allowed in the crate under test.
#![allow(clippy::disallowed_methods)]

mod blocks;
mod failing;
mod files;
mod interrupts;
mod laws;
mod namespaces;
mod overlays;
mod postgres;
mod recording;
mod refusals;
mod stacks;
mod zones;
