//! Figure 5: reads after a batch of random writes: the Mtron drive still reclaims blocks; others do not.

use super::{benchmarked, figure};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig5",
    "Section 5.1: on the Mtron drive about 3,000 sequential reads (2.5 s) are disturbed behind a batch of random writes; on drives that reclaim while they write none",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "mtron-like", &mut outcome);
    let pause = found.result.pause;
    let rows = vec![
        row::near("Mtron: disturbed reads", 3000.0, pause.affected_reads as f64, "", 0.5),
        row::near("Mtron: for", 2.5, pause.affected_ns as f64 / 1e9, "s", 0.5),
        row::at_least("Mtron: pause that follows", 5.0, pause.pause_ns as f64 / 1e9, "s", 2.5),
    ];
    outcome.rows = rows;
    outcome.figures.extend(figure(&found, "pause-determination", "fig5"));
    for (profile, drive) in [("samsung-like", "Samsung"), ("kingston-dti-like", "Kingston DTI")] {
        let affected = benchmarked(lab, profile, &mut outcome).result.pause.affected_reads as usize;
        outcome.rows.push(row::exact(&format!("{drive}: disturbed reads"), 0_usize, Some(affected), ""));
    }
    Ok(outcome)
}
