//! Figures 4(e) and 4(f), the synthetic part: random writes. Neighbours in the queue are for packages at random, and
//! `lru` keeps fewer than three of the eight busy.
//!
//! At two requests a millisecond that is still enough: a request waits only where it finds the buffer full, until the
//! first page of the batch is on flash, and that one takes as long by either policy. Where room became free only with
//! the whole batch, 81 and 75% would be gained here, and figure 3 would be lost.

use super::method::{Buffer, compare};
use super::workload::synthetic;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row};

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "fig4e",
    claim: "Section IV.B: random writes, 1 MB: parallel takes up to 84% off the mean response time; with eight packages no more than 7/8 can be had. Requests as for fig4d",
    measure,
};

/// All packages busy instead of one.
const BOUND_PERCENT: f64 = 87.5;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (name, requests, least) in [("rw250k", 250_000, 0.0), ("rw5m", lab.either(5_000_000, 500_000), 70.0)]
    {
        let pair = compare(lab, Buffer::of(1), || synthetic(false, requests).records())?;
        let quantity = format!("{name}: less mean response time by parallel");
        outcome.rows.push(Row::between(
            &quantity,
            "up to 84",
            pair.gain_percent(),
            "%",
            (least, BOUND_PERCENT),
        ));
    }
    Ok(outcome)
}
