//! Figure 5: how much of the time the chips are busy.

use super::method::{PBLRU, Runs, WITHOUT, WORKLOADS};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig5",
    "Section 5.2: the chips are busy for 14% of the time without replication and 33% with it, 2.4 times as much. Busy is the time of reads, programs, erases and moves of GC",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let runs = Runs::of(lab, workload);
        let [without, with] = [WITHOUT, PBLRU].map(|form| runs.get(form).busy_percent);
        let quantity =
            format!("{}: busy with replication over without ({with:.0}% over {without:.0}%)", workload.name);
        outcome.rows.push(row::at_least(&quantity, 2.4, with / without, "x", 1.5));
    }
    Ok(outcome)
}
