//! Figure 5: how much of the time the chips are busy.

use super::method::{PBLRU, Runs, WITHOUT, WORKLOADS};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig5",
    "Section 5.2: the chips are busy for 14% of the time without replication and 33% with it, 2.4 times as much. Busy is the time in which they handle requests and copies; GC is counted apart, as in the paper's simulator",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let runs = Runs::of(lab, workload);
        let [without, with] = [WITHOUT, PBLRU].map(|form| runs.get(form));
        let [gc_without, gc_with] = [without, with].map(|of| of.collecting_percent);
        let [without, with] = [without, with].map(|of| of.busy_percent);
        let quantity = format!(
            "{}: busy with replication over without ({with:.1}% over {without:.1}%; GC {gc_with:.0}%, {gc_without:.0}%)",
            workload.name
        );
        outcome.rows.push(row::at_least(&quantity, 2.4, with / without, "x", 1.5));
    }
    Ok(outcome)
}
