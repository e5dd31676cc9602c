//! Writes that bypass the buffer (write-through), which complete when their mapping units are on flash: all writes of a
//! drive without a buffer, durable ones (FUA), and those of whole units where the buffer admits only parts of units.

use super::{Bypassed, WritePath};
use crate::drive::request::{DriveKernel, pieces_of};
use crate::drive::translation::Translation;
use crate::ids::{Lpn, RequestSlot};
use crate::nand::{Owner, Program};
use crate::pieces::split;

impl WritePath {
    /// Writes a request's mapping units to flash; it completes with the last of them.
    pub(super) fn write_through(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: RequestSlot,
    ) {
        let unit_bytes = self.transfers.unit_bytes;
        let write = kernel.in_flight(slot).request();
        let owner = Owner::Request(slot);
        if self.buffer.is_none() {
            // The mapping units that it covers wholly go in one run.
            let (head, mut whole, tail) = split(write.offset_bytes, write.length_bytes, unit_bytes);
            if let Some(part) = head {
                self.write_unit(kernel, translation, part.lpn, part.covered(unit_bytes), owner);
            }
            if translation.has_map_cache() {
                whole.map(Lpn).for_each(|lpn| self.program(kernel, translation, lpn, owner));
            } else {
                self.program_run(kernel, translation, slot, &mut whole);
            }
            if let Some(part) = tail {
                self.write_unit(kernel, translation, part.lpn, part.covered(unit_bytes), owner);
            }
            return;
        }
        for piece in pieces_of(&write, unit_bytes) {
            let mut present = piece.covered(unit_bytes);
            if let Some(buffer) = &mut self.buffer {
                present |= buffer.present(piece.lpn);
                if let Some(unflushed) = buffer.forget(piece.lpn) {
                    let first = Bypassed { lost: unflushed, by: slot };
                    let bypassed = self.bypassed.entry(piece.lpn).or_insert(first);
                    bypassed.lost.first_write = bypassed.lost.first_write.min(unflushed.first_write);
                    bypassed.lost.epoch = bypassed.lost.epoch.min(unflushed.epoch);
                    bypassed.by = slot;
                }
            }
            self.write_unit(kernel, translation, piece.lpn, present, owner);
        }
        self.end_write_through(kernel, translation);
    }

    /// The rest of a mapping unit that bypasses the buffer has been read from flash.
    pub(in crate::drive) fn write_through_rmw_read(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        slot: RequestSlot,
    ) {
        self.program(kernel, translation, lpn, Owner::Request(slot));
        self.end_write_through(kernel, translation);
    }

    /// A request waits for its programs: none of them waits for a program group that others may complete.
    fn end_write_through(&self, kernel: &mut DriveKernel, translation: &mut Translation) {
        if translation.completes_program_groups() {
            translation.program_incomplete_groups(kernel);
        }
    }

    /// Programs mapping units of a request that follow each other.
    fn program_run(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: RequestSlot,
        units: &mut std::ops::Range<u32>,
    ) {
        if translation.has_handles() {
            translation.use_handle(kernel.in_flight(slot).request().handle);
        }
        while translation.program_run(kernel, slot, units).is_err() {
            self.write_failed(kernel, Lpn(units.start - 1), Owner::Request(slot));
        }
    }

    /// Mapping units of a request are on flash.
    #[inline]
    pub(in crate::drive) fn programmed(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        program: &Program,
    ) {
        if !self.bypassed.is_empty() {
            self.bypass_completed(kernel, program.lpn, slot);
        }
        if kernel.in_flight_mut(slot).end_units(program.programs) {
            self.transfers.complete_write(kernel, slot);
        }
    }

    /// A write that may have bypassed a buffered mapping unit is durable there, or failed.
    pub(super) fn bypass_completed(&mut self, kernel: &mut DriveKernel, lpn: Lpn, slot: RequestSlot) {
        if self.bypassed.get(&lpn).is_some_and(|bypassed| bypassed.by == slot) {
            self.bypassed.remove(&lpn);
            self.end_flushes(kernel);
        }
    }
}
