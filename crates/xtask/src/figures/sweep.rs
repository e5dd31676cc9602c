//! Sweeps on several cores.

use super::{Asked, Figure, number_after};

pub const TWO_CORES: Figure = Figure {
    id: "sweep-two-cores",
    what: "a sweep of 64 runs two at a time: times as fast as one after the other",
    asked: Some(Asked::AtLeast(1.9, None)),
    command: "cargo bench -q -p flashlane-studies --bench sweep",
    read: |output| number_after(output, "sweep-two-cores:"),
};
