//! Cost of measuring.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-measure --bench loop";

pub const RUN: Figure = Figure {
    id: "harness-cost",
    what: "the measuring loop at depth 32 on the null device, every latency recorded: ns per request",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "measure/run-depth-32"),
};

pub const ONE: Figure = Figure {
    id: "harness-cost-one",
    what: "the same at depth 1, as in uFLIP",
    goal: Some(Goal::AtMost(1000.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "measure/run-depth-1 "),
};
