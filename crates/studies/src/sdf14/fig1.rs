//! Figure 1: the effect of over-provisioning on random writes.
//!
//! With "0%" set aside a drive still has the flash beyond the blocks that its data sheet guarantees: up to 2% may be
//! bad, fewer are, and the rest is all that GC can use. The other shares are of the raw capacity including bad blocks,
//! as in the paper.

use super::drives::{INTEL, KIB, places, random};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig1",
    "Section 1: random writes of 4 KB on the Intel 320: with 25% of the raw capacity set aside 21% faster than with 7%, and more than 400% faster than with 0%. One write at a time, on a drive overwritten at random before",
    measure,
)
.with_weight(758);

/// Percent set aside, that share, and the approximate time of the writes before the measured ones, which grows with GC.
const PARTS: [(f64, f64, u32); 4] =
    [(0.0, GUARANTEE, 175), (7.0, 0.07, 50), (25.0, 0.25, 14), (50.0, 0.50, 7)];

/// Share of a plane's blocks beyond the guarantee of its data sheet.
const GUARANTEE: f64 = 0.02;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut points = Vec::new();
    for (percent, set_aside, weight) in PARTS {
        let mut device = INTEL.with(lab.part(5), 512, set_aside, "fragmented")?;
        let mut places = places();
        // Until the initial filling of the buffer is negligible.
        let writes = lab.either(200_000, 100_000);
        random(lab.part(weight), &mut *device, 1, 4 * KIB, writes / 2, &mut places, Access::write)?;
        let run = random(lab.part(2 * weight), &mut *device, 1, 4 * KIB, writes, &mut places, Access::write)?;
        points.push((percent, run.mb_per_s()));
    }
    let gain = |from: usize, to: usize| 100.0 * (points[to].1 / points[from].1 - 1.0);
    Ok(Outcome {
        rows: vec![
            row::between("25% set aside over 7%: gain", 21.0, gain(1, 2), "%", (10.0, 40.0)),
            row::at_least("25% set aside over 0%: gain", "more than 400", gain(0, 2), "%", 300.0),
        ],
        figures: vec![Figure {
            id: "fig1".into(),
            title: "Random writes of 4 KB on the Intel 320".into(),
            x: Axis::linear("set aside of the raw capacity", "%"),
            y: Axis::linear("throughput", "MB/s"),
            series: vec![Series { name: "measured".into(), points, ..Series::default() }],
            caption: "One write at a time, on a drive that was overwritten at random before. With 25% set aside host and link take longer than flash, so that more does not help.".into(),
            ..Figure::default()
        }],
        ..Outcome::default()
    })
}
