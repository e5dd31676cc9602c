//! What users of a real device rely on: the laws of every device, the refusals, and orderly ends.

// The crate under test is where threads live.
#![allow(clippy::disallowed_methods)]

mod blocks;
mod failing;
mod files;
mod interrupts;
mod laws;
mod recording;
mod refusals;
mod stacks;
mod zones;
