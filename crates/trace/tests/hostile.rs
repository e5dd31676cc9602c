//! Faulty traces and their refusals: each names the line, the value given, and the values allowed.

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
fn truncated_compressed_file_is_damaged_not_empty() {
    for (cut, name) in [(&b"\x1f\x8b"[..], "gz"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zst")] {
        let error = opened(cut, &OpenOptions::default()).err().unwrap().to_string();
        assert!(error.contains(&format!("the {name} data ends early or is damaged")), "{error}");
    }
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
fn backward_times_are_counted_for_the_selected_device() {
    // Device 5 is behind device 3 from the first; among its own requests only the last is late.
    let text = b"5.0 3 1 8 0\n1.0 5 1 8 0\n2.0 3 1 8 0\n1.5 5 1 8 0\n1.2 5 1 8 0\n";
    for (device, expected) in [(Some(3), (1, 3, 3_000)), (Some(5), (1, 5, 300)), (None, (4, 2, 4_000))] {
        let options = OpenOptions { device, every_device: device.is_none(), ..named("disksim") };
        let mut trace = opened(text, &options).unwrap();
        trace.by_ref().for_each(drop);
        let backward = trace.finish().unwrap().backward.unwrap();
        let longest_us = backward.longest.as_ns() / 1000;
        assert_eq!((backward.count, backward.first_line, longest_us), expected, "{device:?}");
    }
    // Events become requests once they are complete; the line is that of the arrival.
    let text = "8,0 1 1 5.0 0 D R 8 + 8 [p]\n8,0 1 2 4.0 0 D R 64 + 8 [p]\n8,0 1 3 6.0 0 C R 8 + 8 [0]\n\
                8,0 1 4 6.5 0 C R 64 + 8 [0]\n";
    let (records, summary) = read("blkparse", text.as_bytes());
    assert_eq!((records.len(), summary.backward.unwrap().first_line), (2, 2));
}

#[test]
fn device_is_selected_by_number() {
    let text = b"0.5 3 1 8 0\n0.6 5 1 8 0\n0.7 3 1 8 1\n";
    let error = opened(text, &named("disksim")).err().unwrap().to_string();
    assert!(error.contains("several devices, 3, 5"), "{error}");
    let only = |device| OpenOptions { device: Some(device), ..named("disksim") };
    let mut trace = opened(text, &only(3)).unwrap();
    assert_eq!(trace.by_ref().count(), 2);
    assert_eq!(trace.finish().unwrap().devices.len(), 2);
    let error = opened(text, &only(4)).err().unwrap().to_string();
    assert!(error.contains("no request of device 4") && error.contains("it has 3, 5"), "{error}");
    let every = OpenOptions { every_device: true, ..named("disksim") };
    assert_eq!(opened(text, &every).unwrap().count(), 3);
}

#[test]
fn second_device_far_into_the_trace_ends_it() {
    let mut text = "0.5 3 1 8 0\n".repeat(100_000);
    text += "0.6 5 1 8 0\n";
    let mut trace = opened(text.as_bytes(), &named("disksim")).unwrap();
    assert!(trace.by_ref().count() < 100_001);
    assert!(matches!(trace.finish(), Err(ReadError::SeveralDevices { devices, .. }) if devices.len() == 2));
}

#[test]
fn number_of_devices_is_bounded() {
    let text: String = (0..70_000_u32).map(|n| format!("0.5 {} 1 8 0\n", u32::MAX - n)).collect();
    let every = OpenOptions { every_device: true, ..named("disksim") };
    let mut trace = opened(text.as_bytes(), &every).unwrap();
    assert_eq!(trace.by_ref().count(), 65_536);
    let summary = trace.finish().unwrap();
    assert_eq!(summary.refused, 70_000 - 65_536);
    let said = summary.refusals[0].to_string();
    assert!(said.contains("of higher numbers there are 65536 already"), "{said}");
    // Low numbers are counted in the table.
    let text: String = (0..140_000_u32).map(|n| format!("0.5 {n} 1 8 0\n")).collect();
    let mut trace = opened(text.as_bytes(), &every).unwrap();
    assert_eq!(trace.by_ref().count(), 131_072);
    let said = trace.finish().unwrap().refusals[0].to_string();
    assert!(
        said.contains("the device is '131072', must be below 65536, or one of those before it"),
        "{said}"
    );
}

#[test]
fn names_beyond_the_limit_are_refused() {
    let every = |format| OpenOptions { every_device: true, ..named(format) };
    let hosts: String = (0..65_537).map(|n| format!("1,h{n},0,Read,0,512,1\n")).collect();
    let files: String = (0..65_537).map(|n| format!("/f{n} read 0 512\n")).collect();
    for (format, text, given) in [
        ("msr", hosts, "line 65537: the host is 'h65536', must be one of those before it: there are 65536"),
        (
            "iolog2",
            files,
            "line 65537: the file is '/f65536', must be one of those before it: there are 65536",
        ),
    ] {
        let mut trace = opened(text.as_bytes(), &every(format)).unwrap();
        assert_eq!(trace.by_ref().count(), 65_536, "{format}");
        let summary = trace.finish().unwrap();
        assert_eq!(summary.refused, 1);
        assert!(summary.refusals[0].to_string().starts_with(given), "{}", summary.refusals[0]);
    }
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
fn archive_is_refused_despite_valid_lines() {
    for (at, magic, what) in [
        (257, &b"ustar\x0000"[..], "a tar archive"),
        (257, b"ustar  \0", "a tar archive"),
        (0, b"PK\x03\x04", "a zip archive"),
        (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (0, b"BZh91AY&SY", "compressed by bzip2"),
        (0, b"\x04\"M\x18", "compressed by lz4"),
    ] {
        let mut packed = vec![0; 512];
        packed[at..at + magic.len()].copy_from_slice(magic);
        packed.extend(text());
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&packed).unwrap();
        for bytes in [packed, gz.finish().unwrap()] {
            for options in [OpenOptions::default(), named("disksim")] {
                let error = opened(&bytes, &options).err().unwrap().to_string();
                for part in ["'trace'", what, "unpack it first", "gz, xz and zst"] {
                    assert!(error.contains(part), "{error}");
                }
            }
        }
    }
    // Without the archive's magic number, the same lines are a trace.
    let mut lines = vec![b'#'; 512];
    lines[257..262].copy_from_slice(b"ustar");
    lines.push(b'\n');
    lines.extend(text());
    assert_eq!(opened(&lines, &OpenOptions::default()).unwrap().count(), 30_000);
}

/// A DiskSim trace of 30,000 lines with incompressible parts.
fn text() -> Vec<u8> {
    let mut text = Vec::new();
    let mut place = 1_u64;
    for number in 0..30_000 {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        writeln!(text, "{number}.{:06} 0 {} 8 {}", place >> 45, place >> 30, place >> 63).unwrap();
    }
    text
}

#[test]
fn damaged_compression_reports_position_and_keeps_requests() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["gz", "xz", "zst"] {
        let path = folder.path().join(format!("trace.{ending}"));
        let mut out = Output::create(&path, true).unwrap();
        out.write_all(&text()).unwrap();
        out.close().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x55;
        let mut trailed = whole.clone();
        trailed.extend(b"this is not compressed");
        for (what, bytes) in
            [("cut", &whole[..whole.len() / 2]), ("flipped", &flipped), ("trailed", &trailed)]
        {
            let mut trace = opened(bytes, &OpenOptions::default())
                .unwrap_or_else(|error| panic!("{ending} {what}: {error}"));
            let records = trace.by_ref().count() as u64;
            let summary = trace.summary();
            assert!(!summary.complete, "{ending} {what}");
            let error = trace.finish().unwrap_err();
            let said = error.to_string();
            let is = match (ending, what) {
                ("gz", "trailed") => "behind the gz data there is something else",
                _ => &format!("the {ending} data ends early or is damaged"),
            };
            assert!(said.contains(is), "{said}");
            let ReadError::Damaged { records: told, units, .. } = error else { panic!("{said}") };
            assert_eq!((told, records), (records, summary.records), "{ending} {what}");
            assert!(said.contains(&format!("after {units} lines")), "{said}");
            assert!(records > 100 || what == "flipped", "{ending} {what}: {records}");
        }
        // No content can be read.
        let error = opened(&whole[..20], &named("disksim")).err().unwrap().to_string();
        assert!(error.contains(&format!("the {ending} data")), "{error}");
    }
}

#[test]
fn file_cut_within_its_magic_number_is_recognized() {
    for (magic, name) in [(&b"\xfd7zXZ"[..], "xz"), (b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f", "zst")] {
        for length in 2..=magic.len() {
            let error = opened(&magic[..length], &OpenOptions::default()).err().unwrap().to_string();
            assert!(error.contains(&format!("the {name} data ends early")), "{error}");
        }
    }
}

#[test]
fn gz_members_may_be_padded_with_zeros() {
    let whole = text();
    let gz = |text: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(text).unwrap();
        gz.finish().unwrap()
    };
    // More than one read.
    for zeros in [0, 1, 511, 300_000] {
        let half = whole.len() / 2;
        let packed = [gz(&whole[..half]), vec![0; zeros], gz(&whole[half..]), vec![0; zeros]].concat();
        let mut trace = opened(&packed, &OpenOptions::default()).unwrap();
        assert_eq!(trace.by_ref().count(), 30_000);
        assert!(trace.finish().unwrap().complete);
    }
    for rest in [&b"x"[..], b"this is long enough for a header", b"\x1f\x8c and more than a header"] {
        let members = [gz(&whole), vec![0; 9]].concat();
        let mut trace = opened(&[&members, rest].concat(), &OpenOptions::default()).unwrap();
        assert_eq!(trace.by_ref().count(), 30_000);
        let said = trace.finish().unwrap_err().to_string();
        let place = format!("no gz member begins behind its first {} bytes", members.len());
        assert!(
            said.contains("something else") && said.contains(&place) && !said.contains("early"),
            "{said}"
        );
    }
    // An incomplete member has ended early.
    let mut trace = opened(&[&gz(&whole)[..], b"\x1f\x8b"].concat(), &OpenOptions::default()).unwrap();
    assert_eq!(trace.by_ref().count(), 30_000);
    assert!(trace.finish().unwrap_err().to_string().contains("the gz data ends early"));
}

/// Returns a byte at a time.
struct Bytewise(Cursor<Vec<u8>>);

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn gz_member_is_recognized_when_read_byte_by_byte() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"0.5 0 1 8 0\n").unwrap();
    let member = gz.finish().unwrap();
    let source = Bytewise(Cursor::new(member.repeat(3)));
    let mut trace = Trace::from_reader(source, "bytewise", &named("disksim")).unwrap();
    assert_eq!(trace.by_ref().count(), 3);
    assert!(trace.finish().unwrap().complete);
}

#[test]
fn memory_limit_is_not_reported_as_damage() {
    // A frame with a window of 2 GiB (RFC 8878, 3.1.1.1.2), and an empty last block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00];
    let error = opened(&frame, &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("takes more than 256 MiB of memory") && !error.contains("damaged"), "{error}");
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
    let told: Vec<_> =
        records.iter().map(|r| (r.at.as_ns() / 1_000_000, r.offset_bytes / 512, r.took)).collect();
    assert_eq!(told, [(1, 8, None), (3, 16, Some(Duration::from_ms(3)))]);
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
    let told: Vec<_> = records.iter().map(|record| (record.operation, record.at.as_ns())).collect();
    assert_eq!(told, [(Operation::Flush, 7_000_000)]);
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
            matches!(error, ReadError::Stopped { records: told, .. } if told as usize == records),
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
