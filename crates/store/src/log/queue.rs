//! Records that are in no page yet, as the stream of bytes that pages are cut from.
//!
//! Invariants:
//! - Places in the stream ascend, and none in `starts` lies before `taken`.
//! - Bytes that were taken are at most half of the held ones, so that taking costs O(1) a byte.

use std::collections::VecDeque;

/// Records that wait for their page.
#[derive(Debug, Default)]
pub(super) struct Queue {
    held: Vec<u8>,
    /// Bytes at the beginning of `held` that were taken.
    gone: usize,
    /// Place in the stream of the first byte that waits.
    taken: u64,
    /// Places in the stream where records begin.
    starts: VecDeque<u64>,
}

impl Queue {
    /// Bytes that wait.
    pub(super) fn len(&self) -> u64 {
        (self.held.len() - self.gone) as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the record that `append` appends.
    pub(super) fn push(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.starts.push_back(self.taken + self.len());
        append(&mut self.held);
    }

    /// Hands the next bytes to `put`, at most `most`, with where among them the first record begins, if one does.
    pub(super) fn take(&mut self, most: u64, put: impl FnOnce(&[u8], Option<u32>)) {
        let length = most.min(self.len());
        let end = self.taken + length;
        let first =
            self.starts.front().filter(|&&start| start < end).map(|start| (start - self.taken) as u32);
        put(&self.held[self.gone..][..length as usize], first);
        while self.starts.front().is_some_and(|&start| start < end) {
            self.starts.pop_front();
        }
        self.taken = end;
        self.gone += length as usize;
        if self.gone > self.held.len() / 2 {
            self.held.drain(..self.gone);
            self.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stream_is_that_of_the_records(
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..60_u64), 1..60),
        ) {
            let (mut queue, mut stream, mut starts, mut found) = (Queue::default(), vec![], vec![], vec![]);
            for (record, most) in steps {
                starts.push(stream.len());
                stream.extend_from_slice(&record);
                queue.push(|held| held.extend_from_slice(&record));
                let from = found.len();
                queue.take(most, |bytes, first| {
                    found.extend_from_slice(bytes);
                    let expected = starts.iter().find(|&&start| (from..found.len()).contains(&start));
                    assert_eq!(first.map(|first| from + first as usize), expected.copied());
                });
                prop_assert!(queue.len() as usize == stream.len() - found.len() && queue.gone <= queue.held.len() / 2);
            }
            prop_assert_eq!(&found[..], &stream[..found.len()]);
        }
    }
}
