//! Recordings in files, compressed or not.

use super::{Header, OpenError, ReadError, Reader, Totals, Transaction};
use flashlane_trace::{Content, Progress, open_content};
use std::io::Read;
use std::path::Path;

/// A recording in a file.
pub struct Recording {
    name: String,
    progress: Progress,
    reader: Reader<Content>,
}

impl Recording {
    /// Opens a recording (`-` for standard input) and reads its header. Reading fails once `stop` returns true.
    ///
    /// # Errors
    /// [`OpenError`] where there is no such file, it is not a recording, or its header cannot be used.
    pub fn open(path: &Path, stop: fn() -> bool) -> Result<Self, OpenError> {
        Self::new(open_content(path, stop)?)
    }

    /// Reads a recording from a stream, compressed or not; `name` is used in messages.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_reader(reader: impl Read + Send + 'static, name: &str) -> Result<Self, OpenError> {
        Self::new(Content::from_reader(reader, name)?)
    }

    fn new(content: Content) -> Result<Self, OpenError> {
        let (name, progress) = (content.name().to_owned(), content.progress());
        match Reader::new(content) {
            Ok(reader) => Ok(Self { name, progress, reader }),
            Err(source) => Err(OpenError::Read { name, source }),
        }
    }

    /// Its path, or its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the progress of reading its file, which stays current.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The header.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// As [`Reader::read`].
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        self.reader.read(into)
    }

    /// As [`Reader::totals`].
    pub fn totals(&self) -> Option<Totals> {
        self.reader.totals()
    }
}
