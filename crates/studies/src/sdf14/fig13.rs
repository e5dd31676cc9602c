//! Figure 13: scans of slices.

use super::node::{Node, ON_GEN3, ON_INTEL, SDF, USUAL};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_base::Duration;
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig13",
    "Section 3.3.2: scans to build an index, six threads for each slice: the SDF's throughput grows up to 16 slices, where it peaks; that of the Gen3 does not grow, and falls with many slices; that of the Intel 320 is almost constant",
    measure,
)
.with_weight(18 * 20);

/// Bytes of the link a second, read (section 2.1).
const LINK: f64 = 1.61e3;
/// Threads of a slice.
const THREADS: u64 = 6;
const SLICES: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let time = lab.either(Duration::from_s(4), Duration::from_s(1));
    let mut scans = |node: Node| -> Result<Vec<(f64, f64)>, FigureError> {
        let mut points = Vec::new();
        for slices in SLICES {
            let mut store = node.loaded(lab, slices, &[USUAL], 10)?;
            let lab = lab.part(10);
            let rate = store.scans(THREADS, time, &mut |share| lab.advance(share))?;
            points.push((f64::from(slices), rate / 1e6));
        }
        Ok(points)
    };
    let (sdf, gen3, intel) = (scans(SDF)?, scans(ON_GEN3)?, scans(ON_INTEL)?);
    let most = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let least = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let rows = vec![
        row::at_least("SDF: most, of the link", "the peak", 100.0 * most(&sdf) / LINK, "%", 95.0),
        row::at_least("SDF: 16 slices over the most", "the peak", sdf[4].1 / most(&sdf), "", 0.95),
        row::at_least("SDF: 16 slices over 4", "scales", sdf[4].1 / sdf[2].1, "", 1.5),
        row::at_most("Gen3: 32 slices over 1", "does not scale", gen3[5].1 / gen3[0].1, "", 1.1),
        row::at_most("Intel 320: most over least", "almost constant", most(&intel) / least(&intel), "", 1.2),
    ];
    let line = |node: Node, points| Series { name: node.name().into(), points, ..Series::default() };
    let figure = Figure {
        id: "fig13".into(),
        title: "Scans of the store, six threads for each slice".into(),
        x: Axis::linear("slices", ""),
        y: Axis::linear("throughput", "MB/s"),
        series: vec![line(SDF, sdf), line(ON_GEN3, gen3), line(ON_INTEL, intel)],
        ..Figure::default()
    };
    Ok(Outcome { rows, figures: vec![figure], ..Outcome::default() })
}
