//! Measures the cost model of a device: by reads alone, and the time of a commit by writes.
//!
//! Each point is measured several times, every time at another place. The repetitions are the outermost loop, so that a
//! drift of the device widens all intervals and moves no point. Depths grow by powers of two and end where two steps in
//! a row gained less than 5%.

use crate::reads::{Area, random_reads, scan};
use crate::{AdviseError, CostModel, Estimate, RandomCost, ScanCost};
use flashlane_base::{Duration, Random, Seed};
use flashlane_device::Device;
use flashlane_measure::{Watch, closed_loop};
use flashlane_workload::Access;
use std::collections::BTreeMap;
use std::iter::successors;
use std::ops::ControlFlow;

/// How a cost model is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Bytes of a page: 8 KiB for PostgreSQL.
    pub page_bytes: u64,
    /// Most requests in flight; the device may allow fewer.
    pub most_in_flight: u32,
    /// Measurements of each point, at least 2.
    pub repetitions: u32,
    /// Seed of all places.
    pub seed: Seed,
}

impl Default for Calibration {
    /// Pages of 8 KiB, 64 in flight, five measurements of a point: what databases keep in flight for the reads of a
    /// query, of which there are too few to be worth more.
    fn default() -> Self {
        Self { page_bytes: 8 << 10, most_in_flight: 64, repetitions: 5, seed: Seed(0) }
    }
}

/// Least pages of a band.
const LEAST_BAND: u64 = 256;
/// Factor between bands.
const BAND_FACTOR: u64 = 16;
/// Least random reads of a measurement, and least for each in flight.
const READS: u64 = 256;
const READS_EACH: u64 = 32;
/// Sizes of the requests of scans: those that hold whole pages.
const SCANS: [u64; 10] =
    [4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];
/// Least bytes of a scan, and least requests for each in flight: so many that filling readahead and queues, which a
/// long scan does once, counts for little.
const SCAN_BYTES: u64 = 64 << 20;
const REQUESTS_EACH: u64 = 8;
/// Most bytes of a scan in flight: they are buffers of a real device.
const SCAN_IN_FLIGHT: u64 = 256 << 20;
/// Commits of a measurement.
pub(crate) const COMMITS: u64 = 64;
/// Gain of a doubled depth that is worth a further one.
const WORTH: f64 = 0.05;

/// A point of the model to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    Random { band_pages: u64, depth: u32 },
    Scan { request_bytes: u64, depth: u32 },
}

/// Measures the cost model of `device`.
///
/// # Errors
/// [`AdviseError::TooSmall`] and [`AdviseError::PageUnfit`] before anything is read, [`AdviseError::Measure`] where a
/// read is refused or fails, [`AdviseError::Stopped`] where `watch` says so.
///
/// # Panics
/// If fewer than two repetitions are asked, whose intervals would be infinite.
pub fn calibrate(
    device: &mut dyn Device,
    calibration: &Calibration,
    watch: Watch<'_, f64>,
) -> Result<CostModel, AdviseError> {
    assert!(calibration.repetitions >= 2, "an interval needs two measurements");
    let mut bench = Bench::new(device, calibration)?;
    let points = bench.points();
    let mut values: BTreeMap<Point, Vec<f64>> = BTreeMap::new();
    let rounds = calibration.repetitions;
    for round in 0..rounds {
        for (i, row) in points.iter().enumerate() {
            let share = (f64::from(round) + i as f64 / points.len() as f64) / f64::from(rounds);
            if watch(&share) == ControlFlow::Break(()) {
                return Err(AdviseError::Stopped);
            }
            // The first round finds out at which depth a row ends; later ones measure the same points.
            let mut steps = Steps::default();
            for point in row {
                if round > 0 && !values.contains_key(point) {
                    break;
                }
                let page_ns = bench.page_ns(*point)?;
                values.entry(*point).or_default().push(page_ns);
                if round == 0 && steps.is_flat_after(page_ns) {
                    break;
                }
            }
        }
    }
    let mut random = Vec::new();
    let mut scans = Vec::new();
    for (point, values) in values {
        let page_ns = Estimate::of(&values);
        match point {
            Point::Random { band_pages, depth } => random.push(RandomCost { band_pages, depth, page_ns }),
            Point::Scan { request_bytes, depth } => scans.push(ScanCost { request_bytes, depth, page_ns }),
        }
    }
    Ok(CostModel::new(calibration.page_bytes, bench.area_pages(), random, scans))
}

/// Measures the time of a commit on `device`: of a page written at the end of a log and flushed. Overwrites the device
/// at random places.
///
/// # Errors
/// As [`calibrate`].
pub fn measure_commits(
    device: &mut dyn Device,
    calibration: &Calibration,
    watch: Watch<'_, f64>,
) -> Result<Estimate, AdviseError> {
    let places = Calibration { seed: calibration.seed.derive("commits"), ..*calibration };
    let mut bench = Bench::new(device, &places)?;
    let mut values = Vec::new();
    for round in 0..calibration.repetitions {
        if watch(&(f64::from(round) / f64::from(calibration.repetitions))) == ControlFlow::Break(()) {
            return Err(AdviseError::Stopped);
        }
        values.push(bench.commit_ns(COMMITS, Duration::ZERO)?);
    }
    Ok(Estimate::of(&values))
}

/// Steps of a growing depth.
#[derive(Default)]
struct Steps {
    before: Option<f64>,
    flat: u32,
}

impl Steps {
    /// Takes the next time, and returns whether two steps in a row gained too little.
    fn is_flat_after(&mut self, time: f64) -> bool {
        match self.before {
            Some(before) if time > before * (1.0 - WORTH) => self.flat += 1,
            _ => self.flat = 0,
        }
        self.before = Some(time);
        self.flat >= 2
    }
}

/// A device whose pages are read.
pub(crate) struct Bench<'a> {
    device: &'a mut dyn Device,
    random: Random,
    area: Area,
    page_bytes: u64,
    most_in_flight: u32,
}

impl<'a> Bench<'a> {
    /// Takes a device.
    pub fn new(device: &'a mut dyn Device, calibration: &Calibration) -> Result<Self, AdviseError> {
        let &Calibration { page_bytes, most_in_flight, seed, .. } = calibration;
        let info = device.info();
        let unit_bytes = info.read_unit_bytes.max(1);
        if page_bytes == 0 || !page_bytes.is_multiple_of(unit_bytes) {
            return Err(AdviseError::PageUnfit { page_bytes, unit_bytes });
        }
        let largest = *SCANS.last().expect("scans have sizes");
        let least_bytes = (LEAST_BAND * page_bytes).max(SCAN_BYTES).max(2 * REQUESTS_EACH * largest);
        if info.capacity_bytes < least_bytes {
            return Err(AdviseError::TooSmall { capacity_bytes: info.capacity_bytes, least_bytes });
        }
        let pages = info.capacity_bytes / page_bytes;
        let area = Area { offset_bytes: 0, length_bytes: pages * page_bytes };
        let most_in_flight = most_in_flight.min(info.depth).max(1);
        Ok(Self { device, random: seed.derive("advise").source(), area, page_bytes, most_in_flight })
    }

    /// Returns the pages of the device.
    pub fn area_pages(&self) -> u64 {
        self.area.length_bytes / self.page_bytes
    }

    /// Returns the points in rows of growing depth.
    fn points(&self) -> Vec<Vec<Point>> {
        let depths =
            || successors(Some(1), |depth| Some(depth * 2)).take_while(|depth| *depth <= self.most_in_flight);
        let bands = successors(Some(self.area_pages()), |band| Some(band / BAND_FACTOR));
        let random = bands.take_while(|band| *band >= LEAST_BAND);
        let random =
            random.map(|band_pages| depths().map(|depth| Point::Random { band_pages, depth }).collect());
        let sizes = SCANS.into_iter().filter(|size| size.is_multiple_of(self.page_bytes));
        let scans = sizes.map(|request_bytes| {
            let depths = depths().take_while(|depth| u64::from(*depth) * request_bytes <= SCAN_IN_FLIGHT);
            depths.map(|depth| Point::Scan { request_bytes, depth }).collect()
        });
        random.chain(scans).collect()
    }

    /// Returns the elapsed time by pages, in nanoseconds.
    fn page_ns(&mut self, point: Point) -> Result<f64, AdviseError> {
        match point {
            Point::Random { band_pages, depth } => {
                self.random_page_ns(band_pages, depth, READS.max(READS_EACH * u64::from(depth)))
            }
            Point::Scan { request_bytes, depth } => {
                let length_bytes = SCAN_BYTES.max(REQUESTS_EACH * u64::from(depth) * request_bytes);
                self.scanned_page_ns(request_bytes, depth, length_bytes)
            }
        }
    }

    /// Whether the device's time is virtual.
    pub fn is_simulated(&self) -> bool {
        self.device.info().simulated
    }

    /// Reads `count` pages at random places of a band at a random place, and returns the time of one in nanoseconds.
    pub fn random_page_ns(&mut self, band_pages: u64, depth: u32, count: u64) -> Result<f64, AdviseError> {
        let band = self.area.part(band_pages * self.page_bytes, self.page_bytes, &mut self.random);
        let reads: Vec<_> = random_reads(band, self.page_bytes, count, &mut self.random).collect();
        let took = closed_loop(self.device, reads, depth, |_, _| {})?;
        Ok(took.as_ns() as f64 / count as f64)
    }

    /// Scans about `length_bytes` at a random place, and returns the time of a page in nanoseconds.
    pub fn scanned_page_ns(
        &mut self,
        request_bytes: u64,
        depth: u32,
        length_bytes: u64,
    ) -> Result<f64, AdviseError> {
        let part = self.area.part(length_bytes, request_bytes, &mut self.random);
        let took = closed_loop(self.device, scan(part, request_bytes), depth, |_, _| {})?;
        let pages = part.length_bytes / request_bytes * request_bytes / self.page_bytes;
        Ok(took.as_ns() as f64 / pages as f64)
    }

    /// Writes `count` pages one after the other at a random place, each after `pause` and followed by a flush. Returns
    /// the time of one with its pause in nanoseconds.
    pub fn commit_ns(&mut self, count: u64, pause: Duration) -> Result<f64, AdviseError> {
        let log = self.area.part(count * self.page_bytes, self.page_bytes, &mut self.random);
        let (mut took, mut out) = (Duration::ZERO, Vec::new());
        for i in 0..count {
            let until = self.device.now() + pause;
            while self.device.now() < until {
                self.device.reap(until, &mut out);
            }
            let write = Access::write(log.offset_bytes + i * self.page_bytes, self.page_bytes);
            took += pause + closed_loop(self.device, [write, Access::flush()], 1, |_, _| {})?;
        }
        Ok(took.as_ns() as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ends_after_two_steps_without_gain() {
        let mut steps = Steps::default();
        let ended: Vec<bool> =
            [100.0, 50.0, 49.0, 30.0, 29.0, 28.9].map(|time| steps.is_flat_after(time)).to_vec();
        assert_eq!(ended, [false, false, false, false, false, true]);
    }
}
