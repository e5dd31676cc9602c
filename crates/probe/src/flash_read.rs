//! How much longer a read of flash takes than one that needs none.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::repetitions::repeat;
use crate::row_writer::{PAGES_REACH_BYTES, Writer};
use flashlane_device::SubmitError;
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// Reads of written and of trimmed sectors.
const READS: usize = 200;

/// Returns how much longer a read of a written sector takes than one of a trimmed sector, which needs no flash, in
/// microseconds; `None` on a drive without trim.
pub(crate) fn longer_us(bench: &mut Bench<'_>, writer: &Writer) -> Result<Option<f64>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let trimmed = writer.area.offset_bytes;
    match bench.one(Access::trim(trimmed, PAGES_REACH_BYTES)) {
        Ok(_) => {}
        Err(EarlyEnd::Interrupted(Interruption::Refused {
            error: SubmitError::Unsupported { .. }, ..
        })) => return Ok(None),
        Err(error) => return Err(error),
    }
    let points = repeat(bench, 2, READS, |bench, kind| {
        let within = bench.random().below(PAGES_REACH_BYTES / sector) * sector;
        let start = if kind == 0 { trimmed } else { writer.place(bench) + PAGES_REACH_BYTES };
        bench.one(Access::read(start + within, sector)).map(|time| time.as_us_f64())
    })?;
    Ok(Some(points[1].value - points[0].value))
}
