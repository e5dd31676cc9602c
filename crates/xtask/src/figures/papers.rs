//! Reproduction of the papers' figures, and agreement with DiskSim.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench papers";

pub const CHEN11: Figure = Figure {
    id: "chen11-missed",
    what: "`study chen11`: quantities not reproduced",
    goal: Some(Goal::AtMost(0.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "chen11-missed:"),
};

pub const UFLIP09: Figure = Figure {
    id: "uflip09-missed",
    what: "`study uflip09`: quantities not reproduced",
    goal: Some(Goal::AtMost(0.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "uflip09-missed:"),
};

pub const RUAN12: Figure = Figure {
    id: "ruan12-missed",
    what: "`study ruan12`, the traces of DiskSim's SSD extension given: quantities not reproduced",
    goal: Some(Goal::AtMost(0.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "ruan12-missed:"),
};

pub const SDF14: Figure = Figure {
    id: "sdf14-missed",
    what: "`study sdf14`: quantities not reproduced",
    goal: Some(Goal::AtMost(0.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "sdf14-missed:"),
};

pub const HE14: Figure = Figure {
    id: "he14-missed",
    what: "`study he14`: quantities not reproduced",
    goal: Some(Goal::AtMost(0.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "he14-missed:"),
};

pub const DISKSIM: Figure = Figure {
    id: "disksim-farthest",
    what: "`study disksim`: largest deviation of eight mean response times from DiskSim's, percent",
    goal: Some(Goal::AtMost(5.0, Some(2.0))),
    command: COMMAND,
    read: |output| number_after(output, "disksim-farthest:"),
};

pub const DISKSIM_OTHERS: Figure = Figure {
    id: "disksim-others",
    what: "other configurations of that drive: largest deviation of a mean response time from a model of DiskSim's extension, percent",
    goal: Some(Goal::AtMost(10.0, Some(5.0))),
    command: COMMAND,
    read: |output| number_after(output, "disksim-others:"),
};
