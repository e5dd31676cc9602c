//! A cursor over the patches of a run: reads their groups in chunks, in the order of keys, and parts them into entries.
//!
//! For a merge it asks for the next chunk of the first patch, whose entries come next, while at most half of one is
//! left; and it reads ahead, in the first patch and in the next ones, which lie on other lanes: [`Cursor::ahead`] names
//! the reads that would serve the merge, which chooses among those of all its runs. For a scan it says where the groups
//! begin that are not read ([`Cursor::unread`]), and reads as many as the scan wants.
//!
//! Entries are not copied: they stay in the bytes that were read, a *chunk*, until the last of them is taken and let
//! go.
//!
//! Invariants:
//! - A patch has at most one read in flight: its groups are read in their order.
//! - Each chunk of a patch has entries that are still to come.
//! - The first patch has entries or groups left, or the run is at its end.

use crate::bytes::Reader;
use crate::entry::{EntryRef, Location, Malformed};
use crate::error::{Gap, ReadFailure, ScanFailure};
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
    /// Entries below this key are left out.
    from: Vec<u8>,
    /// Whether nothing was read yet of the group with that key.
    is_new: bool,
    /// Chunks whose entries were all taken.
    spent: Vec<Arc<ReadBytes>>,
    /// Whether groups are read one by one, to find out which of several cannot be read.
    is_searching: bool,
    /// Why the first group that is not read cannot be read.
    failure: Option<ReadFailure>,
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
    /// Whether groups are read one by one, since one of several could not be read.
    is_one_by_one: bool,
}

/// Bytes that were read.
#[derive(Debug)]
pub(crate) enum ReadBytes {
    Device(BlockBytes),
    /// A group that the cache has.
    Cache(Arc<[u8]>),
}

impl ReadBytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Device(data) => data.as_slice(),
            Self::Cache(data) => data,
        }
    }
}

/// Bytes that were read, and the entries in them that are still to come.
#[derive(Debug)]
struct Chunk {
    data: Arc<ReadBytes>,
    entries: std::vec::IntoIter<Location>,
}

/// An entry that was taken. Its chunk stays in memory as long.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    data: Arc<ReadBytes>,
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

    /// Starts a read of about `bytes`. A read that fell short of them by a large group would cost more requests, and
    /// where reads up to some length go through a page cache, its pages.
    fn start_read(&mut self, bytes: u64) -> Wanted {
        let end = match self.is_one_by_one {
            true => self.group + 1,
            false => self.patch.index.groups_about(self.group, bytes),
        };
        self.start_read_of_groups(end - self.group)
    }

    /// Starts a read of the next groups.
    fn start_read_of_groups(&mut self, groups: usize) -> Wanted {
        assert!(self.reading_to.is_none() && !self.is_read(), "a patch is read in the order of its groups");
        let end = self.group + groups;
        self.reading_to = Some(end);
        Wanted { block: self.patch.id, range: self.patch.index.range(self.group..end) }
    }

    /// Bytes of entries that are to come and read or being read.
    fn held_bytes(&self) -> u64 {
        let reading = self.reading_to.map_or(0..0, |end| self.patch.index.range(self.group..end));
        self.buffered_bytes + (reading.end - reading.start)
    }
}

/// The next groups of a run that are neither read nor being read.
pub(crate) struct Unread<'a> {
    patch: &'a Patch,
    /// The first of them.
    group: usize,
    /// Whether the patch has a read in flight, so that no other may begin.
    is_reading: bool,
    /// Whether the first group is that of the first key that is wanted: entries before are left out.
    is_first: bool,
    /// Whether a read is of one group.
    is_searching: bool,
    /// The first key of the next patch.
    next: Option<&'a [u8]>,
}

impl Unread<'_> {
    /// Returns a key below which neither the group `ahead` groups behind the first nor any behind it has entries;
    /// `None` behind the last one of the run.
    pub(crate) fn bound(&self, ahead: usize) -> Option<Vec<u8>> {
        let Self { patch, group, next, .. } = self;
        if group + ahead < patch.index.groups() {
            return Some(patch.index.bound_of(group + ahead, &patch.fields.first));
        }
        next.map(<[u8]>::to_vec)
    }

    /// Returns whether a read of the first `ahead` groups may be longer by one.
    pub(crate) fn may_read(&self, ahead: usize, bytes_max: u64) -> bool {
        let end = self.group + ahead + 1;
        let is_there = !self.is_reading && end <= self.patch.index.groups();
        let bytes_max = if self.is_searching { 0 } else { bytes_max };
        is_there && (ahead == 0 || length(self.patch.index.range(self.group..end)) <= bytes_max)
    }

    /// Returns the block, and the place of the first group in it.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.patch.id, self.patch.index.range(self.group..self.group).start)
    }

    /// Returns how many entries a group of the patch has on average.
    pub(crate) fn entries_of_group(&self) -> u64 {
        self.patch.fields.entries.div_ceil(self.patch.index.groups() as u64)
    }

    /// Returns about how many entries the group `ahead` groups behind the first has, and its bytes. Requires: it may be
    /// read.
    pub(crate) fn size(&self, ahead: usize) -> (u64, u64) {
        let group = self.group + ahead;
        let entries = entries_about(self.patch, group..group + 1);
        let bytes = length(self.patch.index.range(group..group + 1));
        if self.is_first && ahead == 0 { (entries / 2, bytes) } else { (entries, bytes) }
    }
}

/// Returns about how many entries these groups of a patch have.
fn entries_about(patch: &Patch, groups: Range<usize>) -> u64 {
    let before = |group: usize| group as u64 * patch.fields.entries / patch.index.groups() as u64;
    before(groups.end) - before(groups.start)
}

fn length(range: Range<u64>) -> u64 {
    range.end - range.start
}

/// A read that a cursor asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) block: u64,
    pub(crate) range: Range<u64>,
}

impl Cursor {
    /// A cursor over these patches of a run, at the first entry whose key is not below `from`.
    pub(crate) fn new(patches: impl Iterator<Item = Arc<Patch>>, from: &[u8]) -> Self {
        let mut sources: VecDeque<Source> = patches
            .map(|patch| Source {
                patch,
                group: 0,
                reading_to: None,
                chunks: VecDeque::new(),
                buffered_bytes: 0,
                is_one_by_one: false,
            })
            .collect();
        let first = sources.front_mut().filter(|first| first.patch.covers(from));
        let is_new = first.is_some();
        if let Some(first) = first {
            first.group = first.patch.index.group_of(from);
        }
        Self { sources, from: from.to_vec(), is_new, spent: Vec::new(), is_searching: false, failure: None }
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

    /// Returns whether versions of `key`, the last entry's, may come with the next read: only the next patch can begin
    /// with it.
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
                Ok(ReadBytes::Device(data)) => out.push(data),
                Ok(ReadBytes::Cache(_)) => {}
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

    /// Returns the next read of the first patch, of about `chunk_bytes`, if one is due; it then counts as in flight.
    pub(crate) fn start_read(&mut self, chunk_bytes: u64) -> Option<Wanted> {
        let first = self.sources.front_mut()?;
        let is_due = first.buffered_bytes <= chunk_bytes / 2 && !first.is_read();
        (first.reading_to.is_none() && is_due).then(|| first.start_read(chunk_bytes))
    }

    /// Returns the next groups that are neither read nor being read, if there are any behind those of the patch that is
    /// read; `None` also where the first of them cannot be read.
    pub(crate) fn unread(&self) -> Option<Unread<'_>> {
        if self.failure.is_some() {
            return None;
        }
        let nth = self.sources.iter().position(|source| !source.is_read())?;
        let Source { patch, group, reading_to, .. } = &self.sources[nth];
        Some(Unread {
            patch,
            group: reading_to.unwrap_or(*group),
            is_reading: reading_to.is_some(),
            is_first: nth == 0 && self.is_new,
            is_searching: self.is_searching,
            next: self.sources.get(nth + 1).map(|next| &next.patch.fields.first[..]),
        })
    }

    /// Starts a read of so many of the groups that [`unread`](Self::unread) names.
    pub(crate) fn start_read_of(&mut self, groups: usize) -> Wanted {
        let unread = self.sources.iter_mut().find(|source| !source.is_read());
        self.is_new = false;
        unread.expect("a patch has groups that are not read").start_read_of_groups(groups)
    }

    /// Returns about how many entries are to come and read or being read, and their bytes. Requires: patches are read
    /// one after the other.
    pub(crate) fn held(&self) -> (u64, u64) {
        let of = |source: &Source| {
            let reading = source.reading_to.map_or(0, |end| entries_about(&source.patch, source.group..end));
            (source.entries() + reading, source.held_bytes())
        };
        let held = self.sources.iter().map(of).take_while(|held| held.1 > 0);
        held.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Bytes of entries that are to come and read or being read.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.sources.iter().map(Source::held_bytes).sum()
    }

    /// Returns the reads ahead that the first `patches` patches allow: the place of each patch, and the key from which
    /// on its entries are not read.
    pub(crate) fn ahead(&self, patches: usize) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
        let sources = self.sources.iter().enumerate().take(patches);
        let idle = sources.filter(|(_, source)| source.reading_to.is_none() && !source.is_read());
        idle.map(|(nth, Source { patch, group, .. })| {
            (nth, patch.index.bound_of(*group, &patch.fields.first))
        })
    }

    /// Starts a read ahead of about `chunk_bytes` of the `nth` patch, which [`ahead`](Self::ahead) named.
    pub(crate) fn start_read_ahead(&mut self, nth: usize, chunk_bytes: u64) -> Wanted {
        self.sources[nth].start_read(chunk_bytes)
    }

    /// Returns the place and the bytes of each group of the read of this block that is in flight, which has returned
    /// `data`.
    pub(crate) fn groups_of<'a>(
        &'a self,
        block: u64,
        data: &'a BlockBytes,
    ) -> impl Iterator<Item = (u64, &'a [u8])> + 'a {
        let source =
            self.sources.iter().find(|source| source.patch.id == block).expect("a read is of a patch");
        let groups = source.group..source.reading_to.expect("a read is in flight");
        let base = source.patch.index.range(groups.clone()).start;
        groups.map(move |group| {
            let range = source.patch.index.range(group..group + 1);
            (range.start, &data.as_slice()[(range.start - base) as usize..(range.end - base) as usize])
        })
    }

    /// The read of this block that is in flight has returned these bytes.
    pub(crate) fn read_ended(&mut self, block: u64, data: ReadBytes) -> Result<(), Malformed> {
        let (source, end) = end_read(&mut self.sources, block);
        let (index, bytes) = (&source.patch.index, data.as_slice());
        let base = index.range(source.group..end).start;
        let (mut entries, mut entry_bytes) = (Vec::new(), 0);
        for group in source.group..end {
            let range = index.range(group..group + 1);
            let to = (range.end - base) as usize;
            let mut reader = Reader::new(&bytes[(range.start - base) as usize..to]);
            while let Some(entry) = EntryRef::read(&mut reader)? {
                if self.from.is_empty() || *entry.key >= *self.from {
                    entry_bytes += entry.bytes.len() as u64;
                    entries.push(entry.location(to - reader.rest().len()));
                }
            }
        }
        source.group = end;
        source.buffered_bytes += entry_bytes;
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

    /// The last read, of so many groups, returned no entries. Of several groups each is read by itself then.
    pub(crate) fn note_failure(&mut self, groups: usize, failure: ReadFailure) {
        if groups > 1 {
            self.is_searching = true;
        } else {
            self.failure = Some(failure);
        }
    }

    /// The last read of this block, of so many groups, returned no entries. Leaves the groups out whose keys are given
    /// up: of several each is read by itself from now on. Returns whether the cursor can go on.
    pub(crate) fn leave_out(
        &mut self,
        block: u64,
        groups: usize,
        is_given_up: impl Fn(&Gap) -> bool,
    ) -> bool {
        let source = self.sources.iter_mut().find(|source| source.patch.id == block);
        let source = source.expect("a read is of a patch");
        let group = source.group;
        let may_go_on = (group..group + groups).any(|group| is_given_up(&source.patch.keys_of(group)));
        match groups {
            1 => source.group += usize::from(may_go_on),
            _ => source.is_one_by_one = true,
        }
        self.drop_consumed();
        may_go_on
    }

    /// Returns the number of groups of the read of this block that is in flight.
    pub(crate) fn groups_in_flight(&self, block: u64) -> usize {
        let source = self.sources.iter().find(|source| source.patch.id == block);
        source.and_then(|source| Some(source.reading_to? - source.group)).expect("a read is in flight")
    }

    /// Returns the offset in this block of the read that is in flight.
    pub(crate) fn unread_offset(&self, block: u64) -> u64 {
        let source = self.sources.iter().find(|source| source.patch.id == block);
        let Source { patch, group, .. } = source.expect("a read is of a patch");
        patch.index.range(*group..*group).start
    }

    /// Returns the keys of the first group that is not read, where that cannot be read.
    pub(crate) fn gap(&self) -> Option<ScanFailure> {
        let failure = self.failure.clone()?;
        let Source { patch, group, .. } = self.sources.iter().find(|source| !source.is_read())?;
        Some(ScanFailure { failure, gap: Some(patch.keys_of(*group)) })
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
            statement: crate::statement::tests::statement(),
        };
        let (payload, footer) = builder.finish(head, 1);
        let id = blocks.next_id();
        let put = blocks.put(id, payload).expect("there is room");
        assert!(matches!(wait(blocks, put), Outcome::Put(Ok(()), _)));
        Arc::new(Patch::new(id, footer))
    }

    fn read(blocks: &mut Blocks<MemoryLanes>, wanted: &Wanted) -> ReadBytes {
        let Wanted { block, range } = wanted;
        let get = blocks.get(*block, range.start, range.end - range.start).expect("the block is there");
        let Outcome::Get(Ok(data)) = wait(blocks, get) else { panic!("the block cannot be read") };
        ReadBytes::Device(data)
    }

    #[test]
    fn patches_are_read_side_by_side_and_come_in_order() {
        let blocks = Blocks::format(MemoryLanes::new(1, 8, 8192, 512, Seed(1)), 1, BlockOptions::default());
        let mut blocks = blocks.expect("the device suits");
        let patches: Vec<Arc<Patch>> = (0..3).map(|nth| patch(&mut blocks, 20 * nth, 20)).collect();
        let mut cursor = Cursor::new(patches.iter().cloned(), &[]);
        let first = cursor.start_read(1024).expect("the first chunk is due");
        assert_eq!(cursor.start_read(1024), None, "a patch has one read in flight");
        // The first patch is being read, the third is out of reach.
        let ahead: Vec<(usize, Vec<u8>)> = cursor.ahead(2).collect();
        assert_eq!(ahead, [(1, 20_u32.to_be_bytes().to_vec())]);
        let second = cursor.start_read_ahead(1, 1024);
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
                    let wanted = cursor.start_read(1024).expect("a cursor that waits reads");
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
        let mut cursor = Cursor::new([patch].into_iter(), &2_u32.to_be_bytes());
        let wanted = cursor.start_read(1024).expect("the chunk is due");
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
