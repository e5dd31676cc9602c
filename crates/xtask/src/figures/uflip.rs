//! Duration of uFLIP.

use super::{Asked, Figure, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench uflip";

pub const FULL: Figure = Figure {
    id: "uflip-full",
    what: "`uflip sim:mtron-like --full`: seconds of user CPU",
    asked: Some(Asked::AtMost(60.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "uflip-full:"),
};

pub const STUDY: Figure = Figure {
    id: "uflip09-quick",
    what: "`study uflip09 --quick` on all cores: seconds",
    asked: Some(Asked::AtMost(180.0, Some(60.0))),
    command: COMMAND,
    read: |output| number_after(output, "uflip09-quick:"),
};

pub const FILE: Figure = Figure {
    id: "uflip-file",
    what: "`uflip FILE --quick` on a plain file of 1 GiB: seconds",
    asked: Some(Asked::AtMost(600.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "uflip-file:"),
};

pub const FILE_SPREAD: Figure = Figure {
    id: "uflip-file-spread",
    what: "how far the three runs of an experiment are apart there, the median of all: percent of their mean",
    asked: None,
    command: COMMAND,
    read: |output| number_after(output, "uflip-file-spread:"),
};
