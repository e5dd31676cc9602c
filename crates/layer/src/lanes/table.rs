//! The table of units in memory, and the order of its sector writes.
//!
//! A sector has two slots on the device, and each write goes to the older one, so that a torn write leaves the newer
//! one intact. Changes during a write of the sector wait for its next write and share it. A sector without waiting
//! changes is written once more: at rest both slots are equal, and damage to either is repaired from the other.
//!
//! A slot that is unsound, because it was damaged or a write to it was torn or failed, is cleared before the next
//! write. Otherwise the next write, if torn too, could complete the remains of the first one and bring back changes
//! that were never acknowledged.

use super::constants::{RECORDS, SECTOR_BYTES};
use super::disk::{Record, TableSector};
use super::layout::Layout;
use flashlane_device::Buffer;
use std::collections::VecDeque;

/// A sector, and those who wait for its writes.
#[derive(Clone)]
struct Sector<T> {
    /// Sequence number of the newest write, including failed ones.
    sequence: u64,
    /// The slot with the valid content.
    newest: u64,
    /// Slots that hold neither the valid content nor its predecessor, and are not cleared yet.
    unsound: [bool; 2],
    writing: bool,
    /// Whether the next write is queued or in flight.
    queued: bool,
    /// Waiters for the next write.
    waiting: Vec<T>,
    /// Waiters for the write in flight.
    carried: Vec<T>,
}

/// The condition of a sector on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub sequence: u64,
    /// The slot with the valid content.
    pub newest: u64,
    /// Whether both slots are equal.
    pub in_sync: bool,
    /// Slots without a valid record of the sector.
    pub unsound: [bool; 2],
}

/// A sector write to submit.
pub(super) struct Due {
    pub sector: u64,
    pub offset_bytes: u64,
    pub buffer: Buffer,
}

/// The table. `T` is a waiter for a durable change.
#[derive(Clone)]
pub(super) struct RecordTable<T> {
    layout: Layout,
    id: [u8; 16],
    records: Vec<Record>,
    sectors: Vec<Sector<T>>,
    /// Sectors with waiting changes.
    due: VecDeque<u64>,
    /// Sectors with a stale slot but no waiting changes.
    stale: VecDeque<u64>,
    /// Sectors whose slots were both sound, and not the same, when the table was read.
    outdated: u64,
    /// Blocks for the next writes.
    spare: Vec<Buffer>,
}

impl<T> RecordTable<T> {
    pub fn new(layout: Layout, id: [u8; 16], records: Vec<Record>, found: &[Found]) -> Self {
        let sector = |found: &Found| Sector {
            sequence: found.sequence,
            newest: found.newest,
            unsound: found.unsound,
            writing: false,
            queued: false,
            waiting: Vec::new(),
            carried: Vec::new(),
        };
        let is_outdated = |found: &&Found| !found.in_sync && found.unsound == [false; 2];
        let outdated = found.iter().filter(is_outdated).count() as u64;
        let stale = found.iter().zip(0..).filter(|(found, _)| !found.in_sync).map(|(_, at)| at).collect();
        let sectors = found.iter().map(sector).collect();
        Self { layout, id, records, sectors, due: VecDeque::new(), stale, outdated, spare: Vec::new() }
    }

    pub fn record(&self, number: u64) -> Record {
        self.records[number as usize]
    }

    /// Sets a record without a waiter; it is written with the sector's next change.
    pub fn set(&mut self, number: u64, record: Record) {
        self.records[number as usize] = record;
    }

    /// Changes a record, and makes `waiter` wait until the change is durable.
    pub fn change(&mut self, number: u64, record: Record, waiter: T) {
        self.records[number as usize] = record;
        let at = number / RECORDS;
        let sector = &mut self.sectors[at as usize];
        sector.waiting.push(waiter);
        if !sector.writing && !sector.queued {
            sector.queued = true;
            self.due.push_back(at);
        }
    }

    /// Returns the next write with waiters.
    pub fn next_due(&mut self) -> Option<Due> {
        let at = self.due.pop_front()?;
        Some(self.begin(at))
    }

    /// Returns the number of sectors of which one slot lacked the last change when the table was read: a write to it
    /// was cut short. The other slot has it.
    pub fn outdated(&self) -> u64 {
        self.outdated
    }

    /// Returns the next background write, of a sector with a stale slot.
    pub fn next_stale(&mut self) -> Option<Due> {
        loop {
            let at = self.stale.pop_front()?;
            let sector = &self.sectors[at as usize];
            // The write in flight or queued updates the slot, or queues the sector again.
            if !sector.writing && !sector.queued {
                return Some(self.begin(at));
            }
        }
    }

    /// Begins the write of a sector, or of zeros over an unsound slot of it: its waiters stay for the write after that.
    fn begin(&mut self, at: u64) -> Due {
        let sector = &mut self.sectors[at as usize];
        debug_assert!(!sector.writing, "sector {at} is being written");
        sector.queued = false;
        sector.writing = true;
        let slot = 1 - sector.newest;
        let offset_bytes = self.layout.slot(at, slot);
        let mut buffer = self.spare.pop().unwrap_or_else(|| Buffer::zeroed(SECTOR_BYTES as usize));
        if sector.unsound[slot as usize] {
            buffer.as_mut_slice().fill(0);
            return Due { sector: at, offset_bytes, buffer };
        }
        sector.sequence += 1;
        std::mem::swap(&mut sector.waiting, &mut sector.carried);
        let first = (at * RECORDS) as usize;
        let records = &self.records[first..first + self.layout.records_of(at) as usize];
        let block = TableSector { sector: at, sequence: sector.sequence, records };
        block.encode(&self.id, buffer.as_mut_slice());
        Due { sector: at, offset_bytes, buffer }
    }

    /// Notes that the write of a sector has completed, and appends its waiters to `out`.
    pub fn ended(&mut self, at: u64, succeeded: bool, buffer: Option<Buffer>, out: &mut Vec<T>) {
        self.spare.extend(buffer);
        let sector = &mut self.sectors[at as usize];
        debug_assert!(sector.writing, "sector {at} is not being written");
        sector.writing = false;
        let slot = (1 - sector.newest) as usize;
        let cleared = std::mem::replace(&mut sector.unsound[slot], !succeeded);
        if cleared && !succeeded {
            // The slot cannot be written, so the next write fails too.
            out.append(&mut sector.waiting);
        }
        if succeeded && !cleared {
            sector.newest = 1 - sector.newest;
        }
        if !sector.waiting.is_empty() {
            sector.queued = true;
            self.due.push_back(at);
        } else if succeeded
            && (cleared || !sector.carried.is_empty() || sector.unsound[(1 - sector.newest) as usize])
        {
            self.stale.push_back(at);
        }
        out.append(&mut sector.carried);
    }

    /// Removes all waiters and appends them to `out`.
    pub fn abandon(&mut self, out: &mut Vec<T>) {
        for sector in &mut self.sectors {
            out.append(&mut sector.carried);
            out.append(&mut sector.waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Shape;
    use super::*;
    use flashlane_device::UnitState;

    fn table() -> RecordTable<u32> {
        let shape = Shape { lanes: 2, unit_bytes: 4096, read_unit_bytes: 512, write_unit_bytes: 4096 };
        let layout = Layout::new(shape, 1 << 20).unwrap();
        let records = vec![Record::NEW; layout.units() as usize];
        let found = Found { sequence: 1, newest: 0, in_sync: true, unsound: [false; 2] };
        RecordTable::new(layout, [7; 16], records, &vec![found; layout.sectors() as usize])
    }

    const WRITTEN: Record =
        Record { state: UnitState::Written { bytes: 4096 }, erases: Some(0), content: None };

    #[test]
    fn changes_share_a_write_and_slots_alternate() {
        let mut table = table();
        let mut out = Vec::new();
        table.change(0, WRITTEN, 10);
        let first = table.next_due().unwrap();
        table.change(1, WRITTEN, 11);
        table.change(2, WRITTEN, 12);
        assert!(table.next_due().is_none() && table.next_stale().is_none(), "one write at a time");
        table.ended(first.sector, true, Some(first.buffer), &mut out);
        assert_eq!(out, [10]);
        let second = table.next_due().unwrap();
        assert_ne!(first.offset_bytes, second.offset_bytes);
        table.ended(second.sector, true, None, &mut out);
        assert_eq!(out, [10, 11, 12]);
        // At rest the other slot is written too.
        let copy = table.next_stale().unwrap();
        assert_eq!(copy.offset_bytes, first.offset_bytes);
        table.ended(copy.sector, true, None, &mut out);
        assert!(out.len() == 3 && table.next_due().is_none() && table.next_stale().is_none());
    }

    #[test]
    fn failed_write_keeps_the_valid_slot_and_clears_its_own() {
        let mut table = table();
        let mut out = Vec::new();
        table.change(0, WRITTEN, 10);
        let first = table.next_due().unwrap();
        table.ended(first.sector, false, None, &mut out);
        assert_eq!(std::mem::take(&mut out), [10]);
        table.change(1, WRITTEN, 11);
        let clear = table.next_due().unwrap();
        assert!(clear.offset_bytes == first.offset_bytes && clear.buffer.as_slice() == [0; 4096]);
        table.change(2, WRITTEN, 12);
        table.ended(clear.sector, true, None, &mut out);
        assert!(out.is_empty(), "no change is durable yet");
        let second = table.next_due().unwrap();
        assert_eq!(first.offset_bytes, second.offset_bytes);
        let sequence = |due: &Due| u64::from_le_bytes(due.buffer.as_slice()[16..24].try_into().unwrap());
        assert!(sequence(&second) > sequence(&first), "the remains of the failed write are older");
        table.ended(second.sector, true, None, &mut out);
        assert_eq!(out, [11, 12]);
    }

    #[test]
    fn both_lost_slots_are_cleared_and_written() {
        let mut table = table();
        table.sectors[0].unsound = [true; 2];
        table.stale.push_back(0);
        let mut places = Vec::new();
        while let Some(due) = table.next_stale() {
            places.push((due.offset_bytes, due.buffer.as_slice() == [0; 4096]));
            table.ended(due.sector, true, Some(due.buffer), &mut Vec::new());
        }
        let [first, second] = [0, 1].map(|slot| table.layout.slot(0, slot));
        assert_eq!(places, [(second, true), (second, false), (first, true), (first, false)]);
    }

    #[test]
    fn slot_that_cannot_be_cleared_fails_the_waiters() {
        let mut table = table();
        let mut out = Vec::new();
        for waiter in [10, 11] {
            table.change(0, WRITTEN, waiter);
            let due = table.next_due().unwrap();
            table.ended(due.sector, false, None, &mut out);
        }
        assert!(out == [10, 11] && table.next_due().is_none() && table.next_stale().is_none());
    }
}
