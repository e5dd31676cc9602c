//! Advice: the fewest bytes in flight that bring a load to nine tenths of its best.

use crate::chunk::Area;
use crate::result::Recommendation;
use crate::rig::Rig;
use flashlane_base::Seed;
use flashlane_base::units::{format_bytes, format_rate};
use flashlane_measure::Interruption;
use flashlane_measure::figure::{Axis, Figure, Series};
use flashlane_workload::{Access, Generator, Job, Mix, Pattern};

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    RandomRead,
    RandomWrite,
    Scan,
}

impl Load {
    /// As results name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RandomRead => "random_read",
            Self::RandomWrite => "random_write",
            Self::Scan => "scan",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::RandomRead => "Random reads",
            Self::RandomWrite => "Random writes",
            Self::Scan => "Sequential reads",
        }
    }
}

const SIZES: [u64; 4] = [4096, 16 * 1024, 64 * 1024, 256 * 1024];
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The share of the best that is good enough: beyond it latency grows and bandwidth hardly.
const ENOUGH: f64 = 0.9;

/// A cell takes at least this many times the requests that it has in flight.
const ROUNDS: usize = 4;

/// Measures a load over sizes and depths, `bytes_each` bytes a cell behind `lead_in_bytes` that do not count, and
/// picks.
pub(crate) fn find(
    rig: &mut Rig<'_>,
    area: Area,
    load: Load,
    bytes_each: u64,
    lead_in_bytes: u64,
) -> Result<(Recommendation, Figure), Interruption> {
    let deepest = rig.depth();
    let mut cells: Vec<(u64, u32, f64)> = Vec::new();
    let mut series = Vec::new();
    for size in SIZES.map(|size| size.max(rig.sector_bytes())) {
        let mut points = Vec::new();
        for depth in DEPTHS.into_iter().filter(|depth| *depth <= deepest) {
            let rate = bandwidth(rig, area, load, (size, depth), (bytes_each, lead_in_bytes))?;
            cells.push((size, depth, rate));
            points.push((f64::from(depth), rate / 1e6));
        }
        series.push(Series { name: format_bytes(size), points, ..Series::default() });
    }
    let best = cells.iter().map(|cell| cell.2).fold(0.0, f64::max);
    let &(request_bytes, queue_depth, rate) = cells
        .iter()
        .filter(|cell| cell.2 >= ENOUGH * best)
        .min_by_key(|cell| (cell.0 * u64::from(cell.1), cell.1))
        .expect("the best cell is good enough");
    let recommendation = Recommendation {
        request_bytes,
        queue_depth,
        bandwidth_bytes_per_s: rate.round(),
        reason: format!(
            "the fewest bytes in flight that give {:.0}% or more of the best measured, {}",
            ENOUGH * 100.0,
            format_rate(best)
        ),
    };
    let figure = Figure {
        id: format!("bandwidth-{}", load.name().replace('_', "-")),
        title: format!("{}: bandwidth against requests in flight", load.title()),
        x: Axis::log("requests in flight", ""),
        y: Axis::linear("bandwidth", "MB/s"),
        series,
        ..Figure::default()
    };
    Ok((recommendation, figure))
}

/// Bytes a second of one cell.
fn bandwidth(
    rig: &mut Rig<'_>,
    area: Area,
    load: Load,
    (size, depth): (u64, u32),
    (bytes_each, lead_in_bytes): (u64, u64),
) -> Result<f64, Interruption> {
    let (pattern, mix) = match load {
        Load::RandomRead => (Pattern::Random, Mix::READ),
        Load::RandomWrite => (Pattern::Random, Mix::WRITE),
        Load::Scan => (Pattern::Sequential, Mix::READ),
    };
    let length = area.length_bytes / size * size;
    let job = Job::new("advice", pattern, mix, size).area(area.offset_bytes, length);
    let seed = Seed(rig.random().bits());
    let mut generator = Generator::new(&job, area.offset_bytes + length, seed);
    // Requests that were in flight together may be done together: only many rounds of them show a pace.
    let round = depth as usize;
    let lead_in = (lead_in_bytes.div_ceil(size) as usize).max(if lead_in_bytes > 0 { round } else { 0 });
    let count = ((bytes_each / size).clamp(32, 400) as usize).max(ROUNDS * round);
    let accesses: Vec<Access> = (0..lead_in + count).map(|_| generator.access()).collect();
    let mut completed = Vec::with_capacity(accesses.len());
    let start = rig.device().now();
    rig.stream_each(accesses.into_iter(), depth, |_, completion| completed.push(completion.completed))?;
    let (first, last) =
        (if lead_in == 0 { start } else { completed[lead_in - 1] }, completed[lead_in + count - 1]);
    Ok((count as u64 * size) as f64 / last.since(first).as_s_f64().max(1e-9))
}
