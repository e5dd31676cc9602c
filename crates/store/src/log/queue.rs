//! Records that are in no page yet, as the stream of bytes that pages are cut from.
//!
//! Long values are not copied into the stream, but shared with their container until their pages are written: so a
//! value is copied once on its way into the log, to its pages.
//!
//! Invariants:
//! - Places in the stream ascend, and none in `starts` lies before `taken`.
//! - `waiting` is the sum of the parts, less what was taken of the first one.

use std::collections::VecDeque;
use std::sync::Arc;

/// Values from this length on are shared: a part costs about as much as the copy of a shorter one.
const SHARED_BYTES_MIN: usize = 2048;

/// Bytes from which on a part is not added to: what was taken of it keeps its memory until all of it is.
const OWN_BYTES_MAX: usize = 64 << 10;

/// Parts whose memory is kept for later ones: as many as a group of writes fills that comes at once.
const SPARES_MAX: usize = 16;

/// A part of the stream.
#[derive(Debug)]
enum Part {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>),
}

impl Part {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Records that wait for their page.
#[derive(Debug, Default)]
pub(super) struct Queue {
    parts: VecDeque<Part>,
    /// Bytes of the first part that were taken.
    gone: usize,
    /// Bytes that wait.
    waiting: u64,
    /// Place in the stream of the first byte that waits.
    taken: u64,
    /// Places in the stream where records begin.
    starts: VecDeque<u64>,
    /// Memory of parts that were taken, for later ones.
    spares: Vec<Vec<u8>>,
}

impl Queue {
    /// Bytes that wait.
    pub(super) fn len(&self) -> u64 {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The next bytes begin a record.
    pub(super) fn begin(&mut self) {
        self.starts.push_back(self.taken + self.waiting);
    }

    /// Adds the bytes that `append` appends.
    pub(super) fn push(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.parts.back(), Some(Part::Own(last)) if last.len() < OWN_BYTES_MAX) {
            self.parts.push_back(Part::Own(self.spares.pop().unwrap_or_default()));
        }
        let Some(Part::Own(last)) = self.parts.back_mut() else { unreachable!("the last part was added") };
        let before = last.len();
        append(last);
        self.waiting += (last.len() - before) as u64;
    }

    /// Adds a value.
    pub(super) fn push_value(&mut self, value: &Arc<Vec<u8>>) {
        if value.len() < SHARED_BYTES_MIN {
            return self.push(|last| last.extend_from_slice(value));
        }
        self.parts.push_back(Part::Shared(value.clone()));
        self.waiting += value.len() as u64;
    }

    /// Moves the next bytes to the beginning of `out`, as many as it has room for. Returns their number, and where
    /// among them the first record begins, if one does.
    pub(super) fn take(&mut self, out: &mut [u8]) -> (usize, Option<u32>) {
        let mut length = 0;
        while length < out.len()
            && let Some(part) = self.parts.front()
        {
            let rest = &part.as_slice()[self.gone..];
            let count = rest.len().min(out.len() - length);
            out[length..length + count].copy_from_slice(&rest[..count]);
            length += count;
            self.gone += count;
            if count == rest.len() {
                self.end_part();
            }
        }
        let end = self.taken + length as u64;
        let first =
            self.starts.front().filter(|&&start| start < end).map(|start| (start - self.taken) as u32);
        while self.starts.front().is_some_and(|&start| start < end) {
            self.starts.pop_front();
        }
        self.taken = end;
        self.waiting -= length as u64;
        (length, first)
    }

    /// Drops the first part, of which all was taken.
    fn end_part(&mut self) {
        self.gone = 0;
        if let Some(Part::Own(mut bytes)) = self.parts.pop_front()
            && self.spares.len() < SPARES_MAX
            && bytes.capacity() <= 2 * OWN_BYTES_MAX
        {
            bytes.clear();
            self.spares.push(bytes);
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
            steps in prop::collection::vec((0..40_usize, 0..3 * SHARED_BYTES_MIN, 0..5000_usize), 1..40),
        ) {
            let (mut queue, mut stream, mut starts, mut found) = (Queue::default(), vec![], vec![], vec![]);
            for (nth, (head, value, most)) in steps.into_iter().enumerate() {
                starts.push(stream.len());
                let (head, value) = (vec![nth as u8; head], Arc::new(vec![!nth as u8; value]));
                stream.extend_from_slice(&head);
                stream.extend_from_slice(&value);
                queue.begin();
                queue.push(|last| last.extend_from_slice(&head));
                queue.push_value(&value);
                let (from, mut out) = (found.len(), vec![0; most]);
                let (length, first) = queue.take(&mut out);
                found.extend_from_slice(&out[..length]);
                prop_assert!(length == most || queue.is_empty());
                let expected = starts.iter().find(|&&start| (from..found.len()).contains(&start));
                prop_assert_eq!(first.map(|first| from + first as usize), expected.copied());
                prop_assert_eq!(queue.len() as usize, stream.len() - found.len());
            }
            prop_assert_eq!(&found[..], &stream[..found.len()]);
        }
    }

    #[test]
    fn long_values_are_shared_until_they_are_taken() {
        let (mut queue, value) = (Queue::default(), Arc::new(vec![1; SHARED_BYTES_MIN]));
        queue.push_value(&value);
        assert_eq!(Arc::strong_count(&value), 2);
        queue.take(&mut [0; SHARED_BYTES_MIN]);
        assert_eq!((Arc::strong_count(&value), queue.len()), (1, 0));
    }
}
