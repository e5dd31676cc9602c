//! Arrival times of the requests of a trace.

use flashlane_base::{Duration, Instant};
use std::collections::BTreeMap;

/// Converts the recorded clock to the replay's: it begins with the first request, never runs backwards, and runs
/// `speed` times as fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    speed: f64,
    first: Option<Instant>,
    latest: Instant,
    /// Requests with a time stamp before the latest.
    pub(super) backwards: u64,
}

impl Clock {
    pub(super) fn new(speed: f64) -> Self {
        Self { speed, first: None, latest: Instant::ZERO, backwards: 0 }
    }

    /// Returns the recorded time from the first request to time stamp `at`.
    #[inline]
    pub(super) fn since_first(&mut self, at: Instant) -> Duration {
        let first = *self.first.get_or_insert(at);
        self.backwards += u64::from(at < self.latest);
        self.latest = self.latest.max(at);
        self.latest.since(first)
    }

    /// Returns the recorded time from the first request to the latest.
    pub(super) fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.latest.since(first))
    }

    /// Converts a recorded duration to the replay's.
    #[inline]
    pub(super) fn scaled(&self, recorded: Duration) -> Duration {
        if self.speed == 1.0 {
            recorded
        } else {
            Duration::from_ns((recorded.as_ns() as f64 / self.speed).round() as u64)
        }
    }
}

/// A request's recorded completion and its number, which order requests by recorded completion.
pub(super) type Turn = (Duration, u64);

/// Arrivals that keep the recorded pause after the last completion recorded before them.
///
/// Its memory is proportional to the recorded queue depth.
#[derive(Debug)]
pub(super) struct Thinking {
    /// The request after which the next one pauses, initially the beginning, and its completion in the replay.
    anchor: Turn,
    anchor_completed: Option<Instant>,
    /// The pause after it.
    pause: Duration,
    /// Issued requests that had not completed in the recording when the next one arrived, in the order of recorded
    /// completion, with their completions in the replay.
    uncompleted: BTreeMap<Turn, Option<Instant>>,
    /// Requests keep their order: none arrives before this.
    last_arrival: Instant,
}

impl Thinking {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            anchor: (Duration::ZERO, 0),
            anchor_completed: Some(start),
            pause: Duration::ZERO,
            uncompleted: BTreeMap::new(),
            last_arrival: start,
        }
    }

    /// Sets the next request, which arrived `recorded_at` after the first in the recording.
    pub(super) fn set_next(&mut self, recorded_at: Duration, clock: &Clock) {
        while let Some(first) = self.uncompleted.first_entry().filter(|first| first.key().0 <= recorded_at) {
            (self.anchor, self.anchor_completed) = first.remove_entry();
        }
        self.pause = clock.scaled(recorded_at.saturating_sub(self.anchor.0));
    }

    /// Returns when it arrives; `None` until that is known.
    #[inline]
    pub(super) fn arrival(&self) -> Option<Instant> {
        self.anchor_completed.map(|completed| (completed + self.pause).max(self.last_arrival))
    }

    /// Records that the next request was issued; `turn` is its recorded completion.
    pub(super) fn issued(&mut self, turn: Turn) {
        self.last_arrival = self.arrival().unwrap_or(self.last_arrival);
        self.uncompleted.insert(turn, None);
    }

    /// Records that the request with this turn completed in the replay.
    pub(super) fn completed(&mut self, turn: Turn, at: Instant) {
        if turn == self.anchor {
            self.anchor_completed = Some(at);
        } else if let Some(completed) = self.uncompleted.get_mut(&turn) {
            *completed = Some(at);
        }
    }
}
