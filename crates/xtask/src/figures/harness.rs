//! Cost of measuring.

use super::{Asked, Figure, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-measure --bench loop";

pub const RUN: Figure = Figure {
    id: "harness-cost",
    what: "the measuring loop at depth 32 on the null device, every latency recorded: ns a request",
    asked: None,
    command: COMMAND,
    read: |output| number_after(output, "measure/run-depth-32"),
};

pub const ONE: Figure = Figure {
    id: "harness-cost-one",
    what: "the same, one request at a time, as uFLIP makes them",
    asked: Some(Asked::AtMost(1000.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "measure/run-depth-1 "),
};
