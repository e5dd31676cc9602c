//! Reads the log when a store is opened: finds its tail and its end, tells a torn tail from damage, and returns the
//! records.
//!
//! The whole ring is read, since any page may be the newest: several requests are in flight, so that it takes the time
//! of its bytes. Where it fits into memory it is read once; otherwise the pages of the chain are read again for their
//! records.

use crate::bytes::Reader;
use crate::entry::{Body, Entry, EntryRef};
use crate::error::OpenError;
use crate::log::foreign::{Foreign, is_foreign_page};
use crate::log::mark::{self, Marks};
use crate::log::page::Page;
use crate::log::queue::Queue;
use crate::log::{LogConfig, LogLayout};
use flashlane_base::Instant;
use flashlane_device::{Buffer, DataDevice, Request};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a read of the ring.
const READ_BYTES: u64 = 1 << 20;
/// Reads of the ring that are in flight at once.
const READS_IN_FLIGHT: u32 = 8;
/// Attempts at a read.
const ATTEMPTS: u32 = 3;

/// Bytes of a record before its entries.
const HEAD_BYTES: u64 = 16;
/// Most bytes of a sequence number.
const SEQUENCE_BYTES_MAX: u64 = 10;

/// A record: a batch of entries of one slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) slice: u32,
    pub(crate) sequence: u64,
    pub(crate) entries: Vec<Entry>,
    /// The page in which it begins.
    pub(crate) page: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The epoch of the pages to be written.
    pub(crate) epoch: u64,
    /// The page behind the chain.
    pub(crate) next_page: u64,
    pub(crate) tail: u64,
    pub(crate) records: Vec<Record>,
    /// What the log knows of the writes that are in patches.
    pub(crate) freed: Freed,
    /// The marks of its end; `None` in versions without them.
    pub(crate) marks: Option<Marks>,
    /// Why records behind these are lost.
    pub(crate) damage: Option<OpenError>,
    /// Other data in the places of pages and marks.
    pub(crate) foreign: Foreign,
}

/// The records below the tail that are still in the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Freed {
    /// The slice and number of each write.
    pub(crate) writes: Vec<(u32, u64)>,
    /// The lowest write in the ring, freed or not; `None` where there is none.
    pub(crate) first: Option<u64>,
    /// The last write of the log; 0 where there was none, `None` where its record is not found.
    pub(crate) last: Option<u64>,
}

impl Recovered {
    /// The log of a new store.
    pub(crate) fn empty() -> Self {
        let freed = Freed { last: Some(0), ..Freed::default() };
        Self {
            epoch: 1,
            next_page: 0,
            tail: 0,
            records: Vec::new(),
            freed,
            marks: Some(Marks::default()),
            damage: None,
            foreign: Foreign::default(),
        }
    }
}

impl Record {
    /// Returns the length of a record with these entries, at most: their sequence is not known yet.
    pub(crate) fn encoded_bytes(entries: &[Entry]) -> u64 {
        let of = |entry: &Entry| entry.version.encoded_bytes(&entry.key) + SEQUENCE_BYTES_MAX;
        HEAD_BYTES + entries.iter().map(of).sum::<u64>()
    }

    /// Appends a record's bytes. Requires: the entries have their sequence.
    pub(super) fn encode(slice: u32, sequence: u64, entries: &[Entry], out: &mut Queue) {
        let bytes: u64 = entries.iter().map(|entry| entry.version.encoded_bytes(&entry.key)).sum();
        let length = (HEAD_BYTES - 4 + bytes) as u32;
        out.begin();
        out.push(|out| {
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&slice.to_le_bytes());
            out.extend_from_slice(&sequence.to_le_bytes());
        });
        for Entry { key, version } in entries {
            out.push(|out| _ = version.encode_to_value(key, out));
            if let Body::Value(value) = &version.body {
                out.push_value(value);
            }
        }
    }

    /// Reads a record without its entries.
    fn decode_head(bytes: &[u8], page: u64) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        Some(Self { slice: reader.u32()?, sequence: reader.u64()?, entries: Vec::new(), page })
    }

    fn decode(bytes: &[u8], page: u64) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let (slice, sequence) = (reader.u32()?, reader.u64()?);
        let mut entries = Vec::new();
        while !reader.is_empty() {
            entries.push(EntryRef::read(&mut reader).ok()??.to_entry());
        }
        Some(Self { slice, sequence, entries, page })
    }
}

/// A slot of the ring as found.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// No page of this store: never written, torn or damaged.
    Invalid,
    /// Other data.
    Foreign,
    Unreadable,
    Page(Page),
}

/// Executes one request on an idle device.
pub(super) fn execute<L: DataDevice>(
    device: &mut L,
    request: Request,
    buffer: Option<Buffer>,
) -> Result<Option<Buffer>, String> {
    let taken = match buffer {
        Some(buffer) => device.submit_with(request, buffer).map_err(|(error, _)| error),
        None => device.submit(request),
    };
    taken.map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    while out.is_empty() {
        device.reap(Instant::FAR, &mut out);
    }
    assert_eq!(out[0].id, request.id, "the device is idle, and no completion is left");
    out[0].outcome.map_err(|failure| failure.to_string())?;
    Ok(device.take_buffer(request.id))
}

/// Reads pages from `slot` on.
fn read_slots<L: DataDevice>(device: &mut L, layout: &LogLayout, slot: u64, pages: u64) -> Option<Buffer> {
    let length = pages * layout.page_bytes;
    let request = Request::read(1, layout.page_offset(slot), length);
    (0..ATTEMPTS).find_map(|_| execute(device, request, Some(Buffer::zeroed(length as usize))).ok().flatten())
}

/// The ring as found.
struct Ring {
    slots: Vec<Slot>,
    /// What was read, by its first slot, if it is kept.
    kept: BTreeMap<u64, Buffer>,
}

/// Pages of the chain that were read together, or that the ring keeps.
struct Chunk<'a> {
    ring: &'a Ring,
    first: u64,
    pages: u64,
    buffer: Option<Buffer>,
}

impl Chunk<'_> {
    /// Returns a page, and reads those up to `end` with it where it was not read yet. `None` where it cannot be read.
    fn page<L: DataDevice>(
        &mut self,
        device: &mut L,
        layout: &LogLayout,
        number: u64,
        end: u64,
    ) -> Option<&[u8]> {
        let slot = number % layout.pages;
        if let Some((first, buffer)) = self.ring.kept.range(..=slot).next_back() {
            let kept = buffer.as_slice().chunks(layout.page_bytes as usize).nth((slot - first) as usize);
            if kept.is_some() {
                return kept;
            }
        }
        if self.buffer.is_none() || !(self.first..self.first + self.pages).contains(&number) {
            let pages = (READ_BYTES / layout.page_bytes).max(1).min(end - number).min(layout.pages - slot);
            let read = read_slots(device, layout, slot, pages).map(|buffer| (buffer, pages));
            let (buffer, pages) =
                read.or_else(|| read_slots(device, layout, slot, 1).map(|buffer| (buffer, 1)))?;
            (self.first, self.pages, self.buffer) = (number, pages, Some(buffer));
        }
        let bytes = self.buffer.as_ref()?.as_slice();
        bytes.chunks(layout.page_bytes as usize).nth((number - self.first) as usize)
    }
}

/// Reads the ring, and keeps what was read if it has at most `kept_bytes_max`.
fn read_ring<L: DataDevice>(device: &mut L, layout: &LogLayout, store: u128, kept_bytes_max: u64) -> Ring {
    let is_kept = layout.pages * layout.page_bytes <= kept_bytes_max;
    let mut ring = Ring { slots: vec![Slot::Unreadable; layout.pages as usize], kept: BTreeMap::new() };
    let mut take = |chunk: Range<u64>, buffer: Buffer| {
        for (slot, bytes) in chunk.clone().zip(buffer.as_slice().chunks(layout.page_bytes as usize)) {
            ring.slots[slot as usize] = match Page::decode(bytes, store) {
                Some((page, _)) if page.number % layout.pages == slot => Slot::Page(page),
                None if is_foreign_page(bytes, store, layout, slot) => Slot::Foreign,
                _ => Slot::Invalid,
            };
        }
        if is_kept {
            ring.kept.insert(chunk.start, buffer);
        }
    };
    for chunk in read_in_chunks(device, layout, &mut take) {
        match read_slots(device, layout, chunk.start, chunk.end - chunk.start) {
            Some(buffer) => take(chunk, buffer),
            None => chunk.for_each(|slot| {
                if let Some(buffer) = read_slots(device, layout, slot, 1) {
                    take(slot..slot + 1, buffer);
                }
            }),
        }
    }
    ring
}

/// Reads the ring in chunks and hands over those that were read. Returns the others.
pub(super) fn read_in_chunks<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    take: &mut impl FnMut(Range<u64>, Buffer),
) -> Vec<Range<u64>> {
    let pages = (READ_BYTES / layout.page_bytes).max(1);
    let firsts = (0..layout.pages).step_by(pages as usize);
    let chunks: Vec<Range<u64>> = firsts.map(|first| first..layout.pages.min(first + pages)).collect();
    read_chunks(device, layout, &chunks, take)
}

/// Reads chunks of the ring and hands over those that were read. Returns the others.
fn read_chunks<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    chunks: &[Range<u64>],
    take: &mut impl FnMut(Range<u64>, Buffer),
) -> Vec<Range<u64>> {
    let at_once = READS_IN_FLIGHT.min(device.info().depth);
    let (mut next, mut in_flight, mut failed, mut out) = (0, 0, Vec::new(), Vec::new());
    loop {
        while in_flight < at_once && next < chunks.len() {
            let chunk = &chunks[next];
            let length = (chunk.end - chunk.start) * layout.page_bytes;
            let request = Request::read(next as u64, layout.page_offset(chunk.start), length);
            match device.submit_with(request, Buffer::zeroed(length as usize)) {
                Ok(()) => in_flight += 1,
                Err(_) => failed.push(chunk.clone()),
            }
            next += 1;
        }
        if in_flight == 0 {
            return failed;
        }
        device.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            in_flight -= 1;
            let chunk = chunks[completion.id.0 as usize].clone();
            match (completion.outcome, device.take_buffer(completion.id)) {
                (Ok(()), Some(buffer)) => take(chunk, buffer),
                _ => failed.push(chunk),
            }
        }
    }
}

/// Reads the log of a store. At most `kept_bytes_max` of the ring stay in memory until it returns. Where durable pages
/// are damaged, `reads_damaged` returns the records before them, for reading only.
pub(crate) fn recover<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    kept_bytes_max: u64,
    reads_damaged: bool,
) -> Result<Recovered, OpenError> {
    let ring = read_ring(device, layout, config.store, kept_bytes_max);
    let mut foreign = Foreign::default();
    let found = layout.has_marks().then(|| mark::read(device, layout, config.store, &mut foreign));
    for (slot, _) in (0..).zip(&ring.slots).filter(|(_, found)| matches!(found, Slot::Foreign)) {
        foreign.push(layout.page_offset(slot)..layout.page_offset(slot + 1));
    }
    Ok(Recovered { foreign, ..recover_chain(device, layout, config, &ring, found, reads_damaged)? })
}

/// Returns what the pages of the ring hold. `found` is what the marks say, of a log that has them.
fn recover_chain<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    ring: &Ring,
    found: Option<Option<Marks>>,
    reads_damaged: bool,
) -> Result<Recovered, OpenError> {
    let slots = &ring.slots;
    let name = device.info().name.clone();
    let marks = found.flatten();
    let marked_to = marks.map_or(0, |marks| marks.durable_to);
    let marks_damage = (found == Some(None)).then(|| OpenError::LogMarksDamaged { device: name.clone() });
    let pages =
        || slots.iter().filter_map(|slot| if let Slot::Page(page) = slot { Some(page) } else { None });
    let Some(newest) = pages().max_by_key(|page| (page.epoch, page.number)) else {
        return without_pages(slots, name, marks, marks_damage, reads_damaged);
    };
    let (tail, mut end, mut epoch) = (newest.tail, newest.tail, 0);
    // The newest page is in the chain, or behind a gap that the last power cut tore.
    let end_slot = loop {
        match slots[(end % layout.pages) as usize] {
            Slot::Page(page) if page.number == end && page.epoch >= epoch => epoch = page.epoch,
            other => break other,
        }
        end += 1;
    };
    let durable_to = pages().map(|page| page.durable_before).max().unwrap_or(0).max(marked_to);
    let damage = match end_slot {
        Slot::Unreadable => Some(OpenError::LogUnreadable { device: name, page: end }),
        _ if durable_to > end => Some(OpenError::LogDamaged { device: name, page: end, durable_to }),
        _ => marks_damage,
    };
    if let Some(damage) = damage.clone().filter(|_| !reads_damaged) {
        return Err(damage);
    }
    if end - tail >= layout.pages {
        return Err(OpenError::LogFull { device: device.info().name.clone() });
    }
    let oldest = oldest_page(slots, tail, end, layout.pages);
    let mut records = read_records(device, layout, config, ring, oldest..end, tail)?;
    let all = || records.iter().map(|record| record.sequence);
    let (first, last) = (all().min(), all().max().or((oldest == 0).then_some(0)));
    let needed = records.split_off(records.partition_point(|record| record.page < tail));
    let writes = records.iter().map(|record| (record.slice, record.sequence)).collect();
    // Of a damaged log it is not known which writes it had.
    let freed = if damage.is_none() { Freed { writes, first, last } } else { Freed::default() };
    let (epoch, foreign) = (newest.epoch + 1, Foreign::default());
    Ok(Recovered { epoch, next_page: end, tail, records: needed, freed, marks, damage, foreign })
}

/// Returns what is found in a log that has no page, and whose marks may say that it had some.
fn without_pages(
    slots: &[Slot],
    device: String,
    marks: Option<Marks>,
    marks_damage: Option<OpenError>,
    reads_damaged: bool,
) -> Result<Recovered, OpenError> {
    let durable_to = marks.map_or(0, |marks| marks.durable_to);
    let damage = match slots.iter().any(|slot| matches!(slot, Slot::Unreadable)) {
        true => return Err(OpenError::LogUnreadable { device, page: 0 }),
        false if durable_to > 0 => Some(OpenError::LogDamaged { device, page: 0, durable_to }),
        false => marks_damage,
    };
    match damage {
        None => Ok(Recovered { marks, ..Recovered::empty() }),
        Some(damage) if !reads_damaged => Err(damage),
        damage => Ok(Recovered { freed: Freed::default(), damage, ..Recovered::empty() }),
    }
}

/// Returns the lowest page from which on all pages up to the tail are still in the ring.
fn oldest_page(slots: &[Slot], tail: u64, end: u64, ring_pages: u64) -> u64 {
    let (mut oldest, mut epoch) = (tail, u64::MAX);
    while oldest > end.saturating_sub(ring_pages) {
        match slots[((oldest - 1) % ring_pages) as usize] {
            Slot::Page(page) if page.number == oldest - 1 && page.epoch <= epoch => epoch = page.epoch,
            _ => break,
        }
        oldest -= 1;
    }
    oldest
}

/// Reads the records that begin in these pages and are whole; those that begin below `tail` without their entries.
fn read_records<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    ring: &Ring,
    chain: Range<u64>,
    tail: u64,
) -> Result<Vec<Record>, OpenError> {
    let name = device.info().name.clone();
    let mut records = Vec::new();
    // The bytes of a record so far, the page in which it begins, and its epoch.
    let (mut partial, mut began, mut epoch) = (Vec::new(), 0, 0);
    let mut is_in_step = false;
    let end = chain.end;
    let mut chunk = Chunk { ring, first: 0, pages: 0, buffer: None };
    for number in chain {
        let damaged = || OpenError::LogDamaged { device: name.clone(), page: number, durable_to: number + 1 };
        let bytes = chunk.page(device, layout, number, end);
        let bytes = bytes.ok_or_else(|| OpenError::LogUnreadable { device: name.clone(), page: number })?;
        let (page, payload) = Page::decode(bytes, config.store).ok_or_else(damaged)?;
        let mut payload = &payload[..];
        if page.epoch != epoch {
            // The power was cut within the record before.
            partial.clear();
            (epoch, is_in_step) = (page.epoch, false);
        }
        if !is_in_step {
            let Some(first) = page.first_record else { continue };
            payload = payload.get(first as usize..).ok_or_else(damaged)?;
            is_in_step = true;
        }
        while !payload.is_empty() {
            if partial.is_empty() {
                began = number;
            }
            // The length first, then what it says.
            let length = match partial.get(..4) {
                None => 4,
                Some(length) => 4 + u32::from_le_bytes(length.try_into().expect("four bytes")) as usize,
            };
            let (part, rest) = payload.split_at(payload.len().min(length - partial.len()));
            partial.extend_from_slice(part);
            payload = rest;
            if length == 4 && partial.len() == 4 && partial == [0; 4] {
                return Err(damaged());
            }
            if length > 4 && partial.len() == length {
                let decode = if began < tail { Record::decode_head } else { Record::decode };
                records.push(decode(&partial[4..], began).ok_or_else(damaged)?);
                partial.clear();
            }
        }
    }
    Ok(records)
}
