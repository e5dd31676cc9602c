//! Written traces are read back equal, except for the losses that the writer counts.

use flashlane_base::{Duration, Instant, Operation};
use flashlane_trace::{FORMATS, Format, Loss, OpenOptions, Output, Record, Trace, WriteError, Writer, open};
use proptest::prelude::*;
use std::io::{Cursor, Write};

fn written() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| format.is_written())
}

/// The information that each format holds, from its documentation (docs/traces.md) and not from its writer: the
/// resolution of time in ns, whether its clock begins with the trace, the resolution of response times, sectors, trims
/// and flushes.
struct Keeps {
    step_ns: u64,
    from_zero: bool,
    took_step_ns: Option<u64>,
    sectors: bool,
    all_operations: bool,
}

fn keeps(format: &str) -> Keeps {
    let (step_ns, from_zero, took_step_ns, sectors, all_operations) = match format {
        "disksim" | "mqsim" => (1, true, None, true, false),
        "spc" => (1, true, None, true, false),
        "msr" => (100, false, Some(100), false, false),
        "iolog3" => (1000, true, None, false, true),
        "alibaba" => (1000, false, None, false, false),
        "tencent" => (1_000_000_000, false, None, true, false),
        other => panic!("what {other} keeps is not known"),
    };
    Keeps { step_ns, from_zero, took_step_ns, sectors, all_operations }
}

/// The records expected after a round trip.
fn expected(records: &[Record], format: &str) -> Vec<Record> {
    let keeps = keeps(format);
    let down = |ns: u64, step: u64| ns / step * step;
    let is_kept = |record: &&Record| {
        let sectors = match format {
            // SPC counts its length in bytes.
            "spc" => record.offset_bytes,
            _ => record.offset_bytes | record.length_bytes,
        };
        (keeps.all_operations || matches!(record.operation, Operation::Read | Operation::Write))
            && (!keeps.sectors || sectors % 512 == 0)
    };
    let zero = if keeps.from_zero { records[0].at } else { Instant::ZERO };
    let back = |record: &Record| Record {
        at: Instant::from_ns(down(record.at.since(zero).as_ns(), keeps.step_ns)),
        took: keeps.took_step_ns.and_then(|step| {
            let ns = down(record.took?.as_ns(), step);
            (ns > 0).then_some(Duration::from_ns(ns))
        }),
        durable: false,
        ..*record
    };
    records.iter().filter(is_kept).map(back).collect()
}

fn record() -> impl Strategy<Value = Record> {
    let operation = prop_oneof![
        4 => Just(Operation::Read),
        4 => Just(Operation::Write),
        1 => Just(Operation::Trim),
        1 => Just(Operation::Flush),
    ];
    let size = prop_oneof![4 => (1_u64..2048).prop_map(|sectors| sectors * 512), 1 => 1_u64..100_000];
    let offset = prop_oneof![4 => (0_u64..1 << 40).prop_map(|sector| sector * 512), 1 => 0_u64..1 << 50];
    let took = proptest::option::of((0_u64..10_000_000_000).prop_map(Duration::from_ns));
    (0_u64..1 << 60, took, operation, offset, size, any::<bool>()).prop_map(
        |(at, took, operation, offset, size, durable)| {
            let is_flush = operation == Operation::Flush;
            Record {
                at: Instant::from_ns(at),
                took,
                device: 0,
                operation,
                offset_bytes: if is_flush { 0 } else { offset },
                length_bytes: if is_flush { 0 } else { size },
                durable: durable && operation == Operation::Write,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn records_round_trip(mut records in prop::collection::vec(record(), 1..50), devices in 1_u32..4) {
        records.sort_by_key(|record| record.at);
        for (number, record) in records.iter_mut().enumerate() {
            // In order of appearance, as iolog numbers its files.
            record.device = number as u32 % devices;
        }
        for format in written() {
            let mut writer = Writer::new(format, Vec::new()).unwrap();
            records.iter().for_each(|record| writer.push(record).unwrap());
            let (bytes, done) = writer.finish().unwrap();
            let mut expected = expected(&records, format.name);
            let left_out: u64 = done.losses.iter().filter(|(loss, _)| loss.is_whole()).map(|(_, n)| n).sum();
            prop_assert_eq!(done.records, expected.len() as u64);
            prop_assert_eq!(left_out, (records.len() - expected.len()) as u64);
            if expected.is_empty() {
                continue;
            }
            if format.name == "iolog3" {
                let mut known = Vec::new();
                for record in &mut expected {
                    let place = known.iter().position(|device| *device == record.device);
                    record.device = place.unwrap_or_else(|| { known.push(record.device); known.len() - 1 }) as u32;
                }
            }
            let options = OpenOptions { format: Some(format.name), every_device: true, ..OpenOptions::default() };
            let mut trace = Trace::from_reader(Cursor::new(bytes), "written", &options).unwrap();
            let read: Vec<Record> = trace.by_ref().collect();
            prop_assert_eq!(&read, &expected, "{}", format.name);
            prop_assert_eq!(trace.finish().unwrap().refused, 0);
        }
    }
}

/// Long enough for several batches, blocks and compressed chunks.
fn long_trace(format: &'static Format) -> Vec<u8> {
    let mut writer = Writer::new(format, Vec::new()).unwrap();
    for number in 0..10_000_u64 {
        writer
            .push(&Record {
                at: Instant::from_ns(number * 1_000_000_000),
                took: None,
                device: 0,
                operation: if number % 3 == 0 { Operation::Read } else { Operation::Write },
                offset_bytes: number * 7919 % 100_000 * 4096,
                length_bytes: 4096,
                durable: false,
            })
            .unwrap();
    }
    writer.finish().unwrap().0
}

#[test]
fn long_trace_is_recognized_in_any_compression() {
    let folder = tempfile::tempdir().unwrap();
    for format in written() {
        for ending in ["", ".gz", ".xz", ".zst"] {
            // The ending decides where the columns fit both DiskSim and MQSim.
            let path = folder.path().join(format!("trace.{}{ending}", format.name));
            let mut out = Output::create(&path, true).unwrap();
            out.write_all(&long_trace(format)).unwrap();
            out.close().unwrap();
            let mut trace = open(&path, &OpenOptions::default()).unwrap();
            assert_eq!(trace.by_ref().count(), 10_000);
            assert_eq!(trace.progress().share(), Some(1.0));
            let summary = trace.finish().unwrap();
            assert_eq!(summary.format.name, format.name);
            assert_eq!(summary.compression.map(|name| format!(".{name}")).unwrap_or_default(), ending);
        }
    }
}

#[test]
fn concatenated_members_and_frames_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let text = long_trace(Format::named("disksim").unwrap());
    for ending in ["gz", "xz", "zst"] {
        let mut whole = Vec::new();
        for half in [&text[..text.len() / 2], &text[text.len() / 2..]] {
            let path = folder.path().join(format!("half.{ending}"));
            let mut out = Output::create(&path, true).unwrap();
            out.write_all(half).unwrap();
            out.close().unwrap();
            whole.extend(std::fs::read(&path).unwrap());
        }
        let mut trace = Trace::from_reader(Cursor::new(whole), "whole", &OpenOptions::default()).unwrap();
        assert_eq!(trace.by_ref().count(), 10_000, "{ending}");
        trace.finish().unwrap();
    }
}

#[test]
fn losses_are_counted() {
    let format = Format::named("disksim").unwrap();
    let mut writer = Writer::new(format, Vec::new()).unwrap();
    let sound = Record {
        at: Instant::from_ns(5),
        took: Some(Duration::from_us(1)),
        device: 0,
        operation: Operation::Write,
        offset_bytes: 512,
        length_bytes: 512,
        durable: true,
    };
    for record in [
        sound,
        Record { at: Instant::from_ns(3), took: None, durable: false, ..sound },
        Record { operation: Operation::Trim, ..sound },
        Record { offset_bytes: 100, ..sound },
    ] {
        writer.push(&record).unwrap();
    }
    let (text, written) = writer.finish().unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "0.000000 0 1 1 0\n0.000000 0 1 1 0\n");
    let losses: Vec<_> = written.losses.into_iter().collect();
    assert_eq!(
        losses,
        [
            (Loss::Operation(Operation::Trim), 1),
            (Loss::Unaligned, 1),
            (Loss::Before, 1),
            (Loss::Took, 1),
            (Loss::Durable, 1),
        ]
    );
}

#[test]
fn existing_file_is_kept_and_failure_leaves_no_partial_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.trace");
    const OLD: &str = "0.000000 0 1 1 0\n";
    std::fs::write(&path, OLD).unwrap();
    let refusal = Output::create(&path, false).err().unwrap().to_string();
    assert!(refusal.contains("old.trace") && refusal.contains("there already"), "{refusal}");
    let mut out = Output::create(&path, true).unwrap();
    out.write_all(b"half").unwrap();
    drop(out);
    assert_eq!(std::fs::read(&path).unwrap(), OLD.as_bytes());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // Of two concurrent writers both files are complete, and only `force` overwrites the other.
    let (mut one, mut two) = (Output::create(&path, true).unwrap(), Output::create(&path, true).unwrap());
    one.write_all(OLD.repeat(2).as_bytes()).unwrap();
    two.write_all(OLD.repeat(3).as_bytes()).unwrap();
    two.close().unwrap();
    one.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), OLD.repeat(2).as_bytes());
    let fresh = folder.path().join("fresh.trace.gz");
    let (one, two) = (Output::create(&fresh, false).unwrap(), Output::create(&fresh, false).unwrap());
    one.close().unwrap();
    assert_eq!(two.close().unwrap(), Some(folder.path().join("fresh-1.trace.gz")));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    // What came to the path meanwhile, and is no trace, is kept even with `force`.
    let mut out = Output::create(&path, true).unwrap();
    out.write_all(OLD.as_bytes()).unwrap();
    std::fs::write(&path, "notes").unwrap();
    let beside = out.close().unwrap().expect("another path");
    assert_eq!(std::fs::read(beside).unwrap(), OLD.as_bytes());
    assert!(matches!(Output::create(&path, true), Err(WriteError::HoldsOther { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"notes");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    assert!(Output::create(folder.path(), true).err().unwrap().to_string().contains("is a directory"));
}
