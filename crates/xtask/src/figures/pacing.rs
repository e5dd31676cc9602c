//! Cost of garbage collection for the host's writes.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo run -q --release -p flashlane -- run sim:nvme-tlc,initial.state=fragmented \
                       random-write,size=4KiB,depth=8,requests=2M --format json";
const WATERMARK: &str = "cargo run -q --release -p flashlane -- run sim:nvme-tlc,initial.state=fragmented,cleaning.pacing=watermark \
                       random-write,size=4KiB,depth=8,requests=2M --format json";

pub const P999: Figure = Figure {
    id: "gc-paced-p999",
    what: "`nvme-tlc` fragmented, 2 million 4 KiB random writes at depth 8: p99.9 latency in ms (virtual time)",
    goal: Some(Goal::AtMost(10.0, Some(3.0))),
    command: COMMAND,
    read: |output| number_after(output, "\"p999\":").map(|ns| ns / 1e6),
};

pub const LONGEST: Figure = Figure {
    id: "gc-paced-longest",
    what: "the longest of these writes: ms",
    goal: Some(Goal::AtMost(100.0, Some(20.0))),
    command: COMMAND,
    read: |output| number_after(output, "\"max\":").map(|ns| ns / 1e6),
};

pub const AMPLIFICATION: Figure = Figure {
    id: "gc-paced-amplification",
    what: "write amplification of these writes",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "\"write_amplification\":"),
};

pub const WATERMARK_AMPLIFICATION: Figure = Figure {
    id: "gc-watermark-amplification",
    what: "the same with `cleaning.pacing = \"watermark\"`",
    goal: None,
    command: WATERMARK,
    read: |output| number_after(output, "\"write_amplification\":"),
};
