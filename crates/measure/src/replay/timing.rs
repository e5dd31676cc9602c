//! When the requests of a trace arrive.

use flashlane_base::{Duration, Instant};
use std::collections::BTreeMap;

/// The recorded clock, brought onto the replay's: it begins with the first request, never runs backwards, and runs
/// `speed` times as fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    speed: f64,
    first: Option<Instant>,
    latest: Instant,
    /// Requests whose time stamp lay before the latest.
    pub(super) backwards: u64,
}

impl Clock {
    pub(super) fn new(speed: f64) -> Self {
        Self { speed, first: None, latest: Instant::ZERO, backwards: 0 }
    }

    /// How long after the first request the one with this time stamp comes, on the recorded clock.
    #[inline]
    pub(super) fn since_first(&mut self, at: Instant) -> Duration {
        let first = *self.first.get_or_insert(at);
        self.backwards += u64::from(at < self.latest);
        self.latest = self.latest.max(at);
        self.latest.since(first)
    }

    /// From the first request to the latest, on the recorded clock.
    pub(super) fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.latest.since(first))
    }

    /// A recorded length of time, as long as it is in the replay.
    #[inline]
    pub(super) fn scaled(&self, recorded: Duration) -> Duration {
        if self.speed == 1.0 {
            recorded
        } else {
            Duration::from_ns((recorded.as_ns() as f64 / self.speed).round() as u64)
        }
    }
}

/// A request's recorded completion and its number: the order in which the recording's requests completed.
pub(super) type Turn = (Duration, u64);

/// Arrivals that keep the recorded pause after the completion that then was the last before them.
///
/// Its memory goes with the requests that were in flight at a time in the recording.
#[derive(Debug)]
pub(super) struct Thinking {
    /// What the next request waits for, and when it completed in the replay, if it has. At first: the beginning.
    anchor: Turn,
    anchor_completed: Option<Instant>,
    /// The pause after it.
    pause: Duration,
    /// Issued requests that had not completed in the recording when the next one came, in the order in which they
    /// did, and when they completed in the replay.
    under_way: BTreeMap<Turn, Option<Instant>>,
    /// Since requests keep their order, none arrives before this.
    last_arrival: Instant,
}

impl Thinking {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            anchor: (Duration::ZERO, 0),
            anchor_completed: Some(start),
            pause: Duration::ZERO,
            under_way: BTreeMap::new(),
            last_arrival: start,
        }
    }

    /// The next request is one that came so long after the first in the recording.
    pub(super) fn expect(&mut self, came: Duration, clock: &Clock) {
        while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= came) {
            (self.anchor, self.anchor_completed) = first.remove_entry();
        }
        self.pause = clock.scaled(came.saturating_sub(self.anchor.0));
    }

    /// When it arrives; `None` before that is known.
    #[inline]
    pub(super) fn arrival(&self) -> Option<Instant> {
        self.anchor_completed.map(|completed| (completed + self.pause).max(self.last_arrival))
    }

    /// It is issued; in the recording its turn to complete was this.
    pub(super) fn issued(&mut self, turn: Turn) {
        self.last_arrival = self.arrival().unwrap_or(self.last_arrival);
        self.under_way.insert(turn, None);
    }

    /// The request with this turn is completed in the replay.
    pub(super) fn completed(&mut self, turn: Turn, at: Instant) {
        if turn == self.anchor {
            self.anchor_completed = Some(at);
        } else if let Some(completed) = self.under_way.get_mut(&turn) {
            *completed = Some(at);
        }
    }
}
