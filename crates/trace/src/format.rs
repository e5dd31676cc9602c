//! A format of traces: names, recognition, reader and writer.

use crate::compression::bare_ending;
use crate::encode::Encode;
use crate::text::Reader;
use std::io::Read;
use std::path::Path;

/// The input of a reader, decompressed.
pub(crate) type Input = Box<dyn Read + Send>;

/// A format of traces.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its origin and the fields of its lines or events.
    pub summary: &'static str,
    /// The unit of its time stamps.
    pub time_unit: &'static str,
    /// Its codes for reads, writes and other operations.
    pub codes: &'static str,
    /// Endings of its files besides its name. Input is recognized by ending only where its content fits several
    /// formats; `.trace`, which several formats use, is not listed.
    pub other_endings: &'static [&'static str],
    /// `line` or `event`.
    pub unit: &'static str,
    /// Returns whether content with this beginning may be of this format.
    pub(crate) recognise: fn(&[u8]) -> bool,
    /// Creates a reader; of several inputs only for formats with several files.
    pub(crate) read: fn(Vec<Input>) -> Box<dyn Reader>,
    /// Its writer, if any.
    pub(crate) writing: Option<Writing>,
}

/// The writer of a format, and the information that the format can hold.
#[derive(Debug)]
pub(crate) struct Writing {
    pub encoder: fn() -> Box<dyn Encode>,
    /// The step of its time stamps.
    pub resolution_ns: u64,
    /// The step of its response times, where it has them.
    pub took_resolution_ns: Option<u64>,
    /// Whether it marks durable writes.
    pub durable: bool,
    /// Whether its clock begins at zero with the trace.
    pub from_zero: bool,
}

impl Format {
    /// Returns whether traces of this format can be written.
    pub fn is_written(&self) -> bool {
        self.writing.is_some()
    }

    /// Returns the endings of its files, without the dot.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.other_endings.iter().copied())
    }

    /// Returns whether a name, without the ending of its compression, has an ending of this format.
    pub(crate) fn has_ending_of(&self, name: &Path) -> bool {
        bare_ending(name).is_some_and(|ending| self.endings().any(|known| ending.eq_ignore_ascii_case(known)))
    }
}
