//! What the gate holds.

use super::{Figure, number_after};

pub const TESTS: Figure = Figure {
    id: "tests",
    what: "tests that pass",
    asked: None,
    command: "cargo test",
    read: |output| {
        output.lines().filter_map(|line| number_after(line, "test result: ok.")).reduce(|a, b| a + b)
    },
};
