//! Power cuts of replicating drives and layers.

use super::{Figure, Goal, number_after};

pub const DRIVE_CUTS: Figure = Figure {
    id: "replication-drive-cuts",
    what: "power cuts of drives that keep copies of pages, without a flushed or durable write lost or torn",
    goal: Some(Goal::AtLeast(100_000.0, Some(1_000_000.0))),
    command: "cargo xtask sim drive --first 1 --cuts 100000",
    read: |output| number_after(output, "trials,"),
};

pub const LAYER_CUTS: Figure = Figure {
    id: "replication-layer-cuts",
    what: "the same of the layer `replicated` over other devices",
    goal: Some(Goal::AtLeast(100_000.0, Some(1_000_000.0))),
    command: "cargo xtask sim replicated --first 1 --cuts 100000",
    read: |output| number_after(output, "trials,"),
};
