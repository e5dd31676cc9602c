//! The queue of one lane: reads and writes that wait, and the number in flight.
//!
//! Invariants:
//! - `load_bytes` is the sum over all reads and writes that wait or are in flight.
//! - A copy of the superblock waits before blocks: erases wait for it.

use crate::layout::Layout;
use crate::operation::{BlockRead, Write};
use std::collections::VecDeque;

/// Reads and writes of a lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneQueue {
    granule_bytes: u64,
    unit_bytes: u64,
    reads: VecDeque<BlockRead>,
    writes: VecDeque<Write>,
    reads_in_flight: u32,
    writes_in_flight: u32,
    load_bytes: u64,
}

impl LaneQueue {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self {
            granule_bytes: layout.granule_bytes,
            unit_bytes: layout.unit_bytes,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            reads_in_flight: 0,
            writes_in_flight: 0,
            load_bytes: 0,
        }
    }

    /// Queues a new read.
    pub(crate) fn push_read(&mut self, read: BlockRead) {
        self.load_bytes += u64::from(read.granules) * self.granule_bytes;
        self.reads.push_back(read);
    }

    /// Queues a read again, before the others: one that the device could not take, or that is retried.
    pub(crate) fn requeue_read(&mut self, read: BlockRead) {
        assert!(self.load_bytes >= u64::from(read.granules) * self.granule_bytes, "a new read is requeued");
        self.reads.push_front(read);
    }

    pub(crate) fn pop_read(&mut self) -> Option<BlockRead> {
        self.reads.pop_front()
    }

    pub(crate) fn read_started(&mut self) {
        self.reads_in_flight += 1;
    }

    pub(crate) fn read_returned(&mut self) {
        assert!(self.reads_in_flight > 0, "no read is in flight");
        self.reads_in_flight -= 1;
    }

    /// A read has its result and leaves the lane.
    pub(crate) fn remove_read(&mut self, read: &BlockRead) {
        self.unload(u64::from(read.granules) * self.granule_bytes);
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

    pub(crate) fn write_returned(&mut self) {
        assert!(self.writes_in_flight > 0, "no write is in flight");
        self.writes_in_flight -= 1;
        self.remove_write();
    }

    /// A write that is no longer queued leaves the lane.
    pub(crate) fn remove_write(&mut self) {
        self.unload(self.unit_bytes);
    }

    fn unload(&mut self, bytes: u64) {
        assert!(self.load_bytes >= bytes, "{bytes} bytes leave a lane with {}", self.load_bytes);
        self.load_bytes -= bytes;
        let is_empty = self.reads.is_empty() && self.writes.is_empty();
        let is_working = self.reads_in_flight + self.writes_in_flight > 0;
        debug_assert!(self.load_bytes > 0 || is_empty && !is_working, "operations without load");
    }

    /// Removes all reads that wait.
    pub(crate) fn take_reads(&mut self) -> VecDeque<BlockRead> {
        std::mem::take(&mut self.reads)
    }

    /// Removes all writes that wait.
    pub(crate) fn take_writes(&mut self) -> VecDeque<Write> {
        let writes = std::mem::take(&mut self.writes);
        self.load_bytes -= writes.len() as u64 * self.unit_bytes;
        writes
    }

    /// Returns the number of reads that wait.
    pub(crate) fn waiting_reads(&self) -> usize {
        self.reads.len()
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
        self.reads.is_empty() && self.writes.is_empty() && self.reads_in_flight + self.writes_in_flight == 0
    }
}
