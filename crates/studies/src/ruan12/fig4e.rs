//! Figures 4(e) and 4(f), the synthetic part: random writes. Neighbours in the queue are for packages at random, and
//! `lru` keeps fewer than three of the eight busy.
//!
//! At two requests a millisecond that is still enough: a request waits only where it finds the buffer full, until the
//! first page of the batch is on flash, and that one takes as long by either policy. What else was tried, with the
//! traces and the requests as they are here:
//!
//! | reading | rw250k, rw5m | lost |
//! | --- | --- | --- |
//! | room comes free with the whole batch | 81, 75% | figure 3: 64 MB are slower than 1 MB |
//! | `lru` lets a page go for each that comes, and a write waits for what it makes leave | 84, 81% | figure 4(d): 87% for sequential writes as well |
//! | by `lru` as many pages leave as by `parallel`, and the write that fills the buffer waits for them | 54, 48% | figure 4(f): PostMark 25% slower |
//! | `lru` hands all pages of a batch to their packages at once, as DiskSim's queues would have it | 0% | |
//!
//! The second gives the paper's number, and its bound: one page takes as long as eight. Whoever lets pages go one by one
//! does so whatever their order is, and sequential writes gain as much; whoever loses by their order alone keeps more
//! than one package busy.

use super::method::{Buffer, compare};
use super::workload::synthetic;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, Verdict};
use flashlane_measure::schema::Warning;

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
        let row = Row::between(&quantity, "up to 84", pair.gain_percent(), "%", (least, BOUND_PERCENT));
        if row.verdict == Verdict::Missed {
            outcome.warnings.push(some_are_busy(name, pair.drains_longer()));
        }
        outcome.rows.push(row);
    }
    Ok(outcome)
}

fn some_are_busy(name: &str, longer: f64) -> Warning {
    Warning {
        code: "one-queue-keeps-some-packages-busy".into(),
        message: format!(
            "fig4e: {name}: all drains together take {longer:.1} times as long by lru as by parallel; eight times it would be only if lru programmed one page after the other, but then sequential writes would lose as much, which figure 4(d) finds alike"
        ),
    }
}
