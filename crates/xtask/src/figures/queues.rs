//! Fairness between submission queues (FLIN; Tavakkol et al., ISCA 2018).

use super::{Figure, Goal, number_after};

const READ_FIRST: &str = "cargo run -q --release -p flashlane -- run \
                          sim:nvme-tlc,initial.state=full,queues.count=2,scheduling.policy=read-first \
                          'random-read,requests=60k,depth=4 + random-read,depth=128,queue=1' --alone --format json";
const LIGHT_FIRST: &str = "cargo run -q --release -p flashlane -- run \
                           sim:nvme-tlc,initial.state=full,queues.count=2,scheduling.policy=light-first \
                           'random-read,requests=60k,depth=4 + random-read,depth=128,queue=1' --alone --format json";

pub const UNAWARE: Figure = Figure {
    id: "queues-fairness-read-first",
    what: "`nvme-tlc`, 4 random reads of 4 KiB in flight in one queue beside 128 in another: the least slowdown over the greatest, \
           where dies do not know queues",
    goal: None,
    command: READ_FIRST,
    read: |output| number_after(output, "\"fairness\":"),
};

pub const LIGHT: Figure = Figure {
    id: "queues-fairness-light-first",
    what: "the same with reads of light queues first (FLIN has 1.7 times the fairness of the scheduling before it, in the mean of \
           its workloads; the goal is half of that gain)",
    goal: Some(Goal::AtLeast(0.5, Some(0.63))),
    command: LIGHT_FIRST,
    read: |output| number_after(output, "\"fairness\":"),
};
