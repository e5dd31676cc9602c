//! The numbers by which points are compared.

use super::result::Measures;

/// One of them.
pub struct Metric {
    /// How it is asked for: `p99`.
    pub name: &'static str,
    /// What it is, as an axis says it.
    pub title: &'static str,
    /// The axis' unit.
    pub unit: &'static str,
    /// Its value in that unit, where the point has it.
    pub of: fn(&Measures) -> Option<f64>,
}

/// All of them; the first is drawn unless another is asked for.
pub const METRICS: &[Metric] = &[
    latency("mean", "mean latency", |m| us(m.mean_ns)),
    latency("p50", "median latency", |m| us(m.p50_ns)),
    latency("p90", "latency of 90%", |m| us(m.p90_ns)),
    latency("p99", "latency of 99%", |m| us(m.p99_ns)),
    latency("p99.9", "latency of 99.9%", |m| us(m.p999_ns)),
    latency("max", "longest latency", |m| us(m.max_ns)),
    Metric { name: "iops", title: "requests a second", unit: "", of: |m| m.iops },
    Metric {
        name: "bandwidth",
        title: "bandwidth",
        unit: "MB/s",
        of: |m| m.bandwidth_bytes_per_s.map(|rate| rate / 1e6),
    },
    Metric {
        name: "write-amplification",
        title: "write amplification",
        unit: "",
        of: |m| m.write_amplification,
    },
    Metric {
        name: "erases",
        title: "erase blocks erased",
        unit: "",
        of: |m| m.blocks_erased.map(|n| n as f64),
    },
    Metric {
        name: "buffer-hits",
        title: "pages found in the write buffer",
        unit: "%",
        of: |m| m.buffer_hit_share.map(|share| share * 100.0),
    },
    Metric { name: "rw", title: "random writes of 32 KiB", unit: "ms", of: |m| m.rw_ms },
    Metric { name: "sw", title: "sequential writes of 32 KiB", unit: "ms", of: |m| m.sw_ms },
    Metric { name: "rr", title: "random reads of 32 KiB", unit: "ms", of: |m| m.rr_ms },
    Metric { name: "sr", title: "sequential reads of 32 KiB", unit: "ms", of: |m| m.sr_ms },
];

const fn latency(name: &'static str, title: &'static str, of: fn(&Measures) -> Option<f64>) -> Metric {
    Metric { name, title, unit: "us", of }
}

fn us(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e3)
}

impl Metric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
