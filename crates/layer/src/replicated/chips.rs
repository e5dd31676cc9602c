//! The accesses in flight on each partition, and how long extra ones were in the way of others.

use flashlane_base::{Duration, Instant};

/// A partition, which the paper calls a chip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chip {
    /// Accesses so far.
    pub used: u64,
    normal: u32,
    extra: u32,
    /// Since when both kinds are in flight, where they are.
    both_since: Instant,
}

impl Chip {
    pub fn is_idle(&self) -> bool {
        self.normal + self.extra == 0
    }

    fn has_both(&self) -> bool {
        self.normal > 0 && self.extra > 0
    }

    pub fn begin(&mut self, extra: bool, now: Instant) {
        let had_both = self.has_both();
        self.used += 1;
        *self.count(extra) += 1;
        if !had_both && self.has_both() {
            self.both_since = now;
        }
    }

    /// Returns for how long an extra access was in the way of others, where that ends now.
    pub fn end(&mut self, extra: bool, now: Instant) -> Duration {
        let had_both = self.has_both();
        *self.count(extra) -= 1;
        if had_both && !self.has_both() { now.since(self.both_since) } else { Duration::ZERO }
    }

    /// No access is in flight any more, after a power cut.
    pub fn reset(&mut self) {
        (self.normal, self.extra) = (0, 0);
    }

    fn count(&mut self, extra: bool) -> &mut u32 {
        if extra { &mut self.extra } else { &mut self.normal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interference_is_the_time_of_both_kinds_together() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut chip = Chip::default();
        chip.begin(true, at(0));
        chip.begin(false, at(3));
        chip.begin(false, at(4));
        assert_eq!(chip.end(false, at(6)), Duration::ZERO);
        assert_eq!(chip.end(true, at(10)), Duration::from_us(7));
        assert_eq!(chip.end(false, at(20)), Duration::ZERO);
        assert!(chip.is_idle() && chip.used == 3);
    }
}
