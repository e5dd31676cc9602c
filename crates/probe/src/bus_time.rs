//! Time of a page on the bus of a channel, and on the link.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::Interruption;
use crate::pattern::Point;
use crate::repetitions::repeat;
use flashlane_device::SubmitError;
use flashlane_measure::Interruption as Measuring;
use flashlane_workload::Access;

/// Reads of a reference.
const READS: usize = 400;
/// Bytes at the end of the drive that are trimmed: several pages of the largest usual size.
const TRIMMED_BYTES: u64 = 1 << 20;

/// Limits of the time of a page on a bus, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BusTime {
    pub(crate) least_us: f64,
    pub(crate) most_us: f64,
    /// How much later the second of two reads of a page completes because of the link, at most.
    pub(crate) link_us: f64,
    /// Least time of a page on the link, without a command; 0 where it is not known.
    pub(crate) least_link_us: f64,
    /// How much later the second of two reads of a sector completes because of the link and its command, at least.
    pub(crate) least_sector_us: f64,
}

impl BusTime {
    /// Trims the end of the drive: reads of flash cross bus and link, those of trimmed space the link only. `None` on a drive without trim.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        page_bytes: u64,
    ) -> Result<Option<Self>, Interruption> {
        let at_once = bench.depth().min(2) as usize;
        let (sector, capacity_bytes) = (bench.sector_bytes(), bench.device().profile().capacity_bytes);
        let trimmed = Area {
            offset_bytes: (capacity_bytes - TRIMMED_BYTES) / page_bytes * page_bytes,
            length_bytes: TRIMMED_BYTES,
        };
        assert!(
            trimmed.offset_bytes >= area.offset_bytes + area.length_bytes,
            "the end of the drive is no part of the area"
        );
        match bench.one(Access::trim(trimmed.offset_bytes, trimmed.length_bytes / page_bytes * page_bytes)) {
            Ok(_) => {}
            Err(Interruption::Measuring(Measuring::Refused {
                error: SubmitError::Unsupported { .. },
                ..
            })) => return Ok(None),
            Err(error) => return Err(error),
        }
        let points = repeat(bench, 6, READS, |bench, kind| {
            let from = if kind < 2 { area } else { trimmed };
            let bytes = if [0, 2, 5].contains(&kind) { sector } else { page_bytes };
            let page = bench.random().below(from.length_bytes / page_bytes);
            let read = Access::read(from.offset_bytes + page * page_bytes, bytes);
            let together = if kind < 4 { 1 } else { at_once };
            bench.burst(&[read; 2][..together]).map(|time| time.as_us_f64())
        })?;
        let second = difference(points[3], points[4]);
        let link_us = second.value + 4.0 * second.error;
        let second_sector = difference(points[2], points[5]);
        let least_sector_us = second_sector.value - 4.0 * second_sector.error;
        let rest = (page_bytes - sector) as f64;
        if rest == 0.0 {
            // All of a read's time at flash may be its transfer.
            let flash = points[1].value - points[3].value;
            return Ok(Some(Self {
                least_us: 0.0,
                most_us: flash,
                link_us,
                least_link_us: 0.0,
                least_sector_us,
            }));
        }
        let (flash, link) = (difference(points[0], points[1]), difference(points[2], points[3]));
        let (bus_us, error) = (flash.value - link.value, 4.0 * flash.error.hypot(link.error));
        let of_page = page_bytes as f64 / rest;
        Ok(Some(Self {
            least_us: (bus_us - error).max(0.0) * of_page,
            most_us: (bus_us + error) * of_page,
            link_us,
            least_link_us: (link.value - 4.0 * link.error).max(0.0) * of_page,
            least_sector_us,
        }))
    }
}

fn difference(one: Point, other: Point) -> Point {
    Point { value: other.value - one.value, error: one.error.hypot(other.error) }
}
