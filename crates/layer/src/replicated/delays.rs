//! The time after which an access counts as blocked: `D`, twice the median of the device's own writes (he14, table 1).
//!
//! A drive with a write cache acknowledges writes sooner than it reads, and no flash is programmed sooner than it is
//! read. So D is twice the larger of the two medians: otherwise every read of such a drive would be blocked, and every
//! write that met the slightest delay. Until [`LEAST`] writes were seen, nothing is blocked.

use flashlane_base::Duration;

/// Latencies that a median is of, at most.
const WINDOW: usize = 255;
/// Latencies before the first median, and between two.
const LEAST: u32 = 64;

/// The median of the last latencies. Constant time, amortised.
#[derive(Clone, Debug, Default)]
struct RunningMedian {
    window: Vec<Duration>,
    next: usize,
    since: u32,
    sorted: Vec<Duration>,
    median: Option<Duration>,
}

impl RunningMedian {
    fn record(&mut self, latency: Duration) {
        if self.window.len() < WINDOW {
            self.window.push(latency);
        } else {
            self.window[self.next] = latency;
            self.next = (self.next + 1) % WINDOW;
        }
        self.since += 1;
        if self.since >= LEAST {
            self.since = 0;
            self.sorted.clone_from(&self.window);
            let middle = self.sorted.len() / 2;
            self.median = Some(*self.sorted.select_nth_unstable(middle).1);
        }
    }
}

/// The times of reads and writes, and the D that follows.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// As given in the settings.
    fixed: Option<Duration>,
    reads: RunningMedian,
    writes: RunningMedian,
}

impl Delays {
    pub fn new(fixed: Option<Duration>) -> Self {
        Self { fixed, reads: RunningMedian::default(), writes: RunningMedian::default() }
    }

    pub fn record_read(&mut self, latency: Duration) {
        if self.fixed.is_none() {
            self.reads.record(latency);
        }
    }

    pub fn record_write(&mut self, latency: Duration) {
        if self.fixed.is_none() {
            self.writes.record(latency);
        }
    }

    /// Returns D; `None` while unknown.
    pub fn get(&self) -> Option<Duration> {
        let larger = |write: Duration| self.reads.median.map_or(write, |read| write.max(read));
        self.fixed.or_else(|| self.writes.median.map(|write| larger(write) * 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_twice_the_median_write() {
        let mut delays = Delays::new(None);
        for nth in 0..LEAST - 1 {
            delays.record_write(Duration::from_us(u64::from(nth) + 1));
        }
        assert_eq!(delays.get(), None);
        delays.record_write(Duration::from_ms(64));
        assert_eq!(delays.get(), Some(Duration::from_us(66)));
        // The drive becomes slower; the reads of a drive with a cache are slower than its writes.
        (0..WINDOW).for_each(|_| delays.record_write(Duration::from_us(200)));
        assert_eq!(delays.get(), Some(Duration::from_us(400)));
        (0..WINDOW).for_each(|_| delays.record_read(Duration::from_us(300)));
        assert_eq!(delays.get(), Some(Duration::from_us(600)));
    }

    #[test]
    fn given_delay_is_kept() {
        let mut delays = Delays::new(Some(Duration::from_us(5)));
        (0..WINDOW).for_each(|_| delays.record_write(Duration::from_us(200)));
        assert_eq!(delays.get(), Some(Duration::from_us(5)));
    }
}
