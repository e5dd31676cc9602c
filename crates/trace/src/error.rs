//! What can be wrong with a trace: it cannot be opened, it cannot be read to its end, it cannot be written.

use crate::fault::{Device, Refusal, counted};
use crate::source::{self as packed, MEMORY_MOST};
use flashlane_base::units::format_bytes;
use std::io;
use std::path::PathBuf;

/// Why a trace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened.
    #[error("cannot open the trace '{}': {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The format that was named does not exist.
    #[error("there is no trace format '{given}'; known are {}", known.join(", "))]
    UnknownFormat {
        /// The name as it was given.
        given: String,
        /// The formats that there are.
        known: Vec<&'static str>,
    },
    /// It is packed in a way that is not read.
    #[error(
        "the trace '{name}' is {packing}: unpack it first; gz, xz and zst of a single trace are read as they are"
    )]
    Packed {
        /// The trace's path or name.
        name: String,
        /// In what: `a tar archive`.
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
        /// What it looks like instead, with a leading separator; or how it begins.
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
    /// Nothing can be read from it, or not what was asked for.
    #[error("the trace '{name}': {source}")]
    Read {
        /// The trace's path or name.
        name: String,
        /// What is wrong.
        source: ReadError,
    },
}

/// Why a trace was not read to its end, or gave nothing.
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
        /// How the file is compressed: `gz`, `xz`, `zst`; none where it is plain.
        compression: Option<&'static str>,
        /// `line` or `event`.
        unit: &'static str,
        /// How many of these were read whole.
        units: u64,
        /// How many bytes of content, after decompression, were read.
        bytes: u64,
        /// How many requests were found in them.
        records: u64,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// Whoever reads it wanted no more.
    #[error("stopped on request after {}; {} until then", counted_units(*units, unit), were_read(*records))]
    Stopped {
        /// `line` or `event`.
        unit: &'static str,
        /// How many of these were read whole.
        units: u64,
        /// How many requests were found in them.
        records: u64,
    },
    /// There are requests of several devices, and none was asked for.
    #[error(
        "it has requests of several devices, {} among its first {records} requests: ask for one of them by its number, or for \
         all, laid side by side",
        listed(devices)
    )]
    SeveralDevices {
        /// Those seen until then, by number.
        devices: Vec<Device>,
        /// How many requests were read until then.
        records: u64,
    },
    /// The device that was asked for has no request.
    #[error("it has no request of device {asked}; it has {}", listed(devices))]
    NoSuchDevice {
        /// The number that was asked for.
        asked: u32,
        /// Those that are there.
        devices: Vec<Device>,
    },
    /// There is no request in it.
    #[error("it has no request: {}", nothing(*lines, unit, *refused, refusals))]
    Nothing {
        /// `line` or `event`.
        unit: &'static str,
        /// How many of these there are.
        lines: u64,
        /// How many were refused.
        refused: u64,
        /// The first of these, with reasons.
        refusals: Vec<Refusal>,
    },
}

/// Why a trace could not be written.
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
    /// Its name is that of a file which is compressed in a way that is not written.
    #[error(
        "cannot write '{}' as .{ending}: traces are compressed as .gz, .xz and .zst, and under other names not at all",
        path.display()
    )]
    Compression {
        /// Its path.
        path: PathBuf,
        /// How that ends.
        ending: String,
    },
    /// The file is there already.
    #[error("'{name}' is there already, and is not overwritten unasked")]
    Exists {
        /// Its path.
        name: String,
    },
    /// The file cannot be made or written.
    #[error("cannot write the trace '{name}': {source}")]
    File {
        /// Its path, or `standard output`.
        name: String,
        /// What the system says.
        source: io::Error,
    },
}

impl WriteError {
    /// Whether whoever was to read it has gone (`| head`).
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
    /// More would fill the terminal.
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
