//! Devices opened from their specs.

mod blocks;
mod policies;
mod specs;
