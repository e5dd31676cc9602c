//! The reclaim unit: how much is written between two erasures, once every block is in use.
//!
//! A drive that is written from end to end over and over has to free blocks at a steady rhythm: as many writes lie
//! between two of the pauses as a row of erase blocks holds. The whole drive has to be written for it, so this is
//! looked for only at full effort.
//!
//! The rhythm is told, but no size found: dies whose open blocks are filled to different heights pause at different
//! times, and two groups half a row apart cannot be told from a row of half the length.

use crate::pattern;
use crate::result::Finding;
use crate::rig::Rig;
use flashlane_base::units::format_bytes;
use flashlane_measure::Interruption;
use flashlane_measure::figure::{Axis, Figure, Series};
use flashlane_workload::Access;

const REQUEST_BYTES: u64 = 64 * 1024;
/// Writes that are looked at once the drive is full.
const WRITES: u64 = 8192;
/// How often the drive is written over before the search is given up: spare blocks are used up first.
const ROUNDS: u64 = 2;
/// The share of the distances between pauses that must agree.
const AGREE: f64 = 0.8;

/// Writes the drive full and looks for the rhythm.
pub(crate) fn find(rig: &mut Rig<'_>) -> Result<(Finding, Figure), Interruption> {
    let capacity = rig.device().profile().capacity_bytes;
    let requests = capacity / REQUEST_BYTES;
    let depth = rig.depth();
    let mut latencies = Vec::new();
    for round in 0..ROUNDS {
        rig.stream((0..requests).map(|i| Access::write(i * REQUEST_BYTES, REQUEST_BYTES)), depth)?;
        latencies.clear();
        for i in 0..WRITES.min(requests) {
            latencies.push(rig.durable_write(i * REQUEST_BYTES, REQUEST_BYTES)?.as_us_f64());
        }
        if let Some((writes, agreeing)) = rhythm(&latencies) {
            let evidence = format!(
                "written from end to end (round {}), the drive pauses every {}, by {:.0}% of the distances: the reclaim unit is that, or a multiple of it where some dies are out of step with others",
                round + 1,
                format_bytes(writes as u64 * REQUEST_BYTES),
                agreeing * 100.0
            );
            return Ok((Finding::not_determined(evidence), figure(&latencies)));
        }
    }
    let evidence = "written from end to end more than once, the drive shows no steady rhythm of pauses";
    Ok((Finding::not_determined(evidence), figure(&latencies)))
}

/// The distance in writes between one group of slow writes and the next, and the share that agrees with it.
fn rhythm(latencies: &[f64]) -> Option<(usize, f64)> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = pattern::point(&mut sorted.clone());
    // A pause is far beyond the usual spread: an erase takes longer than a program.
    let slow = median.value * 1.25 + 8.0 * median.error * (latencies.len() as f64).sqrt();
    let places: Vec<usize> = (0..latencies.len()).filter(|&i| latencies[i] > slow).collect();
    let starts: Vec<usize> = places
        .iter()
        .enumerate()
        .filter(|&(n, &place)| n == 0 || place > places[n - 1] + 4)
        .map(|(_, &place)| place)
        .collect();
    if starts.len() < 6 {
        return None;
    }
    let mut distances: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable();
    let middle = distances[distances.len() / 2];
    let near = distances.iter().filter(|d| d.abs_diff(middle) <= 1 + middle / 50).count();
    let share = near as f64 / distances.len() as f64;
    (share >= AGREE).then_some((middle, share))
}

fn figure(latencies: &[f64]) -> Figure {
    Figure {
        id: "reclaim".into(),
        title: "Sequential writes of 64 KiB on a drive written full".into(),
        x: Axis::linear("write", ""),
        y: Axis::linear("latency", "us"),
        series: vec![Series {
            name: "durable writes".into(),
            points: latencies.iter().take(2048).enumerate().map(|(i, l)| (i as f64, *l)).collect(),
            ..Series::default()
        }],
        ..Figure::default()
    }
}
