//! A device that does no work, to measure the cost of the harness itself.

use crate::{Completion, Device, DeviceInfo, Request, SubmitError};
use flashlane_base::Instant;

/// Completes every request at the next [`Device::reap`] whose deadline allows it, one nanosecond of virtual time after
/// the previous one, so that a run limited by time also ends.
#[derive(Clone, Debug)]
pub struct NullDevice {
    info: DeviceInfo,
    now: Instant,
    waiting: Vec<Completion>,
}

impl NullDevice {
    /// Creates a null device of `capacity_bytes` with units of 512 bytes.
    pub fn new(capacity_bytes: u64) -> Self {
        let info =
            DeviceInfo { depth: 1 << 16, simulated: true, ..DeviceInfo::new("null:", capacity_bytes, 512) };
        Self { info, now: Instant::ZERO, waiting: Vec::new() }
    }
}

impl Device for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        if self.waiting.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        self.waiting.push(Completion {
            id: request.id,
            submitted: self.now,
            completed: self.now,
            outcome: Ok(()),
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        Some(if self.waiting.is_empty() { Instant::FAR } else { Instant::from_ns(self.now.as_ns() + 1) })
    }

    #[inline]
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.waiting.is_empty() {
            if until != Instant::FAR {
                self.now = self.now.max(until);
            }
            return;
        }
        let due = until.since(self.now).as_ns().min(self.waiting.len() as u64) as usize;
        for mut completion in self.waiting.drain(..due) {
            self.now = Instant::from_ns(self.now.as_ns() + 1);
            completion.completed = self.now;
            out.push(completion);
        }
    }
}
