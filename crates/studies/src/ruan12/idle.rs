//! Draining without delaying reads by a burst of drains: future work in the paper (section VI, "reducing system
//! impact"). Two ways: early, while the host is idle; and with a bound on the pages that drain at once, the wait of a
//! read.
//!
//! The second has the greater effect. With 64 MB half the buffer drains at once, and a read meanwhile waits for the
//! pages before it on its package. That is why `lru` is better for PostMark with a large buffer (figure 3); with a
//! bound it is not.

use super::method::{Buffer, mean_ms, read_ms, replay, requests};
use super::workload::{KERNEL_BUILD, POSTMARK, WORD_COUNT};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "idle",
    "Section VI: good moments to drain are to be found. Here: once nothing has been asked for 1 ms, and so few pages at once that no read waits longer than 1 ms for them; 64 MB, by parallel",
    measure,
);

const IDLE: Option<&str> = Some("1ms");
const BOUND: Option<&str> = Some("1ms");

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for program in [KERNEL_BUILD, WORD_COUNT, POSTMARK] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let mut by = |policy, idle_drain, read_wait| {
            let buffer = Buffer { idle_drain, read_wait, ..Buffer::of(64) };
            replay(lab, policy, buffer, records.iter().copied())
        };
        let plain = by("parallel", None, None)?;
        let both = by("parallel", IDLE, BOUND)?;
        // Where few reads meet a drain, some more may meet an early one.
        for (how, replay, most) in [
            ("draining in idle time", by("parallel", IDLE, None)?, 1.05),
            ("with a bound on their wait", by("parallel", None, BOUND)?, 1.0),
        ] {
            let quantity = format!("{}: mean response of reads, {how} over without", program.name);
            outcome.rows.push(row::at_most(
                &quantity,
                "not studied",
                read_ms(&replay) / read_ms(&plain),
                "",
                most,
            ));
        }
        let quantity = format!("{}: mean response with both, over that by lru with neither", program.name);
        let ratio = mean_ms(&both) / mean_ms(&by("lru", None, None)?);
        outcome.rows.push(row::at_most(&quantity, "not studied", ratio, "", 1.0));
    }
    Ok(outcome)
}
