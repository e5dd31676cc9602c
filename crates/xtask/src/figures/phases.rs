//! Start-up and period: time to find them, and accuracy.

use super::{Figure, Goal, number_after};

const SCORE: &str = "cargo bench -q -p flashlane-studies --bench phases";
const FOUND: Goal = Goal::AtLeast(95.0, None);
const NONE: Goal = Goal::AtMost(0.0, None);

pub const TIME: Figure = Figure {
    id: "phases-time",
    what: "start-up and period of a run of 100,000 I/Os: ms",
    goal: Some(Goal::AtMost(100.0, None)),
    command: "cargo bench -q -p flashlane-measure --bench phases",
    read: |output| number_after(output, "phases-irregular:"),
};

pub const STARTUP: Figure = Figure {
    id: "phases-startup-found",
    what: "200 random simulated drives: start-ups found within 10%, percent of those that have one",
    goal: Some(FOUND),
    command: SCORE,
    read: |output| number_after(output, "phases-startup-found:"),
};

pub const STARTUP_INVENTED: Figure = Figure {
    id: "phases-startup-invented",
    what: "start-ups falsely found on drives without one",
    goal: Some(NONE),
    command: SCORE,
    read: |output| number_after(output, "phases-startup-invented:"),
};

pub const PERIOD: Figure = Figure {
    id: "phases-period-found",
    what: "periods found within 10%, percent of those that have one",
    goal: Some(FOUND),
    command: SCORE,
    read: |output| number_after(output, "phases-period-found:"),
};

pub const PERIOD_INVENTED: Figure = Figure {
    id: "phases-period-invented",
    what: "periods falsely found on drives without one",
    goal: Some(NONE),
    command: SCORE,
    read: |output| number_after(output, "phases-period-invented:"),
};
