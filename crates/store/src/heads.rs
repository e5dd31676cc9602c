//! The runs that a merge reads, in the order of their next keys: the next entry costs as many comparisons as the
//! logarithm of their number, and only a run from which an entry was taken is looked at again. Most comparisons are of
//! the first bytes of keys, which stand beside the run: entries lie in memory that no cache has.
//!
//! Invariant: a run stands once in `ordered`, whose next entries are read, or in `moved`, or it has no more entries.

use crate::cursor::Cursor;
use std::ops::Range;

/// Bytes of a key that stand beside its run.
const PREFIX_BYTES: usize = size_of::<u128>();

/// A run and the first bytes of its next key, which zeros fill up. Of two keys with other ones the higher has the
/// higher number; with equal ones either may be higher.
#[derive(Clone, Copy, Debug)]
struct Head {
    prefix: u128,
    run: usize,
}

fn prefix(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(first) => u128::from_be_bytes(*first),
        None => {
            let mut padded = [0; PREFIX_BYTES];
            padded[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(padded)
        }
    }
}

/// The order of runs, each known by the place of its cursor: a lower one is newer.
#[derive(Debug)]
pub(crate) struct Heads {
    /// From the highest key to the lowest; of equal keys the newest run comes last.
    ordered: Vec<Head>,
    /// Runs from which entries were taken, or that are not looked at yet.
    moved: Vec<usize>,
}

impl Heads {
    /// Begins with the runs at these places.
    pub(crate) fn new(runs: Range<usize>) -> Self {
        Self { ordered: Vec::new(), moved: runs.collect() }
    }

    /// Brings all runs in order. Returns false while the next entry of one is not read.
    pub(crate) fn order(&mut self, cursors: &[Cursor]) -> bool {
        while let Some(&run) = self.moved.last() {
            if cursors[run].is_waiting() {
                return false;
            }
            self.moved.pop();
            let Some(entry) = cursors[run].peek() else { continue };
            let head = Head { prefix: prefix(entry.key), run };
            let is_behind = |other: &Head| {
                let order = other.prefix.cmp(&head.prefix).then_with(|| {
                    let key = cursors[other.run].peek().expect("a run in order has an entry").key;
                    (key, other.run).cmp(&(entry.key, run))
                });
                order.is_gt()
            };
            let at = self.ordered.partition_point(is_behind);
            self.ordered.insert(at, head);
        }
        true
    }

    /// Returns the newest run with the lowest key. Requires: all are in order.
    pub(crate) fn first(&self) -> Option<usize> {
        assert!(self.moved.is_empty(), "runs are in order before they are compared");
        self.ordered.last().map(|head| head.run)
    }

    /// Returns the next run, if its key is that of the first one.
    pub(crate) fn second_of_same_key(&self, cursors: &[Cursor]) -> Option<usize> {
        let [.., second, first] = self.ordered[..] else { return None };
        let key = |head: Head| cursors[head.run].peek().map(|entry| entry.key);
        (second.prefix == first.prefix && key(second) == key(first)).then_some(second.run)
    }

    /// Takes the first run, whose entry is being taken, out of the order.
    pub(crate) fn move_first(&mut self) {
        self.moved.extend(self.ordered.pop().map(|head| head.run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_order_keys(keys in prop::collection::vec(prop::collection::vec(0..3_u8, 0..20), 2)) {
            let order = keys[0].cmp(&keys[1]);
            let order_of_prefixes = prefix(&keys[0]).cmp(&prefix(&keys[1]));
            prop_assert!(order_of_prefixes.is_eq() || order_of_prefixes == order, "{:?}", keys);
        }
    }
}
