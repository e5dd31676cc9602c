//! What a job has beside its accesses: pauses, a rate, flushes, durable writes, an end of its own.
//!
//! A rate needs no queue. Each slot that is free *claims* the next arrival and sleeps until then; one that becomes free
//! late claims an arrival in the past and goes on at once. So arrivals are served in their order, each as soon as a slot
//! is free, and latency counts from the arrival: what a slow device holds up is in the latency of all that wait for it
//! (no coordinated omission).

use crate::rate::per_second;
use flashlane_base::{Duration, Instant, Operation, Random, Seed};
use flashlane_workload::{Access, Arrivals, Job, Rate};

/// What a job has beside its accesses.
pub(crate) struct Terms {
    think: Duration,
    burst: u32,
    durable: bool,
    /// Writes from one flush to the next; zero for none.
    flush_every: u32,
    since_flush: u32,
    /// Accesses that are left.
    left: u64,
    arrivals: Option<Arriving>,
    /// Of the access that was issued last: how long it had waited for a slot.
    lag: Duration,
    /// Accesses completed at a rate.
    completed: u64,
}

/// What a slot keeps for its job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claim {
    /// The arrival that it serves next, of a job with a rate.
    arrival: Instant,
    /// Accesses completed since the last pause.
    since_pause: u32,
}

/// How a job with a rate came along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    /// The rate that was asked for.
    pub offered_per_s: f64,
    /// The one that was reached, counted from the job's first arrival, warm-up included.
    pub achieved_per_s: f64,
    /// How long the last access that was issued had waited for a slot.
    pub last: Duration,
}

/// The arrivals of a rate.
struct Arriving {
    rate: Rate,
    started: Instant,
    /// Since `started`, of the next arrival.
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
            // From the count: a sum would drift.
            Arrivals::Constant => self.count as f64 * gap_ns,
            Arrivals::Poisson => self.next_ns + self.random.exponential(gap_ns),
        };
        at
    }
}

impl Terms {
    /// Whether a job has any.
    pub(crate) fn has(job: &Job) -> bool {
        !job.think.is_zero()
            || job.rate.is_some()
            || job.flush_every.is_some()
            || job.durable
            || job.accesses.is_some()
    }

    /// Those of `job`, whose arrivals begin at `started`.
    pub(crate) fn new(job: &Job, seed: Seed, started: Instant) -> Self {
        let seed = seed.derive("workload").derive(&job.name).derive("arrivals");
        let arrivals =
            job.rate.map(|rate| Arriving { rate, started, next_ns: 0.0, count: 0, random: seed.source() });
        Self {
            think: job.think,
            burst: job.burst,
            durable: job.durable,
            flush_every: job.flush_every.unwrap_or(0),
            since_flush: 0,
            left: job.accesses.unwrap_or(u64::MAX),
            arrivals,
            lag: Duration::ZERO,
            completed: 0,
        }
    }

    /// What a slot begins with.
    pub(crate) fn claim(&mut self) -> Claim {
        let arrival = self.arrivals.as_mut().map_or(Instant::ZERO, Arriving::next);
        Claim { arrival, since_pause: 0 }
    }

    /// When a slot begins, where that is not at once.
    pub(crate) fn begins(&self, claim: &Claim) -> Option<Instant> {
        self.arrivals.as_ref().map(|_| claim.arrival)
    }

    /// Whether a flush is the next request.
    pub(crate) fn takes_flush(&mut self) -> bool {
        let due = self.flush_every > 0 && self.since_flush >= self.flush_every;
        if due {
            self.since_flush = 0;
        }
        due
    }

    /// Whether the job has another access.
    pub(crate) fn takes_access(&mut self) -> bool {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        more
    }

    /// An access is issued: whether it is durable, and since when it is due.
    pub(crate) fn issued(&mut self, access: &Access, claim: &Claim, now: Instant) -> (bool, Instant) {
        let writes = access.operation == Operation::Write;
        self.since_flush += u32::from(writes && self.flush_every > 0);
        let due = if self.arrivals.is_some() {
            self.lag = now.since(claim.arrival);
            claim.arrival
        } else {
            Instant::FAR
        };
        (self.durable && writes, due)
    }

    /// An access completed: how long its slot is to pause. The pause comes each time, or at the end of a burst; at a
    /// rate it lasts until the next arrival.
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

    /// A flush completed: the slot goes on to what it claimed before it.
    pub(crate) fn after_flush(&self, claim: &Claim, completed: Instant) -> Duration {
        if self.arrivals.is_some() { claim.arrival.since(completed) } else { Duration::ZERO }
    }

    /// How a rate came along until the last completion.
    pub(crate) fn lag(&self, until: Instant) -> Option<Lag> {
        let arrivals = self.arrivals.as_ref()?;
        // What waits when measuring begins has arrived before: only from the first arrival on do both numbers match.
        let achieved_per_s = per_second(self.completed, until.since(arrivals.started));
        Some(Lag { offered_per_s: arrivals.rate.per_second, achieved_per_s, last: self.lag })
    }
}

#[cfg(test)]
mod tests;
