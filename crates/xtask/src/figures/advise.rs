//! Advice: predictions beside the simulated drives that they are about.

use super::{Figure, Goal, number_after};

const TESTS: &str = "cargo test -q -p flashlane-advise --test advise -- --nocapture";
const MOST: Goal = Goal::AtLeast(90.0, Some(100.0));

pub const PLANS: Figure = Figure {
    id: "advise-plans",
    what: "30 pairs of an index join and a hash join on each of three simulated drives: faster plan chosen, percent",
    goal: Some(MOST),
    command: TESTS,
    read: |output| number_after(output, "advise-plans:"),
};

pub const TIMES: Figure = Figure {
    id: "advise-times",
    what: "30 reads between the measured points on each drive: time predicted within 10%, percent",
    goal: Some(MOST),
    command: TESTS,
    read: |output| number_after(output, "advise-times:"),
};

pub const GAINS: Figure = Figure {
    id: "advise-gains",
    what: "gains of proposed settings that held, by the reads of old and new in turn: percent",
    goal: Some(MOST),
    command: TESTS,
    read: |output| number_after(output, "advise-gains:"),
};
