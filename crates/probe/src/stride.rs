//! Stride curves as in chen11 (section 4.3, figure 3): several jobs read one chunk each at a common stride; the
//! bandwidth dips where the stride keeps them in one domain. Requires: the area was written once, in order.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::{self, Point};
use flashlane_workload::Access;

/// Measures the bandwidth in MB/s of `jobs` jobs that read one chunk each, every `stride` chunks, for strides of 1 to
/// `strides`: element i is a stride of i + 1 chunks.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn curve(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    jobs: u32,
    strides: usize,
    reads: usize,
) -> Result<Vec<f64>, EarlyEnd> {
    let chunks = area.chunks(chunk);
    (1..=strides as u64)
        .map(|stride| {
            // Wrap at a multiple of the stride, so that its phase stays the same.
            let places = (chunks / stride).max(1);
            let accesses = (0..reads as u64)
                .map(|i| Access::read(area.chunk_start(chunk, i % places * stride), chunk.size_bytes));
            let elapsed = bench.stream(accesses, jobs)?;
            Ok(reads as f64 * chunk.size_bytes as f64 / 1e6 / elapsed.as_s_f64())
        })
        .collect()
}

/// Returns the period of a curve's dips in chunks, and the period of the deeper dips where there are two depths.
pub fn dips(curve: &[f64]) -> Option<(usize, Option<usize>)> {
    let depth = |bandwidths: &[f64]| -> Option<usize> {
        let highest = bandwidths.iter().copied().fold(0.0, f64::max);
        let row: Vec<Point> =
            bandwidths.iter().map(|b| Point { value: 2.0 * highest - b, error: 0.005 * highest }).collect();
        let standout = pattern::standout(&row)?;
        let (phase, period) = pattern::period(&standout.places, row.len())?;
        (phase + 1 == period).then_some(period)
    };
    let degree = depth(curve)?;
    let dipped: Vec<f64> = curve.iter().skip(degree - 1).step_by(degree).copied().collect();
    Some((degree, depth(&dipped).filter(|&sub| sub > 1)))
}
