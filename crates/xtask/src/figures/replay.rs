//! Speed of replaying a trace.

use super::{Figure, Goal, number_after};

pub const IOZONE: Figure = Figure {
    id: "replay-iozone",
    what: "replaying the IOzone trace (90 pages a request) on `msr-32g` at its time stamps, one core: requests per second of user CPU, with reading the trace, without building the drive",
    goal: Some(Goal::AtLeast(258_000.0, Some(860_000.0))),
    command: "cargo bench -q -p flashlane-studies --bench replay",
    read: |output| number_after(output, "replay-iozone:"),
};
