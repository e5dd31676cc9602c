//! The receiver of a reader's requests: checks and counts them, by device, a batch at a time.

use crate::Record;
use crate::fault::{Backward, Device, Fault, Refusal};
use flashlane_base::{Duration, Instant, Operation};
use std::collections::BTreeMap;

/// Requests per batch: enough to make the cost of a batch negligible, few enough to stay in the cache.
const BATCH: usize = 2048;
/// Maximum number of refusals kept with their reasons.
const KEPT: usize = 10;
/// Maximum length of a given value in a message.
const SHOWN_BYTES: usize = 40;
/// Limit of addresses, so that their sums cannot overflow.
const END_BYTES: u64 = 1 << 63;
/// Devices below this number are counted in a table, others in a map.
const DENSE: u32 = 1 << 16;
/// Maximum size of the map, so that a hostile trace cannot exhaust memory; no real trace has more devices.
const SPARSE_MOST: usize = 1 << 16;

/// The reason for refusing a line.
#[derive(Debug)]
pub(crate) struct Reason {
    pub what: &'static str,
    pub given: Given,
    pub allowed: &'static str,
}

/// The value found.
#[derive(Debug)]
pub(crate) enum Given {
    /// These bytes of the reader's block.
    Bytes(usize, usize),
    Number(u64),
}

/// The selected devices.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// The only one; a second one is an error.
    Sole,
    Numbered(u32),
    Every,
}

/// The current batch, and the counts so far.
pub(crate) struct Sink {
    pub records: Vec<Record>,
    wanted: Wanted,
    unit: &'static str,
    pub lines: u64,
    pub skipped: u64,
    pub refused: u64,
    pub refusals: Vec<Refusal>,
    pub backward: Option<Backward>,
    pub ends_inside_line: bool,
    /// Bytes of content read.
    pub bytes: u64,
    /// Requests in earlier batches.
    pub earlier: u64,
    latest: Instant,
    devices: Devices,
}

impl Sink {
    pub fn new(wanted: Wanted, unit: &'static str) -> Self {
        Self {
            records: Vec::new(),
            wanted,
            unit,
            lines: 0,
            skipped: 0,
            refused: 0,
            refusals: Vec::new(),
            backward: None,
            ends_inside_line: false,
            bytes: 0,
            earlier: 0,
            latest: Instant::ZERO,
            devices: Devices::default(),
        }
    }

    /// Returns whether the batch has room. A reader may exceed it by the requests of one line.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.records.len() < BATCH
    }

    /// Begins the next batch.
    pub fn clear(&mut self) {
        self.earlier += self.records.len() as u64;
        self.records.clear();
    }

    /// Returns the number of requests so far.
    pub fn total(&self) -> u64 {
        self.earlier + self.records.len() as u64
    }

    /// Takes the request of this line, unless it is invalid for any device.
    #[inline]
    pub fn push(&mut self, record: Record) -> Result<(), Reason> {
        self.push_of(self.lines, record)
    }

    /// Takes a request of an earlier line.
    #[inline]
    pub fn push_of(&mut self, line: u64, record: Record) -> Result<(), Reason> {
        if record.length_bytes == 0 && record.operation != Operation::Flush {
            return Err(without_length());
        }
        match record.offset_bytes.checked_add(record.length_bytes) {
            Some(end) if end <= END_BYTES => {}
            _ => return Err(too_far(record.offset_bytes)),
        }
        if !self.devices.count(record.device) {
            return Err(Reason {
                what: "the device",
                given: Given::Number(u64::from(record.device)),
                allowed: "below 65536, or one of those before it: of higher numbers there are 65536 already",
            });
        }
        if let Wanted::Numbered(number) = self.wanted
            && number != record.device
        {
            return Ok(());
        }
        if record.at < self.latest {
            self.step_back(line, record.at);
        } else {
            self.latest = record.at;
        }
        self.records.push(record);
        Ok(())
    }

    #[cold]
    fn step_back(&mut self, line: u64, at: Instant) {
        let step = self.latest.since(at);
        let first = Backward { count: 0, first_line: line, longest: Duration::ZERO };
        let backward = self.backward.get_or_insert(first);
        backward.count += 1;
        backward.longest = backward.longest.max(step);
    }

    /// Counts a refused line, and keeps the reason of the first ones.
    pub fn refuse(&mut self, reason: &Reason, block: &[u8]) {
        self.refuse_of(self.lines, reason, block);
    }

    /// Like [`Sink::refuse`], for an earlier line.
    #[cold]
    pub fn refuse_of(&mut self, line: u64, reason: &Reason, block: &[u8]) {
        self.keep(line, || {
            let given = match reason.given {
                Given::Bytes(from, to) => shown(&block[from..to]),
                Given::Number(number) => number.to_string(),
            };
            let Reason { what, allowed, .. } = *reason;
            Fault::Field { what, given, allowed }
        });
    }

    /// Counts a line or event with a fault other than a field.
    #[cold]
    pub fn refuse_whole(&mut self, fault: Fault) {
        self.keep(self.lines, || fault);
    }

    fn keep(&mut self, line: u64, fault: impl FnOnce() -> Fault) {
        self.refused += 1;
        if self.refusals.len() < KEPT {
            self.refusals.push(Refusal { unit: self.unit, number: line, fault: fault() });
        }
    }

    /// Returns whether there is a second device where only one is allowed.
    pub fn has_too_many_devices(&self) -> bool {
        matches!(self.wanted, Wanted::Sole) && self.devices.several
    }

    /// Returns the devices so far.
    pub fn devices(&self, name: impl Fn(u32) -> Option<String>) -> Vec<Device> {
        let dense = self.devices.dense.iter().enumerate();
        let dense =
            dense.filter(|(_, records)| **records > 0).map(|(number, records)| (number as u32, *records));
        let sparse = self.devices.sparse.iter().map(|(number, records)| (*number, *records));
        dense.chain(sparse).map(|(number, records)| Device { number, name: name(number), records }).collect()
    }
}

/// The reason for refusing a request without the required length.
#[cold]
pub(crate) fn without_length() -> Reason {
    let allowed = "more than nothing: only a flush has no length";
    Reason { what: "the length", given: Given::Number(0), allowed }
}

/// The reason for refusing a request beyond the address limit.
#[cold]
pub(crate) fn too_far(offset: u64) -> Reason {
    Reason {
        what: "the request's address",
        given: Given::Number(offset),
        allowed: "such that the request ends below 8 EiB",
    }
}

/// Formats bytes for a message.
fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)])
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if bytes.len() > SHOWN_BYTES { text + "…" } else { text }
}

/// The number of requests of each device.
#[derive(Default)]
struct Devices {
    dense: Vec<u64>,
    sparse: BTreeMap<u32, u64>,
    first: Option<u32>,
    several: bool,
}

impl Devices {
    /// Counts a request; returns false where there are too many devices.
    #[inline]
    fn count(&mut self, device: u32) -> bool {
        if self.first != Some(device) {
            self.several |= self.first.is_some();
            self.first.get_or_insert(device);
        }
        match self.dense.get_mut(device as usize) {
            Some(count) => *count += 1,
            None => return self.count_rare(device),
        }
        true
    }

    #[cold]
    fn count_rare(&mut self, device: u32) -> bool {
        if device < DENSE {
            self.dense.resize(device as usize + 1, 0);
            self.dense[device as usize] = 1;
            return true;
        }
        if self.sparse.len() >= SPARSE_MOST && !self.sparse.contains_key(&device) {
            return false;
        }
        *self.sparse.entry(device).or_insert(0) += 1;
        true
    }
}
