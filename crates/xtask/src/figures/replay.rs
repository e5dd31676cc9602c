//! Speed of replaying a trace.

use super::{Asked, Figure, number_after};

pub const IOZONE: Figure = Figure {
    id: "replay-iozone",
    what: "replaying the IOzone trace (90 pages a request) on `msr-32g` at its time stamps, one core: requests a second of user CPU, reading the trace in it, making the drive not",
    asked: Some(Asked::AtLeast(258_000.0, Some(860_000.0))),
    command: "cargo bench -q -p flashlane-studies --bench replay",
    read: |output| number_after(output, "replay-iozone:"),
};
