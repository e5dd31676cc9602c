//! The processors that the clients share: work takes one of them, in the order in which it arrives.

use flashlane_base::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The processors.
pub(crate) struct Processors {
    /// When each is free; `None` where every client has one of its own.
    free_at: Option<BinaryHeap<Reverse<Instant>>>,
}

impl Processors {
    /// Creates `count` processors, or one for each client.
    pub fn new(count: Option<u32>) -> Self {
        Self { free_at: count.map(|count| (0..count).map(|_| Reverse(Instant::ZERO)).collect()) }
    }

    /// Work that takes a time arrives, no earlier than any before it; returns when it ends.
    #[inline]
    pub fn end_of(&mut self, work: Duration, now: Instant) -> Instant {
        let Some(mut soonest) = self.free_at.as_mut().and_then(BinaryHeap::peek_mut) else {
            return now + work;
        };
        soonest.0 = soonest.0.max(now) + work;
        soonest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_the_processor_that_is_free_first() {
        let at = |us: u64| Instant::from_ns(us * 1_000);
        let work = Duration::from_us(10);
        let mut two = Processors::new(Some(2));
        let ends = [0, 1, 2, 3, 40].map(|us| two.end_of(work, at(us)));
        assert_eq!(ends, [10, 11, 20, 21, 50].map(at));
        let mut own = Processors::new(None);
        assert_eq!([0, 0, 0].map(|us| own.end_of(work, at(us))), [at(10); 3]);
    }
}
