//! A cursor over the patches of a run: reads their groups in chunks, in the order of keys, and parts them into entries.
//!
//! Of the first patch, whose entries come next, it asks for the next chunk while at most half of one is left. A merge also reads
//! ahead, in the first patch and in the next ones, which lie on other lanes: [`Cursor::ahead`] names the reads that would serve
//! it, and the merge chooses among those of all its runs.
//!
//! Entries are not copied: they stay in the bytes that were read, a *chunk*, until the last of them is taken and let go.
//!
//! Invariants:
//! - A patch has at most one read in flight: its groups are read in their order.
//! - Each chunk of a patch has entries that are still to come.
//! - The first patch has entries or groups left, or the run is at its end.

use crate::bytes::Reader;
use crate::entry::{EntryRef, Location, Malformed};
use crate::patch::Patch;
use flashlane_block::BlockBytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A position in a run.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Patches with entries that are still to come, those of the first one next.
    sources: VecDeque<Source>,
    /// Bytes of the next read, which doubles up to the most.
    chunk_bytes: u64,
    chunk_bytes_max: u64,
    /// Entries below this key are left out.
    from: Vec<u8>,
    /// Chunks whose entries were all taken.
    spent: Vec<Arc<BlockBytes>>,
}

/// A patch that is read.
#[derive(Debug)]
struct Source {
    patch: Arc<Patch>,
    /// The next group.
    group: usize,
    /// The group behind those of the read in flight.
    reading_to: Option<usize>,
    chunks: VecDeque<Chunk>,
    /// Bytes of the entries in chunks that are still to come.
    buffered_bytes: u64,
}

/// Bytes that were read, and the entries in them that are still to come.
#[derive(Debug)]
struct Chunk {
    data: Arc<BlockBytes>,
    entries: std::vec::IntoIter<Location>,
}

/// An entry that was taken. Its chunk stays in memory as long.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    data: Arc<BlockBytes>,
    location: Location,
}

impl Held {
    pub(crate) fn entry(&self) -> EntryRef<'_> {
        self.location.within(self.data.as_slice())
    }
}

impl Source {
    /// Number of entries that are read and still to come.
    fn entries(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.entries.len() as u64).sum()
    }

    fn is_read(&self) -> bool {
        self.group == self.patch.index.groups()
    }

    /// Starts a read of `bytes`, as far as groups allow.
    fn start_read(&mut self, bytes: u64) -> Wanted {
        assert!(self.reading_to.is_none() && !self.is_read(), "a patch is read in the order of its groups");
        let end = self.patch.index.groups_within(self.group, bytes);
        self.reading_to = Some(end);
        Wanted { block: self.patch.id, range: self.patch.index.range(self.group..end) }
    }

    /// Bytes of entries that are to come and read or being read.
    fn held_bytes(&self) -> u64 {
        let reading = self.reading_to.map_or(0..0, |end| self.patch.index.range(self.group..end));
        self.buffered_bytes + (reading.end - reading.start)
    }
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
        let mut sources: VecDeque<Source> = patches
            .map(|patch| Source {
                patch,
                group: 0,
                reading_to: None,
                chunks: VecDeque::new(),
                buffered_bytes: 0,
            })
            .collect();
        if let Some(first) = sources.front_mut().filter(|first| first.patch.covers(from)) {
            first.group = first.patch.index.group_of(from);
        }
        Self { sources, chunk_bytes, chunk_bytes_max, from: from.to_vec(), spent: Vec::new() }
    }

    /// Returns whether there are no more entries.
    pub(crate) fn is_at_end(&self) -> bool {
        self.sources.is_empty()
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.sources.iter().any(|source| source.reading_to.is_some())
    }

    /// Returns whether the next entry is not read yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.sources.front().is_some_and(|first| first.chunks.is_empty())
    }

    /// Returns whether versions of `key`, the last entry's, may come with the next read: only the next patch can begin with it.
    pub(crate) fn may_go_on(&self, key: &[u8]) -> bool {
        let next = self.sources.front().filter(|first| first.chunks.is_empty() && first.group == 0);
        next.is_some_and(|next| *next.patch.fields.first == *key)
    }

    /// Returns a key below which there are no more entries; `None` at the end.
    pub(crate) fn bound(&self) -> Option<Vec<u8>> {
        if let Some(entry) = self.peek() {
            return Some(entry.key.to_vec());
        }
        let Source { patch, group, .. } = self.sources.front()?;
        Some(patch.index.bound_of(*group, &patch.fields.first))
    }

    /// Returns the next entry, if it is read.
    pub(crate) fn peek(&self) -> Option<EntryRef<'_>> {
        let chunk = self.sources.front()?.chunks.front()?;
        let location = chunk.entries.as_slice().first().expect("a chunk has entries to come");
        Some(location.within(chunk.data.as_slice()))
    }

    /// Takes the next entry, if it is read.
    pub(crate) fn pop(&mut self) -> Option<Held> {
        let first = self.sources.front_mut()?;
        let chunk = first.chunks.front_mut()?;
        let location = chunk.entries.next().expect("a chunk has entries to come");
        let held = Held { data: chunk.data.clone(), location };
        first.buffered_bytes -= held.entry().bytes.len() as u64;
        if chunk.entries.as_slice().is_empty() {
            self.spent.extend(first.chunks.pop_front().map(|chunk| chunk.data));
        }
        self.drop_consumed();
        Some(held)
    }

    fn drop_consumed(&mut self) {
        while self.sources.front().is_some_and(|first| first.is_read() && first.chunks.is_empty()) {
            self.sources.pop_front();
        }
    }

    /// Appends the chunks that nothing needs any more to `out`.
    pub(crate) fn take_spent(&mut self, out: &mut Vec<BlockBytes>) {
        for data in std::mem::take(&mut self.spent) {
            match Arc::try_unwrap(data) {
                Ok(data) => out.push(data),
                Err(held) => self.spent.push(held),
            }
        }
    }

    /// Drops entries below `key` that were read.
    pub(crate) fn skip_to(&mut self, key: &[u8]) {
        while self.peek().is_some_and(|entry| entry.key < key) {
            self.pop();
        }
    }

    /// Returns the next read of the first patch, if one is due; it then counts as in flight. It reads no more than is left of the
    /// wanted entries and bytes, as far as groups allow.
    pub(crate) fn start_read(&mut self, wanted: Bounds) -> Option<Wanted> {
        let first = self.sources.front_mut()?;
        let left_bytes = wanted.bytes.saturating_sub(first.buffered_bytes);
        let is_enough = left_bytes == 0 || first.entries() >= wanted.entries;
        let is_due = first.buffered_bytes <= self.chunk_bytes / 2 && !first.is_read();
        if first.reading_to.is_some() || is_enough || !is_due {
            return None;
        }
        let wanted = first.start_read(self.chunk_bytes.min(left_bytes));
        self.chunk_bytes = (2 * self.chunk_bytes).min(self.chunk_bytes_max);
        Some(wanted)
    }

    /// Bytes of entries that are to come and read or being read.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.sources.iter().map(Source::held_bytes).sum()
    }

    /// Returns the reads ahead that the first `patches` patches allow: the place of each patch, and the key from which on its
    /// entries are not read.
    pub(crate) fn ahead(&self, patches: usize) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
        let sources = self.sources.iter().enumerate().take(patches);
        let idle = sources.filter(|(_, source)| source.reading_to.is_none() && !source.is_read());
        idle.map(|(nth, Source { patch, group, .. })| {
            (nth, patch.index.bound_of(*group, &patch.fields.first))
        })
    }

    /// Starts a read ahead of the `nth` patch, which [`ahead`](Self::ahead) named.
    pub(crate) fn start_read_ahead(&mut self, nth: usize) -> Wanted {
        self.sources[nth].start_read(self.chunk_bytes_max)
    }

    /// The read of this block that is in flight has returned these bytes.
    pub(crate) fn read_ended(&mut self, block: u64, data: BlockBytes) -> Result<(), Malformed> {
        let (source, end) = end_read(&mut self.sources, block);
        let (index, bytes) = (&source.patch.index, data.as_slice());
        let base = index.range(source.group..end).start;
        let mut entries = Vec::new();
        for group in source.group..end {
            let range = index.range(group..group + 1);
            let to = (range.end - base) as usize;
            let mut reader = Reader::new(&bytes[(range.start - base) as usize..to]);
            while let Some(entry) = EntryRef::read(&mut reader)? {
                if self.from.is_empty() || *entry.key >= *self.from {
                    source.buffered_bytes += entry.bytes.len() as u64;
                    entries.push(entry.location(to - reader.rest().len()));
                }
            }
        }
        source.group = end;
        let data = Arc::new(data);
        if entries.is_empty() {
            self.spent.push(data);
        } else {
            source.chunks.push_back(Chunk { data, entries: entries.into_iter() });
        }
        self.drop_consumed();
        Ok(())
    }

    /// The read of this block that is in flight has failed.
    pub(crate) fn read_failed(&mut self, block: u64) {
        end_read(&mut self.sources, block);
    }
}

/// Ends the read of a block. Returns its patch, and the group behind those that were read.
fn end_read(sources: &mut VecDeque<Source>, block: u64) -> (&mut Source, usize) {
    let source = sources.iter_mut().find(|source| source.patch.id == block).expect("a read is of a patch");
    let end = source.reading_to.take().expect("a read is in flight");
    (source, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Head, Shape};
    use crate::entry::{Body, Version};
    use crate::footer::Origin;
    use flashlane_base::{Instant, Seed};
    use flashlane_block::{BlockOptions, Blocks, Outcome, Ticket};
    use flashlane_device_testing::MemoryLanes;

    fn wait(blocks: &mut Blocks<MemoryLanes>, ticket: Ticket) -> Outcome {
        let mut out = Vec::new();
        while out.is_empty() {
            blocks.reap(Instant::FAR, &mut out);
        }
        let finished = out.pop().expect("one operation is in flight");
        assert_eq!(finished.ticket, ticket);
        finished.outcome
    }

    /// Stores a patch of the keys from `first` on.
    fn patch(blocks: &mut Blocks<MemoryLanes>, first: u32, count: u32) -> Arc<Patch> {
        let shape = Shape { block_bytes: blocks.block_bytes(), group_bytes: 512, bounds_bytes: 0 };
        let mut builder = Builder::new(shape, blocks.payload(), 0);
        for number in first..first + count {
            let version = Version { sequence: 1, expiry_ms: 0, body: Body::Value(Arc::new(vec![7; 100])) };
            builder.push(&number.to_be_bytes(), &version);
        }
        let (lower, upper, stale) = (Vec::new(), Vec::new(), Vec::new());
        let (creation, origin) = (u64::from(first), Origin::Container);
        let head = Head {
            slice: 0,
            lower,
            upper,
            level: 1,
            run: 1,
            creation,
            sequences: (0, u64::MAX),
            origin,
            stale,
        };
        let (payload, footer) = builder.finish(head, 1);
        let id = blocks.next_id();
        let put = blocks.put(id, payload).expect("there is room");
        assert!(matches!(wait(blocks, put), Outcome::Put(Ok(()), _)));
        Arc::new(Patch::new(id, footer))
    }

    fn read(blocks: &mut Blocks<MemoryLanes>, wanted: &Wanted) -> BlockBytes {
        let Wanted { block, range } = wanted;
        let get = blocks.get(*block, range.start, range.end - range.start).expect("the block is there");
        let Outcome::Get(Ok(data)) = wait(blocks, get) else { panic!("the block cannot be read") };
        data
    }

    #[test]
    fn patches_are_read_side_by_side_and_come_in_order() {
        let blocks = Blocks::format(MemoryLanes::new(1, 8, 8192, 512, Seed(1)), 1, BlockOptions::default());
        let mut blocks = blocks.expect("the device suits");
        let patches: Vec<Arc<Patch>> = (0..3).map(|nth| patch(&mut blocks, 20 * nth, 20)).collect();
        let mut cursor = Cursor::new(patches.iter().cloned(), &[], 1024, 1024);
        let first = cursor.start_read(Bounds::NONE).expect("the first chunk is due");
        assert_eq!(cursor.start_read(Bounds::NONE), None, "a patch has one read in flight");
        // The first patch is being read, the third is out of reach.
        let ahead: Vec<(usize, Vec<u8>)> = cursor.ahead(2).collect();
        assert_eq!(ahead, [(1, 20_u32.to_be_bytes().to_vec())]);
        let second = cursor.start_read_ahead(1);
        assert_eq!((first.block, second.block), (patches[0].id, patches[1].id));
        assert_eq!(cursor.ahead(2).count(), 0);
        let held = first.range.end - first.range.start + second.range.end - second.range.start;
        assert_eq!(cursor.held_bytes(), held);
        // The second patch's entries are there first, and wait for those of the first.
        cursor.read_ended(second.block, read(&mut blocks, &second)).expect("it is sound");
        assert!(cursor.is_waiting() && cursor.is_reading());
        cursor.read_ended(first.block, read(&mut blocks, &first)).expect("it is sound");
        let (mut keys, mut reads, mut spent) = (Vec::new(), 2, Vec::new());
        while !cursor.is_at_end() {
            match cursor.pop() {
                Some(held) => keys.push(held.entry().key.to_vec()),
                None => {
                    let wanted = cursor.start_read(Bounds::NONE).expect("a cursor that waits reads");
                    cursor.read_ended(wanted.block, read(&mut blocks, &wanted)).expect("it is sound");
                    reads += 1;
                }
            }
        }
        assert_eq!(keys, (0..60_u32).map(|number| number.to_be_bytes().to_vec()).collect::<Vec<_>>());
        assert!(cursor.held_bytes() == 0 && !cursor.is_reading());
        cursor.take_spent(&mut spent);
        assert_eq!(spent.len(), reads, "each chunk is given back");
    }

    #[test]
    fn entry_that_is_held_keeps_its_chunk() {
        let blocks = Blocks::format(MemoryLanes::new(1, 8, 8192, 512, Seed(1)), 1, BlockOptions::default());
        let mut blocks = blocks.expect("the device suits");
        let patch = patch(&mut blocks, 0, 4);
        let mut cursor = Cursor::new([patch].into_iter(), &2_u32.to_be_bytes(), 1024, 1024);
        let wanted = cursor.start_read(Bounds::NONE).expect("the chunk is due");
        cursor.read_ended(wanted.block, read(&mut blocks, &wanted)).expect("it is sound");
        let mut spent = Vec::new();
        let next = cursor.peek().map(|entry| entry.key.to_vec());
        assert_eq!(next, Some(2_u32.to_be_bytes().to_vec()), "keys below are left out");
        cursor.skip_to(&3_u32.to_be_bytes());
        let last = cursor.pop().expect("an entry is left");
        assert!(cursor.is_at_end());
        cursor.take_spent(&mut spent);
        assert!(spent.is_empty(), "the last entry is held");
        let version = Version { sequence: 1, expiry_ms: 0, body: Body::Value(Arc::new(vec![7; 100])) };
        assert_eq!((last.entry().key, last.entry().version()), (&3_u32.to_be_bytes()[..], version));
        drop(last);
        cursor.take_spent(&mut spent);
        assert_eq!(spent.len(), 1);
    }
}
