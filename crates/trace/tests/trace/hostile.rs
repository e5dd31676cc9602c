//! Faulty traces and their refusals: each names the line, the value given, and the values allowed.

mod compressed;
mod devices;

use flashlane_base::{Duration, Instant, Operation};
use flashlane_trace::{OpenError, OpenOptions, Output, ReadError, Record, Summary, Trace, open};
use std::io::{Cursor, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

fn opened(text: &[u8], options: &OpenOptions<'_>) -> Result<Trace, OpenError> {
    Trace::from_reader(Cursor::new(text.to_vec()), "trace", options)
}

fn named(format: &str) -> OpenOptions<'_> {
    OpenOptions { format: Some(format), ..OpenOptions::default() }
}

fn read(format: &str, text: &[u8]) -> (Vec<Record>, Summary) {
    let mut trace = opened(text, &named(format)).unwrap_or_else(|error| panic!("{error}"));
    let records = trace.by_ref().collect();
    (records, trace.finish().unwrap())
}

/// A faulty line, and the expected parts of the message.
type Wrong = (&'static str, &'static [&'static str]);

/// A valid line of each text format, and faulty ones.
const LINES: &[(&str, &str, &[Wrong])] = &[
    (
        "disksim",
        "0.5 0 100 8 1",
        &[
            ("0.5 0 100 8", &["rest of the line", "missing"]),
            ("0.5 0 100 8 ", &["the flags", "missing"]),
            ("0.5 0", &["rest of the line is missing"]),
            ("-0.5 0 100 8 1", &["arrival time", "'-0.5'", "without a sign"]),
            ("0.5 0 -100 8 1", &["block number", "'-100'"]),
            ("1e3 0 100 8 1", &["arrival time", "'1e3'", "exponent"]),
            ("99999999999999999999999 0 100 8 1", &["arrival time", "584 years"]),
            ("0.5 0 99999999999999999999999 8 1", &["block number", "below 2^64"]),
            ("0.5 0 36028797018963968 8 1", &["address", "8 EiB"]),
            ("0.5 0 18014398509481983 8 1", &["address", "8 EiB"]),
            ("0.5 4294967296 100 8 1", &["device number", "below 2^32"]),
            ("0.5 0 100 0 1", &["the length", "only a flush"]),
            ("0.5 0 100 8 x", &["the flags", "'x'", "hexadecimal"]),
            ("0.5 0 100 8 1ffffffff", &["the flags", "32 bits"]),
            ("nan 0 100 8 1", &["arrival time", "'nan'"]),
            ("0.5,0,100,8,1", &["in the line", "',0,100,8,1'"]),
        ],
    ),
    (
        "mqsim",
        "500 0 100 8 1",
        &[
            ("500 0 100 8 2", &["the type", "'2'", "0 for a write or 1 for a read"]),
            ("0.5 0 100 8 1", &["arrival time", "'0.5'"]),
            ("500 0 100 8 1 7", &["what follows", "'7'"]),
        ],
    ),
    (
        "msr",
        "128166372003061629,usr,0,Read,7014609920,24576,41286",
        &[
            (
                "128166372003061629,usr,0,Erase,7014609920,24576,41286",
                &["the type", "'Erase'", "'Read' or 'Write'"],
            ),
            ("18446744073709551615,usr,0,Read,0,512,1", &["the time", "file time"]),
            ("128166372003061629,,0,Read,0,512,1", &["the host", "missing"]),
            ("128166372003061629,usr,70000,Read,0,512,1", &["disk number", "below 65536"]),
            ("128166372003061629,usr,0,Read,0,0,1", &["the length"]),
            ("128166372003061629,usr,0,Read,18446744073709551615,512,1", &["address", "8 EiB"]),
            ("128166372003061629,usr,0,Read,70146", &["rest of the line"]),
        ],
    ),
    (
        "iolog2",
        "/dev/sda read 0 4096",
        &[
            ("/dev/sda erase 0 4096", &["the action", "'erase'", "read, write, trim"]),
            ("/dev/sda read 0", &["rest of the line"]),
            ("/dev/sda wait", &["the wait", "missing"]),
            ("/dev/sda read 0 0", &["the length"]),
        ],
    ),
    (
        "iolog3",
        "7 /dev/sda write 0 4096",
        &[
            ("7 /dev/sda wait 5", &["the action", "version 3"]),
            ("-7 /dev/sda write 0 4096", &["the time", "'-7'"]),
            ("18446744073709551615 /dev/sda write 0 4096", &["the time", "2^64 ns"]),
        ],
    ),
    (
        "spc",
        "0,20941264,8192,W,0.551706",
        &[
            ("0,20941264,8192,X,0.551706", &["the opcode", "'X'", "'R'"]),
            ("0,20941264,0,W,0.5", &["the length"]),
            ("0,20941264,8192,W,2 448003", &["what follows", "'448003'"]),
        ],
    ),
    (
        "alibaba",
        "419,W,8792731648,16384,1577808144360767",
        &[
            ("419,T,8792731648,16384,1577808144360767", &["the opcode", "'T'"]),
            ("419,W,8792731648,16384,99999999999999999", &["the time", "2^64 ns"]),
        ],
    ),
    (
        "tencent",
        "1538323200,12910952,128,0,1283",
        &[
            ("1538323200,12910952,128,2,1283", &["the type", "'2'", "0 for a read or 1 for a write"]),
            ("1538323200,12910952,128,0,", &["the volume", "missing"]),
            ("1538323201.5,12910952,128,0,1283", &["the time", "'1538323201.5'", "a whole number"]),
            ("18446744074,12910952,128,0,1283", &["the time", "2^64 ns"]),
        ],
    ),
    (
        "blkparse",
        "8,0 1 1 0.000000001 697 D R 1000 + 8 [x]",
        &[
            ("8,0 1 1 0.000000001 697 Y R 1000 + 8 [x]", &["the action", "'Y'"]),
            ("8,0 1 1 0.000000001 697 D Z 1000 + 8 [x]", &["RWBS", "'Z'"]),
            ("8,1048576 1 1 0.000000001 697 D R 1000 + 8 [x]", &["the device", "below 4096"]),
            ("8,0 1 1 0.000000001 697 D R 99999999999999999 + 8 [x]", &["address", "8 EiB"]),
            (
                "8,0 1 1 0.000000001 697 D W -16 + 8 [x]",
                &["the sector", "'-16'", "without a sign", "[process]"],
            ),
            ("8,0 1 1 0.000000001 697 D W x16 + 8 [x]", &["the sector", "'x16'"]),
            ("8,0 1 1 0.000000001 697 D W 16 - 8 [x]", &["follows the sector", "'-'", "'+ SECTORS'"]),
            ("8,0 1 1 0.000000001 697 D W 16 + -8 [x]", &["number of sectors", "'-8'", "without a sign"]),
            ("8,0 1 1 0.000000001 697 D W 16 + 0 [x]", &["the length", "'0'", "only a flush"]),
            ("8,0 1 1 0.000000001 697 Q D 16 + 0 [x]", &["the length", "'0'"]),
        ],
    ),
];

fn header(format: &str) -> &str {
    match format {
        "iolog2" => "fio version 2 iolog\n",
        "iolog3" => "fio version 3 iolog\n",
        _ => "",
    }
}

#[test]
fn faulty_line_is_named_with_its_fault() {
    for (format, good, wrong) in LINES {
        for (line, parts) in *wrong {
            let text = format!("{}{good}\n{line}\n{good}\n", header(format));
            let (records, summary) = read(format, text.as_bytes());
            assert_eq!((records.len(), summary.refused), (2, 1), "{format}: {line}");
            let said = summary.refusals[0].to_string();
            let number = if header(format).is_empty() { 2 } else { 3 };
            assert!(said.starts_with(&format!("line {number}: ")), "{said}");
            for part in *parts {
                assert!(said.contains(part), "{format}: '{line}' is answered without '{part}':\n{said}");
            }
        }
    }
}

#[test]
fn trace_without_valid_lines_is_refused_with_reasons() {
    for (format, _, wrong) in LINES {
        let text = format!("{}{}\n", header(format), wrong[0].0);
        let error = opened(text.as_bytes(), &named(format)).err().unwrap().to_string();
        assert!(error.contains("no request") && error.contains("1 of them refused"), "{error}");
        assert!(error.contains(wrong[0].1[0]), "{error}");
    }
    for empty in [&b""[..], b"\n\n# only a comment\n"] {
        let error = opened(empty, &named("disksim")).err().unwrap();
        assert!(matches!(error, OpenError::Read { source: ReadError::Nothing { .. }, .. }), "{error}");
    }
    assert!(opened(b"", &OpenOptions::default()).err().unwrap().to_string().contains("it is empty"));
}

#[test]
fn line_endings_may_be_mixed() {
    for (format, good, _) in LINES {
        let (one, _) = read(format, format!("{}{good}\n", header(format)).as_bytes());
        let text = format!("{}{good}\r\n{good}\r{good}\n\r\n\r{good}\n\n\r\r{good}", header(format));
        let (records, summary) = read(format, text.as_bytes());
        assert_eq!(records, vec![one[0]; 5], "{format}");
        assert_eq!(summary.refused, 0);
        let begun = u64::from(!header(format).is_empty());
        assert_eq!((summary.lines, summary.skipped - begun), (begun + 10, 5), "{format}");
        assert!(summary.ends_inside_line);
    }
}

#[test]
fn lines_do_not_depend_on_read_sizes() {
    /// Returns a few bytes at a time.
    struct Drops(Cursor<Vec<u8>>, usize);
    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = self.1 % 7 + 1;
            let length = buffer.len().min(self.1);
            self.0.read(&mut buffer[..length])
        }
    }
    for (format, good, _) in LINES {
        let text = format!("{}{}", header(format), format!("{good}\r\n").repeat(100));
        let source = Drops(Cursor::new(text.clone().into_bytes()), 0);
        let mut trace = Trace::from_reader(source, "drops", &named(format)).unwrap();
        let records: Vec<Record> = trace.by_ref().collect();
        assert_eq!((records, trace.finish().unwrap().lines), {
            let (records, summary) = read(format, text.as_bytes());
            (records, summary.lines)
        });
    }
}

#[test]
fn overlong_line_is_refused_alone() {
    for ending in ["\n", "\r", "\r\n"] {
        let long = "9".repeat(1 << 20);
        let text = format!("0.5 0 1 8 0{ending}{long}{ending}0.6 0 1 8 0{ending}");
        let (records, summary) = read("disksim", text.as_bytes());
        assert_eq!((records.len(), summary.lines, summary.refused), (2, 3, 1), "{ending:?}");
        let said = summary.refusals[0].to_string();
        assert_eq!(said, "line 2: it is longer than 256 KiB, the most that a line may have");
    }
}

#[test]
fn byte_order_mark_and_header_are_skipped() {
    let (records, summary) =
        read("msr", "\u{feff}Timestamp,Hostname,DiskNumber\n1,h,0,Read,0,512,1\n".as_bytes());
    assert_eq!((records.len(), summary.skipped, summary.refused), (1, 1, 0));
    let (records, _) = read("disksim", "\u{feff}0.5 0 1 8 0\n".as_bytes());
    assert_eq!(records.len(), 1);
}

#[test]
fn backward_times_are_counted_and_kept() {
    let (records, summary) = read("disksim", b"5.0 0 1 8 0\n3.0 0 1 8 0\n4.0 0 1 8 0\n1.5 0 1 8 0\n");
    assert_eq!(records[1].at, Instant::from_ns(3_000_000));
    let backward = summary.backward.unwrap();
    assert_eq!((backward.count, backward.first_line, backward.longest), (3, 2, Duration::from_us(3500)));
    let doubt = |summary: Summary| summary.doubts().next().unwrap().to_string();
    assert!(doubt(summary).starts_with("3 requests are earlier than one that stands before them, by "));
    let (_, summary) = read("disksim", b"5.0 0 1 8 0\n3.0 0 1 8 0\n");
    assert!(doubt(summary).starts_with("1 request is earlier than one that stands before it, by "));
}

#[test]
fn ambiguous_formats_are_listed() {
    let whole_numbers = b"500 0 100 8 1\n600 0 108 8 0\n";
    let error = opened(whole_numbers, &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().contains("disksim, mqsim"), "{error}");
    for (name, format) in [("x.mqsim", "mqsim"), ("x.mqsim.gz", "mqsim"), ("x.disksim", "disksim")] {
        let trace = Trace::from_reader(Cursor::new(whole_numbers), name, &OpenOptions::default()).unwrap();
        assert_eq!(trace.format().name, format);
    }
    let error = opened(b"once upon a time\n", &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("'once upon a time'") && error.contains("disksim, blkparse"), "{error}");
    let error = opened(whole_numbers, &named("xml")).err().unwrap().to_string();
    assert!(error.contains("'xml'") && error.contains("tencent"), "{error}");
    let error = open("/no/such/trace".as_ref(), &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("/no/such/trace"), "{error}");
}

#[test]
fn utf_16_is_named_in_the_refusal() {
    let text: Vec<u8> = "\u{feff}0.5 0 1 8 0\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = opened(&text, &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("UTF-16"), "{error}");
}

#[test]
fn block_events_without_completion_are_requests() {
    let line = |ms: u32, action: &str, sector: u32| {
        format!("8,0 1 1 0.{ms:03}000000 7 {action} R {sector} + 8 [x]\n")
    };
    // Never completed; completed though never seen; issued twice because it was put back; only queued.
    let text = [line(1, "D", 8), line(2, "C", 80), line(3, "D", 16), line(4, "R", 16), line(5, "D", 16)]
        .concat()
        + &[line(6, "C", 16), line(7, "Q", 24)].concat();
    let (records, summary) = read("blkparse", text.as_bytes());
    let found: Vec<_> =
        records.iter().map(|r| (r.at.as_ns() / 1_000_000, r.offset_bytes / 512, r.took)).collect();
    assert_eq!(found, [(1, 8, None), (3, 16, Some(Duration::from_ms(3)))]);
    assert_eq!(summary.skipped, 5);
    // A device without a queue: two are merged, one is not completed.
    let text = [line(1, "Q", 8), line(2, "Q", 16), line(3, "Q", 96)].concat()
        + "8,0 1 1 0.005000000 7 C R 8 + 16 [0]\n";
    let (records, _) = read("blkparse", text.as_bytes());
    let took: Vec<_> = records.iter().map(|record| record.took).collect();
    assert_eq!(took, [Some(Duration::from_ms(4)), Some(Duration::from_ms(3)), None]);
    assert!(records.iter().all(|record| record.operation == Operation::Read));
}

#[test]
fn block_events_without_sector_are_flushes_or_skipped() {
    let text = "8,0 1 1 0.001 7 D R 36 (12 00 00 00 24 00) [multipathd]\n\
                8,0 1 2 0.002 7 C R (12 00 00 00 24 00) [0]\n\
                8,0 1 3 0.003 7 D W [x]\n\
                8,0 1 4 0.004 7 D R (   12345) [x]\n\
                8,0 1 5 0.005 7 C N 0 [0]\n\
                8,0 1 6 0.006 7 Q FWS [x]\n\
                8,0 1 7 0.007 7 D FWS 0 + 0 [x]\n";
    let (records, summary) = read("blkparse", text.as_bytes());
    let found: Vec<_> = records.iter().map(|record| (record.operation, record.at.as_ns())).collect();
    assert_eq!(found, [(Operation::Flush, 7_000_000)]);
    assert_eq!((summary.refused, summary.skipped), (0, 6));
}

#[test]
fn incomplete_request_does_not_hold_up_others() {
    let mut text = String::from("8,0 1 1 0.000000000 7 D W 8 + 8 [x]\n");
    for n in 1..=40_000_u32 {
        let at = format!("{}.{:09}", n / 1000, n % 1000 * 1_000_000);
        text += &format!("8,0 1 1 {at} 7 D R {} + 8 [x]\n8,0 1 1 {at} 7 C R {} + 8 [0]\n", n * 8, n * 8);
    }
    let (records, _) = read("blkparse", text.as_bytes());
    assert_eq!(records.len(), 40_001);
    assert_eq!((records[0].took, records[40_000].took), (None, Some(Duration::ZERO)));
}

#[test]
fn endless_input_without_requests_can_be_stopped() {
    static STOP: AtomicBool = AtomicBool::new(false);
    /// The beginning once, then the rest again and again; wants to be stopped after some reads.
    struct Endless {
        beginning: Cursor<Vec<u8>>,
        rest: Vec<u8>,
        at: usize,
        reads: usize,
    }
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.reads += 1;
            assert!(self.reads <= 100, "reading does not stop");
            STOP.store(self.reads == 100, Ordering::Relaxed);
            let read = self.beginning.read(buffer)?;
            for byte in &mut buffer[read..] {
                *byte = self.rest[self.at];
                self.at = (self.at + 1) % self.rest.len();
            }
            Ok(buffer.len())
        }
    }
    let event = [&b"\x07tae"[..], &[0; 44]].concat();
    let good = b"0.5 3 1 8 0\n";
    let other = OpenOptions { device: Some(4), ..named("disksim") };
    for (beginning, rest, options, records) in [
        (&b""[..], &b"# a comment\n"[..], named("disksim"), 0),
        (b"", b"no request at all\n", named("msr"), 0),
        (b"", b"9", named("disksim"), 0),
        (b"", good, other, 0),
        (good, b"\n", named("disksim"), 1),
        (b"", &event, named("blktrace"), 0),
        (b"", b"\0", named("blktrace"), 0),
    ] {
        STOP.store(false, Ordering::Relaxed);
        let options = OpenOptions { stop: Some(|| STOP.load(Ordering::Relaxed)), ..options };
        let source = Endless { beginning: Cursor::new(beginning.into()), rest: rest.into(), at: 0, reads: 0 };
        let error = match Trace::from_reader(source, "endless", &options) {
            Ok(mut trace) => {
                assert_eq!(trace.by_ref().count(), records);
                trace.finish().unwrap_err()
            }
            Err(OpenError::Read { name, source }) if name == "endless" => source,
            Err(error) => panic!("{error}"),
        };
        assert!(
            matches!(error, ReadError::Stopped { records: found, .. } if found as usize == records),
            "{error}"
        );
    }
}

#[test]
fn stopped_open_reports_the_stop_not_the_format() {
    let options = OpenOptions { stop: Some(|| true), ..OpenOptions::default() };
    let error = opened(b"neither fish nor fowl", &options).err().unwrap();
    assert!(matches!(error, OpenError::Read { source: ReadError::Stopped { .. }, .. }), "{error}");
}
