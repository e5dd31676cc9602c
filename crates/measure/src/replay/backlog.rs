//! Times in which a drive fell behind the time stamps of a trace, although it may have caught up later.
//!
//! A *backlog* is a stretch of requests each of which arrived while more than [`BUSY`] others were unfinished, or had
//! to wait for room. While it grows, each request is later than those before; what it was the latest by, beside the
//! time from the first arrival until then, says how much slower than the trace the drive was. A burst grows only while
//! it arrives, and a drive that has many requests in flight and keeps up is late by little. Costs a few comparisons a
//! request.

use flashlane_base::Duration;

/// More requests than drives usually have in flight.
pub(super) const BUSY: u32 = 32;

/// A stretch of requests that arrived behind others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Arrival of its first request, since the replay began.
    pub from: Duration,
    /// Time from there to the arrival of the request that was late most.
    pub growth: Duration,
    /// Requests that arrived in that time.
    pub growth_requests: u64,
    /// Latency of that request.
    pub longest: Duration,
    /// All its requests.
    pub requests: u64,
}

/// Finds the backlog that grew longest.
#[derive(Debug, Default)]
pub(super) struct Backlogs {
    current: Option<Backlog>,
    longest: Option<Backlog>,
}

impl Backlogs {
    /// A request is submitted. Returns its position in the backlog, from 1, or 0 if it is in none.
    #[inline]
    pub(super) fn submitted(&mut self, arrived: Duration, is_behind: bool) -> u64 {
        if !is_behind {
            if self.current.is_some() {
                self.end();
            }
            return 0;
        }
        let new = || Backlog {
            from: arrived,
            growth: Duration::ZERO,
            growth_requests: 0,
            longest: Duration::ZERO,
            requests: 0,
        };
        let current = self.current.get_or_insert_with(new);
        current.requests += 1;
        current.requests
    }

    /// The request with this position has completed.
    #[inline]
    pub(super) fn completed(&mut self, position: u64, arrived: Duration, latency: Duration) {
        let Some(current) = self.current.as_mut().filter(|_| position > 0) else { return };
        // One of the backlog before may still have been in flight when this one began.
        if arrived >= current.from && latency > current.longest {
            current.longest = latency;
            current.growth = arrived.saturating_sub(current.from);
            current.growth_requests = position;
        }
    }

    #[cold]
    fn end(&mut self) {
        let ended = self.current.take();
        let growth = |backlog: Option<Backlog>| backlog.map(|backlog| backlog.growth);
        if growth(ended) > growth(self.longest) {
            self.longest = ended;
        }
    }

    /// Returns the one that grew longest.
    pub(super) fn longest(mut self) -> Option<Backlog> {
        self.end();
        self.longest
    }
}
