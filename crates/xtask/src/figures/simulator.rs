//! Speed and memory of the simulated drive.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench simulator";

pub const RANDOM_READS: Figure = Figure {
    id: "sim-random-reads",
    what: "simulated 4 KB random reads at depth 32, one core, `msr-32g` full: million requests a second of user CPU",
    goal: Some(Goal::AtLeast(3.0, Some(8.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-random-reads:"),
};

pub const RANDOM_WRITES: Figure = Figure {
    id: "sim-random-writes",
    what: "the same for writes in steady state, with GC",
    goal: Some(Goal::AtLeast(1.5, Some(4.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-random-writes:"),
};

pub const MEMORY: Figure = Figure {
    id: "sim-memory",
    what: "host memory per simulated page, a full 2 TiB drive of 4 KB pages before its first request: bytes",
    goal: Some(Goal::AtMost(10.0, Some(6.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-memory:"),
};

pub const PRECONDITION: Figure = Figure {
    id: "sim-precondition",
    what: "a 256 GiB drive into a fragmented steady state: seconds of user CPU",
    goal: Some(Goal::AtMost(10.0, Some(2.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-precondition:"),
};

pub const LARGE_FULL: Figure = Figure {
    id: "sim-large-full",
    what: "a full drive of 30 TB, ready for its first request: ms of user and system CPU",
    goal: Some(Goal::AtMost(200.0, Some(50.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-large-full:"),
};

pub const LARGE_FULL_MEMORY: Figure = Figure {
    id: "sim-large-full-memory",
    what: "its memory: MB",
    goal: Some(Goal::AtMost(500.0, Some(100.0))),
    command: COMMAND,
    read: |output| number_after(output, "sim-large-full-memory:"),
};

pub const LARGE_FRAGMENTED: Figure = Figure {
    id: "sim-large-fragmented",
    what: "the same drive, fragmented: ms",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "sim-large-fragmented:"),
};

pub const TOUCHED_MEMORY: Figure = Figure {
    id: "sim-touched-memory",
    what: "`nvme-tlc`, 1 TB, fragmented, after 20,000 random writes of 4 KiB: memory in MB",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "sim-touched-memory:"),
};

pub const TOUCHED_TIME: Figure = Figure {
    id: "sim-touched-time",
    what: "the same, from nothing to the last write: ms of user and system CPU",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "sim-touched-time:"),
};

const SDF: &str = "cargo bench -q -p flashlane-sim --bench sdf";

pub const SDF_WRITES: Figure = Figure {
    id: "sdf-write-pages",
    what: "8 MiB writes on all 44 lanes of `sdf`: million flash pages a second of user CPU",
    goal: Some(Goal::AtLeast(10.0, None)),
    command: SDF,
    read: |output| number_after(output, "sdf-write-pages:"),
};

pub const SDF_READS: Figure = Figure {
    id: "sdf-read-pages",
    what: "the same for 8 MiB reads",
    goal: None,
    command: SDF,
    read: |output| number_after(output, "sdf-read-pages:"),
};
