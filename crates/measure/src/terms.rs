//! Timing and limits of a job: pauses, a rate, flushes, durable writes, its own number of accesses, its submission
//! queue and placement handle.
//!
//! A rate needs no queue. Each free slot *claims* the next arrival and sleeps until then; a slot that becomes free late
//! claims an arrival in the past and issues at once. So arrivals are served in order, each as soon as a slot is free,
//! and latency counts from the arrival: it includes the wait for a slow device (no coordinated omission).

use crate::rate::per_second;
use flashlane_base::{Duration, Instant, Operation, Random, Seed};
use flashlane_device::{PlacementHandle, QueueId};
use flashlane_workload::{Access, Arrivals, Job, Rate};

/// Timing and limits of a job.
pub(crate) struct Terms {
    think: Duration,
    burst: u32,
    durable: bool,
    queue: QueueId,
    handle: PlacementHandle,
    /// Writes from one flush to the next; zero for none.
    flush_every: u32,
    since_flush: u32,
    /// Accesses still to be issued.
    left: u64,
    arrivals: Option<Arriving>,
    /// How long the last issued access had waited for a slot.
    lag: Duration,
    /// Completed accesses of a job with a rate.
    completed: u64,
}

/// State of a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claim {
    /// Its next arrival, for a job with a rate.
    arrival: Instant,
    /// Accesses completed since the last pause.
    since_pause: u32,
}

/// How well a job kept its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    /// The rate requested.
    pub offered_per_s: f64,
    /// The rate achieved, counted from the job's first arrival, warm-up included.
    pub achieved_per_s: f64,
    /// How long the last issued access had waited for a slot.
    pub last: Duration,
}

/// Generator of arrival times.
struct Arriving {
    rate: Rate,
    started: Instant,
    /// Time of the next arrival, from `started`.
    next_ns: f64,
    count: u64,
    random: Random,
}

impl Arriving {
    fn next(&mut self) -> Instant {
        let gap_ns = 1e9 / self.rate.per_second;
        let at = self.started + Duration::from_ns(self.next_ns as u64);
        self.count += 1;
        self.next_ns = match self.rate.arrivals {
            // Computed from the count: a sum would drift.
            Arrivals::Constant => self.count as f64 * gap_ns,
            Arrivals::Poisson => self.next_ns + self.random.exponential(gap_ns),
        };
        at
    }
}

impl Terms {
    /// Returns whether a job has any of these.
    pub(crate) fn has(job: &Job) -> bool {
        !job.think.is_zero()
            || job.rate.is_some()
            || job.flush_every.is_some()
            || job.durable
            || job.accesses.is_some()
            || job.queue > 0
            || job.placement > 0
    }

    /// Creates the terms of `job`, with arrivals from `started` on.
    pub(crate) fn new(job: &Job, seed: Seed, started: Instant) -> Self {
        let seed = seed.derive("workload").derive(&job.name).derive("arrivals");
        let arrivals =
            job.rate.map(|rate| Arriving { rate, started, next_ns: 0.0, count: 0, random: seed.source() });
        Self {
            think: job.think,
            burst: job.burst,
            durable: job.durable,
            queue: QueueId(job.queue),
            handle: PlacementHandle(job.placement),
            flush_every: job.flush_every.unwrap_or(0),
            since_flush: 0,
            left: job.accesses.unwrap_or(u64::MAX),
            arrivals,
            lag: Duration::ZERO,
            completed: 0,
        }
    }

    /// Returns the submission queue of the job's requests.
    pub(crate) fn queue(&self) -> QueueId {
        self.queue
    }

    /// Returns the placement handle of an access, which only writes have.
    pub(crate) fn handle(&self, access: &Access) -> PlacementHandle {
        if access.operation == Operation::Write { self.handle } else { PlacementHandle(0) }
    }

    /// Returns the initial state of a slot.
    pub(crate) fn claim(&mut self) -> Claim {
        let arrival = self.arrivals.as_mut().map_or(Instant::ZERO, Arriving::next);
        Claim { arrival, since_pause: 0 }
    }

    /// Returns when a slot issues its first access; `None` for at once.
    pub(crate) fn begins(&self, claim: &Claim) -> Option<Instant> {
        self.arrivals.as_ref().map(|_| claim.arrival)
    }

    /// Returns whether the next request is a flush.
    pub(crate) fn is_flush_due(&self) -> bool {
        self.flush_every > 0 && self.since_flush >= self.flush_every
    }

    /// Returns whether the next request is a flush, which then counts as issued.
    pub(crate) fn takes_flush(&mut self) -> bool {
        let due = self.is_flush_due();
        if due {
            self.since_flush = 0;
        }
        due
    }

    /// Returns whether the job has another access.
    pub(crate) fn has_access(&self) -> bool {
        self.left > 0
    }

    /// Returns whether the job has another access, which then counts as issued.
    pub(crate) fn takes_access(&mut self) -> bool {
        let more = self.has_access();
        self.left = self.left.saturating_sub(1);
        more
    }

    /// Records the issue of an access. Returns whether it is durable, and when its latency begins.
    pub(crate) fn issued(&mut self, access: &Access, claim: &Claim, now: Instant) -> (bool, Instant) {
        let writes = matches!(access.operation, Operation::Write | Operation::Append);
        self.since_flush += u32::from(writes && self.flush_every > 0);
        let due = if self.arrivals.is_some() {
            self.lag = now.since(claim.arrival);
            claim.arrival
        } else {
            Instant::FAR
        };
        (self.durable && writes, due)
    }

    /// Records the completion of an access. Returns how long its slot pauses: after each access, or at the end of a
    /// burst; with a rate until the next arrival.
    pub(crate) fn pause(&mut self, claim: &mut Claim, completed: Instant) -> Duration {
        if let Some(arrivals) = &mut self.arrivals {
            self.completed += 1;
            claim.arrival = arrivals.next();
            return claim.arrival.since(completed);
        }
        if self.think.is_zero() {
            return self.think;
        }
        claim.since_pause += 1;
        if claim.since_pause < self.burst {
            return Duration::ZERO;
        }
        claim.since_pause = 0;
        self.think
    }

    /// Returns the pause after a flush: until the arrival that the slot had claimed.
    pub(crate) fn after_flush(&self, claim: &Claim, completed: Instant) -> Duration {
        if self.arrivals.is_some() { claim.arrival.since(completed) } else { Duration::ZERO }
    }

    /// Returns how well the rate was kept until `until`.
    pub(crate) fn lag(&self, until: Instant) -> Option<Lag> {
        let arrivals = self.arrivals.as_ref()?;
        // Accesses that wait when measuring begins arrived earlier, so that both rates count from the first arrival.
        let achieved_per_s = per_second(self.completed, until.since(arrivals.started));
        Some(Lag { offered_per_s: arrivals.rate.per_second, achieved_per_s, last: self.lag })
    }
}

#[cfg(test)]
mod tests;
