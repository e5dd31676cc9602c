//! Errors of opening and reading traces.

use crate::fault::{Device, Refusal, counted};
use crate::source::{self as packed, MEMORY_MOST};
use flashlane_base::units::format_bytes;
use std::io;
use std::path::PathBuf;

/// A trace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened.
    #[error("cannot open the trace '{}': {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The format that was named does not exist.
    #[error("there is no trace format '{given}'; known are {}", known.join(", "))]
    UnknownFormat {
        /// The name given.
        given: String,
        /// The formats that there are.
        known: Vec<&'static str>,
    },
    /// It is an archive, or compressed in an unsupported way.
    #[error(
        "the trace '{name}' is {packing}: unpack it first; gz, xz and zst of a single trace are read as they are"
    )]
    Packed {
        /// The trace's path or name.
        name: String,
        /// The kind: `a tar archive`.
        packing: &'static str,
    },
    /// The content is of no known format.
    #[error(
        "the format of '{name}' is not recognised{hint}; name it, if it is one of {}",
        known.join(", ")
    )]
    NotRecognised {
        /// The trace's path or name.
        name: String,
        /// A hint about its content, with a leading separator.
        hint: String,
        /// The formats that there are.
        known: Vec<&'static str>,
    },
    /// The content fits several formats.
    #[error("'{name}' may be in any of the formats {}: name the one that it is", candidates.join(", "))]
    Ambiguous {
        /// The trace's path or name.
        name: String,
        /// The formats that it fits.
        candidates: Vec<&'static str>,
    },
    /// It has no requests, or not those of the requested device.
    #[error("the trace '{name}': {source}")]
    Read {
        /// The trace's path or name.
        name: String,
        /// The reason.
        source: ReadError,
    },
}

/// A trace was not read to its end, or has no requests.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file ended early, is damaged, or cannot be read or unpacked.
    #[error(
        "{}after {} (byte {bytes} of its content): {source}; {} until then",
        match compression {
            Some(name) if packed::wants_memory(source) => {
                format!("unpacking the {name} data takes more than {} of memory ", format_bytes(MEMORY_MOST))
            }
            Some(name) if packed::is_trailing(source) => {
                format!("behind the {name} data there is something else, ")
            }
            Some(name) => format!("the {name} data ends early or is damaged "),
            None => "reading failed ".into(),
        },
        counted_units(*units, unit),
        were_read(*records)
    )]
    Damaged {
        /// Compression of the file: `gz`, `xz` or `zst`; `None` for a plain file.
        compression: Option<&'static str>,
        /// `line` or `event`.
        unit: &'static str,
        /// Number of complete units read.
        units: u64,
        /// Bytes of decompressed content read.
        bytes: u64,
        /// Requests found in them.
        records: u64,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// The caller stopped reading.
    #[error("stopped on request after {}; {} until then", counted_units(*units, unit), were_read(*records))]
    Stopped {
        /// `line` or `event`.
        unit: &'static str,
        /// Number of complete units read.
        units: u64,
        /// Requests found in them.
        records: u64,
    },
    /// It has requests of several devices, and none was selected.
    #[error(
        "it has requests of several devices, {} among its first {records} requests: ask for one of them by its number, or for \
         all, laid side by side",
        listed(devices)
    )]
    SeveralDevices {
        /// The devices so far, by number.
        devices: Vec<Device>,
        /// Requests read so far.
        records: u64,
    },
    /// The selected device has no request.
    #[error("it has no request of device {number}; it has {}", listed(devices))]
    NoSuchDevice {
        /// The selected number.
        number: u32,
        /// The devices of the trace.
        devices: Vec<Device>,
    },
    /// It has no request.
    #[error("it has no request: {}", nothing(*lines, unit, *refused, refusals))]
    Nothing {
        /// `line` or `event`.
        unit: &'static str,
        /// Number of these.
        lines: u64,
        /// Number of refused ones.
        refused: u64,
        /// The first refused ones, with reasons.
        refusals: Vec<Refusal>,
    },
}

/// A trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format has no writer.
    #[error("traces are not written as '{given}'; they are as {}", written.join(", "))]
    NotWritten {
        /// The format's name.
        given: &'static str,
        /// The formats that are written.
        written: Vec<&'static str>,
    },
    /// Its name asks for an unsupported compression.
    #[error(
        "cannot write '{}' as .{ending}: traces are compressed as .gz, .xz and .zst, and under other names not at all",
        path.display()
    )]
    Compression {
        /// Its path.
        path: PathBuf,
        /// Its ending.
        ending: String,
    },
    /// The file exists.
    #[error("'{name}' is there already, and is not overwritten unasked")]
    Exists {
        /// Its path.
        name: String,
    },
    /// The file exists and holds something else than a trace, which is not overwritten even if asked.
    #[error(
        "'{name}' is not overwritten, because it does not hold a trace{hint}; give another name, or remove the file"
    )]
    HoldsOther {
        /// Its path.
        name: String,
        /// What it holds, with a leading separator.
        hint: String,
    },
    /// The file cannot be created or written.
    #[error("cannot write the trace '{name}': {source}")]
    File {
        /// Its path, or `standard output`.
        name: String,
        /// The system's error.
        source: io::Error,
    },
}

impl WriteError {
    /// Returns whether the reader of a pipe has closed it (`| head`).
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn counted_units(units: u64, unit: &str) -> String {
    counted(units, unit, &format!("{unit}s"))
}

fn were_read(records: u64) -> String {
    counted(records, "request was read", "requests were read")
}

fn listed(devices: &[Device]) -> String {
    /// Maximum number of devices shown.
    const SHOWN: usize = 20;
    let mut names: Vec<String> = devices.iter().take(SHOWN).map(Device::to_string).collect();
    if devices.len() > SHOWN {
        names.push(format!("{} more", devices.len() - SHOWN));
    }
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn nothing(lines: u64, unit: &str, refused: u64, refusals: &[Refusal]) -> String {
    if lines == 0 {
        return "it is empty".into();
    }
    let first: Vec<String> = refusals.iter().take(3).map(Refusal::to_string).collect();
    let reasons = if first.is_empty() { String::new() } else { format!(": {}", first.join("; ")) };
    let lines = counted_units(lines, unit);
    format!("{lines}, {refused} of them refused{reasons}")
}
