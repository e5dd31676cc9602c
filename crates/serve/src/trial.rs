//! The lateness to expect of this machine, before anything is served.

use flashlane_base::{Duration, Histogram};
use flashlane_host::{Clock, wait_for_sockets};
use mio::Poll;
use std::io;

/// Waits of a trial, and the time of each.
const WAITS: u32 = 200;
const WAIT: Duration = Duration::from_us(200);

/// Waits as a server does, for some 40 ms in all. Returns the 99th percentile of lateness, to which a served device
/// adds that of its replies.
///
/// # Errors
/// The system's error where it cannot wait.
pub fn trial_lateness() -> io::Result<Duration> {
    flashlane_host::end_sleeps_on_time();
    let (poll, clock) = (Poll::new()?, Clock::start());
    let mut lateness = Histogram::new();
    for _ in 0..WAITS {
        let deadline = clock.now() + WAIT;
        wait_for_sockets(&poll, WAIT.saturating_sub(Clock::SPIN))?;
        clock.wait_until(deadline);
        lateness.record(clock.now().since(deadline));
    }
    Ok(Duration::from_ns(lateness.quantile_ns(0.99) as u64))
}
