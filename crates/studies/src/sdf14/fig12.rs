//! Figure 12: random gets of several sizes in batches of 44.

use super::node::{Measured, SIZES, SLICES};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig12",
    "Section 3.3.1: random reads of 32, 128 and 512 KB in batches of 44: from four slices on the SDF is well ahead of the Gen3 with every size",
    measure,
);

const BATCH: u64 = 44;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let (sdf, gen3) = (Measured::of(lab, "sdf-gets"), Measured::of(lab, "gen3-gets"));
    let ahead = |slices| {
        let ratio = |size| sdf.at(slices, size, BATCH) / gen3.at(slices, size, BATCH);
        SIZES.into_iter().map(ratio).fold(f64::INFINITY, f64::min)
    };
    let rows = [4, 8].map(|slices| {
        let quantity = format!("{slices} slices: SDF over Gen3, the least of three sizes");
        row::at_least(&quantity, "well ahead", ahead(slices), "", 1.5)
    });
    let line = |name: &str, of: &Measured, slices| Series {
        name: format!("{name}, {slices} slice{}", if slices == 1 { "" } else { "s" }),
        points: SIZES.iter().rev().map(|&size| (size as f64 / 1024.0, of.at(slices, size, BATCH))).collect(),
        ..Series::default()
    };
    let lines =
        SLICES.into_iter().flat_map(|slices| [line("SDF", &sdf, slices), line("Huawei Gen3", &gen3, slices)]);
    let figure = Figure {
        id: "fig12".into(),
        title: "Random gets from the store in batches of 44".into(),
        x: Axis::log("size of a value", "KiB"),
        y: Axis::linear("throughput", "MB/s"),
        series: lines.collect(),
        ..Figure::default()
    };
    Ok(Outcome { rows: rows.into(), figures: vec![figure], ..Outcome::default() })
}
