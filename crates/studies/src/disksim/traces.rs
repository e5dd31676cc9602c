//! The two traces that come with the extension, replayed at their time stamps.

use super::NEAR;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_measure::ReplayOptions;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "traces",
    "The extension's IOzone and PostMark traces (ruan12, Section III.B), open loop; with --traces DIR that has them",
    measure,
);

/// The trace, what it recorded, published mean in ms.
pub(super) const TRACES: [(&str, &str, f64); 2] = [
    ("ssd-iozone-aligned2-100K.trace", "IOzone", 6.394_276),
    ("ssd-postmark-aligned2.trace", "PostMark", 4.140_330),
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (file, program, published_ms) in TRACES {
        let Some(records) = lab.trace(file)? else {
            outcome.warnings.push(lab.no_trace(file));
            continue;
        };
        let replay = lab.replay("msr-32g", &[], records, &ReplayOptions::default())?;
        let measured_ms = replay.device_latencies.mean_ns() / 1e6;
        let quantity = format!("mean response, {program} trace");
        outcome.rows.push(row::near(&quantity, published_ms, measured_ms, "ms", NEAR));
    }
    Ok(outcome)
}
