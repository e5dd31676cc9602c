//! Figure 4(d): sequential writes. Neighbours in the queue are for different packages anyway, so that the policies come out
//! alike.

use super::method::{Buffer, compare, mean_ms};
use super::workload::synthetic;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row};

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "fig4d",
    claim: "Section IV.B: sequential writes, 1 MB: the two policies are alike. Requests are DiskSim's (0.5 ms apart, 4 KB in the mean), in whole pages of 8 KB",
    measure,
};

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (name, requests) in [("sw250k", 250_000), ("sw5m", lab.either(5_000_000, 500_000))] {
        let pair = compare(lab, Buffer::of(1), || synthetic(true, requests).records())?;
        let ratio = mean_ms(&pair.parallel) / mean_ms(&pair.lru);
        let quantity = format!("{name}: mean response, parallel over lru");
        outcome.rows.push(Row::between(&quantity, "alike", ratio, "", (0.9, 1.1)));
    }
    Ok(outcome)
}
