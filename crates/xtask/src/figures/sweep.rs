//! Speed of sweeps on several cores.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench sweep";

pub const TWO_CORES: Figure = Figure {
    id: "sweep-two-cores",
    what: "a sweep of 64 runs, two at a time: speed relative to one at a time",
    goal: Some(Goal::AtLeast(1.9, None)),
    command: COMMAND,
    read: |output| number_after(output, "sweep-two-cores:"),
};

pub const TWO_CORES_SHORT: Figure = Figure {
    id: "sweep-two-cores-short",
    what: "the same for runs of 20 ms, which mostly build drives",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "sweep-two-cores-short:"),
};

pub const TWO_PROCESSES: Figure = Figure {
    id: "sweep-two-processes",
    what: "the machine's limit: the same runs in two processes, half each, at once instead of in turn",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "sweep-two-processes:"),
};
