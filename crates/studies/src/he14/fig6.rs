//! Figure 6: restarted transactions.

use super::method::{PBLRU, RESTORED, Runs, WITHOUT, WORKLOADS, change_percent};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::Warning;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig6",
    "Section 5.2: fragmentation triples the number of restarted transactions, replication halves it again. A transaction restarts where it is the youngest in a deadlock, or has waited a second for a lock",
    measure,
);

/// Fewer restarts on the restored drive say nothing about a rise.
const FEWEST: u64 = 20;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let (name, runs) = (workload.name, Runs::of(lab, workload));
        let [restored, without, with] = [RESTORED, WITHOUT, PBLRU].map(|form| runs.get(form));
        if restored.restarts < FEWEST {
            let message = format!(
                "{name}: restarts are not compared, of {} transactions {} restarted on the restored drive, {} without replication, {} with it",
                restored.transactions, restored.restarts, without.restarts, with.restarts
            );
            outcome.warnings.push(Warning::new("few-restarts", message));
            continue;
        }
        let [restored, without, with] = [restored, without, with].map(|of| of.restarts_percent());
        let rise = change_percent(restored, without);
        outcome.rows.push(row::at_least(
            &format!("{name}: restarts, change by fragmentation"),
            200.0,
            rise,
            "%",
            50.0,
        ));
        let fall = change_percent(without, with);
        outcome.rows.push(row::at_most(
            &format!("{name}: restarts, change by replication"),
            -50.0,
            fall,
            "%",
            -25.0,
        ));
    }
    Ok(outcome)
}
