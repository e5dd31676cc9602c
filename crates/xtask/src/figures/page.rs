//! The page of a result with millions of samples.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-report --bench page";

pub const SIZE: Figure = Figure {
    id: "page-size",
    what: "the page of a synthetic full uFLIP result with 3 million samples, MB",
    goal: Some(Goal::AtMost(15.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "page-size:"),
};

pub const FIRST_PLOT: Figure = Figure {
    id: "page-first-plot",
    what: "the same in headless Chromium: seconds until the first plot is drawn",
    goal: Some(Goal::AtMost(2.0, None)),
    command: COMMAND,
    read: |output| number_after(output, "page-first-plot:"),
};

pub const ZOOM: Figure = Figure {
    id: "page-zoom",
    what: "a zoom step with a million samples in view, ms (no graphics card)",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "page-zoom-million:"),
};
