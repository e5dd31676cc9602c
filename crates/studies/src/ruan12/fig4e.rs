//! Figures 4(e) and 4(f), the synthetic part: random writes of 250 KB and of 5 MB.
//!
//! Such requests go to all packages in turn, at random places as in sequence, so that consecutive pages in the queue
//! are for different packages anyway. The difference between random and sequential places is GC: victims still have
//! valid pages, the packages run GC at different times, and a single queue waits for each of them.
//!
//! There is more GC with 250 KB (4.2 pages programmed per page written) than with 5 MB (2.4), which leave more of a
//! block invalid at once. If `lru` always kept one package busy during GC and `parallel` all, they would differ by 82
//! and by 77%. The paper has the reverse order, and 84% for 5 MB. Other readings of the paper, with the traces
//! available here:
//!
//! | reading | rw250k, rw5m | rows lost |
//! | --- | --- | --- |
//! | the whole buffer drains at once, twice as much | 72, 60% | none, and none is won |
//! | `lru` drains as many pages as all lists of `parallel` together | 63, 37% | figure 4(f): IOzone 9%, PostMark 3% slower |
//! | a batch may begin before the last has ended | 79, 70% | figures 4(a) to (c), all; figure 4(f): IOzone 63% |
//! | requests of 4 KB in the mean within 3.6 GB, 250,000 and 5 million: DiskSim's workloads of these names | 79, 88% | figure 4(d): 66% for sequential writes as well |
//! | the same, and as many pages with `lru` | 13, 40% | figure 4(f) |
//! | the same, and space is freed with the whole batch | 81, 75% | figure 3: 64 MB are slower than 1 MB; figure 4(f) |
//! | DiskSim's requests over the whole drive, as fast as it takes them, `lru` on demand | 82% | figure 4(d): 92% |

use super::method::{Buffer, compare};
use super::workload::{SYNTHETIC_REQUESTS, SYNTHETIC_SIZES, synthetic};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Verdict, row};
use flashlane_result::Warning;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4e",
    "Section IV.B: random writes, 1 MB: parallel takes up to 84% off the mean response time; with eight packages no more than 7/8 can be had. Requests as for fig4d. By lru an eighth as many pages leave at once: those of one list",
    measure,
);

/// All packages busy instead of one.
const BOUND_PERCENT: f64 = 87.5;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for ((name, size_kib, few), least) in SYNTHETIC_SIZES.into_iter().zip([0.0, 70.0]) {
        let requests = lab.either(SYNTHETIC_REQUESTS, few);
        let pair = compare(lab, Buffer::of(1), || synthetic(false, size_kib, requests).records())?;
        let quantity = format!("rw{name}: less mean response time by parallel");
        let row = row::between(&quantity, "up to 84", pair.gain_percent(), "%", (least, BOUND_PERCENT));
        if row.verdict == Verdict::Missed {
            outcome.warnings.push(some_are_busy(name, pair.drains_longer()));
        }
        outcome.rows.push(row);
    }
    Ok(outcome)
}

fn some_are_busy(name: &str, longer: f64) -> Warning {
    Warning::new(
        "one-queue-keeps-some-packages-busy",
        format!(
            "fig4e: rw{name}: all drains together take {longer:.1} times as long by lru as by parallel; eight times it would be only if lru kept one package busy at a time, but large requests go to all packages in turn and only cleaning holds them up"
        ),
    )
}
