//! `flashlane.uflip/1`: the nine micro-benchmarks of uFLIP (CIDR 2009) on one device, with what they say of it.

use super::run::device_table;
use super::{Kind, device_name, fact, field_table, items, object_table};
use crate::Samples;
use crate::document::{Cell, Column, Document, Fact, Row, Table, Tone};
use crate::singles::{Run, Singles};
use crate::wording::{capitalised, exact, number, percent, plain_value, time_ns};
use flashlane_base::units::format_bytes;
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.uflip/1", document, singles: Some(singles) };

/// The columns of the key characteristics, in the order and the words of the paper's Table 3: title and CSV key.
const CHARACTERISTICS: &[(&str, &str)] = &[
    ("SR", "sr_ms"),
    ("RR", "rr_ms"),
    ("SW", "sw_ms"),
    ("RW", "rw_ms"),
    ("Pause RW", "pause_rw_ms"),
    ("Locality (MiB)", "locality"),
    ("Partitions", "partitions"),
    ("Reverse", "reverse"),
    ("In-place", "in_place"),
    ("Large incr.", "large_increment"),
];

fn document(result: &Value) -> Document {
    let runs = items(&result["runs"]).count();
    let facts = [
        fact(result, "mode", "Mode"),
        (runs > 0).then(|| Fact::new("Runs", number(runs as f64))),
        fact(result, "ios", "I/Os"),
        fact(result, "written_bytes", "Written"),
        fact(result, "elapsed_s", "Elapsed"),
        result["spread"].as_f64().map(|share| Fact::new("Repetitions differ by", percent(share))),
        result["harness_ns_per_request"]
            .as_f64()
            .map(|ns| Fact::new("Measuring costs", format!("{} an I/O", time_ns(ns)))),
    ];
    let states = items(&result["states"]).enumerate().map(|(at, state)| ((at + 1).to_string(), state));
    let tables = [Some(characteristics(result)), hints(result), phases(result), pause(result)];
    let after = [
        object_table("States enforced", Column::right("No.", "number"), states),
        device_table(&result["device"]),
    ];
    Document {
        kind: "uFLIP",
        title: device_name(&result["device"]),
        subtitle: "Nine micro-benchmarks, and what they say of the device".into(),
        summary: summary(result),
        facts: facts.into_iter().flatten().collect(),
        tables: tables
            .into_iter()
            .flatten()
            .chain(benchmarks(result))
            .chain(after.into_iter().flatten())
            .collect(),
        ..Document::default()
    }
}

/// How many of the hints the device keeps.
fn summary(result: &Value) -> String {
    let of = |verdict: &str| items(&result["hints"]).filter(|hint| hint["verdict"] == verdict).count();
    let (kept, contradicted, all) = (of("kept"), of("contradicted"), items(&result["hints"]).count());
    if all == 0 {
        return String::new();
    }
    let others = [(contradicted, "do not"), (all - kept - contradicted, "are open")];
    let others =
        others.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    format!("{kept} of {all} design hints hold for this device{}.", others.collect::<String>())
}

/// The row that the paper gives each device; results that are compared have their rows under each other.
fn characteristics(result: &Value) -> Table {
    let found = &result["characteristics"];
    let words: Vec<&str> = items(&found["row"]).map(|cell| cell.as_str().unwrap_or_default()).collect();
    let cell = |(at, (_, key)): (usize, &(&str, &str))| {
        let value = &found[*key];
        let interval = found["row_intervals"][at].as_str().unwrap_or_default();
        let text = match words.get(at) {
            Some(text) => format!("{text} {interval}").trim_end().to_owned(),
            None => value.as_f64().map(number).unwrap_or_default(),
        };
        Cell::exact(text, exact(value))
    };
    let cells = CHARACTERISTICS.iter().enumerate().map(cell);
    Table {
        title: "Key characteristics (32 KiB; SR to RW in ms; ± with the 95% intervals of all repetitions)"
            .into(),
        columns: std::iter::once(Column::left("Device", "device"))
            .chain(CHARACTERISTICS.iter().map(|(title, key)| Column::right(title, key)))
            .collect(),
        rows: vec![Row::new(
            std::iter::once(Cell::text(device_name(&result["device"]))).chain(cells).collect(),
        )],
        is_comparable: true,
        ..Table::default()
    }
}

/// The paper's design hints, each with the figures that it stands or falls with.
fn hints(result: &Value) -> Option<Table> {
    let row = |hint: &Value| Row {
        cells: vec![
            Cell::text(exact(&hint["number"])),
            Cell::text(plain_value("", &hint["hint"])),
            match hint["verdict"].as_str().unwrap_or("–") {
                "kept" => Cell::text("kept").tone(Tone::Good),
                "contradicted" => Cell::text("contradicted").tone(Tone::Bad),
                other => Cell::text(other).tone(Tone::Muted),
            },
        ],
        note: hint["because"].as_str().unwrap_or_default().to_owned(),
        figures: items(&hint["figures"]).filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    let rows: Vec<Row> = items(&result["hints"]).map(row).collect();
    let columns = vec![
        Column::right("No.", "number"),
        Column::left("Hint", "hint"),
        Column::left("Verdict", "verdict"),
    ];
    let table =
        Table { title: "Design hints".into(), columns, rows, note_key: "because", ..Table::default() };
    (!table.rows.is_empty()).then_some(table)
}

/// How each baseline begins and repeats, with the long runs that show it.
fn phases(result: &Value) -> Option<Table> {
    let row = |phase: &Value| {
        let count = |key: &str| Cell::exact(plain_value("", &phase[key]), exact(&phase[key]));
        let baseline = Cell::text(plain_value("", &phase["baseline"]));
        Row::new(vec![
            baseline,
            count("startup"),
            count("period"),
            count("ignored"),
            count("count"),
            count("steady_from"),
        ])
    };
    let rows: Vec<Row> = items(&result["phases"]).map(row).collect();
    let columns = vec![
        Column::left("Baseline", "baseline"),
        Column::right("Start-up I/Os", "startup"),
        Column::right("Period", "period"),
        Column::right("Ignored", "ignored"),
        Column::right("Counted", "count"),
        Column::right("Steady (SNIA) from", "steady_from"),
    ];
    let figures = items(&result["phases"]).filter_map(|phase| phase["figure"].as_str());
    let table = Table { title: "Phases".into(), columns, rows, ..Table::default() }.beside(figures);
    (!table.rows.is_empty()).then_some(table)
}

fn pause(result: &Value) -> Option<Table> {
    let table = field_table("Pause between runs", result["pause"].as_object()?)?;
    Some(table.beside(["pause-determination"]))
}

/// A table a micro-benchmark: its parameter's values down, the baselines across, mean response times in the cells.
fn benchmarks(result: &Value) -> Vec<Table> {
    let runs: Vec<&Value> = items(&result["runs"]).collect();
    // The long runs of the methodology belong to none.
    let ids = firsts(runs.iter().filter_map(|run| run["benchmark"].as_str()));
    let table = |id: &&str| {
        let of_it: Vec<&Value> = runs.iter().copied().filter(|run| text(run, "benchmark") == *id).collect();
        benchmark(id, &of_it)
    };
    ids.iter().map(table).collect()
}

fn benchmark(id: &str, runs: &[&Value]) -> Table {
    let baselines = firsts(runs.iter().map(|run| text(run, "baseline")));
    let mut values: Vec<(f64, String)> =
        runs.iter().map(|run| (run["value"].as_f64().unwrap_or(f64::NAN), value(run))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values.dedup();
    let cell = |shown: &str, baseline: &str| {
        let alike = runs.iter().filter(|run| value(run) == shown && text(run, "baseline") == baseline);
        means(&alike.filter_map(|run| run["mean_ns"].as_f64()).collect::<Vec<_>>())
    };
    let row = |(_, shown): &(f64, String)| {
        let cells = baselines.iter().map(|baseline| cell(shown, baseline));
        Row::new(std::iter::once(Cell::text(shown.as_str())).chain(cells).collect())
    };
    let parameter = runs.first().map_or("", |run| text(run, "parameter"));
    Table {
        title: capitalised(id),
        columns: std::iter::once(Column::right(parameter, "value"))
            .chain(baselines.iter().map(|baseline| Column::right(baseline, baseline)))
            .collect(),
        rows: values.iter().map(row).collect(),
        is_for_page: true,
        ..Table::default()
    }
    .beside([id])
}

/// The mean of the repetitions, and how far apart they are where that shows.
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

fn text<'a>(run: &'a Value, key: &str) -> &'a str {
    run[key].as_str().unwrap_or("–")
}

/// A run's parameter with its unit.
fn value(run: &Value) -> String {
    match (run["value"].as_u64(), text(run, "unit")) {
        (Some(bytes), "B") => format_bytes(bytes),
        (Some(ns), "ns") => time_ns(ns as f64),
        (_, "" | "–") => plain_value("", &run["value"]),
        (_, unit) => format!("{} {unit}", plain_value("", &run["value"])),
    }
}

/// Each once, in the order of their first appearance.
fn firsts<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut firsts = Vec::new();
    for name in names {
        if !firsts.contains(&name) {
            firsts.push(name);
        }
    }
    firsts
}

/// Every I/O of every run.
fn singles(result: &Value, samples: &Samples) -> Option<Singles> {
    let mut runs: Vec<Run> = items(&result["runs"]).map(run).collect();
    for (&run, &latency_ns) in samples.u64("run")?.iter().zip(samples.u64("latency_ns")?) {
        runs.get_mut(usize::try_from(run).ok()?)?.latency_ns.push(latency_ns);
    }
    runs.retain(|run| !run.latency_ns.is_empty());
    let levels = ["Micro-benchmark", "Baseline", "Value", "Repetition"].map(str::to_owned).to_vec();
    (!runs.is_empty()).then(|| Singles { levels, counted: "I/O", kinds: vec!["I/Os"], runs, is_timed: false })
}

fn run(run: &Value) -> Run {
    // The long runs of the methodology vary nothing.
    let (benchmark, parameter) = match run["benchmark"].as_str() {
        Some(benchmark) => (capitalised(benchmark), format!("{} {}", text(run, "parameter"), value(run))),
        None => ("Methodology".into(), capitalised(text(run, "parameter"))),
    };
    Run {
        name: vec![benchmark, text(run, "baseline").into(), parameter, plain_value("", &run["repetition"])],
        ignored: run["ignored"].as_u64().unwrap_or(0),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result() -> Value {
        let run = |value: u64, repetition: u64, mean_ns: f64| {
            json!({ "id": format!("granularity-{value}-{repetition}"), "benchmark": "granularity", "baseline": "SR",
                "parameter": "IOSize", "value": value, "unit": "B", "repetition": repetition, "ignored": 1,
                "count": 2, "mean_ns": mean_ns, "first_sample": 0, "samples": 3 })
        };
        json!({
            "schema": "flashlane.uflip/1", "device": { "name": "sim:mtron-like", "capacity_bytes": 1 << 30 },
            "mode": "quick", "resets": 1,
            "characteristics": { "sr_ms": 0.4, "rr_ms": 0.5, "sw_ms": 0.4, "rw_ms": 9.0, "pause_rw_ms": 9.0,
                "row": ["0.4", "0.5", "0.4", "9", "9", "8 (x2)", "1–15 (x1.5)", "=", "=", "x2"],
                "row_intervals": ["", "", "", "±4%", "", "", "", "", "", "±7%"] },
            "hints": [{ "number": 7, "hint": "Pauses help", "verdict": "contradicted",
                "because": "9.0 ms stay 9.0 ms", "figures": ["granularity"] }],
            "runs": [run(512, 1, 1e6), run(512, 2, 1.2e6), run(1024, 1, 2e6)],
        })
    }

    #[test]
    fn the_row_keeps_the_papers_notation_and_csv_the_numbers() {
        let text = crate::text(&result(), 120);
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
        let csv = crate::csv(&result());
        assert!(csv.contains("\r\nsim:mtron-like,0.4,0.5,0.4,9.0,9.0,"), "{csv}");
    }

    #[test]
    fn a_micro_benchmark_has_its_parameter_down_and_its_baselines_across() {
        let tables = benchmarks(&result());
        let cells: Vec<Vec<&str>> = tables[0]
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(cells, [["512 B", "1.1 ms ±9%"], ["1 KiB", "2 ms"]]);
    }

    #[test]
    fn single_requests_go_to_their_runs() {
        let samples = Samples::new()
            .with_u64("run", vec![2, 0, 2])
            .and_then(|samples| samples.with_u64("latency_ns", vec![5, 6, 7]))
            .unwrap();
        let singles = singles(&result(), &samples).unwrap();
        let runs: Vec<(&str, &[u64])> =
            singles.runs.iter().map(|run| (run.name[2].as_str(), &run.latency_ns[..])).collect();
        assert_eq!(runs, [("IOSize 512 B", &[6][..]), ("IOSize 1 KiB", &[5, 7][..])]);
        let stray =
            Samples::new().with_u64("run", vec![9]).and_then(|s| s.with_u64("latency_ns", vec![1])).unwrap();
        assert!(super::singles(&result(), &stray).is_none());
    }
}
