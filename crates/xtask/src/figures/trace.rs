//! Speed and memory of reading traces.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-trace --bench parse";

pub const DISKSIM: Figure = Figure {
    id: "trace-disksim",
    what: "reading a DiskSim ASCII trace: million lines a second of user CPU",
    goal: Some(Goal::AtLeast(5.0, Some(20.0))),
    command: COMMAND,
    read: |output| number_after(output, "trace-disksim:"),
};

pub const MSR: Figure = Figure {
    id: "trace-msr",
    what: "the same for an MSR Cambridge CSV trace",
    goal: Some(Goal::AtLeast(5.0, Some(20.0))),
    command: COMMAND,
    read: |output| number_after(output, "trace-msr:"),
};

pub const SLOWEST: Figure = Figure {
    id: "trace-slowest",
    what: "the slowest of the text formats",
    goal: Some(Goal::AtLeast(5.0, Some(20.0))),
    command: COMMAND,
    read: |output| {
        let formats = output.lines().filter(|line| line.contains("million lines/s"));
        formats.filter_map(|line| number_after(line, ":")).reduce(f64::min)
    },
};

pub const MEMORY: Figure = Figure {
    id: "trace-memory",
    what: "peak memory of reading 10 GB of DiskSim ASCII: MiB",
    goal: Some(Goal::AtMost(1.0, None)),
    command: "cargo bench -q -p flashlane-trace --bench parse -- 10GB",
    read: |output| number_after(output, "trace-memory:"),
};
