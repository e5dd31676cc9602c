//! A single die: reads of any two pages wait for each other's array.
//!
//! On such a drive nothing depends on the chunk, which no experiment shows. Two reads at once, at any two places, end
//! an array time after one read does, whereas on two dies they wait for a bus or the link at most. How long a page is
//! on bus and link follows from reads of flash and of trimmed space (`bus_time`), so that a bus is not taken for an
//! array; where a page is one sector it is not known.

use crate::area::Area;
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::error::EarlyEnd;
use crate::pattern;
use flashlane_workload::Access;

/// Pairs and single reads.
const READS: usize = 400;
/// Least share of the array time that even the faster pairs wait for, beyond bus and link.
const OF_ARRAY: f64 = 0.5;
/// Standard errors of that wait.
const STANDARD_ERRORS: f64 = 8.0;

/// Returns how long any two reads of sectors wait for each other's array, in microseconds, where all do.
pub(crate) fn find(bench: &mut Bench<'_>, area: Area, page_bytes: u64) -> Result<Option<f64>, EarlyEnd> {
    let sector = bench.sector_bytes();
    if bench.depth() < 2 || page_bytes <= sector {
        return Ok(None);
    }
    let Some(bus) = BusTime::measure(bench, area, page_bytes)? else { return Ok(None) };
    let [mut pairs, mut singles] = [const { Vec::new() }; 2];
    for _ in 0..READS {
        let mut read = || {
            let page = bench.random().below(area.length_bytes / page_bytes);
            Access::read(area.offset_bytes + page * page_bytes, sector)
        };
        let [one, other, alone] = [read(), read(), read()];
        pairs.push(bench.burst(&[one, other])?.as_us_f64());
        singles.push(bench.one(alone)?.as_us_f64());
    }
    let [pair, single] = [&mut pairs, &mut singles].map(|times| pattern::point(times));
    let share = sector as f64 / page_bytes as f64;
    let array_us = bus.flash_us - share * bus.most_us;
    let shared_us = (share * bus.most_us).max(bus.most_sector_us);
    // With two dies half of the pairs do not wait for an array.
    let lowest = |times: &[f64]| times[..READS / 4].iter().sum::<f64>() / (READS / 4) as f64;
    let waits_us = [lowest(&pairs) - lowest(&singles), pair.value - single.value];
    let least_us = shared_us + (OF_ARRAY * array_us).max(STANDARD_ERRORS * pair.error.hypot(single.error));
    Ok(waits_us.iter().all(|wait_us| *wait_us > least_us).then_some(waits_us[1]))
}
