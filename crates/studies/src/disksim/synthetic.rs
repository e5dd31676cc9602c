//! The synthetic workloads of DiskSim's SSD extension: open loop, requests of whole pages, in order or at random.
//!
//! The time between requests is uniform from 0 to 1 ms; sizes are in whole steps and at least one. A sequential request
//! begins at the end of the previous one and has its size; at the end of the region, a new sequence begins at a random
//! place with a new size. As in DiskSim the numbers come from POSIX's `drand48`, drawn in the same order, so that a
//! seed gives the same sizes and places; some draws have no effect in these workloads.

use flashlane_base::{Instant, Operation};
use flashlane_trace::Record;

const SECTOR_BYTES: u64 = 512;
const MEAN_GAP_NS: f64 = 500_000.0;

/// A synthetic workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Synthetic {
    /// All requests read, or all write.
    pub(crate) operation: Operation,
    /// Whether they are sequential.
    pub(crate) sequential: bool,
    /// Number of requests.
    pub(crate) requests: u64,
    /// Number of addressed sectors, from the first.
    pub(crate) region_sectors: u64,
    /// Sectors of a request, before rounding to whole steps.
    pub(crate) size: Size,
    /// Sectors per step, the drive's page.
    pub(crate) step_sectors: u64,
    /// The seed of `drand48`; 42 in DiskSim's parameter files.
    pub(crate) seed: u32,
}

/// Size of requests, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Distributed exponentially with this mean.
    Exponential(u64),
    /// Constant size.
    Fixed(u64),
}

impl Size {
    fn draw(self, random: &mut Rand48) -> u64 {
        match self {
            Self::Exponential(mean) => (-(mean as f64) * (1.0 - random.unit()).ln()) as u64,
            Self::Fixed(sectors) => sectors,
        }
    }
}

impl Synthetic {
    /// Returns the requests, in order of time.
    pub(crate) fn records(self) -> impl Iterator<Item = Record> {
        let steps = self.region_sectors / self.step_sectors;
        let step_bytes = self.step_sectors * SECTOR_BYTES;
        let mut random = Rand48::new(self.seed);
        let mut at_ns = 0.0;
        let (mut first, mut count) = (0, 0);
        (0..self.requests).map(move |request| {
            // Whether the next request is sequential: always, or never.
            if request > 0 {
                random.skip();
            }
            at_ns += random.unit() * 2.0 * MEAN_GAP_NS;
            if self.sequential && request > 0 && first + 2 * count < steps {
                first += count;
            } else {
                // Which device.
                random.skip();
                loop {
                    first = (random.unit() * steps as f64) as u64;
                    count = self.size.draw(&mut random).div_ceil(self.step_sectors);
                    if count > 0 && first + count < steps {
                        break;
                    }
                }
                // Whether to read: always, or never.
                random.skip();
            }
            // How urgent it is.
            random.skip();
            Record {
                at: Instant::from_ns(at_ns as u64),
                took: None,
                device: 0,
                operation: self.operation,
                offset_bytes: first * step_bytes,
                length_bytes: count * step_bytes,
                durable: false,
            }
        })
    }
}

/// POSIX's `drand48`: a linear congruential generator of 48 bits (IEEE Std 1003.1, `drand48`).
struct Rand48(u64);

impl Rand48 {
    fn new(seed: u32) -> Self {
        Self(u64::from(seed) << 16 | 0x330e)
    }

    /// A draw without effect here.
    fn skip(&mut self) {
        self.unit();
    }

    /// A number in `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & ((1 << 48) - 1);
        self.0 as f64 / (1_u64 << 48) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_matches_posix_drand48() {
        // What glibc prints for srand48(42).
        let mut random = Rand48::new(42);
        assert_eq!(format!("{:.6} {:.6}", random.unit(), random.unit()), "0.744525 0.342701");
    }

    const REGION_SECTORS: u64 = 7_018_904;

    fn workload(sequential: bool, size: Size) -> Vec<Record> {
        let of = Synthetic {
            operation: Operation::Write,
            sequential,
            requests: 200_000,
            region_sectors: REGION_SECTORS,
            size,
            step_sectors: 8,
            seed: 42,
        };
        of.records().collect()
    }

    #[test]
    fn requests_match_their_description() {
        for (sequential, size) in [false, true]
            .into_iter()
            .flat_map(|order| [Size::Exponential(8), Size::Fixed(20)].map(|size| (order, size)))
        {
            let records = workload(sequential, size);
            let end = records.iter().map(|record| record.offset_bytes + record.length_bytes).max().unwrap();
            assert!(end <= REGION_SECTORS * SECTOR_BYTES);
            assert!(
                records.iter().all(|r| r.length_bytes > 0 && (r.offset_bytes | r.length_bytes) % 4096 == 0)
            );
            assert!(records.windows(2).all(|pair| pair[0].at <= pair[1].at));
            let mean_gap_ns = records.last().unwrap().at.as_ns() as f64 / records.len() as f64;
            assert!((mean_gap_ns / MEAN_GAP_NS - 1.0).abs() < 0.01, "{mean_gap_ns}");
            let following = records
                .windows(2)
                .filter(|pair| pair[0].offset_bytes + pair[0].length_bytes == pair[1].offset_bytes)
                .count();
            assert!(if sequential { following > 199_990 } else { following < 10 }, "{following}");
            if size == Size::Fixed(20) {
                assert!(records.iter().all(|record| record.length_bytes == 24 * SECTOR_BYTES));
            }
        }
        // A mean of 1 / (1 - 1/e) steps of an exponential distribution with the mean of one step, rounded up.
        let random = workload(false, Size::Exponential(8));
        let pages: u64 = random.iter().map(|record| record.length_bytes / 4096).sum();
        assert!((pages as f64 / 200_000.0 - 1.582).abs() < 0.01, "{pages}");
    }
}
