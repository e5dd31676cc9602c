//! Stride curves as chen11 draws them (section 4.3, figure 3): several jobs read one chunk each at a common stride;
//! where the stride brings them into one domain the bandwidth dips.

use crate::chunk::{Area, Boundaries};
use crate::pattern::{self, Point};
use crate::rig::Rig;
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// Bandwidth in MB/s of `jobs` jobs that read one chunk each, every `stride` chunks, for strides of 1 to `strides`:
/// place i is a stride of i + 1 chunks.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn curve(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    jobs: u32,
    strides: usize,
    reads: usize,
) -> Result<Vec<f64>, Interruption> {
    let chunks = (area.length_bytes - chunk.phase_bytes) / chunk.chunk_bytes;
    let start = area.offset_bytes + chunk.phase_bytes;
    (1..=strides as u64)
        .map(|stride| {
            // A stride that divides the area would come back to its own start with another phase: wrap at a
            // multiple of it.
            let places = (chunks / stride).max(1);
            let accesses = (0..reads as u64)
                .map(|i| Access::read(start + i % places * stride * chunk.chunk_bytes, chunk.chunk_bytes));
            let elapsed = rig.stream(accesses, jobs)?;
            Ok(reads as f64 * chunk.chunk_bytes as f64 / 1e6 / elapsed.as_s_f64())
        })
        .collect()
}

/// The period of a curve's dips in chunks, and the period of the deeper ones among them where there are two depths.
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
