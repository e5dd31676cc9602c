//! How much each submission queue asks for, so that flash can serve the reads of light queues first.
//!
//! Bytes are counted over epochs. In the next epoch a queue is *light* that asked for less than a share of the mean of
//! the queues that asked for anything. So a queue that is served first asks for more, until it is as heavy as the
//! others: no queue gains more than its part.

use crate::config::DriveConfig;
use flashlane_base::{Duration, Instant};
use flashlane_device::QueueId;

/// Long enough for hundreds of reads of a die, short enough to follow a burst.
const EPOCH: Duration = Duration::from_ms(10);
/// What a command without data counts.
const SMALLEST_BYTES: u64 = 512;

/// The loads of all queues.
#[derive(Clone)]
pub(crate) struct QueueLoads {
    /// The share of the mean below which a queue is light.
    below: f64,
    epoch_ends: Instant,
    /// By queue, in this epoch.
    bytes: Vec<u64>,
    is_light: Vec<bool>,
}

impl QueueLoads {
    /// The queues of a profile; `None` where its scheduling policy makes no difference between them. Requires: `config`
    /// is validated.
    pub(crate) fn new(config: &DriveConfig) -> Option<Self> {
        let scheduling = &config.scheduling;
        let policy = config.policies.scheduling.build(&scheduling.policy, &scheduling.options.options());
        let below = policy.expect("validation built every policy once").light_below()?;
        let queues = config.queues.as_ref().map_or(1, |queues| queues.count as usize);
        Some(Self {
            below,
            epoch_ends: Instant::ZERO + EPOCH,
            bytes: vec![0; queues],
            is_light: vec![false; queues],
        })
    }

    /// The same, with nothing asked for, at the next power-on.
    pub(crate) fn restarted(&self) -> Self {
        let queues = self.bytes.len();
        Self { bytes: vec![0; queues], is_light: vec![false; queues], ..*self }
    }

    /// A command comes into a queue.
    pub(crate) fn arrive(&mut self, queue: QueueId, bytes: u64, now: Instant) {
        if now >= self.epoch_ends {
            self.end_epoch(now);
        }
        self.bytes[queue.0 as usize] += bytes.max(SMALLEST_BYTES);
    }

    fn end_epoch(&mut self, now: Instant) {
        let asking = self.bytes.iter().filter(|bytes| **bytes > 0).count();
        let sum: u64 = self.bytes.iter().sum();
        let limit = self.below * sum as f64 / asking.max(1) as f64;
        for (is_light, bytes) in self.is_light.iter_mut().zip(&mut self.bytes) {
            *is_light = (std::mem::take(bytes) as f64) < limit;
        }
        self.epoch_ends = now + EPOCH;
    }

    /// Whether a queue asked for little in the last epoch.
    pub(crate) fn is_light(&self, queue: QueueId) -> bool {
        self.is_light[queue.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_that_ask_for_less_than_a_share_of_the_mean_are_light() {
        let none = QueueLoads {
            below: 0.5,
            epoch_ends: Instant::ZERO + EPOCH,
            bytes: vec![0; 4],
            is_light: vec![false; 4],
        };
        let mut loads = none.clone();
        // The mean of the three that ask for something is 100 KiB.
        for (queue, kib) in [(0, 200), (1, 51), (2, 49)] {
            loads.arrive(QueueId(queue), kib << 10, Instant::ZERO);
        }
        assert!((0..4).all(|queue| !loads.is_light(QueueId(queue))), "nothing is known in the first epoch");
        let next = Instant::ZERO + EPOCH;
        loads.arrive(QueueId(0), 4096, next);
        let light: Vec<bool> = (0..4).map(|queue| loads.is_light(QueueId(queue))).collect();
        assert_eq!(light, [false, false, true, true]);
        // Alone a queue is its own mean.
        loads.arrive(QueueId(0), 4096, next + EPOCH);
        assert!(!loads.is_light(QueueId(0)));
        assert_eq!(loads.restarted().is_light, none.is_light);
    }
}
