//! The ends of chunks among pages that were written in order.
//!
//! Requests that cross an end are fast, others are slow. Garbage collection may slow one that crosses, and delay what
//! another would wait for, so that few may be of the other kind.

use crate::numbers::{gcd, prime_factors};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Least number of ends of chunks.
const ENDS_MIN: usize = 3;
/// Share of the ends of chunks at which garbage collection may hide that a write is fast.
const HIDDEN: f64 = 0.1;
/// Share of fast requests that may be none of the ends of chunks: garbage collection delays what they would wait for.
const STRAY: f64 = 0.1;

/// Factors of longer distances that must not explain all ends.
const LONGER: [u64; 2] = [2, 3];

/// Ends of chunks, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) period: u64,
    pub(crate) phase: u64,
    pub(crate) seen: usize,
}

impl Ends {
    /// Returns the longest distance that nearly all fast requests, given by their pages, lie a whole number of apart,
    /// if nearly no slow one does.
    pub(crate) fn find(fast: &[u64], slow: &[u64]) -> Option<Self> {
        let (least, most) = (*fast.iter().min()?, *fast.iter().max()?);
        let exact = fast.iter().map(|page| page - least).fold(0, gcd);
        // What recurs at a distance recurs at its parts.
        let all = || (2..=(most - least) / ENDS_MIN as u64).rev();
        Self::at(fast, slow, exact).or_else(|| all().find_map(|period| Self::at(fast, slow, period)))
    }

    fn at(fast: &[u64], slow: &[u64], period: u64) -> Option<Self> {
        if period < 2 {
            return None;
        }
        let phase = most_usual(fast.iter().map(|key| key % period))?;
        let of = |keys: &[u64], period: u64| -> BTreeSet<u64> {
            keys.iter().copied().filter(|key| key % period == phase % period).collect()
        };
        let strays = fast.iter().filter(|key| *key % period != phase).count();
        let ends = of(fast, period);
        let hidden = of(slow, period).len();
        let seen = ends.len();
        // A shorter distance was tested, and slow there.
        let is_shortest = prime_factors(period).all(|factor| of(slow, period / factor).len() >= 2 + hidden);
        // Ends that are all those of a longer distance, but for strays, are not those of this one.
        let is_longest = LONGER.into_iter().all(|factor| {
            let longer = most_usual(ends.iter().map(|key| key % (factor * period)));
            let others = ends.iter().filter(|key| Some(*key % (factor * period)) != longer).count();
            others > strays
        });
        let is_found = seen >= ENDS_MIN
            && is_longest
            && strays as f64 <= STRAY * fast.len() as f64
            && hidden as f64 <= HIDDEN * seen as f64
            && is_shortest;
        is_found.then_some(Ends { period, phase, seen })
    }
}

/// Returns the value that occurs most often, the least of several.
fn most_usual(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts = BTreeMap::<u64, usize>::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().max_by_key(|(value, count)| (*count, Reverse(*value))).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of pages in order, those at ends of chunks are fast, but for some that differ.
    fn found(chunk: u64, differs: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        let is_fast = |page: &u64| (page % chunk == 3 % chunk) != differs(*page);
        let (fast, slow): (Vec<u64>, Vec<u64>) = (0..600).partition(is_fast);
        Ends::find(&fast, &slow).map(|ends| (ends.period, ends.phase))
    }

    #[test]
    fn few_delays_hide_no_ends() {
        for chunk in [2, 7, 32, 150] {
            assert_eq!(found(chunk, |_| false), Some((chunk, 3 % chunk)));
        }
        assert_eq!(found(12, |page| [100, 301].contains(&page)), Some((12, 3)), "two of 52 are no ends");
        assert_eq!(found(12, |page| page == 123), Some((12, 3)), "one end is slow");
        assert_eq!(found(12, |page| page % 60 == 10), None, "others recur");
        assert_eq!(found(300, |_| false), None, "two ends are not a period");
    }

    /// All other writes were delayed.
    #[test]
    fn few_ends_show_no_part_of_their_distance() {
        let fast = [8, 24, 88, 96, 112];
        assert_eq!(Ends::find(&fast, &[15, 51]), None, "a distance of two, four or eight");
        let slow: Vec<u64> = (0..120).filter(|page| page % 8 != 0).collect();
        assert_eq!(Ends::find(&fast, &slow).map(|ends| ends.period), Some(8));
    }
}
