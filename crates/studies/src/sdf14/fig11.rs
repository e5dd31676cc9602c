//! Figure 11: random gets by several slices, by their number in a batch.

use super::fig10::by_batch;
use super::node::{BATCHES, Measured, USUAL};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig11",
    "Section 3.3.1: random reads of 512 KB from four and eight slices. With eight the SDF delivers 270 MB/s in batches of 1 and 1081 in batches of 4, and passes the Gen3, which stays near 700 MB/s",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let (sdf, gen3) = (Measured::of(lab, "sdf-gets"), Measured::of(lab, "gen3-gets"));
    let most = |of: &Measured| BATCHES.iter().map(|&batch| of.at(8, USUAL, batch)).fold(0.0, f64::max);
    let rows = vec![
        row::near("SDF, 8 slices: batches of 1", 270.0, sdf.at(8, USUAL, 1), "MB/s", 0.25),
        row::near("SDF, 8 slices: batches of 4", 1081.0, sdf.at(8, USUAL, 4), "MB/s", 0.25),
        row::near("Gen3, 8 slices: most", 700.0, most(&gen3), "MB/s", 0.25),
        row::at_least(
            "8 slices: most of the SDF over most of the Gen3",
            "passes it",
            most(&sdf) / most(&gen3),
            "",
            1.0,
        ),
    ];
    let figures = vec![by_batch("fig11", &[(4, &sdf, &gen3), (8, &sdf, &gen3)])];
    Ok(Outcome { rows, figures, ..Outcome::default() })
}
