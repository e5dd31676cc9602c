//! The output of a trace: an atomically replaced file, compressed according to its name; or standard output.

use crate::compression::Compression;
use crate::error::WriteError;
use crate::replaced::holds_other;
use crate::standard::{is_standard_output, output_name};
use flashlane_files::AtomicFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file, compressed according to the ending of its name: `.gz`, `.xz`, `.zst` (or `.zstd`), or plain.
///
/// A file is renamed to its path when it is closed: a failure before leaves the old file. Standard output (see
/// [`is_standard_output`]) is written directly.
pub struct Output {
    compressor: Compressor,
    name: String,
    force: bool,
}

enum Compressor {
    Plain(Place),
    Gz(flate2::write::GzEncoder<Place>),
    Xz(liblzma::write::XzEncoder<Place>),
    Zstd(zstd::Encoder<'static, Place>),
}

enum Place {
    File(AtomicFile),
    Standard(io::Stdout),
}

impl Compressor {
    /// Ends the compression.
    fn finish(self) -> io::Result<Place> {
        match self {
            Self::Plain(place) => Ok(place),
            Self::Gz(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Output {
    /// Begins a file, or standard output; overwrites an existing file only with `force`, and only one that is empty, a
    /// trace or a recording of transactions.
    ///
    /// # Errors
    /// [`WriteError::Compression`] for names of unsupported compressions, [`WriteError::Exists`],
    /// [`WriteError::HoldsOther`], and [`WriteError::File`] where it cannot be created.
    pub fn create(path: &Path, force: bool) -> Result<Self, WriteError> {
        let compression = Compression::of_new(path)
            .map_err(|ending| WriteError::Compression { path: path.into(), ending: ending.into() })?;
        if is_standard_output(path) {
            return Self::begin(Place::Standard(io::stdout()), compression, path, force);
        }
        if path.is_file() {
            check_replaced(path, &output_name(path))?;
            if !force {
                return Err(WriteError::Exists { name: output_name(path) });
            }
        }
        let file = AtomicFile::create(path)
            .map_err(|source| WriteError::File { name: output_name(path), source })?;
        Self::begin(Place::File(file), compression, path, force)
    }

    fn begin(
        place: Place,
        compression: Option<Compression>,
        path: &Path,
        force: bool,
    ) -> Result<Self, WriteError> {
        let name = output_name(path);
        let cannot = |source| WriteError::File { name: name.clone(), source };
        let compressor = match compression {
            Some(Compression::Gz) => {
                Compressor::Gz(flate2::write::GzEncoder::new(place, flate2::Compression::default()))
            }
            Some(Compression::Xz) => Compressor::Xz(liblzma::write::XzEncoder::new(place, 6)),
            Some(Compression::Zstd) => {
                let mut encoder =
                    zstd::Encoder::new(place, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(cannot)?;
                // As the zstd program does: without it, damage would not be detected.
                encoder.include_checksum(true).map_err(cannot)?;
                Compressor::Zstd(encoder)
            }
            None => Compressor::Plain(place),
        };
        Ok(Self { compressor, name, force })
    }

    /// Ends the compression and renames the file to its path, or to another one beside it where a file that may not be
    /// replaced was created there meanwhile: what was recorded may not come again. Returns that other path.
    ///
    /// # Errors
    /// [`WriteError::File`] with the system's error; the path is then unchanged.
    pub fn close(self) -> Result<Option<PathBuf>, WriteError> {
        let Self { compressor, name, force } = self;
        let closed = match compressor.finish() {
            Ok(Place::File(file)) if force && !holds_else(file.path()) => {
                file.commit_over(|old| !holds_else(old)).map(|()| None)
            }
            Ok(Place::File(file)) => {
                let path = file.path().to_owned();
                file.commit_beside().map(|own| Some(own).filter(|own| *own != path))
            }
            Ok(Place::Standard(mut stdout)) => stdout.flush().map(|()| None),
            Err(error) => Err(error),
        };
        // The system's error also says where another file is that could not be returned to its path.
        closed.map_err(|source| WriteError::File { name, source })
    }

    fn out(&mut self) -> &mut dyn Write {
        match &mut self.compressor {
            Compressor::Plain(out) => out,
            Compressor::Gz(out) => out,
            Compressor::Xz(out) => out,
            Compressor::Zstd(out) => out,
        }
    }
}

/// Returns whether there is something at `path` that may not be replaced.
fn holds_else(path: &Path) -> bool {
    path.exists() && !matches!(holds_other(path), Ok(None))
}

/// Refuses to replace a file that holds something else than a trace.
fn check_replaced(path: &Path, name: &str) -> Result<(), WriteError> {
    match holds_other(path) {
        Ok(None) => Ok(()),
        Ok(Some(hint)) => Err(WriteError::HoldsOther { name: name.into(), hint }),
        Err(source) => Err(WriteError::File { name: name.into(), source }),
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(stdout) => stdout.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out().flush()
    }
}
