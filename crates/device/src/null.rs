//! A device that does no work, to measure the cost of the harness itself.

use crate::{Completion, Device, Profile, Request, SubmitError};
use flashlane_base::Instant;

/// Completes every request at the next [`Device::reap`] whose deadline allows it, one nanosecond of virtual time after
/// the previous one, so that a run limited by time also ends.
#[derive(Clone, Debug)]
pub struct NullDevice {
    profile: Profile,
    now: Instant,
    waiting: Vec<Completion>,
}

impl NullDevice {
    /// Creates a null device of `capacity_bytes` with units of 512 bytes.
    pub fn new(capacity_bytes: u64) -> Self {
        let profile =
            Profile { depth: 1 << 16, simulated: true, ..Profile::new("null:", capacity_bytes, 512) };
        Self { profile, now: Instant::ZERO, waiting: Vec::new() }
    }
}

impl Device for NullDevice {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.profile.check(&request)?;
        if self.waiting.len() >= self.profile.depth as usize {
            return Err(SubmitError::Full { depth: self.profile.depth });
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
