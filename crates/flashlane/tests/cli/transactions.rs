//! Running recorded transactions.

use crate::program::{done, json, refused, text};
use flashlane_transactions::recording::{LeftOut, RecordedAccess, Transaction, Writer};
use flashlane_transactions::synthetic::TpcB;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A recording of transactions in the manner of TPC-B.
pub fn pages(branches: u32, transactions: usize) -> Vec<u8> {
    let made = TpcB::new(branches, 10, flashlane_base::Seed(1));
    let mut writer = Writer::new(Vec::new(), made.header().clone()).unwrap();
    made.take(transactions).for_each(|transaction| writer.push(&transaction).unwrap());
    writer.finish(LeftOut { aborted: 3, cut: 2 }).unwrap().0
}

/// The same as a file, and its directory.
pub fn recording(branches: u32, transactions: usize) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("some.pages");
    fs::write(&path, pages(branches, transactions)).unwrap();
    (dir, path)
}

const DRIVE: &str = "sim:ssd-s,initial.state=full";

fn codes(result: &Value) -> Vec<&str> {
    result["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

#[test]
fn transactions_result_adds_up() {
    let (_dir, path) = recording(10, 5000);
    let result = json(&["transactions", DRIVE, text(&path), "--pool", "200"]);
    assert_eq!((&result["schema"], &result["partial"]), (&"flashlane.transactions/1".into(), &Value::Null));
    assert_eq!(result, json(&["transactions", DRIVE, text(&path), "--pool", "200"]), "it can be repeated");
    let number = |value: &Value| value.as_f64().unwrap();
    // A tenth is the warm-up.
    assert_eq!((&result["transactions"], &result["warmup"]), (&4500.into(), &500.into()));
    assert_eq!((&result["clients"], &result["buffer"]), (&10.into(), &"lru".into()));
    let rate = number(&result["transactions"]) / number(&result["elapsed_s"]);
    assert!((rate / number(&result["transactions_per_s"]) - 1.0).abs() < 1e-9);
    // Little's law: ten clients without think time.
    let running = rate * number(&result["response_ns"]["mean"]) / 1e9;
    assert!((running / 10.0 - 1.0).abs() < 0.01, "{running}");
    let (worst, p99) = (number(&result["worst_percent_ns"]), number(&result["response_ns"]["p99"]));
    assert!(worst >= p99 && worst <= number(&result["response_ns"]["max"]));
    let misses = number(&result["accesses"]) * (1.0 - number(&result["hit_share"]));
    assert!((misses - number(&result["operations"]["read"]["requests"])).abs() < 20.0, "{misses}");
    let recording = &result["recording"];
    assert_eq!(
        (&recording["transactions"], &recording["aborted"], &recording["cut"]),
        (&5000.into(), &3.into(), &2.into())
    );
    // The database is smaller than what the drive has free.
    assert_eq!(codes(&result), ["nothing-cleaned"]);
}

#[test]
fn recording_begins_again_for_more_transactions() {
    let (_dir, path) = recording(1, 300);
    let result = json(&[
        "transactions",
        DRIVE,
        text(&path),
        "--transactions",
        "2k",
        "--warmup",
        "30",
        "--clients",
        "2",
    ]);
    assert_eq!((&result["transactions"], &result["recording"]["passes"]), (&2000.into(), &7.into()));
    assert!(codes(&result).contains(&"recording-repeated"), "{:?}", codes(&result));
    let timed = json(&["transactions", DRIVE, text(&path), "--time", "1s", "--clients", "2"]);
    let elapsed = timed["elapsed_s"].as_f64().unwrap();
    assert!((1.0..1.1).contains(&elapsed), "{elapsed}");
}

#[test]
fn transactions_are_shown_and_saved() {
    let (dir, path) = recording(2, 2000);
    let out = dir.path().join("out");
    let shown = done(&["transactions", DRIVE, text(&path), "--out", text(&out)]);
    for part in [
        "Transactions a second",
        "Restarts",
        "Mean of the slowest 1%",
        "Response time",
        "p99.9",
        "Recording",
        "/s",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    assert!(out.join("throughput-over-time.svg").exists() && out.join("report.html").exists());
    assert_eq!(done(&["report", text(&out)]), shown);
    assert!(done(&["transactions", DRIVE, text(&path), "--format", "csv"]).contains("response_ns"));
}

#[test]
fn sweep_compares_pools_and_policies() {
    let (_dir, path) = recording(4, 1500);
    let swept = json(&[
        "transactions",
        DRIVE,
        text(&path),
        "--sweep",
        "pool=100,1000",
        "--sweep",
        "buffer=lru,cflru-e",
        "--repeat",
        "1",
    ]);
    let rows = swept["rows"].as_array().unwrap();
    let rate = |row: &Value| row["transactions_per_s"].as_f64().unwrap();
    assert_eq!((rows.len(), &swept["comparison"]["metric"]), (4, &"transactions".into()));
    assert!(rate(&rows[2]) > rate(&rows[0]), "a larger pool is faster: {rows:?}");
    let alone = json(&["transactions", DRIVE, text(&path), "--pool", "1000", "--buffer", "cflru-e"]);
    assert_eq!(rate(&rows[3]), rate(&alone));
}

#[test]
fn real_file_is_overwritten_only_on_demand() {
    let (dir, path) = recording(1, 30);
    let drive = dir.path().join("drive");
    fs::write(&drive, vec![0x5a; 64 << 20]).unwrap();
    let run = ["transactions", text(&drive), text(&path), "--pool", "10", "--allow-page-cache"];
    refused(2, &run, &["--destroy-data is required", "would overwrite", "run a recording that only reads"]);
    assert!(fs::read(&drive).unwrap().iter().all(|&byte| byte == 0x5a));
    let result = json(&[&run[..], &["--destroy-data"]].concat());
    assert_eq!((&result["transactions"], &result["device"]["simulated"]), (&27.into(), &false.into()));
    assert!(result["harness_ns_per_request"].as_f64().unwrap() > 0.0);
    // A recording that only reads needs no consent.
    let header = TpcB::new(1, 2, flashlane_base::Seed(1)).header().clone();
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    let transaction = Transaction {
        accesses: vec![RecordedAccess::read(1), RecordedAccess::read(7)],
        ..Transaction::default()
    };
    (0..20).for_each(|_| writer.push(&transaction).unwrap());
    fs::write(&path, writer.finish(LeftOut::default()).unwrap().0).unwrap();
    assert_eq!(json(&run)["operations"].as_object().map(|all| all.contains_key("write")), Some(false));
}
