//! The recorded excerpts in `traces/` are read completely, and match `traces/README.md`.

use flashlane_base::Operation;
use flashlane_trace::{OpenOptions, open};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Requests of an excerpt.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    reads: u64,
    writes: u64,
    flushes: u64,
}

const EXCERPTS: &[(&str, Counts)] = &[
    ("kernel-build", Counts { reads: 14_770, writes: 3_435, flushes: 402 }),
    ("large-files", Counts { reads: 2, writes: 29_986, flushes: 2 }),
    ("mp3-files", Counts { reads: 0, writes: 29_998, flushes: 2 }),
    ("pgbench", Counts { reads: 9_340, writes: 12_522, flushes: 2_095 }),
    ("small-files", Counts { reads: 1_271, writes: 20_179, flushes: 4 }),
    ("word-count", Counts { reads: 25_563, writes: 4_435, flushes: 0 }),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

#[test]
fn excerpt_has_its_documented_requests() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for (name, expected) in EXCERPTS {
        let file = format!("{name}.blktrace.xz");
        let mut trace =
            open(&folder().join(&file), &OpenOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let (mut found, mut timed, mut latest) = (Counts::default(), 0, None);
        for record in trace.by_ref() {
            match record.operation {
                Operation::Read => found.reads += 1,
                Operation::Write => found.writes += 1,
                Operation::Flush => found.flushes += 1,
                other => panic!("{name}: there should be no {other}"),
            }
            timed += u64::from(record.took.is_some());
            assert!(latest <= Some(record.at), "{name}: time runs backwards");
            latest = Some(record.at);
        }
        let summary = trace.finish().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found, *expected, "{name}");
        assert_eq!((summary.refused, summary.format.name), (0, "blktrace"), "{name}");
        // Requests in flight at the end of the excerpt have no completion.
        let all = found.reads + found.writes + found.flushes;
        assert!(timed <= all && all - timed <= 200, "{name}: {timed} of {all} say how long they took");
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{file}` ")));
        let row: Vec<&str> =
            row.unwrap_or_else(|| panic!("{file} has no row")).split('|').map(str::trim).collect();
        let found = [found.reads, found.writes, found.flushes].map(|count| count.to_string());
        assert_eq!(row[3..6], found, "{file} in traces/README.md");
    }
}

#[test]
fn excerpts_are_listed_and_small() {
    let listed: BTreeMap<String, u64> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()))
        // Recordings of transactions are tested by their crate.
        .filter(|(name, _)| name != "README.md" && !name.ends_with(".pages.xz"))
        .collect();
    let known: Vec<String> = EXCERPTS.iter().map(|(name, _)| format!("{name}.blktrace.xz")).collect();
    assert_eq!(listed.keys().collect::<Vec<_>>(), known.iter().collect::<Vec<_>>());
    for (name, bytes) in &listed {
        assert!(*bytes < 400_000, "{name} has {bytes} bytes");
    }
    assert!(listed.values().sum::<u64>() < 3_000_000);
}
