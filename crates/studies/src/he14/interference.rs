//! Section 5.3: how much extra accesses disturb others.

use super::method::{PBLRU, Runs, WORKLOADS};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "interference",
    "Section 5.3, on real drives: for less than 3% of the time an extra access is performed while another waits for the chip. Here in the simulated drive, in the mean of the chips",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let runs = Runs::of(lab, workload);
        let quantity = format!("{}: time of interference", workload.name);
        let percent = runs.get(PBLRU).interference_percent();
        outcome.rows.push(row::at_most(&quantity, "less than 3", percent, "%", 5.0));
    }
    Ok(outcome)
}
