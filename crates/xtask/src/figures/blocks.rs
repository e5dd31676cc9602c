//! The block layer on software-defined flash.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench blocks";

pub const PUTS: Figure = Figure {
    id: "blocks-puts",
    what: "puts of 8 MiB blocks on `sim:sdf`, 44 in flight: user data in percent of the device's own limit (virtual time)",
    goal: Some(Goal::AtLeast(98.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-puts:"),
};

pub const GETS: Figure = Figure {
    id: "blocks-gets",
    what: "the same for gets",
    goal: Some(Goal::AtLeast(98.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-gets:"),
};

pub const CAPACITY: Figure = Figure {
    id: "blocks-capacity",
    what: "room for user data on `sim:sdf` in percent of raw flash, bad blocks included",
    goal: Some(Goal::AtLeast(99.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-capacity:"),
};

pub const IN_FLIGHT: Figure = Figure {
    id: "blocks-in-flight",
    what: "half puts, half gets of random blocks on `sim:sdf` with programs that vary by 10%: in flight for 95% of the peak, \
           least-loaded placement",
    goal: Some(Goal::AtMost(87.0, Some(44.0))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-in-flight-mixed-least-loaded:"),
};

pub const RECOVERY: Figure = Figure {
    id: "blocks-recovery",
    what: "opening 704 GB where header and footer of every unit are read twice: seconds of virtual time",
    goal: Some(Goal::AtMost(2.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "blocks-recovery:"),
};

pub const AGAINST_FIO: Figure = Figure {
    id: "blocks-against-fio",
    what: "puts of 8 MiB blocks over a file, direct I/O, 32 in flight, durable and checksummed: bandwidth against fio's plain \
           writes",
    goal: Some(Goal::AtLeast(0.95, Some(1.0))),
    command: "cargo bench -q -p flashlane-studies --bench blocks_against_fio",
    read: |output| number_after(output, "ratio"),
};

pub const CUTS: Figure = Figure {
    id: "blocks-cuts",
    what: "power cuts after every completion and operation of random runs, without a lost or torn acknowledged block",
    goal: Some(Goal::AtLeast(100_000.0, Some(10_000_000.0))),
    command: "cargo xtask sim --first 1 --cuts 10000000",
    read: |output| number_after(output, "trials,"),
};
