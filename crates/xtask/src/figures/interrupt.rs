//! Time to react to Ctrl-C.

use super::{Figure, Goal, number_after};

pub const CTRL_C: Figure = Figure {
    id: "ctrl-c",
    what: "Ctrl-C in the slow phases of every command (drives being prepared, traces and standard input \
           read, files made, stores and servers): the longest time to \
           the end of the program, ms",
    goal: Some(Goal::AtMost(1000.0, Some(200.0))),
    command: "cargo bench -q -p flashlane --bench interrupt",
    read: |output| number_after(output, "longest"),
};
