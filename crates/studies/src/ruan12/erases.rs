//! The erases saved by rewrites in the buffer: future work in the paper (section VI, "reliability").

use super::method::{Buffer, counted, replay, requests};
use super::workload::{IOZONE, KERNEL_BUILD, POSTMARK, WORD_COUNT};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_base::Operation;
use flashlane_trace::Record;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "erases",
    "Section VI: rewriting in the buffer saves erases; counted here, 64 MB against 1 MB, by parallel",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for program in [KERNEL_BUILD, WORD_COUNT, POSTMARK, IOZONE] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        // At the end the buffer is flushed: pages that only wait in the larger buffer are not saved.
        let flush =
            records.last().map(|last| Record { operation: Operation::Flush, length_bytes: 0, ..*last });
        let mut with = |size| {
            let records = records.iter().copied().chain(flush);
            replay(lab, "parallel", Buffer::of(size), records)
        };
        let (small, large) = (with(1)?, with(64)?);
        let saved =
            |counter: &str| 100.0 * (1.0 - counted(&large, counter) / counted(&small, counter).max(1.0));
        let name = program.name;
        outcome.rows.push(row::at_least(
            &format!("{name}: fewer pages programmed"),
            "fewer",
            saved("flash_pages_programmed"),
            "%",
            0.0,
        ));
        // A short recording on a drive with spare space needs no GC.
        if counted(&small, "blocks_erased") > 0.0 {
            outcome.rows.push(row::at_least(
                &format!("{name}: fewer blocks erased"),
                "fewer",
                saved("blocks_erased"),
                "%",
                0.0,
            ));
        }
    }
    Ok(outcome)
}
