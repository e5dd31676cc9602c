//! The monotonic clock of a real device, and the date for the header of a result.

use flashlane_base::{Duration, Instant};
use std::time;

/// CLOCK_MONOTONIC since the device was opened. Reading it costs no system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: time::Instant,
}

impl Clock {
    /// Longest delay of a timer (the kernel's timer slack and the exit from idle). The last part of a wait spins on the
    /// clock instead of sleeping.
    pub(crate) const SPIN: Duration = Duration::from_us(80);

    pub(crate) fn start() -> Self {
        Self { began: time::Instant::now() }
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        Instant::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    /// Returns when the clock has reached `until`.
    pub(crate) fn wait_until(&self, until: Instant) {
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            if left > Self::SPIN {
                std::thread::sleep(time::Duration::from_nanos((left - Self::SPIN).as_ns()));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Runs `work` and returns its result and its duration on the monotonic clock.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let clock = Clock::start();
    let done = work();
    (done, clock.now().since(Instant::ZERO))
}

/// Returns the date and time of day in UTC as RFC 3339: `2026-11-05T12:30:00Z`.
///
/// Only for the header of a result: no measurement depends on it.
pub fn date() -> String {
    humantime::format_rfc3339_seconds(time::SystemTime::now()).to_string()
}

/// Returns the calendar time: milliseconds since 1970, UTC.
pub fn calendar_ms() -> u64 {
    let since = time::SystemTime::now().duration_since(time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_until_ends_at_the_given_time_and_not_before() {
        let clock = Clock::start();
        let until = clock.now() + Duration::from_us(300);
        clock.wait_until(until);
        assert!(clock.now() >= until);
        clock.wait_until(Instant::ZERO);
    }

    #[test]
    fn date_is_rfc_3339() {
        let date = date();
        assert!(date.len() == 20 && date.ends_with('Z') && date.as_bytes()[10] == b'T', "{date}");
    }
}
