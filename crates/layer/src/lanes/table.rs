//! The table of units in memory, and which of its sectors have to be written when.
//!
//! A sector has two slots on the device and is written to the older of the two, so that a write that is cut short leaves
//! the newer one. Changes that come while a sector is written wait for its next write and share it. A sector that no
//! change waits for is written once more as it is: at rest both slots say the same, and damage to either is repaired from
//! the other.
//!
//! A slot that is not sound, since a write to it was torn or failed or it was damaged, is cleared before it is written
//! again. Otherwise the next write, torn too, could add to what the first one left of itself just what it lacks, and bring
//! back changes that were never acknowledged.

use super::disk::{Record, TableSector};
use super::layout::{Layout, RECORDS, SECTOR_BYTES};
use flashlane_device::Buffer;
use std::collections::VecDeque;

/// A sector, and those who wait for it.
struct Sector<T> {
    /// Of its newest write, failed ones among them.
    sequence: u64,
    /// The slot that holds what is in force.
    newest: u64,
    /// The slots that hold neither what is in force nor what was before, and are not cleared yet.
    unsound: [bool; 2],
    writing: bool,
    /// Whether the next write is under way or queued.
    queued: bool,
    /// Whose changes wait for the next write.
    waiting: Vec<T>,
    /// Whose changes the write that is under way carries.
    carried: Vec<T>,
}

/// What a sector was found to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub sequence: u64,
    /// The slot that holds what is in force.
    pub newest: u64,
    /// Whether both slots say so.
    pub settled: bool,
    /// The slots that hold no record of the sector.
    pub unsound: [bool; 2],
}

/// A write of a sector that is due.
pub(super) struct Due {
    pub sector: u64,
    pub offset_bytes: u64,
    pub buffer: Buffer,
}

/// The table. `T` is whoever waits for a change to be durable.
pub(super) struct Table<T> {
    layout: Layout,
    id: [u8; 16],
    records: Vec<Record>,
    sectors: Vec<Sector<T>>,
    /// Sectors with changes.
    due: VecDeque<u64>,
    /// Sectors whose slots differ though nothing has changed since.
    unsettled: VecDeque<u64>,
    /// A block for the next write.
    spare: Vec<Buffer>,
}

impl<T> Table<T> {
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
        let unsettled = found.iter().zip(0..).filter(|(found, _)| !found.settled).map(|(_, at)| at).collect();
        let sectors = found.iter().map(sector).collect();
        Self { layout, id, records, sectors, due: VecDeque::new(), unsettled, spare: Vec::new() }
    }

    pub fn record(&self, number: u64) -> Record {
        self.records[number as usize]
    }

    /// Sets a record that nobody waits for; it is written with the sector's next change.
    pub fn set(&mut self, number: u64, record: Record) {
        self.records[number as usize] = record;
    }

    /// Changes a record, and has `who` wait until that is durable.
    pub fn change(&mut self, number: u64, record: Record, who: T) {
        self.records[number as usize] = record;
        let at = number / RECORDS;
        let sector = &mut self.sectors[at as usize];
        sector.waiting.push(who);
        if !sector.writing && !sector.queued {
            sector.queued = true;
            self.due.push_back(at);
        }
    }

    /// The next write that somebody waits for.
    pub fn next_due(&mut self) -> Option<Due> {
        let at = self.due.pop_front()?;
        Some(self.begin(at))
    }

    /// The next write that nobody waits for.
    pub fn next_unsettled(&mut self) -> Option<Due> {
        loop {
            let at = self.unsettled.pop_front()?;
            let sector = &self.sectors[at as usize];
            // Its next write settles it, or queues it again.
            if !sector.writing && !sector.queued {
                return Some(self.begin(at));
            }
        }
    }

    fn begin(&mut self, at: u64) -> Due {
        let sector = &mut self.sectors[at as usize];
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

    /// Notes that the write of a sector has ended, and appends to `out` those who waited for it.
    pub fn ended(&mut self, at: u64, succeeded: bool, buffer: Option<Buffer>, out: &mut Vec<T>) {
        self.spare.extend(buffer);
        let sector = &mut self.sectors[at as usize];
        sector.writing = false;
        let slot = (1 - sector.newest) as usize;
        let cleared = std::mem::replace(&mut sector.unsound[slot], !succeeded);
        if cleared && !succeeded {
            // The slot cannot be written: those who wait for it are not served.
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
            self.unsettled.push_back(at);
        }
        out.append(&mut sector.carried);
    }

    /// Everybody who waits, and forgets them.
    pub fn abandon(&mut self, out: &mut Vec<T>) {
        for sector in &mut self.sectors {
            out.append(&mut sector.carried);
            out.append(&mut sector.waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Shape;
    use flashlane_device::UnitState;

    fn table() -> Table<u32> {
        let shape = Shape { lanes: 2, unit_bytes: 4096, read_unit_bytes: 512, write_unit_bytes: 4096 };
        let layout = Layout::new(shape, 1 << 20).unwrap();
        let records = vec![Record::NEW; layout.units() as usize];
        let found = Found { sequence: 1, newest: 0, settled: true, unsound: [false; 2] };
        Table::new(layout, [7; 16], records, &vec![found; layout.sectors() as usize])
    }

    const WRITTEN: Record = Record { state: UnitState::Written { bytes: 4096 }, erases: Some(0) };

    #[test]
    fn changes_share_a_write_and_the_slots_take_turns() {
        let mut table = table();
        let mut out = Vec::new();
        table.change(0, WRITTEN, 10);
        let first = table.next_due().unwrap();
        table.change(1, WRITTEN, 11);
        table.change(2, WRITTEN, 12);
        assert!(table.next_due().is_none() && table.next_unsettled().is_none(), "one write at a time");
        table.ended(first.sector, true, Some(first.buffer), &mut out);
        assert_eq!(out, [10]);
        let second = table.next_due().unwrap();
        assert_ne!(first.offset_bytes, second.offset_bytes);
        table.ended(second.sector, true, None, &mut out);
        assert_eq!(out, [10, 11, 12]);
        // At rest it is written once more.
        let copy = table.next_unsettled().unwrap();
        assert_eq!(copy.offset_bytes, first.offset_bytes);
        table.ended(copy.sector, true, None, &mut out);
        assert!(out.len() == 3 && table.next_due().is_none() && table.next_unsettled().is_none());
    }

    #[test]
    fn a_failed_write_leaves_the_slot_in_force_alone_and_its_own_is_cleared() {
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
        assert!(out.is_empty(), "nothing of it is durable yet");
        let second = table.next_due().unwrap();
        assert_eq!(first.offset_bytes, second.offset_bytes);
        let sequence = |due: &Due| u64::from_le_bytes(due.buffer.as_slice()[16..24].try_into().unwrap());
        assert!(sequence(&second) > sequence(&first), "what the failed one left is older");
        table.ended(second.sector, true, None, &mut out);
        assert_eq!(out, [11, 12]);
    }

    #[test]
    fn two_lost_slots_are_both_written() {
        let mut table = table();
        table.sectors[0].unsound = [true; 2];
        table.unsettled.push_back(0);
        let mut places = Vec::new();
        while let Some(due) = table.next_unsettled() {
            places.push((due.offset_bytes, due.buffer.as_slice() == [0; 4096]));
            table.ended(due.sector, true, Some(due.buffer), &mut Vec::new());
        }
        let [first, second] = [0, 1].map(|slot| table.layout.slot(0, slot));
        assert_eq!(places, [(second, true), (second, false), (first, true), (first, false)]);
    }

    #[test]
    fn a_slot_that_cannot_be_cleared_fails_those_who_wait() {
        let mut table = table();
        let mut out = Vec::new();
        for who in [10, 11] {
            table.change(0, WRITTEN, who);
            let due = table.next_due().unwrap();
            table.ended(due.sector, false, None, &mut out);
        }
        assert!(out == [10, 11] && table.next_due().is_none() && table.next_unsettled().is_none());
    }
}
