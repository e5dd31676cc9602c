//! The decompressed content of a file, for formats that are not requests to a device.

use crate::error::OpenError;
use crate::format::Input;
use crate::packing::packing;
use crate::source::{Counted, Progress, Source};
use crate::standard::{input_name, is_standard_input};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The content of a file, decompressed as it is read.
pub struct Content {
    name: String,
    progress: Progress,
    input: Input,
}

/// Opens a file, or `-` for standard input: gz, xz and Zstandard are detected by their first bytes. Reading fails once
/// `stop` returns true.
///
/// # Errors
/// [`OpenError::File`] where it cannot be opened, and [`OpenError::Packed`] where it is an archive or compressed in an
/// unsupported way.
pub fn open_content(path: &Path, stop: fn() -> bool) -> Result<Content, OpenError> {
    let name = input_name(path);
    let (mut progress, mut input): (_, Input) = (Progress::default(), Box::new(io::stdin()));
    if !is_standard_input(path) {
        progress.file_bytes = Some(0);
        input = file(path, &mut progress)?;
    }
    Content::new(input, name, progress, stop)
}

/// Opens a file, whose bytes are added to the progress.
pub(crate) fn file(path: &Path, progress: &mut Progress) -> Result<Input, OpenError> {
    let cannot = |source| OpenError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if meta.is_dir() {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    progress.file_bytes = progress.file_bytes.filter(|_| meta.is_file()).map(|bytes| bytes + meta.len());
    Ok(Box::new(Counted { input: file, count: progress.read_bytes.clone() }))
}

impl Content {
    /// Reads a stream, compressed or not; `name` is used in messages.
    ///
    /// # Errors
    /// As [`open_content`].
    pub fn from_reader(reader: impl Read + Send + 'static, name: &str) -> Result<Self, OpenError> {
        Self::new(Box::new(reader), name.into(), Progress::default(), || false)
    }

    fn new(input: Input, name: String, progress: Progress, stop: fn() -> bool) -> Result<Self, OpenError> {
        let source = Source::new(input, stop)
            .map_err(|source| OpenError::File { path: name.clone().into(), source })?;
        match packing(&source.head) {
            Some(packing) => Err(OpenError::Packed { name, packing }),
            None => Ok(Self { name, progress, input: source.input }),
        }
    }

    /// Its path, or `standard input`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the progress of reading the file, which stays current.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }
}
