//! A format of traces: its names, how it is recognised, its reader and its writer.

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
    /// What it is, and what its lines or events hold.
    pub summary: &'static str,
    /// The unit of its time stamps.
    pub time_unit: &'static str,
    /// How it writes reads, writes and whatever else it has.
    pub codes: &'static str,
    /// What names of its files end in beside its own name; of a trace that is read the ending is looked at only where
    /// the content fits several formats. Several formats' files end in `.trace`, which so says nothing.
    pub other_endings: &'static [&'static str],
    /// `line` or `event`.
    pub unit: &'static str,
    /// Whether content that begins so may be of this format.
    pub(crate) recognise: fn(&[u8]) -> bool,
    /// A reader; several inputs only for formats that come in several files.
    pub(crate) read: fn(Vec<Input>) -> Box<dyn Reader>,
    /// How it is written, where it can be.
    pub(crate) writing: Option<Writing>,
}

/// How a format is written, and what it can keep of a record.
#[derive(Debug)]
pub(crate) struct Writing {
    pub encoder: fn() -> Box<dyn Encode>,
    /// The step of its time stamps.
    pub resolution_ns: u64,
    /// The step of its response times, where it has them.
    pub took_resolution_ns: Option<u64>,
    /// Whether it has a mark for durable writes.
    pub durable: bool,
    /// Whether its clock begins at zero with the trace.
    pub from_zero: bool,
}

impl Format {
    /// Whether traces of this format can be written.
    pub fn is_written(&self) -> bool {
        self.writing.is_some()
    }

    /// How names of its files end, without the point.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.other_endings.iter().copied())
    }

    /// Whether a file's name, without the ending of its compression, ends as this format's do.
    pub(crate) fn has_ending_of(&self, name: &Path) -> bool {
        bare_ending(name).is_some_and(|ending| self.endings().any(|known| ending.eq_ignore_ascii_case(known)))
    }
}
