//! Counts over device time.

use flashlane_base::Duration;

/// Returns `count` per second; a duration of zero counts as one nanosecond.
pub fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 * 1e9 / elapsed.as_ns().max(1) as f64
}
