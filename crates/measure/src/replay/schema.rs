//! Converts a replay to its result, `flashlane.replay/1`.

use super::{Pace, Replay, figures};
use crate::energy::energy_row;
use crate::rate::per_second;
use crate::schema::{device_row, operations, time_split};
use flashlane_result::Warning;
use flashlane_result::replay::{FittedRow, OverTimeRow, REPLAY_SCHEMA, ReplayResult, SliceRow, SlowRow};
use flashlane_result::run::ConfidenceRow;

impl From<&Replay> for ReplayResult {
    fn from(replay: &Replay) -> Self {
        let (speed, in_flight) = match replay.options.pace {
            Pace::Open { speed } | Pace::Think { speed } => (Some(speed), None),
            Pace::Closed { depth } => (None, Some(depth)),
        };
        let names: Vec<_> =
            replay.latencies.iter().map(|(operation, h)| (operation.to_string(), h)).collect();
        let by_name = names.iter().map(|(name, latencies)| (name.as_str(), *latencies));
        let slices = slices(replay);
        Self {
            schema: REPLAY_SCHEMA.into(),
            device: device_row(&replay.info, &replay.counters),
            trace: None,
            pace: replay.options.pace.name().into(),
            speed,
            in_flight,
            beyond: replay.options.beyond.name().into(),
            unaligned: replay.options.unaligned.name().into(),
            fitted: fitted(replay),
            seed: replay.options.seed.0,
            requests: replay.requests,
            waited: replay.waited,
            asked_iops: replay.asked().map(|asked| asked.iops),
            asked_bandwidth_bytes_per_s: replay.asked().map(|asked| asked.bandwidth_bytes_per_s),
            recorded_span_s: replay.recorded_span.as_s_f64(),
            elapsed_s: replay.elapsed.as_s_f64(),
            iops: replay.iops(),
            bandwidth_bytes_per_s: replay.bandwidth_bytes_per_s(),
            latency_ns: replay.latencies.all().latency(),
            device_latency_ns: replay.device_latencies.latency(),
            lateness_ns: replay.lateness.as_ref().map(|lateness| lateness.latency()),
            recorded_latency_ns: replay.recorded.as_ref().map(|recorded| recorded.latency()),
            confidence: replay.confidence.map(ConfidenceRow::from),
            operations: operations(by_name, replay.elapsed),
            slowest: slowest(replay),
            time_split: time_split(&replay.time_split),
            energy: energy_row(
                &replay.counters,
                replay.power.as_ref(),
                (replay.requests, replay.bytes),
                replay.elapsed,
            ),
            harness_ns_per_request: None,
            warnings: replay.doubts().iter().map(Warning::from).collect(),
            partial: replay.partial.map(|reason| reason.to_string()),
            figures: figures::of(replay, &slices),
            machine: None,
            over_time: OverTimeRow { slice_s: replay.over_time.width().as_s_f64(), slices },
        }
    }
}

fn fitted(replay: &Replay) -> FittedRow {
    let fitted = &replay.fitted;
    FittedRow {
        records: fitted.records,
        zero_length: fitted.zero_length,
        left_out: fitted.refused,
        first_left_out: fitted.first_refused.iter().map(ToString::to_string).collect(),
        folded: fitted.folded,
        widened: fitted.widened,
        backwards: fitted.backwards,
        untimed: fitted.untimed,
    }
}

fn slices(replay: &Replay) -> Vec<SliceRow> {
    let (width, all) = (replay.over_time.width(), replay.over_time.slices());
    // The last of several slices is only partly filled; a rate over that part would be a spike.
    let lasts = if all.len() == 1 { replay.elapsed } else { width };
    let row = |(slice, at): (&crate::statistics::Slice, u64)| {
        let from = width * at;
        let latency = slice.latencies.as_ref().map(|latencies| latencies.latency());
        let requests = slice.latencies.as_ref().map_or(0, |latencies| latencies.len());
        SliceRow {
            from_s: from.as_s_f64(),
            requests,
            iops: per_second(requests, lasts),
            bandwidth_bytes_per_s: per_second(slice.bytes, lasts),
            mean_ns: latency.map(|latency| latency.mean),
            p99_ns: latency.map(|latency| latency.p99),
            max_ns: latency.map(|latency| latency.max),
        }
    };
    all.iter().zip(0..).map(row).collect()
}

fn slowest(replay: &Replay) -> Vec<SlowRow> {
    let row = |slow: &super::Slow| SlowRow {
        arrived_s: slow.arrived.as_s_f64(),
        operation: slow.access.operation.to_string(),
        offset_bytes: slow.access.offset_bytes,
        length_bytes: slow.access.length_bytes,
        took_ns: slow.latency.as_ns(),
        device_took_ns: slow.device_latency.as_ns(),
    };
    replay.slowest.iter().map(row).collect()
}
