//! How many times as long as the trace a drive took for the part of it that was slowest to serve.
//!
//! Beside their arrivals, completions lie as far apart while a drive keeps up, and farther while it has more to do than
//! it can: requests that arrived within a second and completed within three ask for a third of the speed. The average
//! over a trace hides such a part behind those in which the drive had little to do. Keeps one request in 2^n, of at
//! most [`MOST`].

use flashlane_base::Duration;

/// Most requests kept; then every second one is left out.
const MOST: usize = 4096;

/// Arrivals and completions of an even sample of the requests, in the order of their submission.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// Arrival and completion, since the replay began; the completion is zero until it is known.
    kept: Vec<(Duration, Duration)>,
    /// One request in this number is kept: a power of two.
    stride: u64,
    submitted: u64,
}

impl Default for Passage {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, submitted: 0 }
    }
}

impl Passage {
    /// A request is submitted. Returns its number, from 0.
    #[inline]
    pub(super) fn submitted(&mut self, arrived: Duration) -> u64 {
        let number = self.submitted;
        self.submitted += 1;
        if number.is_multiple_of(self.stride) {
            self.keep(arrived);
        }
        number
    }

    fn keep(&mut self, arrived: Duration) {
        self.kept.push((arrived, Duration::ZERO));
        if self.kept.len() == MOST {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The request of this number has completed.
    #[inline]
    pub(super) fn completed(&mut self, number: u64, completed: Duration) {
        if number.is_multiple_of(self.stride)
            && let Some((_, time)) = self.kept.get_mut((number / self.stride) as usize)
        {
            *time = completed;
        }
    }

    /// Returns the greatest ratio of the time between two completions to that between their arrivals, over parts of the
    /// trace that last `part` or just longer; 1 at least.
    pub(super) fn slowest(&self, part: Duration) -> f64 {
        let mut done = self.kept.iter().filter(|(_, completed)| !completed.is_zero());
        let firsts = done.clone();
        let mut last = done.next();
        let mut slowest = 1.0_f64;
        for (arrived, completed) in firsts {
            while let Some((later, _)) = last
                && (later.saturating_sub(*arrived) < part || later <= arrived)
            {
                last = done.next();
            }
            let Some((later, then)) = last else { break };
            let lasted = later.saturating_sub(*arrived).as_s_f64();
            slowest = slowest.max(then.saturating_sub(*completed).as_s_f64() / lasted);
        }
        slowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_part_is_found_beside_idle_ones() {
        // One in 100 us for a second, ten times as many for 0.2 s with 300 us each, and few again.
        for times in [1, 10] {
            let mut passage = Passage::default();
            let (mut at_us, mut free_us, mut all) = (0, 0, Vec::new());
            for (gap_us, count) in [(1000, 1000 * times), (100, 2000 * times), (1000, 2000 * times)] {
                for _ in 0..count {
                    at_us += gap_us;
                    free_us = at_us.max(free_us) + 300;
                    all.push((passage.submitted(Duration::from_us(at_us)), free_us));
                }
            }
            // Completions may come in any order.
            all.sort_by_key(|(number, _)| number % 7);
            all.iter().for_each(|&(number, at)| passage.completed(number, Duration::from_us(at)));
            let slowest = passage.slowest(Duration::from_ms(100 * times));
            assert!((2.9..3.1).contains(&slowest), "{slowest}");
            let average = passage.slowest(Duration::from_s(3 * times));
            assert!(average < 1.2, "{average}");
        }
    }
}
