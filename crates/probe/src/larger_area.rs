//! A larger area, where few chunks lie in the usual one: whole turns of the dies have to.

use crate::area::{Area, Chunk};
use crate::bus_time::TRIMMED_BYTES;
use crate::error::EarlyEnd;
use crate::session::{AREA_UNIT_BYTES, FILL_BYTES, Session};

/// Chunks of the largest area: several periods of most drives.
const CHUNKS_MAX: u64 = 2400;
const AREA_BYTES_MAX: u64 = 1 << 30;

/// Fills the space behind the area as well, where few chunks lie in the area, and returns both. `None` where this would
/// not double the area; of a `whole` drive, but for its end that experiments trim, where it would not grow.
pub(crate) fn fill(
    session: &mut Session<'_, '_>,
    chunk: &Chunk,
    whole: bool,
) -> Result<Option<Area>, EarlyEnd> {
    let (area, capacity_bytes) = (session.area(), session.settings().capacity_bytes);
    let most_bytes = if whole { capacity_bytes - TRIMMED_BYTES } else { capacity_bytes * 3 / 4 };
    let wanted = most_bytes.min(CHUNKS_MAX * chunk.size_bytes).min(AREA_BYTES_MAX);
    let length_bytes = wanted / AREA_UNIT_BYTES * AREA_UNIT_BYTES;
    let least_bytes = if whole { area.length_bytes + 1 } else { 2 * area.length_bytes };
    if !session.settings().may_write || length_bytes < least_bytes {
        return Ok(None);
    }
    let behind = area.offset_bytes + area.length_bytes;
    session.bench().fill_durably(behind, length_bytes - area.length_bytes, FILL_BYTES)?;
    Ok(Some(Area { length_bytes, ..area }))
}
