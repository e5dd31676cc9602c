//! Figure 10: random gets by one slice, by their number in a batch.

use super::node::{BATCHES, Measured, USUAL};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig10",
    "Section 3.3.1: random reads of 512 KB from one slice. One at a time the SDF delivers 38 MB/s, from one channel, and the Gen3 245 MB/s, striped over all; the SDF lags behind until a batch has 32 requests",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let (sdf, gen3) = (Measured::of(lab, "sdf-gets"), Measured::of(lab, "gen3-gets"));
    let ahead = BATCHES.into_iter().find(|&batch| sdf.at(1, USUAL, batch) >= gen3.at(1, USUAL, batch));
    let rows = vec![
        row::near("SDF: batch of 1", 38.0, sdf.at(1, USUAL, 1), "MB/s", 0.15),
        row::near("Gen3: batch of 1", 245.0, gen3.at(1, USUAL, 1), "MB/s", 0.25),
        row::between(
            "smallest batch in which the SDF is ahead",
            "above 32",
            ahead.map_or(f64::INFINITY, |batch| batch as f64),
            "",
            (16.0, 44.0),
        ),
    ];
    Ok(Outcome { rows, figures: vec![by_batch("fig10", &[(1, &sdf, &gen3)])], ..Outcome::default() })
}

/// Draws the throughput of both over the size of a batch.
pub(super) fn by_batch(id: &str, slices: &[(u32, &Measured, &Measured)]) -> Figure {
    let lines = slices.iter().flat_map(|&(slices, sdf, gen3)| {
        [("SDF", sdf), ("Huawei Gen3", gen3)].map(|(name, of)| Series {
            name: format!("{name}, {slices} slice{}", if slices == 1 { "" } else { "s" }),
            points: of.by_batch(slices),
            ..Series::default()
        })
    });
    Figure {
        id: id.into(),
        title: "Random gets of 512 KB from the store".into(),
        x: Axis::linear("gets in a batch", ""),
        y: Axis::linear("throughput", "MB/s"),
        series: lines.collect(),
        ..Figure::default()
    }
}
