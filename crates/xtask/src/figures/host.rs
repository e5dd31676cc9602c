//! Speed of real I/O.

use super::{Figure, Goal, number_after};

pub const AGAINST_FIO: Figure = Figure {
    id: "real-io-against-fio",
    what: "4 KB random reads at depth 32 on a file: IOPS over those of fio's io_uring engine, alternating runs",
    goal: Some(Goal::AtLeast(0.95, Some(1.0))),
    command: "cargo bench -q -p flashlane-host --bench against_fio",
    read: |output| number_after(output, "ratio"),
};

pub const LANES_AGAINST_PLAIN: Figure = Figure {
    id: "lanes-against-plain",
    what: "8 MB writes at depth 32 through lanes over a file, durable with their units' states: bandwidth over that of plain \
           sequential writes, alternating runs",
    goal: Some(Goal::AtLeast(0.95, Some(1.0))),
    command: "cargo bench -q -p flashlane-layer --bench lanes",
    read: |output| number_after(output, "ratio"),
};
