//! The registry of formats, and their recognition.

use crate::error::{OpenError, WriteError};
use crate::format::Format;
use crate::formats;
use crate::text::first_line;
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

impl Format {
    /// Returns the format called `name`.
    ///
    /// # Errors
    /// [`OpenError::UnknownFormat`] with the known names.
    pub fn named(name: &str) -> Result<&'static Self, OpenError> {
        let format = FORMATS.iter().copied().find(|format| format.name == name);
        format.ok_or_else(|| OpenError::UnknownFormat { given: name.into(), known: names() })
    }

    /// Returns the formats with the ending of this name.
    pub fn of_ending(name: &Path) -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().copied().filter(move |format| format.has_ending_of(name))
    }

    /// Returns the refusal of a format without a writer, with the formats that have one.
    pub fn not_written(&self) -> WriteError {
        let written = FORMATS.iter().filter(|format| format.is_written());
        WriteError::NotWritten { given: self.name, written: written.map(|format| format.name).collect() }
    }

    /// Recognizes the format of content that begins with `head`; the file's name decides between several that fit.
    pub(crate) fn recognised(head: &[u8], name: &str) -> Result<&'static Self, OpenError> {
        let fitting: Vec<&'static Self> =
            FORMATS.iter().copied().filter(|format| (format.recognise)(head)).collect();
        match fitting[..] {
            [format] => Ok(format),
            [] => {
                Err(OpenError::NotRecognised { name: name.into(), hint: unrecognised(head), known: names() })
            }
            _ => {
                let extended: Vec<_> =
                    fitting.iter().filter(|format| format.has_ending_of(Path::new(name))).collect();
                match (&extended[..], by_time(&fitting, head)) {
                    ([format], _) => Ok(format),
                    (_, Some(format)) => Ok(format),
                    _ => Err(OpenError::Ambiguous {
                        name: name.into(),
                        candidates: fitting.iter().map(|format| format.name).collect(),
                    }),
                }
            }
        }
    }
}

fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Maximum number of times examined: DiskSim's are in ms, MQSim's in ns.
const TIMES: usize = 1024;
/// Least number of times that show the unit.
const TIMES_LEAST: usize = 16;
/// A mean distance of requests up to this is in ms: in ns it would be 50 million requests per second.
const MS_MOST: f64 = 20.0;
/// A mean distance from this on is in ns: in ms it would be one request in 10 s.
const NS_LEAST: f64 = 10_000.0;

/// Chooses between DiskSim and MQSim, whose lines look the same where all times are whole numbers, by the plausible
/// unit of time; `None` where both are plausible, or other formats fit too.
fn by_time(fitting: &[&'static Format], head: &[u8]) -> Option<&'static Format> {
    let is_either = |format: &&&Format| ["disksim", "mqsim"].contains(&format.name);
    if fitting.len() != 2 || fitting.iter().filter(is_either).count() != 2 {
        return None;
    }
    let lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    // The head may end within a line, whose time is ignored.
    let whole = head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
    let lines = lines.scan(0, |at, line| {
        *at += line.len() + 1;
        (*at <= whole).then_some(line)
    });
    let time = |line: &[u8]| {
        let field = line.trim_ascii().split(|byte| matches!(byte, b' ' | b'\t')).next()?;
        std::str::from_utf8(field).ok()?.parse::<f64>().ok()
    };
    let times: Vec<f64> = lines.filter_map(time).take(TIMES).collect();
    let (first, last) = (times.iter().copied().reduce(f64::min)?, times.iter().copied().reduce(f64::max)?);
    let apart = (last - first) / (times.len().max(2) - 1) as f64;
    let name = match apart {
        _ if times.len() < TIMES_LEAST || apart <= 0.0 => return None,
        apart if apart <= MS_MOST => "disksim",
        apart if apart >= NS_LEAST => "mqsim",
        _ => return None,
    };
    fitting.iter().copied().find(|format| format.name == name)
}

/// Returns whether content with this beginning is a recording of transactions.
pub(crate) fn is_recording(head: &[u8]) -> bool {
    head.starts_with(b"flashlane pages\0")
}

/// Describes unrecognized content.
pub(crate) fn unrecognised(head: &[u8]) -> String {
    let line = first_line(head);
    if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| head.starts_with(*mark)) {
        return ": it is text in UTF-16, and traces are read in UTF-8".into();
    }
    if is_recording(head) {
        return ": it is a recording of transactions (docs/transactions.md); 'flashlane transactions' runs it".into();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(step: u64, lines: u64) -> String {
        (0..lines).map(|n| format!("{} 0 {} 8 {}\n", n * step, n * 8, n % 2)).collect()
    }

    #[test]
    fn whole_times_are_read_in_the_plausible_unit() {
        let recognised = |text: &str, name: &str| {
            Format::recognised(text.as_bytes(), name)
                .map(|format| format.name)
                .map_err(|error| error.to_string())
        };
        // 5 ms apart, and 60 us apart.
        assert_eq!(recognised(&trace(5, 100), "a.trace"), Ok("disksim"));
        assert_eq!(recognised(&trace(60_000, 100), "a.trace"), Ok("mqsim"));
        // An incomplete last line has part of a time.
        assert_eq!(recognised(&(trace(60_000, 100) + "60"), "a.trace"), Ok("mqsim"));
        // Both are plausible: 1 s apart, or 1 us.
        for text in [trace(1000, 100), trace(60_000, 3), trace(0, 100)] {
            assert!(recognised(&text, "a.trace").unwrap_err().contains("disksim, mqsim"), "{text}");
        }
        // An explicit ending takes precedence.
        assert_eq!(recognised(&trace(60_000, 100), "a.ascii"), Ok("disksim"));
        assert_eq!(recognised(&trace(5, 100), "a.MQSIM.gz"), Ok("mqsim"));
    }
}
