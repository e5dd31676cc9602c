//! `flashlane advise`.

use crate::program::{done, json, refused, text};
use std::fs;

/// A drive that is measured in a second.
const DRIVE: &str = "sim:ssd-s,flash.blocks=1024,capacity=4GB";

/// An index join and a hash join of one table, with this many reads in flight.
fn plans(depth: u32) -> [String; 2] {
    [
        format!("index: random,pages=25k,band=800MiB,depth={depth}"),
        format!("hash: scan,pages=100k,depth={depth}"),
    ]
}

#[test]
fn choice_of_a_plan_depends_on_the_reads_in_flight_and_is_checked() {
    for (depth, fastest) in [(1, "hash"), (16, "index")] {
        let [index, hash] = plans(depth);
        let result = json(&["advise", "plan", DRIVE, "--plan", &index, "--plan", &hash, "--check"]);
        assert_eq!(result["plans"][0]["name"], fastest, "{depth} in flight");
        let measured = |plan: usize| result["plans"][plan]["measured_ns"]["value"].as_f64().expect("checked");
        assert!(measured(0) < measured(1), "{depth} in flight: {}", result["plans"]);
        assert_eq!(result["plans"][1]["holds"], true);
    }
}

#[test]
fn each_proposal_says_how_it_is_set_and_undone() {
    let shown = done(&["advise", "postgresql", DRIVE]);
    for part in ["Set io_workers", "ALTER SYSTEM SET io_workers", "ALTER SYSTEM RESET io_workers"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let result = json(&["advise", "rocksdb", DRIVE]);
    assert_eq!(result["program"], "rocksdb");
    for setting in result["settings"].as_array().expect("a list") {
        let low = setting["effect"]["predicted"]["low"].as_f64().expect("predicted");
        assert!(low >= 1.05, "{setting}");
    }
}

#[test]
fn file_is_only_read_and_holes_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 80 << 20]).unwrap();
    let result = json(&["advise", "fio", text(&path), "--allow-page-cache"]);
    assert!(!result["warnings"].to_string().contains("never-written"), "{}", result["warnings"]);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0x5a), "it was written to");
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100 << 20).unwrap();
    let result = json(&["advise", "fio", text(&path), "--allow-page-cache"]);
    assert!(result["warnings"].to_string().contains("never-written"), "{}", result["warnings"]);
    let empty = dir.path().join("empty");
    fs::File::create(&empty).unwrap().set_len(80 << 20).unwrap();
    refused(2, &["advise", "fio", text(&empty), "--allow-page-cache"], &["100% of", "was never written"]);
}

#[test]
fn delay_of_commits_follows_from_the_time_of_one() {
    let row = |arguments: &[&str], list: &str| {
        let result = json(&[&["advise", "postgresql"], arguments].concat());
        let found = result[list].as_array().expect("a list").iter().find(|row| row["name"] == "commit_delay");
        (found.cloned().unwrap_or_default(), result["commit_ns"].clone())
    };
    let (setting, commit) = row(&[DRIVE, "--check"], "settings");
    let half_us = commit["value"].as_f64().expect("measured") / 2e3;
    assert_eq!(setting["proposed"], format!("{}", half_us as u64), "{setting}");
    assert_eq!(setting["effect"]["holds"], true, "{setting}");
    // A real device is not written to.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 80 << 20]).unwrap();
    let file = [text(&path), "--allow-page-cache"];
    let (kept, commit) = row(&file, "kept");
    assert!(
        kept["why"].as_str().unwrap_or_default().contains("--commit") && commit.is_null(),
        "{kept} {commit}"
    );
    let (setting, _) = row(&[&file[..], &["--commit", "2ms"]].concat(), "settings");
    assert_eq!(setting["proposed"], "1000", "{setting}");
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0x5a), "it was written to");
    let checked = [&["advise", "postgresql"], &file[..], &["--commit", "2ms", "--check"]].concat();
    refused(2, &checked, &["write commits to a real device"]);
}

#[test]
fn impossible_advice_is_refused() {
    let [index, hash] = plans(1);
    refused(2, &["advise", "plan", DRIVE, "--plan", &index], &["--plan at least twice"]);
    let missing = refused(2, &["advise", "postgresql", "./nosuch"], &["'./nosuch' does not exist"]);
    assert!(!missing.stderr.contains("--create"), "{}", missing.stderr);
    let large = "large: random,pages=9,band=8GiB";
    refused(
        2,
        &["advise", "plan", DRIVE, "--plan", &hash, "--plan", large],
        &["'large'", "8 GiB", "3.73 GiB"],
    );
    refused(
        2,
        &["advise", "plan", DRIVE, "--plan", &hash, "--plan", "x: seek,pages=9"],
        &["allowed: random, scan"],
    );
    refused(2, &["advise", "postgresql", DRIVE, "--version", "14"], &["allowed: 15 to 18"]);
    refused(2, &["advise", "postgresql", DRIVE, "--table", "5GiB"], &["does not fit", "3.73 GiB"]);
    refused(2, &["advise", "fio", "sim:ssd-s,capacity=32MiB"], &["32 MiB", "at least 64 MiB"]);
}
