//! Draining in idle time, so that reads are not held up by a burst of drains: named as future work (section VI, "reducing
//! system impact").

use super::method::{Buffer, read_ms, replay, requests};
use super::workload::{KERNEL_BUILD, POSTMARK, WORD_COUNT};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row};

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "idle",
    claim: "Section VI: good moments to drain are to be found. Here: once nothing has been asked for 1 ms; 64 MB, by parallel",
    measure,
};

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for program in [KERNEL_BUILD, WORD_COUNT, POSTMARK] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let mut with = |idle_drain| {
            let buffer = Buffer { idle_drain, ..Buffer::of(64) };
            replay(lab, "parallel", buffer, records.iter().copied())
        };
        let ratio = read_ms(&with(Some("1ms"))?) / read_ms(&with(None)?);
        let quantity = format!("{}: mean response of reads, draining in idle time over not", program.name);
        // Where few reads meet a drain, some more may meet one that had not been due yet.
        outcome.rows.push(Row::at_most(&quantity, "not studied", ratio, "", 1.05));
    }
    Ok(outcome)
}
