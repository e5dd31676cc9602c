//! Whether boundaries save an array time, as those between dies do, and not only a transfer, as those between channels
//! may.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::repetitions::repeat;
use flashlane_workload::Access;

/// A pair saves an array time across a boundary: where it saves no more than this multiple of a transfer, as with cache
/// mode on a slow bus, the boundaries may be those of channels.
const TRANSFERS_MIN: f64 = 1.3;
/// Pages are at least this large.
pub(crate) const SMALL_PAGE_BYTES: u64 = 2048;

/// Returns the time of a sector's transfer in microseconds, from reads of one and of two sectors of a page. Requires: a
/// page of `found` has two sectors.
fn sector_transfer_us(
    bench: &mut Bench<'_>,
    area: Area,
    found: &Chunk,
    samples: usize,
) -> Result<f64, EarlyEnd> {
    let sector = bench.sector_bytes();
    let points = repeat(bench, 2, samples, |bench, i| {
        let at = area.chunk_place(bench, found, 2 * found.size_bytes);
        bench.one(Access::read(at, (i as u64 + 1) * sector)).map(|time| time.as_us_f64())
    })?;
    Ok(points[1].value - points[0].value)
}

/// Returns whether pairs across the boundaries of a chunk save an array time, and not only a transfer. Requires: a page
/// of the chunk has two sectors.
pub(crate) fn saves_array_time(
    bench: &mut Bench<'_>,
    area: Area,
    found: &Chunk,
    samples: usize,
) -> Result<bool, EarlyEnd> {
    let transfer_us = sector_transfer_us(bench, area, found, samples)?;
    Ok(found.contrast_us > TRANSFERS_MIN * transfer_us)
}
