//! What was written to a zone: its buffer, its programs in flight, and the requests that write it, in their order.
//!
//! Data are programmed as soon as they fill what is programmed at once; less waits in the buffer, where it is read from
//! too.
//!
//! Invariants:
//! - `programs` are queued or done, and cover all whole programs of the bytes that were received;
//! - the buffer holds received bytes that are not programmed and those on the link, no more than its size;
//! - of the requests in `writers` only the first has data on the link.

use super::shape::Shape;
use crate::ids::RequestSlot;
use std::collections::VecDeque;

/// The writes of a zone.
#[derive(Clone, Debug, Default)]
pub(super) struct ZoneWrites {
    /// Bytes from the zone's start whose writes have completed.
    pub(super) completed_bytes: u64,
    /// Bytes from the zone's start that are in the buffer or on flash.
    pub(super) received_bytes: u64,
    /// Bytes in the buffer, and on the link to it.
    pub(super) buffered_bytes: u64,
    /// Programs that are queued or done, from the zone's start.
    pub(super) programs: u32,
    /// Of these, data programs in flight.
    pub(super) in_flight: Vec<u32>,
    /// Writes and appends whose data come into the buffer one after the other.
    pub(super) writers: VecDeque<RequestSlot>,
    /// Whether the next write or append pays for the open.
    pub(super) pays_open: bool,
    /// The finish that waits for the programs in flight.
    pub(super) finishing: Option<RequestSlot>,
    /// The program that will fail.
    pub(super) fails: Option<u32>,
}

impl ZoneWrites {
    /// A zone that was written to its end.
    pub(super) fn full(shape: &Shape) -> Self {
        let programs = shape.zone_bytes.div_ceil(shape.program_bytes) as u32;
        let (completed_bytes, received_bytes) = (shape.zone_bytes, shape.zone_bytes);
        Self { completed_bytes, received_bytes, programs, ..Self::default() }
    }

    /// The bytes of the next transfer for a request with `left_bytes`: no more than complete what is programmed at
    /// once. `None` where the buffer has no room for them.
    pub(super) fn next_transfer(&self, shape: &Shape, buffer_bytes: u64, left_bytes: u64) -> Option<u64> {
        let bytes = left_bytes.min(shape.program_bytes - self.received_bytes % shape.program_bytes);
        (self.buffered_bytes + bytes <= buffer_bytes).then_some(bytes)
    }

    /// Takes the next program that is complete in the buffer.
    pub(super) fn next_program(&mut self, shape: &Shape) -> Option<u32> {
        let whole = self.received_bytes / shape.program_bytes;
        (u64::from(self.programs) < whole || self.has_last(shape)).then(|| self.take_program())
    }

    /// Whether the rest of a zone that is received to its end is still to be programmed.
    fn has_last(&self, shape: &Shape) -> bool {
        self.received_bytes == shape.zone_bytes
            && u64::from(self.programs) * shape.program_bytes < self.received_bytes
    }

    /// Takes the next program, whether the buffer has all of its data or not.
    pub(super) fn take_program(&mut self) -> u32 {
        let program = self.programs;
        self.programs += 1;
        self.in_flight.push(program);
        program
    }

    /// Bytes of a zone's data in a program.
    pub(super) fn data_bytes(&self, shape: &Shape, program: u32) -> u64 {
        let from = u64::from(program) * shape.program_bytes;
        self.received_bytes.saturating_sub(from).min(shape.program_bytes)
    }

    /// Bytes in the buffer that wait for others of their program.
    pub(super) fn waiting_bytes(&self, shape: &Shape) -> u64 {
        self.received_bytes.saturating_sub(u64::from(self.programs) * shape.program_bytes)
    }

    /// A data program is done.
    pub(super) fn programmed(&mut self, shape: &Shape, program: u32) {
        let at = self.in_flight.iter().position(|&of| of == program);
        self.in_flight.swap_remove(at.expect("it was in flight"));
        self.buffered_bytes -= self.data_bytes(shape, program);
    }

    /// Whether the data of a program are read from the buffer.
    #[inline]
    pub(super) fn is_buffered(&self, program: u32) -> bool {
        program >= self.programs || self.in_flight.contains(&program)
    }

    /// The power is cut: all that was received reaches the flash, or comes back into the buffer; requests are lost.
    pub(super) fn power_cut(&mut self, shape: &Shape) {
        self.in_flight.clear();
        self.writers.clear();
        self.buffered_bytes = self.waiting_bytes(shape);
        (self.pays_open, self.finishing) = (false, None);
    }
}
