//! Short measurements of a load over request sizes and depths.
//!
//! Cells of a scan follow each other through the area with gaps between them, and never begin where an earlier cell
//! may have left data in the drive's cache. Cells are short and give estimates, which decide which points are worth a
//! confirming measurement ([`crate::confirm`]).

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::load::Load;
use crate::point_measurement::{PointMeasurement, is_timed};
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Histogram, Instant, Seed};
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::{Access, Generator};
use std::collections::BTreeMap;

const SIZES: [u64; 4] = [4096, 16 * 1024, 64 * 1024, 256 * 1024];
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Factor from each of [`SIZES`] to the next.
pub(crate) const SIZE_STEP: u64 = 4;
/// Factor from each of [`DEPTHS`] to the next.
pub(crate) const DEPTH_STEP: u32 = 2;
const _: () = assert!(SIZES[3] == SIZES[0] * SIZE_STEP.pow(3) && DEPTHS[6] == DEPTHS[0] * DEPTH_STEP.pow(6));
/// Fewest requests of a cell, as a multiple of its depth.
const ROUNDS_MIN: usize = 4;
/// Distance between two scans: more than a drive prefetches.
const GAP_BYTES: u64 = 8 << 20;

/// One size and depth.
#[derive(Clone, Debug)]
pub(crate) struct GridCell {
    pub(crate) request_bytes: u64,
    pub(crate) depth: u32,
    /// Bytes per second: the estimate, or the confirming measurement.
    pub(crate) bytes_per_s: f64,
    pub(crate) p99_ns: f64,
    pub(crate) confirmed: Option<PointMeasurement>,
}

/// The area of a load, and the bytes per cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestArea {
    pub(crate) area: Area,
    /// Bytes per cell.
    pub(crate) bytes_each: u64,
    /// Bytes before those that count.
    pub(crate) lead_in_bytes: u64,
}

/// The cells of a load.
pub(crate) struct Grid {
    pub(crate) load: Load,
    pub(crate) cells: Vec<GridCell>,
    pub(crate) largest_bytes: u64,
    pub(crate) deepest: u32,
    /// Bytes that the cells wrote, by request size.
    pub(crate) written: BTreeMap<u64, u64>,
}

impl Grid {
    /// Measures every cell; with `request_bytes`, those of this size only.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        load: Load,
        test_area: TestArea,
        request_bytes: Option<u64>,
        time: Duration,
    ) -> Result<Self, EarlyEnd> {
        let unit = bench.unit_bytes(load == Load::RandomWrite);
        let sizes: Vec<u64> = match request_bytes {
            Some(size) => vec![size],
            None => SIZES.into_iter().filter(|size| size.is_multiple_of(unit)).collect(),
        };
        let sizes = if sizes.is_empty() { vec![unit] } else { sizes };
        let depths: Vec<u32> = DEPTHS.into_iter().filter(|depth| *depth <= bench.depth()).collect();
        let mut grid = Self {
            load,
            cells: Vec::new(),
            largest_bytes: sizes.iter().copied().max().unwrap_or(unit),
            deepest: depths.iter().copied().max().unwrap_or(1),
            written: BTreeMap::new(),
        };
        let mut cursor = 0;
        for &size in &sizes {
            for &depth in &depths {
                let start = bench.device().now();
                let cell = grid.cell(bench, test_area, &mut cursor, (size, depth), time)?;
                grid.cells.push(cell);
                // With requests this slow, a greater depth only makes them wait for each other.
                if bench.is_real() && bench.device().now().since(start) > time * 4 {
                    break;
                }
            }
        }
        Ok(grid)
    }

    /// Measures a cell, after a lead-in.
    fn cell(
        &mut self,
        bench: &mut Bench<'_>,
        test_area: TestArea,
        cursor: &mut u64,
        (request_bytes, depth): (u64, u32),
        time: Duration,
    ) -> Result<GridCell, EarlyEnd> {
        // Requests in flight together may complete together: a rate needs many rounds of them.
        let round = depth as usize;
        let lead_in_bytes = test_area.lead_in_bytes;
        let lead_in =
            (lead_in_bytes.div_ceil(request_bytes) as usize).max(if lead_in_bytes > 0 { round } else { 0 });
        let count = ((test_area.bytes_each / request_bytes).clamp(32, 400) as usize).max(ROUNDS_MIN * round);
        let accesses = self.accesses(bench, test_area.area, cursor, (request_bytes, depth), lead_in + count);
        let mut done: Vec<(Instant, Duration)> = Vec::with_capacity(accesses.len());
        let start = bench.device().now();
        bench.stream_until(accesses.into_iter(), depth, Some(time), &mut |_, completion| {
            done.push((completion.completed, completion.latency()));
        })?;
        if self.load == Load::RandomWrite {
            *self.written.entry(request_bytes).or_default() += done.len() as u64 * request_bytes;
        }
        // Where the time ended first, at least half of the completed requests count.
        let lead_in = lead_in.min(done.len() / 2);
        let first = if lead_in == 0 { start } else { done[lead_in - 1].0 };
        let counted = &done[lead_in..];
        let mut latencies = Histogram::coarse();
        counted.iter().for_each(|(_, latency)| latencies.record(*latency));
        let last = counted.last().map_or(first, |(completed, _)| *completed);
        let bytes_per_s =
            (counted.len() as u64 * request_bytes) as f64 / last.since(first).as_s_f64().max(1e-9);
        Ok(GridCell { request_bytes, depth, bytes_per_s, p99_ns: latencies.latency().p99, confirmed: None })
    }

    /// Returns the accesses of a cell. Those of a scan begin behind the last one's, and move the cursor on.
    fn accesses(
        &self,
        bench: &mut Bench<'_>,
        area: Area,
        cursor: &mut u64,
        (request_bytes, depth): (u64, u32),
        count: usize,
    ) -> Vec<Access> {
        let Area { offset_bytes, length_bytes } = area;
        let slots = (length_bytes / request_bytes).max(1);
        if self.load == Load::Scan {
            let first = cursor.div_ceil(request_bytes);
            *cursor = (first + count as u64) * request_bytes + GAP_BYTES;
            (0..count as u64)
                .map(|i| Access::read(offset_bytes + (first + i) % slots * request_bytes, request_bytes))
                .collect()
        } else {
            let job = self.load.job(request_bytes, depth).area(offset_bytes, slots * request_bytes);
            let seed = Seed(bench.random().bits());
            let mut generator = Generator::new(&job, offset_bytes + slots * request_bytes, seed);
            (0..count).map(|_| generator.access()).collect()
        }
    }

    /// Draws the bandwidth of each size against depth.
    pub(crate) fn figure(&self) -> Figure {
        let mut sizes: Vec<u64> = self.cells.iter().map(|cell| cell.request_bytes).collect();
        sizes.dedup();
        let series = sizes.into_iter().map(|size| Series {
            name: format_bytes(size),
            points: self
                .cells
                .iter()
                .filter(|cell| cell.request_bytes == size && is_timed(cell.bytes_per_s, size))
                .map(|cell| (f64::from(cell.depth), cell.bytes_per_s / 1e6))
                .collect(),
            ..Series::default()
        });
        Figure {
            id: format!("bandwidth-{}", self.load.name().replace('_', "-")),
            title: format!("{}: bandwidth against requests in flight", self.load.title()),
            x: Axis::log("requests in flight", ""),
            y: Axis::linear("bandwidth", "MB/s"),
            series: series.collect(),
            caption:
                "Short measurements, from which the point was chosen; the points that were considered are \
                      replaced by the longer measurements that confirm them."
                    .into(),
            ..Figure::default()
        }
    }
}
