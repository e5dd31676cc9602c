//! The runs that a merge reads, in the order of their next keys: the next entry costs as many comparisons as the
//! logarithm of their number, and only a run from which an entry was taken is looked at again.
//!
//! Invariant: a run stands once in `ordered`, whose next entries are read, or in `moved`, or it has no more entries.

use crate::cursor::Cursor;
use std::ops::Range;

/// The order of runs, each known by the place of its cursor: a lower one is newer.
#[derive(Debug)]
pub(crate) struct Heads {
    /// From the highest key to the lowest; of equal keys the newest run comes last.
    ordered: Vec<usize>,
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
            let is_behind = |&other: &usize| {
                let key = cursors[other].peek().expect("a run in order has an entry").key;
                (key, other) > (entry.key, run)
            };
            let at = self.ordered.partition_point(is_behind);
            self.ordered.insert(at, run);
        }
        true
    }

    /// Returns the newest run with the lowest key. Requires: all are in order.
    pub(crate) fn first(&self) -> Option<usize> {
        assert!(self.moved.is_empty(), "runs are in order before they are compared");
        self.ordered.last().copied()
    }

    /// Returns the next run, if its key is that of the first one.
    pub(crate) fn second_of_same_key(&self, cursors: &[Cursor]) -> Option<usize> {
        let [.., second, first] = self.ordered[..] else { return None };
        let key = |run: usize| cursors[run].peek().map(|entry| entry.key);
        (key(second) == key(first)).then_some(second)
    }

    /// Takes the first run, whose entry is being taken, out of the order.
    pub(crate) fn move_first(&mut self) {
        self.moved.extend(self.ordered.pop());
    }
}
