//! The monotonic clock of a real device, and the date for the header of a result.

use flashlane_base::{Duration, Instant};
use std::{io, time};

/// CLOCK_MONOTONIC since its start, which for a real device is its opening. Reading it costs no system call.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: time::Instant,
}

impl Clock {
    /// Longest delay of a timer (the kernel's timer slack and the exit from idle). The last part of a wait spins on the
    /// clock instead of sleeping.
    pub const SPIN: Duration = Duration::from_us(80);

    /// Starts a clock at zero.
    pub fn start() -> Self {
        Self { began: time::Instant::now() }
    }

    /// Returns the time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    /// Returns when one of these descriptors is readable, or the clock has reached `until`: later by what timers are
    /// late, as this wait never spins. A wait that a signal ends is over too.
    pub(crate) fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        let poll = |&fd: &i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled: Vec<libc::pollfd> = descriptors.iter().map(poll).collect();
        let left = until.since(self.now());
        let time = libc::timespec {
            tv_sec: (left.as_ns() / 1_000_000_000) as i64,
            tv_nsec: (left.as_ns() % 1_000_000_000) as i64,
        };
        let timeout = if until == Instant::FAR { std::ptr::null() } else { &raw const time };
        // SAFETY: descriptors and time outlive the call; no signals are masked. A descriptor that is closed only ends
        // the wait.
        _ = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as u64, timeout, std::ptr::null()) };
    }

    /// Returns when the clock has reached `until`.
    pub fn wait_until(&self, until: Instant) {
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

/// Lets the sleeps and waits of this thread end when asked. By default the kernel's timer slack delays them by up to 50
/// µs.
pub fn end_sleeps_on_time() {
    // Where the system refuses, sleeps end later, and spin less.
    // SAFETY: the call takes numbers only, and changes a property of this thread.
    _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Lets this thread, and those that it starts from now on, run before those of other programs (SCHED_RR): on a busy
/// machine a thread otherwise waits for milliseconds until it has its turn. One that spins leaves other programs of its
/// processor little.
///
/// # Errors
/// The system's error where that is not permitted.
pub fn run_first() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters outlive the call, which changes a property of this thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs `work` and returns its result and its duration on the monotonic clock.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let clock = Clock::start();
    let done = work();
    (done, clock.now().since(Instant::ZERO))
}

/// Returns the CPU time that the calling thread has used.
pub fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Returns the date and time of day in UTC as RFC 3339: `2026-11-05T12:30:00Z`.
///
/// Only for the header of a result: no measurement depends on it.
pub fn date() -> String {
    date_of(calendar_ms())
}

/// Returns a calendar time, in milliseconds since 1970, in the same form; in a year above 9999 as the last second
/// before.
pub fn date_of(calendar_ms: u64) -> String {
    const LAST_S: u64 = 253_402_300_799;
    let since = time::Duration::from_secs((calendar_ms / 1000).min(LAST_S));
    humantime::format_rfc3339_seconds(time::UNIX_EPOCH + since).to_string()
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
    fn cpu_time_of_a_thread_grows_with_work_only() {
        let before = thread_cpu_time();
        std::thread::sleep(time::Duration::from_millis(50));
        assert!(thread_cpu_time().saturating_sub(before) < Duration::from_ms(40), "it slept");
        while thread_cpu_time().saturating_sub(before) < Duration::from_ms(50) {}
    }

    #[test]
    fn date_of_any_time_has_four_digits_of_a_year() {
        assert_eq!(date_of(1_767_225_599_999), "2025-12-31T23:59:59Z");
        assert_eq!(date_of(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn date_is_rfc_3339() {
        let date = date();
        assert!(date.len() == 20 && date.ends_with('Z') && date.as_bytes()[10] == b'T', "{date}");
    }
}
