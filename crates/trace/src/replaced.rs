//! Existing files that a new trace may replace.
//!
//! `--force` is for traces. A file with anything else in it, such as the image of a drive, a database or a text, is not
//! replaced, whatever its name: only a file without content, a trace of a known format, or a recording of transactions.

use crate::error::OpenError;
use crate::format::Format;
use crate::packing::packing;
use crate::registry::{is_recording, unrecognised};
use crate::source::Source;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Returns what the file at `path` holds where a trace may not replace it, as the continuation of a sentence; `None`
/// where a trace may, and where there is no file.
///
/// # Errors
/// The system's error where the file cannot be read.
pub(crate) fn holds_other(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Data that only begins like compressed data is damaged from its first byte on.
    let (head, is_damaged) = match Source::new(Box::new(file), || false) {
        Ok(source) => (source.head, source.is_damaged),
        Err(_) => (Vec::new(), true),
    };
    if let Some(packing) = packing(&head) {
        return Ok(Some(format!(": it is {packing}")));
    }
    let is_trace = match Format::recognised(&head, &path.to_string_lossy()) {
        Ok(_) | Err(OpenError::Ambiguous { .. }) => true,
        Err(_) => is_recording(&head),
    };
    let is_replaceable = is_trace || head.is_empty() && !is_damaged;
    Ok((!is_replaceable).then(|| unrecognised(&head)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_recordings_and_empty_files_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let holds = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            holds_other(&path).unwrap()
        };
        let trace = b"0.000000 0 1 1 0\n0.000000 0 8 8 1\n";
        assert_eq!(holds_other(&dir.path().join("none")).unwrap(), None);
        assert_eq!(holds("empty", b""), None);
        assert_eq!(holds("notes.txt", trace), None, "the content decides, not the name");
        assert_eq!(holds("a.pages", b"flashlane pages\0\x01"), None);
        assert_eq!(holds("a.iolog", b"fio version 2 iolog\n"), None);
        assert_eq!(holds("a.gz.zst", &zstd::encode_all(&trace[..], 1).unwrap()), None);
        assert_eq!(holds("empty.zst", &zstd::encode_all(&b""[..], 1).unwrap()), None);

        let mut ext4 = vec![0; 1 << 20];
        ext4[1080..1082].copy_from_slice(&0xef53_u16.to_le_bytes());
        let mut tar = vec![0; 1024];
        tar[257..263].copy_from_slice(b"ustar\0");
        for (name, bytes, word) in [
            ("ext4.msr", &ext4[..], "begins with"),
            ("zeros.trace", &[0; 4096], "begins with"),
            ("tar.spc", &tar, "a tar archive"),
            ("notes.spc", b"Dear diary,\n", "Dear diary"),
            ("notes.spc.zst", &zstd::encode_all(&b"Dear diary,\n"[..], 1).unwrap(), "Dear diary"),
            ("noise.gz", b"\x1f\x8bnoise and no gz", "no line"),
            ("lines.spc", b"\n\n\n", "no line"),
        ] {
            let found = holds(name, bytes);
            assert!(found.as_ref().is_some_and(|found| found.contains(word)), "{name}: {found:?}");
        }
    }
}
