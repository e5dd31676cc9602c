//! Duration of uFLIP.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench uflip";

pub const FULL: Figure = Figure {
    id: "uflip-full",
    what: "`uflip sim:mtron-like --full`: seconds of user CPU",
    goal: Some(Goal::AtMost(60.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "uflip-full:"),
};

pub const STUDY: Figure = Figure {
    id: "uflip09-quick",
    what: "`study uflip09 --quick` on all cores: seconds",
    goal: Some(Goal::AtMost(180.0, Some(60.0))),
    command: COMMAND,
    read: |output| number_after(output, "uflip09-quick:"),
};

pub const FILE: Figure = Figure {
    id: "uflip-file",
    what: "`uflip FILE --quick` on a plain file of 1 GiB: seconds",
    goal: Some(Goal::AtMost(600.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "uflip-file:"),
};

pub const FILE_SPREAD: Figure = Figure {
    id: "uflip-file-spread",
    what: "range of the three runs of an experiment there, median of all experiments: percent of their mean",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "uflip-file-spread:"),
};
