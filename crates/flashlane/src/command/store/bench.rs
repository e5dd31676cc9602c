//! The core workloads of YCSB on a new store.

use super::device::{Place, create, create_simulated_with};
use super::{BenchOptions, CreateOptions, Level};
use crate::failure::{Failure, Status, notify};
use crate::options::Format;
use crate::output::{json, print};
use crate::progress::Meter;
use flashlane_open::AnyStore;
use flashlane_report::csv_line;
use flashlane_store::StoreOptions;
use flashlane_ycsb::{Bench, BenchError, Options, Outcome, Workload};
use serde_json::{Value, json};

/// A workload with what it did.
type Run = (&'static Workload, Outcome);

/// Creates a store, loads it, and runs workloads on it, one after the other.
pub fn bench(
    place: &Place,
    safety: &CreateOptions,
    bench: &BenchOptions,
    level: Level,
    format: Format,
) -> Result<Status, Failure> {
    let slices = flashlane_ycsb::slices(bench.slices);
    let store_options = StoreOptions {
        memory_bytes: bench.memory,
        cache_reads: bench.cache_reads,
        ..StoreOptions::default()
    };
    let mut store = match place.device.is_simulated() {
        true => create_simulated_with(place, slices, store_options)?,
        false => create(place, slices, store_options, safety)?,
    };
    let options = Options {
        records: bench.records,
        value_bytes: bench.value_size,
        operations: bench.operations,
        clients: bench.clients,
        scan_max: bench.scan,
        durability: level.into(),
        seed: bench.seed,
    };
    let mut runs: Vec<Run> = Vec::new();
    let ended = run(store.store(), options, &bench.ycsb, &mut runs);
    match &ended {
        Ok(()) => {}
        Err(BenchError::Stopped) => notify("stopped; a workload that had not ended is left out"),
        Err(_) => return Err(Failure::failed(ended.expect_err("it has just been looked at"))),
    }
    print(&match format {
        Format::Text => text(bench, level, &runs),
        Format::Csv => csv(&runs),
        Format::Json => json(&document(place, bench, level, &runs)),
    })?;
    Ok(if ended.is_ok() { Status::Done } else { Status::Failed })
}

fn run(
    store: &mut AnyStore,
    options: Options,
    workloads: &[&'static Workload],
    runs: &mut Vec<Run>,
) -> Result<(), BenchError> {
    let meter = Meter::new(format!("loading {} records", options.records));
    let mut bench = Bench::load(store, options, &mut |share| meter.watch(Some(share)))?;
    for workload in workloads {
        meter.say(format!("running workload {}", workload.name));
        let outcome = bench.run(workload, &mut |share| meter.watch(Some(share)))?;
        runs.push((workload, outcome));
    }
    Ok(())
}

fn text(bench: &BenchOptions, level: Level, runs: &[Run]) -> String {
    let mut out = format!(
        "{} records of {} bytes, {} operations by {} clients, durability: {}\n",
        bench.records,
        bench.value_size,
        bench.operations,
        bench.clients,
        level.name()
    );
    for (workload, outcome) in runs {
        let written = outcome.write_amplification();
        let written = written
            .map(|bytes| format!(", {bytes:.2} bytes written per byte of keys and values"))
            .unwrap_or_default();
        out += &format!(
            "\nWorkload {} ({}): {:.0} operations/s, {:.2} reads per get{written}\n",
            workload.name,
            workload.title,
            outcome.operations_per_s(),
            outcome.counters.reads_per_get()
        );
        out += &format!(
            "  {:<18}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}\n",
            "µs", "count", "mean", "p50", "p99", "p99.9", "longest"
        );
        for (operation, count, times) in &outcome.latencies {
            out += &format!("  {:<18}{count:>9}", operation.name());
            for ns in [times.mean, times.p50, times.p99, times.p999, times.max] {
                out += &format!("{:>11.1}", ns / 1e3);
            }
            out += "\n";
        }
    }
    out
}

fn csv(runs: &[Run]) -> String {
    let head = ["workload", "operation", "count", "mean_us", "p50_us", "p99_us", "p999_us", "max_us"];
    let mut out = csv_line(head);
    for (workload, outcome) in runs {
        for (operation, count, times) in &outcome.latencies {
            let times = [times.mean, times.p50, times.p99, times.p999, times.max];
            let mut row = vec![workload.name.to_owned(), operation.name().to_owned(), count.to_string()];
            row.extend(times.map(|ns| format!("{:.3}", ns / 1e3)));
            out += &csv_line(row.iter().map(String::as_str));
        }
    }
    out
}

fn document(place: &Place, bench: &BenchOptions, level: Level, runs: &[Run]) -> Value {
    let workloads: Vec<Value> =
        runs.iter().map(|(workload, outcome)| workload_fields(workload, outcome)).collect();
    json!({
        "schema": "flashlane.store-bench/1",
        "device": place.device.to_string(),
        "log": place.log.to_string(),
        "records": bench.records,
        "value_bytes": bench.value_size,
        "operations": bench.operations,
        "clients": bench.clients,
        "slices": bench.slices,
        "memory_bytes": bench.memory,
        "cache_reads": bench.cache_reads,
        "direct_reads": place.direct_reads,
        "durability": level.name(),
        "seed": bench.seed.0,
        "workloads": workloads,
    })
}

fn workload_fields(workload: &Workload, outcome: &Outcome) -> Value {
    let latencies = outcome.latencies.iter().map(|(operation, count, times)| {
        json!({
            "operation": operation.name(),
            "count": count,
            "mean_us": times.mean / 1e3,
            "p50_us": times.p50 / 1e3,
            "p99_us": times.p99 / 1e3,
            "p999_us": times.p999 / 1e3,
            "max_us": times.max / 1e3,
        })
    });
    json!({
        "workload": workload.name,
        "title": workload.title,
        "elapsed_s": outcome.elapsed.as_s_f64(),
        "operations_per_s": outcome.operations_per_s(),
        "write_amplification": outcome.write_amplification(),
        "reads_per_get": outcome.counters.reads_per_get(),
        "latencies": latencies.collect::<Vec<_>>(),
    })
}
