//! Unsupported archives and compressions, with their magic numbers and endings. They are refused by content, since the
//! first lines in an archive may look like a trace, and as output names, since such a file would not be what its name
//! says.

struct Packing {
    /// Description of a file.
    name: &'static str,
    endings: &'static [&'static str],
    /// Offsets and bytes of its magic numbers; brotli has none.
    magics: &'static [(usize, &'static [u8])],
}

const PACKINGS: &[Packing] = &[
    Packing {
        name: "a tar archive",
        endings: &["tar", "taz", "tbz", "tbz2", "tgz", "tlz", "txz", "tzst"],
        // The second is GNU's, from before the standard.
        magics: &[(257, b"ustar\0"), (257, b"ustar  \0")],
    },
    Packing { name: "a zip archive", endings: &["zip"], magics: &[(0, b"PK\x03\x04")] },
    Packing { name: "a 7z archive", endings: &["7z"], magics: &[(0, b"7z\xbc\xaf\x27\x1c")] },
    Packing { name: "a rar archive", endings: &["rar"], magics: &[(0, b"Rar!\x1a\x07")] },
    // After BZh and a digit.
    Packing { name: "compressed by bzip2", endings: &["bz", "bz2"], magics: &[(4, b"1AY&SY")] },
    Packing { name: "compressed by lz4", endings: &["lz4"], magics: &[(0, b"\x04\x22\x4d\x18")] },
    Packing { name: "compressed by lzip", endings: &["lz"], magics: &[(0, b"LZIP\x01")] },
    // The usual properties (lc=3, lp=0, pb=2), and a dictionary of a multiple of 64 KiB.
    Packing { name: "compressed as lzma", endings: &["lzma"], magics: &[(0, b"\x5d\0\0")] },
    Packing { name: "compressed by lzop", endings: &["lzo"], magics: &[(0, b"\x89LZO\0\r\n\x1a\n")] },
    Packing { name: "compressed by compress", endings: &["z"], magics: &[(0, b"\x1f\x9d")] },
    Packing { name: "compressed by brotli", endings: &["br"], magics: &[] },
];

/// Recognizes an archive or compression by its first bytes.
pub(crate) fn packing(head: &[u8]) -> Option<&'static str> {
    let is = |(at, magic): &(usize, &[u8])| head.get(*at..at + magic.len()) == Some(*magic);
    PACKINGS.iter().find(|packing| packing.magics.iter().any(is)).map(|packing| packing.name)
}

/// Returns whether an ending is that of an archive or unsupported compression.
pub(crate) fn is_packed(ending: &str) -> bool {
    PACKINGS.iter().any(|packing| is_among(ending, packing.endings))
}

/// Returns whether an ending is known, in any case.
pub(crate) fn is_among(ending: &str, known: &[&str]) -> bool {
    known.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_recognized_by_content() {
        for (head, name) in [
            (&b"LZIP\x01\x0c"[..], Some("compressed by lzip")),
            (b"Rar!\x1a\x07\0", Some("a rar archive")),
            (b"\x1f\x9d\x90", Some("compressed by compress")),
            (b"\x5d\0\0\x80\0", Some("compressed as lzma")),
            (b"BZh91AY&SY", Some("compressed by bzip2")),
            (b"\x1f\x8b\x08", None),
            (b"\xfd7zXZ\0", None),
            (b"LZIP", None),
            (b"", None),
        ] {
            assert_eq!(packing(head), name, "{head:?}");
        }
    }
}
