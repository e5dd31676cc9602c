//! The block layer on software-defined flash.

use super::{Asked, Figure, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench blocks";

pub const PUTS: Figure = Figure {
    id: "blocks-puts",
    what: "puts of 8 MiB blocks on `sim:sdf`, 44 in flight: user data in percent of the device's own limit (virtual time)",
    asked: Some(Asked::AtLeast(98.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-puts:"),
};

pub const GETS: Figure = Figure {
    id: "blocks-gets",
    what: "the same of gets",
    asked: Some(Asked::AtLeast(98.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-gets:"),
};

pub const CAPACITY: Figure = Figure {
    id: "blocks-capacity",
    what: "room for user data on `sim:sdf` in percent of raw flash, bad blocks included",
    asked: Some(Asked::AtLeast(99.0, Some(99.5))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-capacity:"),
};

pub const IN_FLIGHT: Figure = Figure {
    id: "blocks-in-flight",
    what: "half puts, half gets of random blocks on `sim:sdf` with programs that vary by 10%: in flight for 95% of the peak, \
           least-loaded placement",
    asked: Some(Asked::AtMost(87.0, Some(44.0))),
    command: COMMAND,
    read: |output| number_after(output, "blocks-in-flight-mixed-least-loaded:"),
};

pub const RECOVERY: Figure = Figure {
    id: "blocks-recovery",
    what: "opening 704 GB whose every unit has to be looked at twice from both ends: seconds of virtual time",
    asked: Some(Asked::AtMost(2.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "blocks-recovery:"),
};

pub const AGAINST_FIO: Figure = Figure {
    id: "blocks-against-fio",
    what: "puts of 8 MiB blocks over a file, direct I/O, 32 in flight, durable and checksummed: bandwidth against fio's plain \
           writes",
    asked: Some(Asked::AtLeast(0.95, Some(1.0))),
    command: "cargo bench -q -p flashlane-studies --bench blocks_against_fio",
    read: |output| number_after(output, "ratio"),
};

pub const CUTS: Figure = Figure {
    id: "blocks-cuts",
    what: "power cuts, one after every completion and wish of random runs, none of which loses or halves an acknowledged \
           block",
    asked: Some(Asked::AtLeast(100_000.0, Some(10_000_000.0))),
    command: "cargo xtask sim --first 1 --cuts 10000000",
    read: |output| number_after(output, "trials,"),
};
