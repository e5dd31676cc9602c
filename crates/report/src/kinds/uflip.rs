//! `flashlane.uflip/1`: results of the nine micro-benchmarks of uFLIP (CIDR 2009) on one device.

use super::run::{device_table, harness};
use super::{Content, Reportable, cell, fact, field_table, fields, part_table, scalar};
use crate::document::{Cell, Column, Comparable, Document, Fact, Row, SampleStructure, Table, Tone};
use crate::format::{capitalised, exact, number, percent, plain_value, time_ns};
use crate::sample_runs::Run;
use flashlane_base::units::format_bytes;
use flashlane_result::uflip::{
    BaselinePhases, Benchmark, Characteristics, Hint, RunRow, UflipResult, Verdict,
};
use serde_json::Value;

impl Reportable for UflipResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// A column of the key characteristics: title, CSV key and value.
type Characteristic = (&'static str, &'static str, fn(&Characteristics) -> Value);

/// The key characteristics, with the order and titles of the paper's Table 3.
const CHARACTERISTICS: &[Characteristic] = &[
    ("SR", "sr_ms", |row| scalar(row.sr_ms)),
    ("RR", "rr_ms", |row| scalar(row.rr_ms)),
    ("SW", "sw_ms", |row| scalar(row.sw_ms)),
    ("RW", "rw_ms", |row| scalar(row.rw_ms)),
    ("Pause RW", "pause_rw_ms", |row| scalar(row.pause_rw_ms)),
    ("Locality (MiB)", "locality", |row| scalar(row.locality)),
    ("Partitions", "partitions", |row| scalar(row.partitions)),
    ("Reverse", "reverse", |row| scalar(row.reverse)),
    ("In-place", "in_place", |row| scalar(row.in_place)),
    ("Large incr.", "large_increment", |row| scalar(row.large_increment)),
];

fn of(result: &UflipResult) -> Document {
    let runs = result.runs.len();
    let facts = [
        fact("mode", "Mode", &result.mode),
        (runs > 0).then(|| Fact::new("Runs", number(runs as f64))),
        fact("ios", "I/Os", result.ios),
        fact("written_bytes", "Written", result.written_bytes),
        fact("elapsed_s", "Elapsed", result.elapsed_s),
        result.spread.map(|share| Fact::new("Repetitions differ by", percent(share))),
        harness(result.harness_ns_per_request, "an I/O"),
    ];
    let states = (1..).zip(&result.states).map(|(at, state): (u64, _)| (at.to_string(), fields(state)));
    let pause = field_table("Pause between runs", &fields(&result.pause));
    let tables = [
        Some(characteristics(result)),
        hints(&result.hints),
        phases(&result.phases),
        pause.map(|table| table.beside(["pause-determination"])),
    ];
    let after =
        [part_table("States enforced", Column::right("No.", "number"), states), device_table(&result.device)];
    Document {
        kind: "uFLIP",
        title: result.device.name.clone(),
        subtitle: "Nine micro-benchmarks, and what they say of the device".into(),
        summary: summary(&result.hints),
        sample_structure: SampleStructure::ByRun {
            levels: ["Micro-benchmark", "Baseline", "Value", "Repetition"],
            runs: result.runs.iter().map(run).collect(),
        },
        facts: facts.into_iter().flatten().collect(),
        tables: tables
            .into_iter()
            .flatten()
            .chain(benchmarks(&result.runs))
            .chain(after.into_iter().flatten())
            .collect(),
        ..Document::default()
    }
}

/// Counts the hints that hold for the device.
fn summary(hints: &[Hint]) -> String {
    let of = |verdict| hints.iter().filter(|hint| hint.verdict == verdict).count();
    if hints.is_empty() {
        return String::new();
    }
    let others = [(of(Verdict::Contradicted), "do not"), (of(Verdict::Open), "are open")];
    let others =
        others.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    let (kept, all) = (of(Verdict::Kept), hints.len());
    format!("{kept} of {all} design hints hold for this device{}.", others.collect::<String>())
}

/// Returns the device's row of the paper's Table 3; rows of several results are joined for comparison.
fn characteristics(result: &UflipResult) -> Table {
    let found = &result.characteristics;
    let cell = |(at, (_, _, value)): (usize, &Characteristic)| {
        let value = value(found);
        let interval = found.row_intervals.get(at).map_or("", String::as_str);
        let text = match found.row.get(at) {
            Some(text) => format!("{text} {interval}").trim_end().to_owned(),
            None => value.as_f64().map(number).unwrap_or_default(),
        };
        Cell::exact(text, exact(&value))
    };
    let cells = CHARACTERISTICS.iter().enumerate().map(cell);
    Table {
        title: "Key characteristics (32 KiB; SR to RW in ms; ± with the 95% intervals of all repetitions)"
            .into(),
        columns: std::iter::once(Column::left("Device", "device"))
            .chain(CHARACTERISTICS.iter().map(|(title, key, _)| Column::right(title, key)))
            .collect(),
        rows: vec![Row::new(std::iter::once(Cell::text(&*result.device.name)).chain(cells).collect())],
        comparable: Comparable::Rows,
        ..Table::default()
    }
}

/// Returns the paper's design hints, with the figures that support or contradict them.
fn hints(hints: &[Hint]) -> Option<Table> {
    let row = |hint: &Hint| Row {
        cells: vec![
            Cell::text(hint.number.to_string()),
            Cell::text(&*hint.hint),
            match hint.verdict {
                Verdict::Kept => Cell::text("kept").tone(Tone::Good),
                Verdict::Contradicted => Cell::text("contradicted").tone(Tone::Bad),
                Verdict::Open => Cell::text("open").tone(Tone::Muted),
            },
        ],
        note: hint.because.clone(),
        figures: hint.figures.clone(),
    };
    let rows: Vec<Row> = hints.iter().map(row).collect();
    let columns = vec![
        Column::right("No.", "number"),
        Column::left("Hint", "hint"),
        Column::left("Verdict", "verdict"),
    ];
    let table =
        Table { title: "Design hints".into(), columns, rows, note_key: "because", ..Table::default() };
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the start-up and period of each baseline, with the figures of the long runs.
fn phases(phases: &[BaselinePhases]) -> Option<Table> {
    let row = |phase: &BaselinePhases| {
        Row::new(vec![
            Cell::text(phase.baseline.name()),
            cell("startup", phase.startup),
            cell("period", phase.period),
            cell("ignored", phase.ignored),
            cell("count", phase.count),
            cell("steady_from", phase.steady_from),
        ])
    };
    let rows: Vec<Row> = phases.iter().map(row).collect();
    let columns = vec![
        Column::left("Baseline", "baseline"),
        Column::right("Start-up I/Os", "startup"),
        Column::right("Period", "period"),
        Column::right("Ignored", "ignored"),
        Column::right("Counted", "count"),
        Column::right("Steady (SNIA) from", "steady_from"),
    ];
    let figures = phases.iter().map(|phase| phase.figure.as_str());
    let table = Table { title: "Phases".into(), columns, rows, ..Table::default() }.beside(figures);
    (!table.rows.is_empty()).then_some(table)
}

/// Returns a table for each micro-benchmark: a row for each value, a column for each baseline, with mean response
/// times.
fn benchmarks(runs: &[RunRow]) -> Vec<Table> {
    // The long runs of the methodology have no benchmark.
    let benchmarks = firsts(runs.iter().filter_map(|run| run.benchmark));
    let table = |&benchmark: &Benchmark| {
        let of_it: Vec<&RunRow> = runs.iter().filter(|run| run.benchmark == Some(benchmark)).collect();
        benchmark_table(benchmark, &of_it)
    };
    benchmarks.iter().map(table).collect()
}

fn benchmark_table(benchmark: Benchmark, runs: &[&RunRow]) -> Table {
    let baselines = firsts(runs.iter().map(|run| run.baseline.as_str()));
    let mut values: Vec<(i64, String)> = runs.iter().map(|run| (run.value, value(run))).collect();
    values.sort_by_key(|(value, _)| *value);
    values.dedup();
    let cell = |shown: &str, baseline: &str| {
        let alike = runs.iter().filter(|run| value(run) == shown && run.baseline == baseline);
        means(&alike.map(|run| run.summary.mean_ns).collect::<Vec<_>>())
    };
    let row = |(_, shown): &(i64, String)| {
        let cells = baselines.iter().map(|baseline| cell(shown, baseline));
        Row::new(std::iter::once(Cell::text(shown.as_str())).chain(cells).collect())
    };
    let parameter = runs.first().map_or("", |run| run.parameter.as_str());
    Table {
        title: capitalised(benchmark.name()),
        columns: std::iter::once(Column::right(parameter, "value"))
            .chain(baselines.iter().map(|baseline| Column::right(baseline, baseline)))
            .collect(),
        rows: values.iter().map(row).collect(),
        is_for_page: true,
        ..Table::default()
    }
    .beside([benchmark.name()])
}

/// Returns the mean of the repetitions, with half their range if at least 0.5%.
fn means(repetitions: &[f64]) -> Cell {
    if repetitions.is_empty() {
        return Cell::text("–");
    }
    let mean = repetitions.iter().sum::<f64>() / repetitions.len() as f64;
    let most = repetitions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = repetitions.iter().copied().fold(f64::INFINITY, f64::min);
    let half = 50.0 * (most - least) / mean;
    let spread = if half >= 0.5 { format!(" ±{half:.0}%") } else { String::new() };
    Cell::exact(format!("{}{spread}", time_ns(mean)), mean.to_string())
}

/// Formats a run's parameter with its unit.
fn value(run: &RunRow) -> String {
    let plain = || plain_value("", &run.value.into());
    match (u64::try_from(run.value), run.unit.as_str()) {
        (Ok(bytes), "B") => format_bytes(bytes),
        (Ok(ns), "ns") => time_ns(ns as f64),
        (_, "") => plain(),
        (_, unit) => format!("{} {unit}", plain()),
    }
}

/// Removes duplicates, in order of first appearance.
fn firsts<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut firsts = Vec::new();
    for name in names {
        if !firsts.contains(&name) {
            firsts.push(name);
        }
    }
    firsts
}

/// Returns a run with its name; its requests come from the samples.
fn run(run: &RunRow) -> Run {
    // The long runs of the methodology vary no parameter.
    let (benchmark, parameter) = match run.benchmark {
        Some(benchmark) => (capitalised(benchmark.name()), format!("{} {}", run.parameter, value(run))),
        None => ("Methodology".into(), capitalised(&run.parameter)),
    };
    Run {
        name: vec![benchmark, run.baseline.clone(), parameter, run.repetition.to_string()],
        ignored: run.ignored,
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{csv, text};
    use crate::{Report, Samples};
    use serde_json::json;

    fn result() -> Value {
        let run = |value: u64, repetition: u64, mean_ns: f64| {
            json!({ "id": format!("granularity-{value}-{repetition}"), "benchmark": "granularity", "baseline": "SR",
                "first": "SR", "second": null, "parameter": "IOSize", "value": value, "unit": "B",
                "repetition": repetition, "ignored": 1, "count": 2, "mean_ns": mean_ns, "min_ns": 1, "max_ns": 9,
                "sd_ns": 0.0, "p50_ns": 1, "p99_ns": 9, "p999_ns": 9, "confidence": null, "elapsed_ns": 1,
                "first_sample": 0, "samples": 3 })
        };
        let reach = json!({ "limit": 8.0, "rises_at": 16.0, "cost": 2.0, "unlimited": false });
        json!({
            "schema": "flashlane.uflip/1", "version": "0.1.0",
            "device": { "name": "sim:mtron-like", "capacity_bytes": 1 << 30, "read_unit_bytes": 512,
                "write_unit_bytes": 512, "depth": 1, "simulated": true, "counters": { "write_amplification": null } },
            "mode": "quick", "seed": 0, "area_bytes": 1 << 30, "bound": 0.1,
            "characteristics": { "sr_ms": 0.4, "rr_ms": 0.5, "sw_ms": 0.4, "rw_ms": 9.0, "pause_rw_ms": 9.0,
                "locality": reach, "partitions": reach, "reverse": { "cost": 1.0 }, "in_place": { "cost": 1.0 },
                "large_increment": { "cost": 2.0 },
                "row": ["0.4", "0.5", "0.4", "9", "9", "8 (x2)", "1–15 (x1.5)", "=", "=", "x2"],
                "row_intervals": ["", "", "", "±4%", "", "", "", "", "", "±7%"] },
            "hints": [{ "number": 7, "hint": "Pauses help", "verdict": "contradicted",
                "because": "9.0 ms stay 9.0 ms", "figures": ["granularity"] }],
            "states": [], "phases": [],
            "pause": { "writes": 1, "reads_before": 1, "reads_after": 1, "affected_reads": 0, "affected_ns": 0,
                "ended": true, "pause_ns": 0 },
            "ios": 9, "written_bytes": 0, "elapsed_s": 1.0, "spread": null,
            "runs": [run(512, 1, 1e6), run(512, 2, 1.2e6), run(1024, 1, 2e6)],
            "warnings": [], "partial": null,
        })
    }

    #[test]
    fn row_has_the_papers_notation_and_csv_has_numbers() {
        let text = text(result(), 120);
        for part in [
            "uFLIP: sim:mtron-like",
            "8 (x2)",
            "9 ±4%",
            "1–15 (x1.5)",
            "x2 ±7%",
            "contradicted",
            "9.0 ms stay 9.0 ms",
            "0 of 1 design hints",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("Granularity"), "micro-benchmarks are plots of the page\n{text}");
        let csv = csv(result());
        assert!(csv.contains("\r\nsim:mtron-like,0.4,0.5,0.4,9.0,9.0,"), "{csv}");
    }

    #[test]
    fn benchmark_table_has_values_by_baselines() {
        let result: UflipResult = flashlane_result::read(&result()).unwrap();
        let tables = benchmarks(&result.runs);
        let cells: Vec<Vec<&str>> = tables[0]
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(cells, [["512 B", "1.1 ms ±9%"], ["1 KiB", "2 ms"]]);
    }

    #[test]
    fn samples_are_assigned_to_their_runs() {
        let samples = Samples::new()
            .with_u64("run", vec![2, 0, 2])
            .and_then(|samples| samples.with_u64("latency_ns", vec![5, 6, 7]))
            .unwrap();
        let report = Report::read(result()).unwrap();
        let samples = report.document.sample_structure.of(&samples).unwrap();
        let runs: Vec<(&str, &[u64])> =
            samples.runs.iter().map(|run| (run.name[2].as_str(), &run.latency_ns[..])).collect();
        assert_eq!(runs, [("IOSize 512 B", &[6][..]), ("IOSize 1 KiB", &[5, 7][..])]);
        let stray =
            Samples::new().with_u64("run", vec![9]).and_then(|s| s.with_u64("latency_ns", vec![1])).unwrap();
        assert!(report.document.sample_structure.of(&stray).is_none());
    }
}
