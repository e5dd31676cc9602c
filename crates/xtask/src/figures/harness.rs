//! What measuring costs.

use super::{Figure, number_after};

pub const RUN: Figure = Figure {
    id: "harness-cost",
    what: "the measuring loop at depth 32 on the null device, every latency recorded: ns a request",
    asked: None,
    command: "cargo bench -q -p flashlane-measure --bench loop",
    read: |output| number_after(output, "measure/run-depth-32"),
};
