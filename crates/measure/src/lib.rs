//! The loop that drives a device, and the statistics of what came back.

pub mod figure;
