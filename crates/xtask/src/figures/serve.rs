//! Served devices beside nbdkit and beside virtual time.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-serve";

pub const NULL: Figure = Figure {
    id: "serve-null",
    what: "a device that does no work over NBD, fio reads of 4 KiB, 32 in flight: requests a second over those of `nbdkit memory`, in turn",
    goal: Some(Goal::AtLeast(1.2, Some(1.5))),
    command: COMMAND,
    read: |output| number_after(output, "null: median ratio"),
};

pub const FUSE: Figure = Figure {
    id: "serve-fuse",
    what: "the same as a file under a loop device (root): requests a second over those of a loop device on a file in memory, in turn",
    goal: Some(Goal::AtLeast(0.5, Some(0.8))),
    command: COMMAND,
    read: |output| number_after(output, "fuse: median ratio"),
};

/// Returns the number after `what` in the line of depth 8, four times slower.
fn of_drive(output: &str, what: &str) -> Option<f64> {
    number_after(output.split("served 8/4:").nth(1)?, what)
}

pub const P50: Figure = Figure {
    id: "serve-p50",
    what: "a full `sim:ssd-s` over NBD, `--slowdown 4`, fio reads of 4 KiB at random, 8 in flight: median latency off that in virtual time, percent",
    goal: Some(Goal::AtMost(5.0, Some(2.0))),
    command: COMMAND,
    read: |output| of_drive(output, "p50 off by"),
};

pub const P99: Figure = Figure {
    id: "serve-p99",
    what: "the same for the p99",
    goal: Some(Goal::AtMost(10.0, Some(5.0))),
    command: COMMAND,
    read: |output| of_drive(output, "p99 off by"),
};

pub const IOPS: Figure = Figure {
    id: "serve-iops",
    what: "the same for requests a second",
    goal: Some(Goal::AtMost(5.0, Some(2.0))),
    command: COMMAND,
    read: |output| of_drive(output, "IOPS off by"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_depth_8() {
        let output = "null: median ratio 1.41\nfuse: 1 reads/s, tmpfs 2, ratio 0.5\nfuse: median ratio 0.6\nserved 1/4: p50 off by 11.9%, p99 off by 1%, IOPS off by 2%\n\
                      served 8/4: p50 off by 4.6%, p99 off by 13.5%, IOPS off by 5.2%\n";
        let read = [NULL, FUSE, P50, P99, IOPS].map(|figure| (figure.read)(output));
        assert_eq!(read, [1.41, 0.6, 4.6, 13.5, 5.2].map(Some));
    }
}
