//! `trace record`: refusals before recording. Tests of `host` cover the recording itself. `trace excerpt`.

use crate::program::{done, refused, text};
use flashlane_transactions::recording::Writer;
use flashlane_transactions::{Header, LeftOut, RecordedAccess, Recording, Transaction};
use std::fs;
use std::path::Path;

#[test]
fn recording_other_files_is_refused_without_output() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace.blktrace.xz");
    for (device, words) in [("/no/such/device", "does not exist"), ("/dev/null", "is a character device")] {
        refused(2, &["trace", "record", device, "--out", text(&out), "--time", "1ms"], &[words]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn output_is_checked_before_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace");
    const OLD: &str = "0.000000 0 1 1 0\n";
    fs::write(&out, OLD).unwrap();
    for (arguments, words) in [
        (&["--to", "blkparse"][..], "are not written as 'blkparse'"),
        (&["--to", "nonsense"], "there is no trace format 'nonsense'"),
        (&["--time", "1ms"], "--force overwrites it"),
        (&["--time", "1ms", "--", "true"], "cannot be used with"),
    ] {
        let given = [&["trace", "record", "/dev/null", "--out", text(&out)], arguments].concat();
        refused(2, &given, &[words]);
    }
    // As for a conversion, the ending selects the format.
    for (name, words) in [
        ("trace.csv.gz", "--to NAME, one of msr, alibaba, tencent"),
        ("trace.blkparse", "are not written as 'blkparse'"),
        ("trace.bz2", "as .bz2"),
        ("new/", "it is a directory"),
        ("trace.msr", "is a character device"),
    ] {
        let out = format!("{}/{name}", text(folder.path()));
        refused(2, &["trace", "record", "/dev/null", "--out", &out, "--time", "1ms"], &[words]);
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), OLD);
    fs::write(&out, "precious").unwrap();
    let forced = ["trace", "record", "/dev/null", "--out", text(&out), "--time", "1ms", "--force"];
    refused(2, &forced, &["does not hold a trace", "precious"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
}

#[test]
fn program_without_probes_is_refused_without_output() {
    if cfg!(not(target_arch = "x86_64")) {
        return println!("skipped: programs of this machine are not read");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.pages.xz");
    let program = env!("CARGO_BIN_EXE_flashlane");
    let given = ["trace", "record", "--postgres", program, "--database", "x", "--out", text(&out)];
    refused(2, &given, &["has no probes of PostgreSQL", "enable-dtrace"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

/// Writes a recording of `count` transactions, of which each reads the page of its number.
fn recording(path: &Path, count: u32) {
    let header = Header {
        page_bytes: 8192,
        pages: count,
        clients: 1,
        source: "made here".into(),
        kinds: vec!["one".into()],
        relations: Vec::new(),
    };
    let mut writer = Writer::new(fs::File::create(path).unwrap(), header).unwrap();
    for page in 0..count {
        writer
            .push(&Transaction { accesses: vec![RecordedAccess::read(page)], ..Transaction::default() })
            .unwrap();
    }
    writer.finish(LeftOut { aborted: 3, cut: 1 }).unwrap();
}

#[test]
fn excerpt_holds_the_chosen_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, out) = (folder.path().join("whole.pages"), folder.path().join("part.pages.xz"));
    recording(&whole, 100);
    let given = ["trace", "excerpt", text(&whole), text(&out), "--skip", "30", "--transactions", "20"];
    let printed = done(&given);
    assert!(printed.contains("20 transactions with 20 page accesses"), "{printed}");
    let mut part = Recording::open(&out, || false).unwrap();
    assert_eq!(part.header().source, "made here; an excerpt: 20 transactions after the first 30");
    assert_eq!(part.header().pages, 100);
    let mut transaction = Transaction::default();
    let mut pages = Vec::new();
    while part.read(&mut transaction).unwrap() {
        pages.extend(transaction.accesses.iter().map(|access| access.page()));
    }
    assert_eq!(pages, (30..50).collect::<Vec<_>>());
    refused(2, &given, &["--force overwrites it"]);
    let other = folder.path().join("other.pages");
    for (transactions, words) in [("0", "at least 1"), ("80", "has 100 transactions")] {
        let given =
            ["trace", "excerpt", text(&whole), text(&other), "--skip", "30", "--transactions", transactions];
        refused(2, &given, &[words]);
    }
    assert!(!other.exists());
}
