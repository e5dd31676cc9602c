//! The measures of a point: read from the result of its run, and averaged over its repetitions.

use crate::compare::half_width;
use crate::point::PointResult;
use flashlane_base::Latency;
use flashlane_result::run::{CounterRow, OperationRow};
use flashlane_result::sweep::Measures;
use std::collections::BTreeMap;

impl From<&PointResult> for Measures {
    fn from(result: &PointResult) -> Self {
        match result {
            PointResult::Run(run) => Self {
                elapsed_s: Some(run.elapsed_s),
                iops: Some(run.iops),
                bandwidth_bytes_per_s: Some(run.bandwidth_bytes_per_s),
                ..with_flushes(
                    of_requests(run.requests, &run.latency_ns, &run.device.counters),
                    run.operations.get("flush"),
                )
            },
            PointResult::Replay(replay) => Self {
                elapsed_s: Some(replay.elapsed_s),
                iops: Some(replay.iops),
                bandwidth_bytes_per_s: Some(replay.bandwidth_bytes_per_s),
                ..with_flushes(
                    of_requests(replay.requests, &replay.latency_ns, &replay.device.counters),
                    replay.operations.get("flush"),
                )
            },
            PointResult::Transactions(result) => Self {
                elapsed_s: Some(result.elapsed_s),
                transactions_per_s: Some(result.transactions_per_s),
                restarts: Some(result.restarts.all),
                pool_hit_share: result.hit_share,
                ..of_requests(result.transactions, &result.response_ns, &result.device.counters)
            },
            PointResult::Uflip(uflip) => Self {
                elapsed_s: Some(uflip.elapsed_s),
                sr_ms: uflip.characteristics.sr_ms,
                rr_ms: uflip.characteristics.rr_ms,
                sw_ms: uflip.characteristics.sw_ms,
                rw_ms: uflip.characteristics.rw_ms,
                ..of_device(&uflip.device.counters)
            },
        }
    }
}

/// Adds the latencies of flushes, if there were any.
fn with_flushes(measures: Measures, flushes: Option<&OperationRow>) -> Measures {
    Measures {
        flush_mean_ns: flushes.map(|row| row.latency_ns.mean),
        flush_p99_ns: flushes.map(|row| row.latency_ns.p99),
        ..measures
    }
}

/// Returns the measures of requests, or of transactions, and those of the device.
fn of_requests(requests: u64, latency: &Latency, counters: &CounterRow) -> Measures {
    let latency = (requests > 0).then_some(latency);
    Measures {
        requests: Some(requests),
        mean_ns: latency.map(|l| l.mean),
        p50_ns: latency.map(|l| l.p50),
        p90_ns: latency.map(|l| l.p90),
        p99_ns: latency.map(|l| l.p99),
        p999_ns: latency.map(|l| l.p999),
        max_ns: latency.map(|l| l.max),
        ..of_device(counters)
    }
}

/// Returns the measures from the counters of the device.
fn of_device(counters: &CounterRow) -> Measures {
    let count = |name: &str| counters.counts.get(name).copied();
    let hits = count("buffer_read_hits").zip(count("buffer_writes_absorbed")).map(|(a, b)| a + b);
    let pages = count("host_pages_read").zip(count("host_pages_written")).map(|(a, b)| a + b);
    Measures {
        write_amplification: counters.write_amplification,
        blocks_erased: count("blocks_erased"),
        buffer_hit_share: hits
            .zip(pages.filter(|&pages| pages > 0))
            .map(|(hits, pages)| hits as f64 / pages as f64),
        ..Measures::default()
    }
}

/// Returns a measure of a point, if present.
pub(crate) type Number = fn(&Measures) -> Option<f64>;

/// Confidence level of the intervals of means.
const LEVEL: f64 = 0.95;

/// Returns the means over repetitions; the longest latency is the maximum.
pub(super) fn mean_of(all: &[&Measures]) -> Measures {
    if let [one] = all {
        return (*one).clone();
    }
    let mean = |of: fn(&Measures) -> Option<f64>| {
        let values: Vec<f64> = all.iter().filter_map(|measures| of(measures)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let whole = |of: fn(&Measures) -> Option<f64>| mean(of).map(|mean| mean.round() as u64);
    Measures {
        requests: whole(|m| m.requests.map(|n| n as f64)),
        elapsed_s: mean(|m| m.elapsed_s),
        mean_ns: mean(|m| m.mean_ns),
        p50_ns: mean(|m| m.p50_ns),
        p90_ns: mean(|m| m.p90_ns),
        p99_ns: mean(|m| m.p99_ns),
        p999_ns: mean(|m| m.p999_ns),
        flush_mean_ns: mean(|m| m.flush_mean_ns),
        flush_p99_ns: mean(|m| m.flush_p99_ns),
        max_ns: all.iter().filter_map(|measures| measures.max_ns).reduce(f64::max),
        iops: mean(|m| m.iops),
        bandwidth_bytes_per_s: mean(|m| m.bandwidth_bytes_per_s),
        write_amplification: mean(|m| m.write_amplification),
        blocks_erased: whole(|m| m.blocks_erased.map(|n| n as f64)),
        buffer_hit_share: mean(|m| m.buffer_hit_share),
        transactions_per_s: mean(|m| m.transactions_per_s),
        restarts: whole(|m| m.restarts.map(|n| n as f64)),
        pool_hit_share: mean(|m| m.pool_hit_share),
        sr_ms: mean(|m| m.sr_ms),
        rr_ms: mean(|m| m.rr_ms),
        sw_ms: mean(|m| m.sw_ms),
        rw_ms: mean(|m| m.rw_ms),
    }
}

/// Returns the half-widths of the 95% confidence intervals of the means, by field; the longest latency has none. Empty
/// for fewer than two repetitions.
pub(super) fn half_widths(all: &[&Measures]) -> BTreeMap<String, f64> {
    let numbers: [(&str, Number); 18] = [
        ("elapsed_s", |m| m.elapsed_s),
        ("mean_ns", |m| m.mean_ns),
        ("p50_ns", |m| m.p50_ns),
        ("p90_ns", |m| m.p90_ns),
        ("p99_ns", |m| m.p99_ns),
        ("p999_ns", |m| m.p999_ns),
        ("flush_mean_ns", |m| m.flush_mean_ns),
        ("flush_p99_ns", |m| m.flush_p99_ns),
        ("iops", |m| m.iops),
        ("bandwidth_bytes_per_s", |m| m.bandwidth_bytes_per_s),
        ("write_amplification", |m| m.write_amplification),
        ("buffer_hit_share", |m| m.buffer_hit_share),
        ("transactions_per_s", |m| m.transactions_per_s),
        ("pool_hit_share", |m| m.pool_hit_share),
        ("sr_ms", |m| m.sr_ms),
        ("rr_ms", |m| m.rr_ms),
        ("sw_ms", |m| m.sw_ms),
        ("rw_ms", |m| m.rw_ms),
    ];
    let of_number = |(name, of): &(&str, Number)| {
        let values: Vec<f64> = all.iter().filter_map(|measures| of(measures)).collect();
        Some(((*name).to_owned(), half_width(&values, LEVEL)?))
    };
    numbers.iter().filter_map(of_number).collect()
}
