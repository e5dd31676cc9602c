//! Time of a page on the bus of a channel, and on the link; and how long two requests wait for each other there.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::Point;
use crate::repetitions::repeat;
use flashlane_workload::Access;

/// Reads of a reference.
const READS: usize = 400;
/// Bytes at the end of the drive that are trimmed: several pages of the largest usual size.
pub(crate) const TRIMMED_BYTES: u64 = 1 << 20;

/// Limits of the time of a page on a bus, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BusTime {
    pub(crate) least_us: f64,
    pub(crate) most_us: f64,
    /// How much later the second of two reads of a page completes because of the link, at most.
    pub(crate) link_us: f64,
    /// Least time of a page on the link, without a command; 0 where it is not known.
    pub(crate) least_link_us: f64,
    /// That time as measured; 0 where it is not known.
    pub(crate) page_on_link_us: f64,
    /// How much later the second of two reads of a sector completes because of the link and its command, at least and
    /// at most.
    pub(crate) least_sector_us: f64,
    pub(crate) most_sector_us: f64,
    /// Standard deviation of the time of a read of a sector.
    pub(crate) deviation_us: f64,
    /// How much longer a read of a sector takes than one of trimmed space: an array time, and the sector on the bus.
    pub(crate) flash_us: f64,
}

impl BusTime {
    /// Trims the end of the drive: reads of flash cross bus and link, those of trimmed space the link only. `None` on a
    /// drive without trim.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        page_bytes: u64,
    ) -> Result<Option<Self>, EarlyEnd> {
        let at_once = bench.depth().min(2) as usize;
        let sector = bench.sector_bytes();
        let Some(trimmed) = trim_end(bench, area, page_bytes)? else { return Ok(None) };
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
        let [least_sector_us, most_sector_us] =
            [-4.0, 4.0].map(|errors| second_sector.value + errors * second_sector.error);
        let deviation_us = points[0].error * (READS as f64).sqrt();
        let flash_us = points[0].value - points[2].value;
        let rest = (page_bytes - sector) as f64;
        if rest == 0.0 {
            // All of a read's time at flash may be its transfer.
            let flash = points[1].value - points[3].value;
            return Ok(Some(Self {
                least_us: 0.0,
                most_us: flash,
                link_us,
                least_link_us: 0.0,
                page_on_link_us: 0.0,
                least_sector_us,
                most_sector_us,
                deviation_us,
                flash_us,
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
            page_on_link_us: link.value.max(0.0) * of_page,
            least_sector_us,
            most_sector_us,
            deviation_us,
            flash_us,
        }))
    }

    /// Returns the mean time that two requests on different dies of a channel wait for each other, if each has the bus
    /// for `hold_us` and their times to get there vary as those of reads do. The second may begin `later_us` after the
    /// first, and by its command.
    pub(crate) fn mean_wait_us(&self, hold_us: f64, later_us: f64) -> f64 {
        let deviation_us = std::f64::consts::SQRT_2 * self.deviation_us;
        mean_overlap(hold_us, self.most_sector_us.max(0.0) + later_us, deviation_us)
    }
}

/// Intervals of the integral, and its reach in standard deviations.
const STEPS: usize = 4096;
const REACH: f64 = 6.0;

/// Returns the mean overlap of two intervals of this length, of which one begins `later` than the other, normally
/// distributed around it with this deviation.
fn mean_overlap(length: f64, later: f64, deviation: f64) -> f64 {
    let overlap = |apart: f64| (length - apart.abs()).max(0.0);
    let nodes = (0..=STEPS).map(|step| REACH * (2.0 * step as f64 / STEPS as f64 - 1.0));
    let (sum, weights) = nodes.fold((0.0, 0.0), |(sum, weights), at| {
        let weight = (-0.5 * at * at).exp();
        (sum + weight * overlap(later + at * deviation), weights + weight)
    });
    sum / weights
}

/// Trims the end of the drive, whose reads then need no flash; `None` on a drive without trim.
fn trim_end(bench: &mut Bench<'_>, area: Area, page_bytes: u64) -> Result<Option<Area>, EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    let trimmed = Area {
        offset_bytes: (capacity_bytes - TRIMMED_BYTES) / page_bytes * page_bytes,
        length_bytes: TRIMMED_BYTES,
    };
    assert!(
        trimmed.offset_bytes >= area.offset_bytes + area.length_bytes,
        "the end of the drive is no part of the area"
    );
    let is_trimmed = bench.trim(trimmed.offset_bytes, trimmed.length_bytes / page_bytes * page_bytes)?;
    Ok(is_trimmed.then_some(trimmed))
}

/// Reads of memory, and standard deviations of them from which on a read came from flash.
const MEMORY_READS: usize = 48;
const FROM_FLASH: f64 = 8.0;

/// Returns the longest time of a read that needs no flash, of a sector and of a page, in microseconds: reads of trimmed
/// space show it. `None` on a drive without trim.
pub(crate) fn longest_memory_reads_us(
    bench: &mut Bench<'_>,
    area: Area,
    page_bytes: u64,
) -> Result<Option<[f64; 2]>, EarlyEnd> {
    let Some(trimmed) = trim_end(bench, area, page_bytes)? else { return Ok(None) };
    let points = memory_reads(bench, trimmed, page_bytes)?;
    let deviations = (MEMORY_READS as f64).sqrt() * FROM_FLASH;
    Ok(Some([0, 1].map(|kind| points[kind].value + deviations * points[kind].error)))
}

/// Least standard errors, and least time in microseconds, by which reads of flash take longer than others.
const FLASH_STANDARD_ERRORS: f64 = 6.0;
const LEAST_FLASH_US: f64 = 1.0;

/// Returns whether reads of a page that take this time need no flash: no longer than reads of trimmed space. False on a
/// drive without trim.
pub(crate) fn is_from_memory(
    bench: &mut Bench<'_>,
    area: Area,
    page_bytes: u64,
    read: Point,
) -> Result<bool, EarlyEnd> {
    let Some(trimmed) = trim_end(bench, area, page_bytes)? else { return Ok(false) };
    let memory = memory_reads(bench, trimmed, page_bytes)?[1];
    let slack_us = (FLASH_STANDARD_ERRORS * memory.error.hypot(read.error)).max(LEAST_FLASH_US);
    Ok(read.value < memory.value + slack_us)
}

/// Measures reads of a sector and of a page in trimmed space.
fn memory_reads(bench: &mut Bench<'_>, trimmed: Area, page_bytes: u64) -> Result<Vec<Point>, EarlyEnd> {
    let sizes = [bench.sector_bytes(), page_bytes];
    repeat(bench, 2, MEMORY_READS, |bench, kind| {
        let page = bench.random().below(trimmed.length_bytes / page_bytes);
        let read = Access::read(trimmed.offset_bytes + page * page_bytes, sizes[kind]);
        bench.one(read).map(|time| time.as_us_f64())
    })
}

fn difference(one: Point, other: Point) -> Point {
    Point { value: other.value - one.value, error: one.error.hypot(other.error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_arrive_apart_wait_seldom() {
        assert!((mean_overlap(10.0, 4.0, 0.0) - 6.0).abs() < 1e-9);
        assert_eq!(mean_overlap(10.0, 12.0, 0.0), 0.0);
        // Of a wide distribution the share within the length counts: length squared times the density.
        let wide = mean_overlap(1.0, 0.0, 10.0);
        assert!((wide / (0.398_942 / 10.0) - 1.0).abs() < 0.02, "{wide}");
        assert!(mean_overlap(1.7, 4.0, 5.0) < 0.2 * 1.7);
    }
}
