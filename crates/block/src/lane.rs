//! The queue of one lane: reads and writes that wait, and the number in flight.
//!
//! Long reads go to the device in their order, one after the other or few at once. A channel of flash serves the
//! requests that it has in turns, page by page, so that of `n` reads of one length that begin together all end after
//! `n` times the time of one; in order, they end after half of that on average, and what waits for them goes on
//! elsewhere. Short reads do not wait for long ones.
//!
//! Invariants:
//! - While a long read waits, another one is in flight, unless the device takes no more requests.
//! - `load_bytes` is the sum over all reads and writes that wait or are in flight.
//! - A copy of the superblock waits before blocks: erases wait for it.

use crate::layout::Layout;
use crate::operation::{BlockRead, Write};
use std::collections::VecDeque;

/// Reads of more bytes are long. Of those up to this length a device of flash begins all pages at once, so that it
/// serves them in their order by itself.
const SHORT_READ_BYTES: u64 = 128 << 10;
/// Long reads in flight have no more bytes together, but for a single one: enough to hide the latency of a channel.
const LONG_READS_BYTES: u64 = 512 << 10;
/// Or this part of a unit, where that is more: the units of lanes that are several channels, as striped ones or zones
/// over all dies, are so much larger, and each of their channels is to have the next read when one ends.
const LONG_READS_OF_UNIT: u64 = 16;

/// Reads and writes of a lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneQueue {
    granule_bytes: u64,
    unit_bytes: u64,
    short_reads: VecDeque<BlockRead>,
    long_reads: VecDeque<BlockRead>,
    writes: VecDeque<Write>,
    reads_in_flight: u32,
    /// Bytes of long reads that may be in flight together.
    long_bytes_max: u64,
    /// Bytes of the long reads in flight.
    long_bytes_in_flight: u64,
    writes_in_flight: u32,
    load_bytes: u64,
}

impl LaneQueue {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self {
            granule_bytes: layout.granule_bytes,
            unit_bytes: layout.unit_bytes,
            short_reads: VecDeque::new(),
            long_reads: VecDeque::new(),
            writes: VecDeque::new(),
            reads_in_flight: 0,
            long_bytes_max: LONG_READS_BYTES.max(layout.unit_bytes / LONG_READS_OF_UNIT),
            long_bytes_in_flight: 0,
            writes_in_flight: 0,
            load_bytes: 0,
        }
    }

    fn bytes_of(&self, read: &BlockRead) -> u64 {
        u64::from(read.granules) * self.granule_bytes
    }

    /// Returns the bytes of a read if it is long, otherwise 0.
    fn long_bytes_of(&self, read: &BlockRead) -> u64 {
        let bytes = self.bytes_of(read);
        if bytes > SHORT_READ_BYTES { bytes } else { 0 }
    }

    fn reads_like(&mut self, read: &BlockRead) -> &mut VecDeque<BlockRead> {
        if self.long_bytes_of(read) > 0 { &mut self.long_reads } else { &mut self.short_reads }
    }

    /// Queues a new read.
    pub(crate) fn push_read(&mut self, read: BlockRead) {
        self.load_bytes += self.bytes_of(&read);
        self.reads_like(&read).push_back(read);
    }

    /// Queues a read again, before the others: one that the device could not take, or that is retried.
    pub(crate) fn requeue_read(&mut self, read: BlockRead) {
        assert!(self.load_bytes >= self.bytes_of(&read), "a new read is requeued");
        self.reads_like(&read).push_front(read);
    }

    /// Takes the next read that may go to the device.
    pub(crate) fn pop_read(&mut self) -> Option<BlockRead> {
        self.short_reads.pop_front().or_else(|| {
            let first_bytes = self.bytes_of(self.long_reads.front()?);
            let in_flight = self.long_bytes_in_flight;
            let may_begin = in_flight == 0 || in_flight + first_bytes <= self.long_bytes_max;
            if may_begin { self.long_reads.pop_front() } else { None }
        })
    }

    pub(crate) fn read_started(&mut self, read: &BlockRead) {
        self.reads_in_flight += 1;
        self.long_bytes_in_flight += self.long_bytes_of(read);
    }

    pub(crate) fn read_left_device(&mut self, read: &BlockRead) {
        assert!(self.reads_in_flight > 0, "no read is in flight");
        self.reads_in_flight -= 1;
        let bytes = self.long_bytes_of(read);
        assert!(self.long_bytes_in_flight >= bytes, "a long read that did not start returns");
        self.long_bytes_in_flight -= bytes;
    }

    /// A read has its result and leaves the lane.
    pub(crate) fn subtract_read_load(&mut self, read: &BlockRead) {
        self.subtract_load(self.bytes_of(read));
    }

    /// Queues a new write.
    pub(crate) fn push_write(&mut self, write: Write) {
        self.load_bytes += self.unit_bytes;
        if write.is_block() { self.writes.push_back(write) } else { self.writes.push_front(write) }
    }

    /// Queues a write again that the device could not take, before the others.
    pub(crate) fn requeue_write(&mut self, write: Write) {
        assert!(self.load_bytes >= self.unit_bytes, "a new write is requeued");
        self.writes.push_front(write);
    }

    pub(crate) fn first_write(&self) -> Option<&Write> {
        self.writes.front()
    }

    pub(crate) fn first_write_mut(&mut self) -> Option<&mut Write> {
        self.writes.front_mut()
    }

    pub(crate) fn pop_write(&mut self) -> Option<Write> {
        self.writes.pop_front()
    }

    pub(crate) fn write_started(&mut self) {
        self.writes_in_flight += 1;
    }

    pub(crate) fn write_left_device(&mut self) {
        assert!(self.writes_in_flight > 0, "no write is in flight");
        self.writes_in_flight -= 1;
        self.subtract_write_load();
    }

    /// A write that is no longer queued leaves the lane.
    pub(crate) fn subtract_write_load(&mut self) {
        self.subtract_load(self.unit_bytes);
    }

    fn subtract_load(&mut self, bytes: u64) {
        assert!(self.load_bytes >= bytes, "{bytes} bytes leave a lane with {}", self.load_bytes);
        self.load_bytes -= bytes;
        debug_assert!(self.load_bytes > 0 || self.is_idle(), "operations without load");
    }

    /// Removes all reads that wait.
    pub(crate) fn take_reads(&mut self) -> VecDeque<BlockRead> {
        let mut reads = std::mem::take(&mut self.short_reads);
        reads.append(&mut self.long_reads);
        reads.iter().for_each(|read| self.subtract_read_load(read));
        reads
    }

    /// Removes all writes that wait.
    pub(crate) fn take_writes(&mut self) -> VecDeque<Write> {
        let writes = std::mem::take(&mut self.writes);
        self.load_bytes -= writes.len() as u64 * self.unit_bytes;
        writes
    }

    /// Returns the number of reads that wait.
    pub(crate) fn waiting_reads(&self) -> usize {
        self.short_reads.len() + self.long_reads.len()
    }

    /// Returns the number of writes that wait.
    pub(crate) fn waiting_writes(&self) -> usize {
        self.writes.len()
    }

    /// Returns the number of copies of the superblock that wait.
    pub(crate) fn waiting_superblocks(&self) -> usize {
        self.writes.iter().filter(|write| !write.is_block()).count()
    }

    pub(crate) fn reads_in_flight(&self) -> u32 {
        self.reads_in_flight
    }

    pub(crate) fn writes_in_flight(&self) -> u32 {
        self.writes_in_flight
    }

    /// Returns the bytes of all reads and writes that wait or are in flight.
    pub(crate) fn load_bytes(&self) -> u64 {
        self.load_bytes
    }

    /// Returns whether no read or write waits or is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting_reads() == 0
            && self.writes.is_empty()
            && self.reads_in_flight + self.writes_in_flight == 0
    }
}
