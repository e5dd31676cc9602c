//! Refusal of invalid results, and helpers for the kinds' tests.

use crate::Report;
use serde_json::{Value, json};

pub(crate) fn text(json: Value, width: usize) -> String {
    Report::read(json).unwrap().text(width)
}

pub(crate) fn csv(json: Value) -> String {
    Report::read(json).unwrap().csv()
}

fn refusal(json: Value) -> String {
    Report::read(json).unwrap_err().to_string()
}

/// Returns a run with all required fields.
fn run() -> Value {
    let latency = json!({ "min": 1.0, "mean": 1.0, "stddev": 0.0, "p50": 1.0, "p90": 1.0, "p99": 1.0, "p999": 1.0,
        "max": 1.0 });
    json!({
        "schema": "flashlane.run/1",
        "device": { "name": "x", "capacity_bytes": 1, "read_unit_bytes": 1, "write_unit_bytes": 1, "depth": 1,
            "simulated": true, "counters": { "write_amplification": null } },
        "workload": "random-read", "seed": 0, "requests": 1, "elapsed_s": 1.0, "iops": 1.0,
        "bandwidth_bytes_per_s": 1.0, "latency_ns": latency, "confidence": null, "operations": {}, "jobs": [],
        "warnings": [], "partial": null,
    })
}

#[test]
fn field_of_wrong_type_is_refused_by_name() {
    let with = |field: &str, value: Value| {
        let mut run = run();
        run[field] = value;
        refusal(run)
    };
    for (error, expected) in [
        (with("figures", json!([1])), "its field figures[0] is 1, where an object is expected"),
        (with("figures", json!([{ "id": 3 }])), "its field figures[0].id is 3, where text is expected"),
        (with("jobs", json!([1])), "its field jobs[0] is 1, where an object is expected"),
        (with("latency_ns", json!({})), "its field latency_ns.min is missing"),
        (with("latency_ns", json!([])), "its field latency_ns is [], where an object is expected"),
        (with("warnings", json!(["x"])), "its field warnings[0] is \"x\", where an object is expected"),
        (with("machine", json!(1)), "its field machine is 1, where an object is expected"),
        (with("seed", json!(-1)), "its field seed is -1, where a whole number from 0 to"),
        (refusal(json!([])), "it is [], where an object is expected"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let bench = include_str!("../../fuzzing/seeds/sdf_bench.json");
    for (phases, expected) in
        [(json!([1]), "its field phases[0] is 1"), (json!("x"), "where a list is expected")]
    {
        let mut bench: Value = serde_json::from_str(bench).unwrap();
        bench["phases"] = phases;
        let error = refusal(bench);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn missing_field_is_refused() {
    for schema in crate::kinds::READERS.iter().map(|kind| kind.schema) {
        let error = refusal(json!({ "schema": schema }));
        assert!(error.ends_with(" is missing"), "{schema}: {error}");
    }
}

#[test]
fn each_kind_has_a_fixture() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let schema = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["schema"].as_str().unwrap().to_owned()
    };
    let found: Vec<String> = std::fs::read_dir(folder).unwrap().map(schema).collect();
    let missing: Vec<_> =
        crate::kinds::READERS.iter().filter(|kind| !found.iter().any(|found| found == kind.schema)).collect();
    assert!(missing.is_empty(), "{:?}", missing.iter().map(|kind| kind.schema).collect::<Vec<_>>());
}

#[test]
fn unknown_schema_is_refused_with_the_known_ones() {
    let error = refusal(json!({ "schema": "flashlane.dream/7", "answer": 42 }));
    assert!(error.contains("dream/7") && error.contains("flashlane.probe/1"), "{error}");
    assert!(refusal(json!({})).contains("the schema of the result is missing"));
}

#[test]
fn points_without_a_coordinate_are_not_drawn() {
    let axis = json!({ "label": "x", "unit": "" });
    let mut run = run();
    run["figures"] = json!([{ "id": "x", "title": "t", "x": axis, "y": axis,
        "series": [{ "name": "s", "points": [[1, null], [2, 3]] }] }]);
    let report = Report::read(run).unwrap();
    assert_eq!(report.document.figures[0].series[0].points, [(2.0, 3.0)]);
}

#[test]
fn rate_over_no_time_is_a_dash() {
    let shown = |elapsed_s: f64| {
        let mut run = run();
        (run["elapsed_s"], run["iops"]) = (json!(elapsed_s), json!(1e10));
        text(run, 100)
    };
    assert!(shown(1e-9).contains("10,000,000,000"), "{}", shown(1e-9));
    assert!(!shown(0.0).contains("000,000") && shown(0.0).contains('–'), "{}", shown(0.0));
}

#[test]
fn steadiness_without_rounds_is_not_shown() {
    let with = |rounds: Value, steady: bool| {
        let mut run = run();
        run["precondition"] = json!({ "sequential_bytes": 4096, "written_bytes": 8192, "rounds_iops": rounds,
            "steady": steady, "excursion": null, "slope": null });
        text(run, 100).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let [none, some] = [with(json!([]), false), with(json!([1.0, 9.0]), false)];
    assert!(none.contains("Steady –") && !none.contains("Steady no"), "{none}");
    assert!(some.contains("Steady no"), "{some}");
}

#[test]
fn percentile_with_few_requests_beyond_it_is_not_shown() {
    let mut run = run();
    run["latency_ns"]["p90"] = 9e3.into();
    run["latency_ns"]["p99"] = 77e6.into();
    run["operations"] = json!({
        "read": { "requests": 999, "iops": 1.0, "latency_ns": run["latency_ns"] },
        "write": { "requests": 1, "iops": 1.0, "latency_ns": run["latency_ns"] },
    });
    run["jobs"] = json!([{ "name": "few", "workload": "random-read", "requests": 999, "iops": 1.0,
        "bandwidth_bytes_per_s": 1.0, "latency_ns": run["latency_ns"] }]);
    let with = |requests: u64| {
        let mut run = run.clone();
        run["requests"] = requests.into();
        let words = text(run.clone(), 100).split_whitespace().collect::<Vec<_>>().join(" ");
        (words, csv(run))
    };
    let (few, enough) = (with(999), with(1000));
    assert!(!few.0.contains("77 ms"), "{}", few.0);
    // Of the table's row, and of the job.
    assert_eq!(few.0.matches("shown from 1,000 requests on, where 10 lie beyond it").count(), 2, "{}", few.0);
    assert!(few.1.contains("\r\np90,9000.0,9000.0,\r\n") && few.1.contains("\r\np99,,,\r\n"), "{}", few.1);
    assert!(enough.1.contains("\r\np99,77000000.0,,\r\n"), "{}", enough.1);
    assert_eq!(enough.0.matches("77 ms").count(), 1, "of all requests, and of no operation: {}", enough.0);
    run["requests"] = 999.into();
    let report = Report::read(run).unwrap();
    let fact = report.document.facts.iter().find(|fact| fact.label == "p99").expect("a page begins with it");
    assert_eq!(fact.value.text, "– (shown from 1,000 requests on, where 10 lie beyond it)");
}
