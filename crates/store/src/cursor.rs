//! A cursor over the patches of a run: reads their groups in chunks, in the order of keys, and parts them into entries.
//!
//! It has one read in flight, and asks for the next one while more than half of a chunk is left.

use crate::bytes::Reader;
use crate::entry::{Entry, EntryRef, Malformed};
use crate::patch::Patch;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A position in a run.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Patches with groups that are still to be read; the first one is being read.
    patches: VecDeque<Arc<Patch>>,
    /// The next group of the first patch.
    group: usize,
    /// The group behind those of the read in flight.
    reading_to: Option<usize>,
    entries: VecDeque<Entry>,
    buffered_bytes: u64,
    /// Bytes of the next read, which doubles up to the most.
    chunk_bytes: u64,
    chunk_bytes_max: u64,
    /// Entries below this key are left out.
    from: Vec<u8>,
}

/// What is wanted of a cursor at most; more than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Bounds {
    /// Everything.
    pub(crate) const NONE: Self = Self { entries: u64::MAX, bytes: u64::MAX };
}

/// A read that a cursor asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) block: u64,
    pub(crate) range: Range<u64>,
}

impl Cursor {
    /// A cursor over these patches of a run, at the first entry whose key is not below `from`.
    pub(crate) fn new(
        patches: impl Iterator<Item = Arc<Patch>>,
        from: &[u8],
        chunk_bytes: u64,
        chunk_bytes_max: u64,
    ) -> Self {
        let patches: VecDeque<Arc<Patch>> = patches.collect();
        let group = match patches.front() {
            Some(first) if first.covers(from) => first.index.group_of(from),
            _ => 0,
        };
        let (entries, from) = (VecDeque::new(), from.to_vec());
        Self {
            patches,
            group,
            reading_to: None,
            entries,
            buffered_bytes: 0,
            chunk_bytes,
            chunk_bytes_max,
            from,
        }
    }

    /// Returns whether there are no more entries.
    pub(crate) fn is_at_end(&self) -> bool {
        self.entries.is_empty() && self.patches.is_empty()
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.reading_to.is_some()
    }

    /// Returns whether the next entry is not read yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.entries.is_empty() && !self.patches.is_empty()
    }

    /// Returns whether versions of `key`, the last entry's, may come with the next read: only the next patch can begin with it.
    pub(crate) fn may_go_on(&self, key: &[u8]) -> bool {
        let next = self.patches.front().filter(|_| self.entries.is_empty() && self.group == 0);
        next.is_some_and(|patch| *patch.fields.first == *key)
    }

    /// Returns a key below which there are no more entries; `None` at the end.
    pub(crate) fn bound(&self) -> Option<Vec<u8>> {
        if let Some(entry) = self.peek() {
            return Some(entry.key.to_vec());
        }
        let patch = self.patches.front()?;
        Some(patch.index.bound_of(self.group, &patch.fields.first))
    }

    pub(crate) fn peek(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = self.entries.pop_front()?;
        self.buffered_bytes -= entry.version.encoded_bytes(&entry.key);
        Some(entry)
    }

    /// Drops entries below `key` that were read.
    pub(crate) fn skip_to(&mut self, key: &[u8]) {
        while self.peek().is_some_and(|entry| *entry.key < *key) {
            self.pop();
        }
    }

    /// Returns the next read, if one is due; it then counts as in flight. It reads no more than is left of the wanted entries and
    /// bytes, as far as groups allow.
    pub(crate) fn start_read(&mut self, wanted: Bounds) -> Option<Wanted> {
        let left_bytes = wanted.bytes.saturating_sub(self.buffered_bytes);
        let is_enough = left_bytes == 0 || self.entries.len() as u64 >= wanted.entries;
        if self.reading_to.is_some() || is_enough || self.buffered_bytes > self.chunk_bytes / 2 {
            return None;
        }
        let patch = self.patches.front()?;
        let end = patch.index.groups_within(self.group, self.chunk_bytes.min(left_bytes));
        self.reading_to = Some(end);
        self.chunk_bytes = (2 * self.chunk_bytes).min(self.chunk_bytes_max);
        Some(Wanted { block: patch.id, range: patch.index.range(self.group..end) })
    }

    /// The read in flight has returned these bytes.
    pub(crate) fn read_ended(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let end = self.reading_to.take().expect("a read is in flight");
        let patch = self.patches.front().expect("a read is of a patch");
        let base = patch.index.range(self.group..end).start;
        for group in self.group..end {
            let range = patch.index.range(group..group + 1);
            let mut reader = Reader::new(&bytes[(range.start - base) as usize..(range.end - base) as usize]);
            while let Some(entry) = EntryRef::read(&mut reader)? {
                if *entry.key >= *self.from {
                    let entry = entry.to_entry();
                    self.buffered_bytes += entry.version.encoded_bytes(&entry.key);
                    self.entries.push_back(entry);
                }
            }
        }
        self.group = end;
        if end == patch.index.groups() {
            self.patches.pop_front();
            self.group = 0;
        }
        Ok(())
    }

    /// The read in flight has failed.
    pub(crate) fn read_failed(&mut self) {
        self.reading_to.take().expect("a read is in flight");
    }
}
