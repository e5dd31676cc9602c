//! Damaged, cut and padded compression, and archives.

use super::*;

#[test]
fn truncated_compressed_file_is_damaged_not_empty() {
    for (cut, name) in [(&b"\x1f\x8b"[..], "gz"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zst")] {
        let error = opened(cut, &OpenOptions::default()).err().unwrap().to_string();
        assert!(error.contains(&format!("the {name} data ends early or is damaged")), "{error}");
    }
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
            let ReadError::Damaged { records: complete, units, .. } = error else { panic!("{said}") };
            assert_eq!((complete, records), (records, summary.records), "{ending} {what}");
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
