//! Scans that have not completed: what they gather, and which groups they read for it.
//!
//! The indexes of patches are in memory, so they tell which groups hold the entries that a scan wants, of all its runs,
//! before anything is read: [`Scan::plan`] takes groups in the order of their first keys until they hold enough. They
//! are read at once, those of a run by one request. More are read only where entries turn out to be fewer, as some are
//! deleted or replaced: each plan looks twice as far as the one before.
//!
//! Invariant: a scan takes a key only where no group that is not read can hold it.

use crate::cache::GroupCache;
use crate::container::Container;
use crate::cursor::{Cursor, ReadBytes, Unread, Wanted};
use crate::entry::{Body, Malformed, Version};
use crate::error::{ReadFailure, ScanFailure};
use crate::operation::{Item, Page, Pending};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Most bytes of a read, but that it is one group at least.
const READ_BYTES_MAX: u64 = 512 << 10;
/// Plans after which the next one does not look further ahead than the one before.
const PLANS_MAX: u32 = 12;

/// A scan that has not completed.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) pending: Pending,
    /// The newest write that it sees, kept by the scan's own snapshot.
    pub(crate) sequence: u64,
    pub(crate) slice: u32,
    /// Keys below are done.
    pub(crate) position: Vec<u8>,
    /// The first key that is not wanted; `None` for all.
    pub(crate) end: Option<Vec<u8>>,
    pub(crate) items_max: u64,
    pub(crate) bytes_max: u64,
    pub(crate) bytes: u64,
    pub(crate) cursors: Vec<Cursor>,
    /// The next key of each container, as far as it is known.
    heads: Vec<Head>,
    /// The key that is being gathered, with its newest version so far: where versions of it exceed a patch, older ones
    /// begin the next.
    pub(crate) gathering: Option<(Vec<u8>, Option<Version>)>,
    /// The slice's structure for which the cursors were made.
    pub(crate) structure_version: Option<u64>,
    /// Plans since then.
    plans: u32,
    pub(crate) page: Page,
}

/// The next key of a container that a scan sees.
#[derive(Debug)]
enum Head {
    Unknown,
    Key(Vec<u8>),
    End,
}

/// What is wanted of a scan.
pub(crate) struct Request {
    pub(crate) slice: u32,
    /// The newest write that it sees.
    pub(crate) sequence: u64,
    pub(crate) start: Vec<u8>,
    pub(crate) end: Option<Vec<u8>>,
    pub(crate) items_max: u64,
    pub(crate) bytes_max: u64,
}

impl Scan {
    pub(crate) fn new(pending: Pending, request: Request) -> Self {
        let Request { slice, sequence, start, end, items_max, bytes_max } = request;
        Self {
            pending,
            sequence,
            slice,
            position: start,
            end,
            items_max: items_max.max(1),
            bytes_max,
            bytes: 0,
            cursors: Vec::new(),
            heads: Vec::new(),
            gathering: None,
            structure_version: None,
            plans: 0,
            page: Page::default(),
        }
    }

    /// Looks at a slice anew, whose patches or containers are others now.
    pub(crate) fn restart(&mut self, cursors: Vec<Cursor>, structure_version: u64) {
        (self.cursors, self.structure_version) = (cursors, Some(structure_version));
        (self.gathering, self.plans) = (None, 0);
        self.heads.clear();
    }

    /// Looks up the next keys of containers. Requires: they are those of the slice's structure.
    pub(crate) fn look_up<'a>(&mut self, containers: impl Iterator<Item = &'a Container>) {
        for (nth, container) in containers.enumerate() {
            if self.heads.len() == nth {
                self.heads.push(Head::Unknown);
            }
            if matches!(self.heads[nth], Head::Unknown) {
                let next = container.range(&self.position, self.sequence).next();
                self.heads[nth] = next.map_or(Head::End, |(key, _)| Head::Key(key.to_vec()));
            }
        }
    }

    /// Returns the key that is gathered next, as far as containers and entries that are read tell.
    fn next_key(&self) -> Option<&[u8]> {
        if let Some((key, _)) = &self.gathering {
            return Some(key);
        }
        let in_memory = self.heads.iter().filter_map(|head| match head {
            Head::Key(key) => Some(&key[..]),
            Head::Unknown | Head::End => None,
        });
        in_memory.chain(self.cursors.iter().filter_map(Cursor::peek).map(|entry| entry.key)).min()
    }

    /// Returns whether the next key is known only once a cursor that waits has read on.
    pub(crate) fn is_blocked(&self) -> bool {
        if !self.cursors.iter().any(Cursor::is_waiting) {
            return false;
        }
        let next = self.next_key();
        self.cursors.iter().any(|cursor| self.waits_for(cursor, next))
    }

    /// Returns the keys that the scan wants next where the group that may hold them cannot be read. All below them are
    /// done.
    pub(crate) fn gap(&self) -> Option<ScanFailure> {
        let next = self.next_key();
        let blocked = self.cursors.iter().filter(|cursor| self.waits_for(cursor, next));
        let mut failure = blocked.filter_map(Cursor::gap).min_by(|a, b| {
            let from = |failure: &ScanFailure| failure.gap.as_ref().map(|gap| gap.from.clone());
            from(a).cmp(&from(b))
        })?;
        if let Some(gap) = &mut failure.gap {
            gap.from = std::mem::take(&mut gap.from).max(self.position.clone());
            assert!(gap.from < gap.to, "the group of a key that is wanted holds none behind it");
        }
        Some(failure)
    }

    /// Returns whether an entry of this cursor that is not read may come before `next`, or have that key.
    fn waits_for(&self, cursor: &Cursor, next: Option<&[u8]>) -> bool {
        let is_wanted = |bound: Vec<u8>| {
            next.is_none_or(|next| *bound <= *next) && self.end.as_ref().is_none_or(|end| bound < *end)
        };
        cursor.is_waiting() && cursor.bound().is_some_and(is_wanted)
    }

    /// Returns the reads that serve the scan best, each with its cursor; they then count as in flight. They read ahead
    /// up to `ahead_bytes`, but at least what the scan needs next. Groups that the
    /// cache has are not among them where a read would begin with them. Where the scan is blocked and no read in flight
    /// serves that, it is so no longer, or there is one.
    pub(crate) fn plan(&mut self, cache: &GroupCache, ahead_bytes: u64) -> Vec<(usize, Wanted)> {
        let mut reads = Vec::new();
        loop {
            let groups = self.groups_to_read(ahead_bytes);
            let is_over = groups.iter().all(|groups| *groups == 0);
            for (nth, mut groups) in groups.into_iter().enumerate().filter(|(_, groups)| *groups > 0) {
                let cursor = &mut self.cursors[nth];
                while groups > 0 {
                    let (block, offset) = cursor.unread().expect("a group is not read").place();
                    let Some(group) = cache.get(block, offset) else { break };
                    cursor.start_read_of(1);
                    groups -= 1;
                    if let Err(Malformed) = cursor.read_ended(block, ReadBytes::Cache(group.clone())) {
                        cursor.note_failure(1, ReadFailure::Malformed { id: block, offset_bytes: offset });
                        groups = 0;
                    }
                }
                cursor.skip_to(&self.position);
                if groups > 0 {
                    reads.push((nth, cursor.start_read_of(groups)));
                }
            }
            // A cached group may end before the key from which on entries are wanted.
            if is_over || !reads.is_empty() || !self.is_blocked() {
                return reads;
            }
        }
    }

    /// Returns how many groups to read of each run, so that about `ahead_bytes` are held at most.
    fn groups_to_read(&mut self, ahead_bytes: u64) -> Vec<usize> {
        let next = self.next_key().map(<[u8]>::to_vec);
        let waits_for = |cursor: &Cursor| self.waits_for(cursor, next.as_deref());
        if self.cursors.iter().any(|cursor| cursor.is_reading() && waits_for(cursor)) {
            return vec![0; self.cursors.len()];
        }
        let scale = 1_u64 << self.plans.min(PLANS_MAX);
        let left = self.items_max - self.page.items.len() as u64;
        let bytes = self.bytes_max.saturating_sub(self.bytes).max(1).saturating_mul(scale).min(ahead_bytes);
        let mut held = self.cursors.iter().map(Cursor::held).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let mut groups = vec![0; self.cursors.len()];
        let unread: Vec<_> = self.cursors.iter().map(Cursor::unread).collect();
        // A group too many where several are read: they have more or fewer entries than on average, and another read
        // takes longer.
        let of_group = unread.iter().flatten().map(Unread::entries_of_group).max().unwrap_or(0);
        let margin = if left > of_group { of_group } else { 0 };
        let entries = left.saturating_mul(scale).saturating_add(margin);
        let bound =
            |nth: usize, ahead: usize| unread[nth].as_ref()?.bound(ahead).map(|key| Reverse((key, nth)));
        let mut nearest: BinaryHeap<Reverse<(Vec<u8>, usize)>> =
            (0..unread.len()).filter_map(|nth| bound(nth, 0)).collect();
        let mut is_over = false;
        while let Some(Reverse((key, nth))) = nearest.pop() {
            let own = unread[nth].as_ref().expect("a group is of a patch that is not read");
            let is_behind = self.end.as_ref().is_some_and(|end| key >= *end);
            is_over |= held.0 >= entries || held.1 >= bytes || is_behind;
            // What comes behind a group that cannot be read now is of no use before that one is.
            is_over |= !own.may_read(groups[nth], READ_BYTES_MAX);
            let is_needed = groups[nth] == 0 && waits_for(&self.cursors[nth]);
            if is_over && !is_needed {
                continue;
            }
            let (more, bytes) = own.size(groups[nth]);
            held = (held.0 + more, held.1 + bytes);
            groups[nth] += 1;
            nearest.extend(bound(nth, groups[nth]));
        }
        self.plans += 1;
        groups
    }

    /// Gathers the versions of the next key, as far as they are read, if there is one before the end of the slice or of
    /// the scan.
    pub(crate) fn gather<'a>(&mut self, containers: impl Iterator<Item = &'a Container>) {
        if self.gathering.is_none() {
            let Some(key) = self.next_key().map(<[u8]>::to_vec) else { return };
            if self.end.as_ref().is_some_and(|end| key >= *end) {
                return;
            }
            let mut newest = None;
            for (head, container) in self.heads.iter_mut().zip(containers) {
                if matches!(head, Head::Key(own) if *own == key) {
                    *head = Head::Unknown;
                    newest = newest.or_else(|| container.get(&key, self.sequence).cloned());
                }
            }
            self.gathering = Some((key, newest));
        }
        let Some((key, newest)) = &mut self.gathering else { unreachable!("a key is being gathered") };
        for cursor in &mut self.cursors {
            while cursor.peek().is_some_and(|entry| entry.key == *key) {
                let held = cursor.pop().expect("an entry was seen");
                let entry = held.entry();
                let is_newer = newest.as_ref().is_none_or(|newest| newest.sequence < entry.sequence);
                if entry.sequence <= self.sequence && is_newer {
                    *newest = Some(entry.version());
                }
            }
        }
    }

    /// Returns whether versions of the key that is gathered may come with the next read.
    pub(crate) fn may_gather_more(&self) -> bool {
        let gathered = self.gathering.as_ref();
        gathered.is_some_and(|(key, _)| self.cursors.iter().any(|cursor| cursor.may_go_on(key)))
    }

    /// Bytes of memory of its cursors: entries that are read or being read. Those that were found are the user's.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.cursors.iter().map(Cursor::held_bytes).sum()
    }

    /// Adds an item to the page, and returns whether that is full.
    pub(crate) fn add(&mut self, item: Option<Item>) -> bool {
        if let Some(item) = item {
            self.bytes += item.key.len() as u64 + item.value.as_ref().map_or(0, |value| value.len() as u64);
            self.page.items.push(item);
        }
        self.page.items.len() as u64 >= self.items_max || self.bytes >= self.bytes_max
    }

    /// Returns where the scan goes on: as far behind its position as is known to be empty, so that the groups before
    /// are not read again. Requires: the next keys of containers are looked up.
    pub(crate) fn next_position(&self) -> Vec<u8> {
        let in_memory = self.heads.iter().filter_map(|head| match head {
            Head::Key(key) => Some(key.clone()),
            Head::Unknown | Head::End => None,
        });
        let next = in_memory.chain(self.cursors.iter().filter_map(Cursor::bound)).min();
        next.filter(|next| *next > self.position).unwrap_or_else(|| self.position.clone())
    }
}

/// Returns a version as an item of a page; `None` for a tombstone. `is_there` says whether a piece of a value is.
pub(crate) fn item(key: Vec<u8>, version: Version, is_there: impl Fn(u64) -> bool) -> Option<Item> {
    let expiry_ms = version.expires();
    let (value, value_bytes, missing_piece) = match version.body {
        Body::Value(value) => {
            let value = Arc::unwrap_or_clone(value);
            let value_bytes = value.len() as u64;
            (Some(value), value_bytes, None)
        }
        Body::Pieces(pieces) => {
            (None, pieces.value_bytes, pieces.ids.iter().copied().find(|&id| !is_there(id)))
        }
        Body::Tombstone => return None,
    };
    Some(Item { key, value, value_bytes, expiry_ms, missing_piece })
}
