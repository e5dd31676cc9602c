//! Steps: both devices work until something completes, whatever clocks they have.

use super::Core;
use crate::clocks::{self, Clock, Step, Wait};
use flashlane_base::{Duration, Instant};
use flashlane_device::{DataDevice, Device};

/// Longest time for which completions of a device are left while operations complete without one.
const POLL_INTERVAL: Duration = Duration::from_us(50);

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Returns whether nothing is in flight, and nothing can start.
    pub(crate) fn is_idle(&mut self) -> bool {
        self.pump();
        if self.are_devices_idle() && self.next_due == Instant::FAR {
            self.fail_blocked_writes();
        }
        self.are_devices_idle() && self.next_due == Instant::FAR
    }

    /// Returns whether neither device has a request in flight, or an answer that was not taken.
    pub(super) fn are_devices_idle(&self) -> bool {
        self.blocks.is_idle() && !self.blocks.has_finished() && self.log.is_idle()
    }

    /// Lets the devices work until something completes, at most until `until`. Returns false where nothing can happen.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let finished_before = self.finished.len();
        self.pump();
        if self.blocks.has_finished() {
            // A lost device has no request in flight to wait for.
            self.step_blocks(Instant::ZERO);
            self.pump();
            return true;
        }
        let wake = until.min(self.next_due);
        let of = |device: &dyn Device, is_idle| Clock {
            now: device.now(),
            next_event: device.next_event(),
            is_idle,
        };
        let blocks = of(self.blocks.device(), self.blocks.is_idle());
        let log = of(self.log.device(), self.log.is_idle());
        match clocks::next_step(blocks, log, wake) {
            // A lost log fails writes without any request, and so do blocks that cannot be written.
            Step::Idle => {
                self.fail_blocked_writes();
                return !self.are_devices_idle() || self.finished.len() > finished_before;
            }
            Step::Both(time) => {
                self.step_blocks(time);
                self.step_log(time);
            }
            Step::Blocks(time) => self.step_blocks(time),
            Step::Log(time) => self.step_log(time),
            Step::Either(time) => self.step_either(time),
        }
        self.pump();
        true
    }

    /// Lets two real devices work until a request of either completes, at most until `until`.
    fn step_either(&mut self, until: Instant) {
        match clocks::wait_of(self.blocks.readiness(), self.log.readiness()) {
            Wait::Readable(descriptors) => {
                if !descriptors.is_empty() {
                    self.blocks.device().wait_readable(&descriptors, until);
                }
                self.step_blocks(Instant::ZERO);
                self.step_log(Instant::ZERO);
            }
            Wait::InTurn => {
                self.is_blocks_turn = !self.is_blocks_turn;
                let turn = until.min(self.now() + clocks::TURN);
                // A write of the log may have completed in its submission: blocks are not waited for then.
                if !self.is_blocks_turn {
                    self.step_log(turn);
                } else if !self.log.step(Instant::ZERO) {
                    self.step_blocks(turn);
                }
            }
        }
    }

    /// Takes what has completed on real devices, if that was not done lately: operations that complete without a device
    /// must not hold up those that wait for one.
    pub(crate) fn poll(&mut self) {
        if self.are_devices_idle() {
            return;
        }
        let now = self.now();
        if now >= self.next_poll && self.blocks.device().next_event().is_none() {
            self.next_poll = now + POLL_INTERVAL;
            self.step(now);
        }
    }

    fn step_blocks(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.blocks.step(until);
        // What completed at this time, and nothing later.
        self.blocks.reap(Instant::ZERO, &mut out);
        for finished in out {
            self.block_ended(finished.ticket, finished.id, finished.outcome);
        }
    }

    fn step_log(&mut self, until: Instant) {
        self.log.step(until);
    }
}
