//! A synthetic uFLIP result of any size, with the structure of a full run.

use flashlane_base::Seed;
use flashlane_report::{Report, Samples};
use flashlane_result::{Axis, Figure, Series};
use serde_json::json;

const BASELINES: [&str; 4] = ["SR", "RR", "SW", "RW"];
/// Mean response times of the baselines on a drive like the Mtron, in ns.
const MEANS_NS: [f64; 4] = [0.4e6, 0.5e6, 0.4e6, 9e6];
/// Micro-benchmark, parameter, unit, values, and the power of the value that response times follow.
const BENCHMARKS: &[(&str, &str, &str, u64, f64)] = &[
    ("granularity", "IOSize", "B", 20, 0.6),
    ("alignment", "IOShift", "B", 7, 0.0),
    ("locality", "TargetSize", "B", 17, 0.3),
    ("partitioning", "Partitions", "", 9, 0.4),
    ("order", "Incr", "", 11, 0.2),
    ("parallelism", "ParallelDegree", "", 5, 0.1),
    ("mix", "Ratio", "", 7, 0.1),
    ("pause", "Pause", "0.1 ms", 9, -0.1),
    ("bursts", "Burst", "", 7, 0.1),
];
const REPETITIONS: u64 = 3;

/// Returns a result of `device` with about `requests` requests, and its samples. Response times vary by a tenth, one in
/// a hundred is ten times as long, and one request of each run takes a second.
pub fn synthetic(device: &str, requests: usize, seed: u64) -> (Report, Samples) {
    let mut random = Seed(seed).derive("synthetic-uflip").source();
    let mut unit = move || random.unit();
    let count: u64 = BENCHMARKS.iter().map(|benchmark| benchmark.3).sum::<u64>() * 4 * REPETITIONS;
    let each = (requests as u64).div_ceil(count).max(8);
    let (mut runs, mut figures) = (Vec::new(), Vec::new());
    let (mut owner, mut latency_ns) = (Vec::new(), Vec::new());
    for &(benchmark, parameter, measure, values, power) in BENCHMARKS {
        let mut series: Vec<Series> =
            BASELINES.map(|name| Series { name: name.into(), ..Series::default() }).into();
        for (kind, baseline) in BASELINES.iter().enumerate() {
            for step in 0..values {
                let value = if measure == "B" { 512 << step } else { 1 << step };
                let expected = MEANS_NS[kind] * ((1_u64 << step) as f64 / 64.0).powf(power).max(0.05);
                for repetition in 1..=REPETITIONS {
                    let first_sample = latency_ns.len();
                    let outlier = (unit() * each as f64) as u64;
                    for at in 0..each {
                        let noise = 0.9 + 0.2 * unit();
                        let slow = if unit() < 0.01 { 10.0 } else { 1.0 };
                        let ns = if at == outlier { 1e9 } else { expected * noise * slow };
                        latency_ns.push(ns as u64);
                        owner.push(runs.len() as u64);
                    }
                    let of_run = &latency_ns[first_sample..];
                    let mean_ns = of_run.iter().sum::<u64>() as f64 / each as f64;
                    runs.push(json!({
                        "id": format!("{benchmark}/{baseline}/{value}/{repetition}"), "benchmark": benchmark,
                        "baseline": baseline, "first": baseline, "second": null, "parameter": parameter, "value": value, "unit": measure,
                        "repetition": repetition, "ignored": each / 10, "count": each - each / 10,
                        "mean_ns": mean_ns, "min_ns": of_run.iter().min(), "max_ns": of_run.iter().max(),
                        "sd_ns": 0.1 * mean_ns, "p50_ns": mean_ns as u64, "p99_ns": mean_ns as u64,
                        "p999_ns": mean_ns as u64, "confidence": null, "elapsed_ns": of_run.iter().sum::<u64>(),
                        "first_sample": first_sample, "samples": each,
                    }));
                    if repetition == 1 {
                        series[kind].points.push((value as f64, mean_ns / 1e6));
                    }
                }
            }
        }
        figures.push(Figure {
            id: benchmark.into(),
            title: format!("Response time against {parameter}"),
            x: Axis::log(parameter, measure),
            y: Axis::log("response time", "ms"),
            series,
            ..Figure::default()
        });
    }
    let result = json!({
        "schema": "flashlane.uflip/1", "version": "0.1.0", "mode": "full", "seed": seed, "resets": 1,
        "area_bytes": 1_u64 << 35, "bound": 0.05, "ios": requests, "written_bytes": 1_u64 << 30, "elapsed_s": 3600.0,
        "spread": 0.01, "states": [],
        "device": { "name": device, "capacity_bytes": 1_u64 << 35, "read_unit_bytes": 512, "write_unit_bytes": 512,
            "depth": 32, "simulated": true, "counters": { "write_amplification": null } },
        "characteristics": {
            "sr_ms": 0.4, "rr_ms": 0.5, "sw_ms": 0.4, "rw_ms": 9.0, "pause_rw_ms": 9.0,
            "locality": { "limit": 8.0, "rises_at": 16.0, "cost": 2.0, "unlimited": false },
            "partitions": { "limit": 4.0, "rises_at": 8.0, "cost": 1.5, "unlimited": false },
            "reverse": { "cost": 1.0 }, "in_place": { "cost": 1.0 }, "large_increment": { "cost": 2.0 },
            "row": ["0.4", "0.5", "0.4", "9", "9", "8 (x2)", "4 (x1.5)", "=", "=", "x2"],
        },
        "hints": [
            { "number": 1, "hint": "Flash devices do not have the latency of disks", "verdict": "kept",
              "because": "A read of 512 B takes 0.05 ms", "figures": ["granularity"] },
            { "number": 7, "hint": "Pauses do not make random writes faster in all", "verdict": "contradicted",
              "because": "The time of 9.0 ms falls to 6.1 ms with pauses of 5 ms", "figures": ["pause", "bursts"] },
        ],
        "phases": [{ "baseline": "RW", "ios": 640, "startup": 125, "period": null, "ignored": 128, "count": 512,
            "confidence": 0.02, "steady_from": null, "mean_all_ns": 8e6, "mean_running_ns": 9e6,
            "figure": "phases-rw" }],
        "pause": { "writes": 128, "reads_before": 512, "reads_after": 5120, "affected_reads": 3000,
            "affected_ns": 1_250_000_000_u64, "ended": true, "pause_ns": 2_500_000_000_u64 },
        "runs": runs, "figures": figures, "warnings": [], "partial": null,
    });
    let samples = Samples::new()
        .with_u64("run", owner)
        .and_then(|samples| samples.with_u64("latency_ns", latency_ns))
        .expect("columns of one length");
    (Report::read(result).expect("a result of uFLIP"), samples)
}
