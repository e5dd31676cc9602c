//! Compressions: which there are, by which bytes a file of one begins, and by which endings its name.
//!
//! What is read is told by its bytes, whatever it is called; what is written is compressed as its name ends. Endings
//! mean the same in upper case.

use crate::packing::{is_among, is_packed};
use std::path::Path;

/// A compression that is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gz,
    Xz,
    Zstd,
}

impl Compression {
    const ALL: [Self; 3] = [Self::Gz, Self::Xz, Self::Zstd];

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.endings()[0]
    }

    /// How names end.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Gz => &["gz"],
            Self::Xz => &["xz"],
            Self::Zstd => &["zst", "zstd"],
        }
    }

    /// How content of it begins.
    pub fn magic(self) -> &'static [u8] {
        match self {
            Self::Gz => b"\x1f\x8b",
            Self::Xz => b"\xfd7zXZ\0",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
        }
    }

    /// That of content that begins so; two bytes are enough to know one that was cut within its magic number.
    pub fn of_content(first: &[u8]) -> Option<Self> {
        let is = |magic: &[u8]| first.starts_with(magic) || first.len() >= 2 && magic.starts_with(first);
        Self::ALL.into_iter().find(|compression| is(compression.magic()))
    }

    /// That of names that end so.
    pub fn of_ending(ending: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| is_among(ending, compression.endings()))
    }

    /// The compression in which a file of this name is written, if any.
    ///
    /// # Errors
    /// The ending, where it is that of a compression or archive that is not written.
    pub fn of_new(path: &Path) -> Result<Option<Self>, &str> {
        let Some(ending) = ending(path) else { return Ok(None) };
        if is_packed(ending) { Err(ending) } else { Ok(Self::of_ending(ending)) }
    }
}

/// How a name ends, without the point.
fn ending(name: &Path) -> Option<&str> {
    name.extension()?.to_str()
}

/// How a name ends, without the point, before the ending of its compression.
pub(crate) fn bare_ending(name: &Path) -> Option<&str> {
    match Compression::of_ending(ending(name)?) {
        Some(_) => Path::new(name.file_stem()?).extension()?.to_str(),
        None => ending(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_compression_in_any_case_and_what_is_not_written_is_refused() {
        use Compression::{Gz, Xz, Zstd};
        for (name, compression, bare) in [
            ("a.msr", None, Some("msr")),
            ("a.msr.gz", Some(Gz), Some("msr")),
            ("a.MSR.GZ", Some(Gz), Some("MSR")),
            ("dir.gz/a.spc.Xz", Some(Xz), Some("spc")),
            ("a.spc.zst", Some(Zstd), Some("spc")),
            ("a.spc.zstd", Some(Zstd), Some("spc")),
            ("a.ZSTD", Some(Zstd), None),
            ("a.gz.xz", Some(Xz), Some("gz")),
            (".gz", None, None),
            ("gz", None, None),
            ("a.gzip2", None, Some("gzip2")),
            ("a.", None, Some("")),
            ("-", None, None),
        ] {
            let path = Path::new(name);
            assert_eq!(
                (Compression::of_new(path).unwrap(), bare_ending(path)),
                (compression, bare),
                "{name}"
            );
        }
        for name in
            ["a.msr.bz2", "a.BZ2", "a.lz4", "a.Z", "a.zip", "a.tgz", "a.msr.lz", "a.rar", "a.tzst", "a.bz"]
        {
            let error = Compression::of_new(Path::new(name)).unwrap_err().to_string();
            let ending = Path::new(name).extension().unwrap().display();
            for part in [format!("'{name}'"), format!(".{ending}"), ".gz, .xz and .zst".into()] {
                assert!(error.contains(&part), "{error}");
            }
        }
    }

    #[test]
    fn content_tells_it_by_its_first_bytes_even_if_cut() {
        for (first, compression) in [
            (&b""[..], None),
            (b"\x1f", None),
            (b"\x1f\x8b", Some(Compression::Gz)),
            (b"\xfd7", Some(Compression::Xz)),
            (b"\xfd7zXZ\0more", Some(Compression::Xz)),
            (b"\xfd7zXY", None),
            (b"\x28\xb5\x2f", Some(Compression::Zstd)),
            (b"128166,", None),
        ] {
            assert_eq!(Compression::of_content(first), compression, "{first:?}");
        }
    }
}
