//! A small sample of every format, compared in all fields.

use flashlane_base::{Duration, Instant, Operation};
use flashlane_trace::{OpenOptions, Record, Summary, Trace, open};
use std::io::Cursor;
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

/// The two traces of the reference data, where present, have their published counts.
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

const SDA: u32 = 8 << 20;

/// The expected requests of `blkparse.txt`, for both formats of block traces.
fn block_requests() -> [Record; 5] {
    let took = |us| Some(Duration::from_us(us));
    [
        Record { took: took(100), ..record(4000, SDA, Write, 223_490 * 512, 8192) },
        Record { took: took(300), ..record(11_000, SDA, Read, 512_000, 131_072) },
        Record { took: took(300), ..record(201_000, SDA, Flush, 0, 0) },
        Record { took: took(100), durable: true, ..record(601_000, SDA, Write, 2_560_000, 4096) },
        record(801_000, SDA, Trim, 8192 * 512, 1 << 20),
    ]
}

#[test]
fn blkparse() {
    let (records, summary) = read("blkparse.txt");
    assert_eq!(summary.format.name, "blkparse");
    assert_eq!(records, block_requests());
    assert_eq!((summary.lines, summary.records, summary.skipped, summary.refused), (30, 5, 25, 0));
    assert_eq!(summary.devices[0].to_string(), "8388608 (8,0)");
}

/// Events in the kernel's layout: time in ns, sector, bytes, action, processor.
const EVENTS: &[(u64, u64, u32, u64, usize)] = &[
    (100, 223_490, 4096, W | Q, 0),
    (1000, 223_498, 4096, W | Q, 0),
    (1829, 223_498, 4096, W | 2, 0),
    (4000, 223_490, 8192, W | D, 0),
    (10_000, 1000, 131_072, R | Q, 1),
    (11_000, 1000, 131_072, R | D, 1),
    (104_000, 223_490, 8192, W | C, 0),
    (200_000, 0, 0, W | FLUSH | Q, 0),
    (201_000, u64::MAX, 0, R | FLUSH | D, 0),
    (311_000, 1000, 131_072, R | C, 1),
    (501_000, 0, 0, R | FLUSH | C, 1),
    (600_000, 5000, 4096, W | FLUSH | FUA | Q, 0),
    (601_000, 5000, 4096, W | FUA | D, 0),
    (701_000, 5000, 4096, W | FUA | C, 1),
    (800_000, 8192, 1 << 20, W | DISCARD | Q, 0),
    (801_000, 8192, 1 << 20, W | DISCARD | D, 0),
];
const R: u64 = 1 << 16;
const W: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const DISCARD: u64 = 1 << 29;
const FUA: u64 = 1 << 31;
const Q: u64 = 1;
const D: u64 = 7;
const C: u64 = 8;

/// The events of one processor as a blktrace file, in either byte order and version.
fn blktrace_file(processor: usize, is_big: bool, is_wide: bool) -> Vec<u8> {
    let mut file = Vec::new();
    for (number, &(time, sector, bytes, action, on)) in EVENTS.iter().enumerate() {
        if on != processor {
            continue;
        }
        let mut put = |value: u64, width: usize| {
            let (big, little) = (value.to_be_bytes(), value.to_le_bytes());
            file.extend(if is_big { &big[8 - width..] } else { &little[..width] });
        };
        put(0x6561_7400 + if is_wide { 8 } else { 7 }, 4);
        put(number as u64, 4);
        put(time, 8);
        put(sector, 8);
        put(u64::from(bytes), 4);
        if is_wide {
            put(697, 4);
            put(action, 8);
        } else {
            put(action, 4);
            put(697, 4);
        }
        put(u64::from(SDA), 4);
        put(processor as u64, 4);
        put(0, 2);
        // Some events carry a payload.
        let payload = if number % 3 == 0 { 5 } else { 0 };
        put(payload, 2);
        if is_wide {
            put(0, 8);
            put(0, 4);
        }
        file.extend(&b"cgrp."[..payload as usize]);
    }
    file
}

#[test]
fn blktrace() {
    for (is_big, is_wide) in [(false, false), (true, false), (false, true), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("sda");
        // The processors between them were off.
        for (processor, number) in [(0, 0), (1, 12)] {
            let path = folder.path().join(format!("sda.blktrace.{number}"));
            std::fs::write(path, blktrace_file(processor, is_big, is_wide)).unwrap();
        }
        let mut trace = open(&base, &OpenOptions::default()).unwrap();
        assert_eq!(trace.by_ref().collect::<Vec<_>>(), block_requests());
        let summary = trace.finish().unwrap();
        assert_eq!((summary.format.name, summary.lines, summary.skipped), ("blktrace", 16, 11));
        // One file alone: its completions are in the other one.
        let mut trace = open(&folder.path().join("sda.blktrace.0"), &OpenOptions::default()).unwrap();
        assert_eq!(trace.by_ref().count(), 4);
    }
}

#[test]
fn blktrace_resumes_after_junk_and_reports_truncation() {
    let mut file = blktrace_file(0, false, false);
    let whole = file.len();
    file.splice(53..53, *b"junk that is no event");
    file.truncate(whole);
    let mut trace = Trace::from_reader(Cursor::new(file), "x", &OpenOptions::default()).unwrap();
    assert_eq!(trace.by_ref().count(), 3);
    let summary = trace.finish().unwrap();
    let reasons: Vec<String> = summary.refusals.iter().map(ToString::to_string).collect();
    assert!(reasons[0].starts_with("event 2: its magic number is damaged"), "{reasons:?}");
    assert!(reasons[0].ends_with("21 bytes were passed over"), "{reasons:?}");
    assert!(reasons[1].contains("ends within it"), "{reasons:?}");
    assert!(summary.ends_inside_line);
}
