//! The metrics of points.

use crate::measures::Number;
use flashlane_result::sweep::Measures;

/// A metric by which points are compared.
pub struct Metric {
    /// Name in options: `p99`.
    pub name: &'static str,
    /// Title of its axis.
    pub title: &'static str,
    /// Unit of its axis.
    pub unit: &'static str,
    /// Size of that unit in units of the field.
    pub(crate) unit_size: f64,
    /// Field of a point's row.
    pub field: &'static str,
    /// Whether larger values are better.
    pub larger_is_better: bool,
    number: Number,
}

/// All metrics; the first is the default.
pub const METRICS: &[Metric] = &[
    latency("mean", "mean latency", "mean_ns", |m| m.mean_ns),
    latency("p50", "p50 latency", "p50_ns", |m| m.p50_ns),
    latency("p90", "p90 latency", "p90_ns", |m| m.p90_ns),
    latency("p99", "p99 latency", "p99_ns", |m| m.p99_ns),
    latency("p99.9", "p99.9 latency", "p999_ns", |m| m.p999_ns),
    latency("max", "longest latency", "max_ns", |m| m.max_ns),
    latency("flush", "mean latency of flushes", "flush_mean_ns", |m| m.flush_mean_ns),
    latency("flush-p99", "p99 latency of flushes", "flush_p99_ns", |m| m.flush_p99_ns),
    outcome("iops", "requests a second", "iops", MORE, |m| m.iops),
    Metric {
        unit: "MB/s",
        unit_size: 1e6,
        ..outcome("bandwidth", "bandwidth", "bandwidth_bytes_per_s", MORE, |m| m.bandwidth_bytes_per_s)
    },
    outcome("write-amplification", "write amplification", "write_amplification", LESS, |m| {
        m.write_amplification
    }),
    outcome("erases", "erase blocks erased", "blocks_erased", LESS, |m| m.blocks_erased.map(|n| n as f64)),
    Metric {
        unit: "%",
        unit_size: 0.01,
        ..outcome("buffer-hits", "pages found in the write buffer", "buffer_hit_share", MORE, |m| {
            m.buffer_hit_share
        })
    },
    outcome("transactions", "transactions a second", "transactions_per_s", MORE, |m| m.transactions_per_s),
    outcome("restarts", "restarted transactions", "restarts", LESS, |m| m.restarts.map(|n| n as f64)),
    Metric {
        unit: "%",
        unit_size: 0.01,
        ..outcome("pool-hits", "pages found in the buffer pool", "pool_hit_share", MORE, |m| m.pool_hit_share)
    },
    of_uflip("rw", "random writes of 32 KiB", "rw_ms", |m| m.rw_ms),
    of_uflip("sw", "sequential writes of 32 KiB", "sw_ms", |m| m.sw_ms),
    of_uflip("rr", "random reads of 32 KiB", "rr_ms", |m| m.rr_ms),
    of_uflip("sr", "sequential reads of 32 KiB", "sr_ms", |m| m.sr_ms),
];

const MORE: bool = true;
const LESS: bool = false;

const fn latency(name: &'static str, title: &'static str, field: &'static str, number: Number) -> Metric {
    Metric { unit: "us", unit_size: 1e3, ..outcome(name, title, field, LESS, number) }
}

const fn of_uflip(name: &'static str, title: &'static str, field: &'static str, number: Number) -> Metric {
    Metric { unit: "ms", ..outcome(name, title, field, LESS, number) }
}

const fn outcome(
    name: &'static str,
    title: &'static str,
    field: &'static str,
    larger_is_better: bool,
    number: Number,
) -> Metric {
    Metric { name, title, unit: "", unit_size: 1.0, field, larger_is_better, number }
}

impl Metric {
    /// Returns its value in its unit, if the point has it.
    pub fn of(&self, measures: &Measures) -> Option<f64> {
        (self.number)(measures).map(|number| number / self.unit_size)
    }

    /// Returns the metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
