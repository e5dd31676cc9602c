//! Transactions as a workload.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-transactions --bench run";

pub const ONE_PERCENT: Figure = Figure {
    id: "transactions-one-percent",
    what: "transactions in the manner of TPC-B on `ssd-m`, ten clients, a pool of 1% of the database: million page \
           accesses a second of user CPU",
    goal: Some(Goal::AtLeast(1.0, Some(3.0))),
    command: COMMAND,
    read: |output| number_after(output, "transactions-one-percent:"),
};

pub const EVERYTHING: Figure = Figure {
    id: "transactions-everything",
    what: "the same with all of the database in the pool",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "transactions-everything:"),
};
