//! Compressions, with their magic numbers and file name endings.
//!
//! The compression of input is recognized by its first bytes; that of output follows from the ending of its name, in
//! any case.

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

    pub fn name(self) -> &'static str {
        self.endings()[0]
    }

    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Gz => &["gz"],
            Self::Xz => &["xz"],
            Self::Zstd => &["zst", "zstd"],
        }
    }

    /// The first bytes of compressed content.
    pub fn magic(self) -> &'static [u8] {
        match self {
            Self::Gz => b"\x1f\x8b",
            Self::Xz => b"\xfd7zXZ\0",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
        }
    }

    /// Returns the compression of content with these first bytes; two bytes suffice where the content ends within the
    /// magic number.
    pub fn of_content(first: &[u8]) -> Option<Self> {
        let is = |magic: &[u8]| first.starts_with(magic) || first.len() >= 2 && magic.starts_with(first);
        Self::ALL.into_iter().find(|compression| is(compression.magic()))
    }

    /// Returns the compression of a file name ending.
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

/// Returns the ending of a name, without the dot.
fn ending(name: &Path) -> Option<&str> {
    name.extension()?.to_str()
}

/// Returns the ending of a name, without the dot, before the ending of its compression.
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
    fn compression_follows_from_the_name() {
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
            let extension = Path::new(name).extension().unwrap();
            assert_eq!(Compression::of_new(Path::new(name)).unwrap_err(), extension);
        }
    }

    #[test]
    fn compression_is_recognized_by_first_bytes() {
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
