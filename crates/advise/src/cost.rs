//! The cost model: the time of a page by the place of its read and by what else is in flight.
//!
//! Invariants: both surfaces have a point; points are sorted by their width, then by depth; times are positive. Between
//! points the model interpolates logarithms, so that a power law is met exactly; outside it keeps the outermost value.

use crate::{Estimate, Reads};
use std::cmp::Ordering;

/// Time of a page that is read alone, at a random place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomCost {
    /// Pages of the band over which reads are spread.
    pub band_pages: u64,
    /// Reads in flight.
    pub depth: u32,
    /// Elapsed time by pages, in nanoseconds.
    pub page_ns: Estimate,
}

/// Time of a page of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanCost {
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Requests in flight.
    pub depth: u32,
    /// Elapsed time by pages, in nanoseconds.
    pub page_ns: Estimate,
}

/// The cost model of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    page_bytes: u64,
    area_pages: u64,
    random: Vec<RandomCost>,
    scans: Vec<ScanCost>,
    commit: Option<Estimate>,
}

impl CostModel {
    /// Creates a model from measured points. `area_pages` is the size of the device.
    ///
    /// # Panics
    /// If there is no random point or no scan, or where a time, width or depth is not positive.
    pub fn new(
        page_bytes: u64,
        area_pages: u64,
        mut random: Vec<RandomCost>,
        mut scans: Vec<ScanCost>,
    ) -> Self {
        assert!(!random.is_empty() && !scans.is_empty(), "a cost model needs random reads and scans");
        for (width, depth, page_ns) in
            random.iter().map(point_of_random).chain(scans.iter().map(point_of_scan))
        {
            assert!(width > 0.0 && depth > 0 && page_ns.mean > 0.0, "a point of a cost model is positive");
        }
        random.sort_by_key(|cost| (cost.band_pages, cost.depth));
        scans.sort_by_key(|cost| (cost.request_bytes, cost.depth));
        Self { page_bytes, area_pages, random, scans, commit: None }
    }

    /// Adds the time of a commit, a page written and flushed, in nanoseconds.
    pub fn with_commit(self, commit: Estimate) -> Self {
        Self { commit: Some(commit), ..self }
    }

    /// Returns the time of a commit, if it is known.
    pub fn commit(&self) -> Option<Estimate> {
        self.commit
    }

    /// Returns the bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Returns the pages of the device.
    pub fn area_pages(&self) -> u64 {
        self.area_pages
    }

    /// Returns the measured random reads, by band and depth.
    pub fn random(&self) -> &[RandomCost] {
        &self.random
    }

    /// Returns the measured scans, by size of request and depth.
    pub fn scans(&self) -> &[ScanCost] {
        &self.scans
    }

    /// Returns the time of a page that is read at a random place of a band, in nanoseconds.
    pub fn random_page(&self, band_pages: f64, depth: u32) -> Estimate {
        interpolate(self.random.iter().map(point_of_random), band_pages, depth)
    }

    /// Returns the time of a page of a scan, in nanoseconds.
    pub fn scanned_page(&self, request_bytes: u64, depth: u32) -> Estimate {
        interpolate(self.scans.iter().map(point_of_scan), request_bytes as f64, depth)
    }

    /// Predicts the elapsed time of reads, in nanoseconds.
    ///
    /// The time of a page is that of many. At the end of random reads fewer and fewer are in flight, which takes
    /// between nothing and the time that one read is in flight: half of that is added, and as much to either side.
    pub fn time(&self, reads: &Reads) -> Estimate {
        match *reads {
            Reads::Random { pages, band_pages, depth } => {
                let depth = kept_in_flight(pages, depth);
                let page = self.random_page(band_pages, depth);
                let half_read = Estimate { half_width: page.mean, ..page }.times(f64::from(depth - 1) / 2.0);
                page.times(pages).plus(half_read)
            }
            Reads::Scan { pages, request_bytes, depth } => {
                self.scanned_page(request_bytes, depth).times(pages)
            }
        }
    }

    /// Returns the fewest reads in flight, of those measured, whose time of a page is within 5% of the best.
    pub fn depth_of_random(&self, band_pages: f64) -> u32 {
        let depths = self.random.iter().map(|cost| cost.depth);
        fewest(depths, |depth| self.random_page(band_pages, depth).mean)
    }

    /// Returns what to say of a depth of random reads: that more may be better, where no more were measured.
    pub fn more_may_be_better(&self, depth: u32) -> &'static str {
        let is_deepest = self.random.iter().all(|cost| cost.depth <= depth);
        if is_deepest { ", the most that were tried: more may be better" } else { "" }
    }

    /// Returns the fewest requests in flight, of those measured, whose time of a scanned page is within 5% of the best.
    pub fn depth_of_scan(&self, request_bytes: u64) -> u32 {
        let depths = self.scans.iter().map(|cost| cost.depth);
        fewest(depths, |depth| self.scanned_page(request_bytes, depth).mean)
    }

    /// Returns the smallest request of a scan, of those measured up to `most_bytes`, whose time of a page is within 5%
    /// of the best of these.
    pub fn size_of_scan(&self, depth: u32, most_bytes: u64) -> u64 {
        let sizes = self.scans.iter().map(|cost| cost.request_bytes).filter(|size| *size <= most_bytes);
        fewest(sizes, |size| self.scanned_page(size, depth).mean)
    }
}

/// Returns how many of `pages` reads are in flight, where a program would have up to `depth`.
pub(crate) fn kept_in_flight(pages: f64, depth: u32) -> u32 {
    depth.min(pages.ceil() as u32).max(1)
}

/// Share of the best that more effort has to gain.
const WORTH: f64 = 0.05;

/// Returns the least of `choices` whose time is within 5% of the best. Requires: at least one choice.
fn fewest<T: Copy + Ord>(choices: impl Iterator<Item = T> + Clone, time: impl Fn(T) -> f64) -> T {
    let best = choices.clone().map(&time).min_by(f64::total_cmp).expect("a cost model has points");
    choices
        .filter(|choice| time(*choice) <= best * (1.0 + WORTH))
        .min()
        .expect("the best is within 5% of itself")
}

fn point_of_random(cost: &RandomCost) -> (f64, u32, Estimate) {
    (cost.band_pages as f64, cost.depth, cost.page_ns)
}

fn point_of_scan(cost: &ScanCost) -> (f64, u32, Estimate) {
    (cost.request_bytes as f64, cost.depth, cost.page_ns)
}

/// Interpolates points (width, depth, time), sorted by width and depth, first by depth at the widths on both sides.
fn interpolate(
    points: impl Iterator<Item = (f64, u32, Estimate)> + Clone,
    width: f64,
    depth: u32,
) -> Estimate {
    let width = width.max(1.0);
    let row_at = |row: f64| {
        let row = points.clone().filter(move |(width, ..)| *width == row);
        between(row.map(|(_, depth, time)| (f64::from(depth), time)), f64::from(depth.max(1)))
    };
    let widths = points.clone().map(|(width, ..)| width);
    let below = widths.clone().filter(|w| *w <= width).max_by(f64::total_cmp);
    let above = widths.filter(|w| *w >= width).min_by(f64::total_cmp);
    let ends = [below, above].into_iter().flatten().map(|w| (w, row_at(w)));
    between(ends, width)
}

/// Interpolates a curve through points sorted by their position, in logarithms of both; the relative half width
/// linearly.
fn between(points: impl Iterator<Item = (f64, Estimate)>, at: f64) -> Estimate {
    let mut below: Option<(f64, Estimate)> = None;
    for (x, y) in points {
        match (x.total_cmp(&at), below) {
            (Ordering::Equal, _) | (Ordering::Greater, None) => return y,
            (Ordering::Less, _) => below = Some((x, y)),
            (Ordering::Greater, Some((x0, y0))) => {
                let share = (at / x0).ln() / (x / x0).ln();
                let mean = y0.mean * (y.mean / y0.mean).powf(share);
                let relative = y0.relative() * (1.0 - share) + y.relative() * share;
                return Estimate { mean, half_width: mean * relative };
            }
        }
    }
    below.expect("a curve has a point").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sure(mean: f64) -> Estimate {
        Estimate { mean, half_width: mean * 0.01 }
    }

    /// A model in which a page takes `band^a * depth^b` and, in scans, `size^a * depth^b` nanoseconds.
    fn power_law(a: f64, b: f64) -> CostModel {
        let mut random = Vec::new();
        let mut scans = Vec::new();
        for exponent in 0..6 {
            for depth in [1, 2, 4, 8, 16, 32] {
                let time = |width: f64| sure(width.powf(a) * f64::from(depth).powf(b));
                let band_pages = 256 << (2 * exponent);
                random.push(RandomCost { band_pages, depth, page_ns: time(band_pages as f64) });
                let request_bytes = 8192 << exponent;
                scans.push(ScanCost { request_bytes, depth, page_ns: time(request_bytes as f64) });
            }
        }
        CostModel::new(8192, 1 << 20, random, scans)
    }

    proptest! {
        #[test]
        fn power_laws_are_met_between_points(
            a in -0.5..0.5f64, b in -1.0..0.2f64, band in 256f64..262144.0, depth in 1u32..=32,
        ) {
            let time = power_law(a, b).random_page(band, depth);
            let law = band.powf(a) * f64::from(depth).powf(b);
            prop_assert!((time.mean / law - 1.0).abs() < 1e-9, "{} {law}", time.mean);
            prop_assert!((time.relative() - 0.01).abs() < 1e-9);
        }

        #[test]
        fn outermost_value_is_kept_outside(a in -0.5..0.5f64, b in -1.0..0.2f64) {
            let model = power_law(a, b);
            prop_assert_eq!(model.random_page(1.0, 1), model.random_page(256.0, 1));
            prop_assert_eq!(model.random_page(1e9, 1000), model.random_page(262_144.0, 32));
        }
    }

    #[test]
    fn rows_may_end_at_different_depths() {
        let cost = |band_pages, depth, ns| RandomCost { band_pages, depth, page_ns: sure(ns) };
        let scan = ScanCost { request_bytes: 8192, depth: 1, page_ns: sure(10.0) };
        let random = vec![cost(100, 1, 40.0), cost(100, 2, 20.0), cost(10_000, 1, 160.0)];
        let model = CostModel::new(8192, 10_000, random, vec![scan]);
        // Half way in logarithms between 20 and 160.
        assert!((model.random_page(1000.0, 2).mean - (20f64 * 160.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn fewest_requests_within_five_percent_are_chosen() {
        let cost = |depth, ns| RandomCost { band_pages: 100, depth, page_ns: sure(ns) };
        let scan = |request_bytes, ns| ScanCost { request_bytes, depth: 1, page_ns: sure(ns) };
        let random = vec![cost(1, 80.0), cost(2, 42.0), cost(4, 20.9), cost(8, 20.0), cost(16, 20.5)];
        let scans = vec![scan(8192, 9.0), scan(16384, 5.0), scan(32768, 4.9), scan(65536, 4.0)];
        let model = CostModel::new(8192, 100, random, scans);
        assert_eq!(model.depth_of_random(100.0), 4);
        assert_eq!(model.size_of_scan(1, 32768), 16384);
        assert_eq!(model.size_of_scan(1, 1 << 20), 65536);
    }
}
