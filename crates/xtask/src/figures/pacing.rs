//! What garbage collection costs the host's writes.

use super::{Asked, Figure, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench pacing";

pub const P999: Figure = Figure {
    id: "gc-paced-p999",
    what: "`nvme-tlc` fragmented, 2 million 4 KiB random writes at depth 8: p99.9 latency in ms (virtual time)",
    asked: Some(Asked::AtMost(10.0, Some(3.0))),
    command: COMMAND,
    read: |output| number_after(output, "gc-paced-p999:"),
};

pub const LONGEST: Figure = Figure {
    id: "gc-paced-longest",
    what: "the longest of these writes: ms",
    asked: Some(Asked::AtMost(100.0, Some(20.0))),
    command: COMMAND,
    read: |output| number_after(output, "gc-paced-longest:"),
};

pub const AMPLIFICATION: Figure = Figure {
    id: "gc-paced-amplification",
    what: "write amplification of these writes",
    asked: None,
    command: COMMAND,
    read: |output| number_after(output, "gc-paced-amplification:"),
};

pub const WATERMARK_AMPLIFICATION: Figure = Figure {
    id: "gc-watermark-amplification",
    what: "the same with `cleaning.pacing = \"watermark\"`",
    asked: None,
    command: COMMAND,
    read: |output| number_after(output, "gc-watermark-amplification:"),
};
