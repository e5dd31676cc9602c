//! Figure 4(d): sequential writes. Consecutive pages in the queue are for different packages anyway, so that the
//! policies are equal.

use super::method::{Buffer, compare, mean_ms};
use super::workload::{SYNTHETIC_REQUESTS, SYNTHETIC_SIZES, synthetic};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4d",
    "Section IV.B: sequential writes, 1 MB: the two policies are alike. 250,000 requests of 250 KB and of 5 MB (table II) in whole pages of 8 KB, 0.5 ms apart",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (name, size_kib, few) in SYNTHETIC_SIZES {
        let requests = lab.either(SYNTHETIC_REQUESTS, few);
        let pair = compare(lab, Buffer::of(1), || synthetic(true, size_kib, requests).records())?;
        let ratio = mean_ms(&pair.parallel) / mean_ms(&pair.lru);
        let quantity = format!("sw{name}: mean response, parallel over lru");
        outcome.rows.push(row::between(&quantity, "alike", ratio, "", (0.9, 1.1)));
    }
    Ok(outcome)
}
