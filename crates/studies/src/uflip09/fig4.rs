//! Figure 4: sequential writes on the Kingston DTI stick: one erase unit after another.

use super::{benchmarked, figure, phases};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_uflip::Baseline;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4",
    "Section 5.1: on the Kingston DTI stick sequential writes have no start-up, and a period of about 128 I/Os",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "kingston-dti-like", &mut outcome);
    let sw = phases(&found, Baseline::Sw);
    let rows = vec![
        row::exact("start-up of sequential writes", 0_usize, Some(sw.startup as usize), "I/Os"),
        row::near(
            "period of sequential writes",
            128.0,
            sw.period.map_or(f64::NAN, |period| period as f64),
            "I/Os",
            0.1,
        ),
    ];
    outcome.rows = rows;
    outcome.figures.extend(figure(&found, &sw.figure, "fig4"));
    Ok(outcome)
}
