//! Figure 7: throughput of the SDF by the number of channels in use.

use super::drives::{CHANNELS, OnChannel, on_channels};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig7",
    "Section 3.2: sequential reads and writes of 8 MB: throughput grows with the channels, each with a thread, almost linearly until the link's limit or the flash's is reached",
    measure,
)
.with_weight(24);

/// Throughput below this share of the maximum counts as not bound.
const BEFORE: f64 = 0.98;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (what, state, work) in [("reads", "full", OnChannel::Reads), ("writes", "fresh", OnChannel::Writes)] {
        let mut device = lab.device("sdf", &[("initial.state", state)])?;
        let mut points = Vec::new();
        for channels in [1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, CHANNELS] {
            let accesses = u64::from(channels) * lab.either(20, 8);
            let run = on_channels(lab.part(1), &mut *device, channels, work, accesses)?;
            points.push((f64::from(channels), run.mb_per_s() / 1e3));
        }
        let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let before: Vec<_> = points.iter().copied().filter(|point| point.1 < BEFORE * most).collect();
        let quantity = format!("{what}: r² of a line over channels, until the bound");
        outcome.rows.push(row::at_least(&quantity, "almost linear", r_squared(&before), "", 0.99));
        outcome.figures.push(Figure {
            id: format!("fig7-{what}"),
            title: format!("Sequential {what} of 8 MB on the SDF"),
            x: Axis::linear("channels", ""),
            y: Axis::linear("throughput", "GB/s"),
            series: vec![Series { name: what.into(), points, ..Series::default() }],
            ..Figure::default()
        });
    }
    Ok(outcome)
}

/// Returns the share of the points' variance that a straight line explains; 0 for too few points.
pub(super) fn r_squared(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    if points.len() < 3 {
        return 0.0;
    }
    let (mean_x, mean_y) =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - mean_x, p.1 - mean_y)).sum::<f64>();
    let (xy, xx, yy) = (sum(|x, y| x * y), sum(|x, _| x * x), sum(|_, y| y * y));
    xy * xy / (xx * yy)
}
