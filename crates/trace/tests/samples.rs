//! A small sample of every format, read to the last field.

use flashlane_base::{Duration, Instant, Operation};
use flashlane_trace::{OpenOptions, Record, Summary, open};
use std::path::Path;

fn read(name: &str) -> (Vec<Record>, Summary) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    let mut trace = open(&path, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let records: Vec<Record> = trace.by_ref().collect();
    let summary = trace.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(summary.complete);
    assert_eq!(summary.records, records.len() as u64);
    assert_eq!(summary.refusals, [], "{name}");
    (records, summary)
}

fn record(at_ns: u64, device: u32, operation: Operation, offset_bytes: u64, length_bytes: u64) -> Record {
    let at = Instant::from_ns(at_ns);
    Record { at, took: None, device, operation, offset_bytes, length_bytes, durable: false }
}

use Operation::{Flush, Read, Trim, Write};

#[test]
fn disksim() {
    let (records, summary) = read("disksim.trace");
    assert_eq!(
        records,
        [
            record(0, 0, Write, 0, 4096),
            record(1_500_000, 0, Read, 4096, 4096),
            record(12_345_678, 0, Read, 7_018_904 * 512, 496 * 512),
            record(13_000_000, 0, Write, 8192, 512),
        ]
    );
    assert_eq!((summary.format.name, summary.lines, summary.skipped), ("disksim", 6, 2));
}

#[test]
fn msr() {
    let (records, summary) = read("msr.csv");
    assert_eq!((summary.format.name, summary.lines, summary.skipped), ("msr", 3, 1));
    let first = record(12_816_637_200_306_162_900, 0, Read, 7_014_609_920, 24_576);
    assert_eq!(records[0], Record { took: Some(Duration::from_ns(4_128_600)), ..first });
    assert_eq!(records[1].operation, Write);
    assert_eq!(summary.devices[0].name.as_deref(), Some("usr 0"));
}

#[test]
fn iolog_2() {
    let (records, summary) = read("iolog2.log");
    assert_eq!(summary.format.name, "iolog2");
    assert_eq!(
        records,
        [
            record(0, 0, Read, 0, 4096),
            record(5_000_000, 0, Write, 4096, 8192),
            record(5_000_000, 0, Flush, 0, 0),
            record(7_000_000, 0, Trim, 1 << 20, 65536),
        ]
    );
    assert_eq!(summary.devices[0].to_string(), "0 (/dev/sda)");
}

#[test]
fn iolog_3() {
    let (records, summary) = read("iolog3.log");
    assert_eq!(summary.format.name, "iolog3");
    assert_eq!(
        records,
        [
            record(878_000, 0, Write, 0, 16384),
            record(888_000, 0, Read, 16384, 4096),
            record(891_000, 0, Flush, 0, 0),
            record(900_000, 0, Trim, 65536, 65536),
        ]
    );
}

#[test]
fn mqsim() {
    let (records, summary) = read("sample.mqsim");
    assert_eq!(summary.format.name, "mqsim");
    assert_eq!(records[0], record(4_851_300, 1, Write, 524_288 * 512, 8192));
    assert_eq!(records[2].operation, Read);
}

#[test]
fn spc() {
    let (records, summary) = read("sample.spc");
    assert_eq!(summary.format.name, "spc");
    assert_eq!(records[0], record(551_706_000, 0, Write, 20_941_264 * 512, 8192));
    assert_eq!(records[2], record(1_250_720_000, 0, Read, 3_436_288 * 512, 15872));
}

#[test]
fn alibaba() {
    let (records, summary) = read("alibaba.csv");
    assert_eq!(summary.format.name, "alibaba");
    assert_eq!(records[0], record(1_577_808_144_360_767_000, 419, Write, 8_792_731_648, 16384));
    assert_eq!(records[1].operation, Read);
}

#[test]
fn tencent() {
    let (records, summary) = read("tencent.csv");
    assert_eq!(summary.format.name, "tencent");
    assert_eq!(records[0], record(1_538_323_200_000_000_000, 1283, Read, 12_910_952 * 512, 128 * 512));
    assert_eq!(records[1].operation, Write);
}

/// The two traces of the reference data, where they are: counts that others published.
#[test]
fn reference_traces() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for (name, reads, writes) in [
        ("ssd-iozone-aligned2-100K.trace.xz", 0, 100_000),
        ("ssd-postmark-aligned2.trace.xz", 51_780, 10_477),
    ] {
        let path = folder.join(name);
        if !path.exists() {
            eprintln!("skipped: {name} is not there");
            continue;
        }
        let mut trace = open(&path, &OpenOptions::default()).unwrap();
        let records: Vec<Record> = trace.by_ref().collect();
        let count = |operation| records.iter().filter(|record| record.operation == operation).count();
        assert_eq!((count(Read), count(Write)), (reads, writes));
        let summary = trace.finish().unwrap();
        assert_eq!((summary.format.name, summary.compression, summary.refused), ("disksim", Some("xz"), 0));
        assert_eq!(summary.backward, None);
    }
}
