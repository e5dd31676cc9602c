//! Dynamic page replication (he14): a second copy of the pages that are often blocked, on another chip, so that reads
//! and writes can be hedged: done on another chip where the first does not end by a deadline.
//!
//! This crate keeps the books and decides; it moves no data and has no clock. The simulated drive replicates over its
//! dies, the layer `replicated` over partitions of any device: both are *chips* here, and what they store a *page*.
//!
//! | module | holds |
//! | --- | --- |
//! | `history` | how often accesses were blocked, by page and by chip, and the extra writes that follow from it |
//! | `by_ios` | the numbers of I/Os that accesses took |
//! | `groups` | the replica groups, and the space for copies |
//! | `idle` | the lengths of a chip's idle periods, and how long one must last before an extra write |
//! | `extra` | the extra writes that wait for an idle chip |
//! | `worth` | whether copies are worth their writes, measured |

mod by_ios;
mod extra;
mod groups;
mod history;
mod idle;
mod worth;

pub use by_ios::ByIos;
pub use extra::ExtraWrites;
pub use groups::{Groups, MOST_COPIES, Shape, Slot};
pub use history::{AccessKind, History};
pub use idle::{EPOCH, IdlePeriods};
pub use worth::{ROUND, Worth};

/// Difference of two blocking probabilities below which they count as equal (he14, section 4.1).
const SIMILAR: f64 = 0.05;

/// A place from which a page can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The chip.
    pub chip: u32,
    /// The copy; `None` for the page itself.
    pub slot: Option<Slot>,
    /// How much the chip has been used, in a unit of the caller's.
    pub used: u64,
}

/// Removes the place to read from next: the chip that is blocked least, and of those with similar blocking
/// probabilities the one used least (he14, section 4.1).
pub fn take_best(candidates: &mut Vec<Candidate>, history: &History) -> Option<Candidate> {
    let blocking = |candidate: &Candidate| history.blocking_of_chip(candidate.chip);
    let lowest = candidates.iter().map(blocking).fold(f64::INFINITY, f64::min);
    let similar = |(_, candidate): &(usize, &Candidate)| blocking(candidate) - lowest < SIMILAR;
    let best = candidates.iter().enumerate().filter(similar).min_by_key(|(_, candidate)| candidate.used);
    let (at, _) = best?;
    Some(candidates.remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_blocked_chip_goes_first_and_of_similar_ones_the_less_used() {
        let mut history = History::new(1, 3);
        for access in 0..100 {
            history.record(0, 0, AccessKind::Read, access < 20);
            history.record(0, 1, AccessKind::Read, access < 3);
            history.record(0, 2, AccessKind::Read, access < 1);
        }
        let candidate = |chip, used| Candidate { chip, slot: None, used };
        let mut candidates = vec![candidate(0, 1), candidate(1, 5), candidate(2, 9)];
        let order = std::iter::from_fn(|| take_best(&mut candidates, &history)).map(|place| place.chip);
        assert_eq!(order.collect::<Vec<_>>(), [1, 2, 0]);
    }
}
