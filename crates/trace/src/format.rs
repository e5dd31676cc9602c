//! The registry of formats, and how one is found.

use crate::compression::bare_ending;
use crate::error::OpenError;
use crate::formats;
use crate::text::{Reader, first_line};
use crate::write::Encode;
use std::io::Read;
use std::path::Path;

/// Every format. A new one is a file in `formats/` and a line here.
pub const FORMATS: &[&Format] = &[
    &formats::disksim::FORMAT,
    &formats::blkparse::FORMAT,
    &formats::blktrace::FORMAT,
    &formats::msr::FORMAT,
    &formats::iolog::VERSION_2,
    &formats::iolog::VERSION_3,
    &formats::mqsim::FORMAT,
    &formats::spc::FORMAT,
    &formats::alibaba::FORMAT,
    &formats::tencent::FORMAT,
];

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
    /// the content fits several formats.
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
    /// The format called `name`.
    ///
    /// # Errors
    /// [`OpenError::UnknownFormat`] with the names that there are.
    pub fn named(name: &str) -> Result<&'static Self, OpenError> {
        let format = FORMATS.iter().copied().find(|format| format.name == name);
        format.ok_or_else(|| OpenError::UnknownFormat { given: name.into() })
    }

    /// The formats whose files' names end as this one does.
    pub fn of_ending(name: &Path) -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().copied().filter(move |format| format.has_ending_of(name))
    }

    /// Whether traces of this format can be written.
    pub fn is_written(&self) -> bool {
        self.writing.is_some()
    }

    /// The format of content that begins with `head`; the file's name decides between several that fit.
    pub(crate) fn recognised(head: &[u8], name: &str) -> Result<&'static Self, OpenError> {
        let fitting: Vec<&'static Self> =
            FORMATS.iter().copied().filter(|format| (format.recognise)(head)).collect();
        match fitting[..] {
            [format] => Ok(format),
            [] => Err(OpenError::NotRecognised { name: name.into(), hint: hint(head) }),
            _ => {
                let extended: Vec<_> =
                    fitting.iter().filter(|format| format.has_ending_of(Path::new(name))).collect();
                match extended[..] {
                    [format] => Ok(format),
                    _ => Err(OpenError::Ambiguous {
                        name: name.into(),
                        candidates: fitting.iter().map(|format| format.name).collect(),
                    }),
                }
            }
        }
    }

    /// How names of its files end, without the point.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.other_endings.iter().copied())
    }

    /// Whether a file's name, without the ending of its compression, ends as this format's do.
    fn has_ending_of(&self, name: &Path) -> bool {
        bare_ending(name).is_some_and(|ending| self.endings().any(|known| ending.eq_ignore_ascii_case(known)))
    }
}

/// What unrecognised content looks like.
fn hint(head: &[u8]) -> String {
    let line = first_line(head);
    if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| head.starts_with(*mark)) {
        return ": it is text in UTF-16, and traces are read in UTF-8".into();
    }
    if line.is_empty() {
        return ": it has no line with anything in it".into();
    }
    let text: String = String::from_utf8_lossy(&line[..line.len().min(60)])
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    format!(": it begins with '{text}{}'", if line.len() > 60 { "…" } else { "" })
}
