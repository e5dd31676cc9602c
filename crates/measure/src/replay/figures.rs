//! Figures of a replay: latency and throughput over time, and the distribution of latencies.

use super::Replay;
use crate::energy::power_over_time;
use crate::figures::{distribution, time_split};
use flashlane_result::replay::SliceRow;
use flashlane_result::{Axis, Figure, Series};

/// Returns the figures of a replay; empty without measured requests.
pub(super) fn of(replay: &Replay, slices: &[SliceRow]) -> Vec<Figure> {
    if replay.requests == 0 {
        return Vec::new();
    }
    let names: Vec<_> = replay.latencies.iter().map(|(operation, h)| (operation.to_string(), h)).collect();
    let operations = names.iter().map(|(name, latencies)| (name.as_str(), *latencies));
    let distribution = distribution(operations, &replay.latencies.all(), replay.bytes);
    [latency_over_time(replay, slices), throughput_over_time(replay, slices), distribution]
        .into_iter()
        .chain(time_split(&replay.time_split))
        .chain(power_over_time(replay.power.as_ref()))
        .collect()
}

/// Draws a curve over the slices that have a value.
fn curve(
    name: &str,
    replay: &Replay,
    slices: &[SliceRow],
    value: impl Fn(&SliceRow) -> Option<f64>,
) -> Series {
    let half_s = replay.over_time.width().as_s_f64() / 2.0;
    let points = slices.iter().filter_map(|slice| Some((slice.from_s + half_s, value(slice)?)));
    Series { name: name.into(), points: points.collect(), scatter: false, ..Series::default() }
}

fn latency_over_time(replay: &Replay, slices: &[SliceRow]) -> Figure {
    let in_us = |ns: Option<f64>| ns.map(|ns| ns.max(1.0) / 1e3);
    Figure {
        id: "latency-over-time".into(),
        title: "Latency over time".into(),
        x: Axis::linear("time", "s"),
        y: Axis::log("latency", "us"),
        series: vec![
            curve("longest", replay, slices, |slice| in_us(slice.max_ns)),
            curve("p99", replay, slices, |slice| in_us(slice.p99_ns)),
            curve("mean", replay, slices, |slice| in_us(slice.mean_ns)),
        ],
        marks: Vec::new(),
        caption: format!(
            "From arrival to completion, of the requests that completed within each {}.",
            replay.over_time.width()
        ),
    }
}

fn throughput_over_time(replay: &Replay, slices: &[SliceRow]) -> Figure {
    Figure {
        id: "throughput-over-time".into(),
        title: "Throughput over time".into(),
        x: Axis::linear("time", "s"),
        y: Axis::linear("throughput", "MB/s"),
        series: vec![curve("throughput", replay, slices, |slice| Some(slice.bandwidth_bytes_per_s / 1e6))],
        marks: Vec::new(),
        caption: format!("Bytes read and written within each {}.", replay.over_time.width()),
    }
}
