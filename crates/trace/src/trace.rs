//! Reading a trace.

use crate::Record;
use crate::compression::Compression;
use crate::content::file;
use crate::error::{OpenError, ReadError};
use crate::files::files;
use crate::format::{Format, Input};
use crate::packing::packing;
use crate::sink::{Sink, Wanted};
use crate::source::{Progress, Source};
use crate::standard::{input_name, is_standard_input};
use crate::summary::Summary;
use crate::text::Reader;
use std::io::{self, Read};
use std::path::Path;

/// Options for opening a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions<'a> {
    /// The format's name; by default it is recognized by content.
    pub format: Option<&'a str>,
    /// Number of the selected device. Without it the trace must have only one.
    pub device: Option<u32>,
    /// Selects all devices, and overrides `device`.
    pub every_device: bool,
    /// Called before each read of the content, so that even input without end or request can be stopped: once it
    /// returns true, which it MUST do from then on, the trace ends with [`ReadError::Stopped`]. A read that blocks is
    /// not interrupted.
    pub stop: Option<fn() -> bool>,
}

/// The requests of a trace, in its order, in constant memory.
///
/// Faults of single lines are counted; faults of the whole trace end it early. The reader MUST call
/// [`finish`](Self::finish) at the end, which reports both.
pub struct Trace {
    name: String,
    format: &'static Format,
    compression: Option<&'static str>,
    reader: Box<dyn Reader>,
    sink: Sink,
    next: usize,
    end: Option<Result<(), ReadError>>,
    options: Wanted,
    stop: fn() -> bool,
    progress: Progress,
}

/// Opens a trace: a file, `NAME` for blktrace's `NAME.blktrace.0` and so on, or `-` for standard input.
///
/// # Errors
/// [`OpenError`] where there is no such file, its format is unknown, or it has no selected request.
pub fn open(path: &Path, options: &OpenOptions<'_>) -> Result<Trace, OpenError> {
    if is_standard_input(path) {
        return Trace::from_reader(io::stdin(), &input_name(path), options);
    }
    let mut progress = Progress { file_bytes: Some(0), ..Progress::default() };
    let parts = files(path);
    let inputs = parts.iter().map(|part| file(part, &mut progress)).collect::<Result<_, _>>()?;
    let trace = Trace::from_inputs(inputs, &path.display().to_string(), options)?;
    Ok(Trace { progress, ..trace })
}

impl Trace {
    /// Opens a trace from a stream, compressed or not. `name` is used in messages, and its ending may decide where the
    /// content fits several formats.
    ///
    /// # Errors
    /// As [`open`].
    pub fn from_reader(
        reader: impl Read + Send + 'static,
        name: &str,
        options: &OpenOptions<'_>,
    ) -> Result<Self, OpenError> {
        Self::from_inputs(vec![Box::new(reader)], name, options)
    }

    fn from_inputs(inputs: Vec<Input>, name: &str, options: &OpenOptions<'_>) -> Result<Self, OpenError> {
        let named = options.format.map(Format::named).transpose()?;
        let stop = options.stop.unwrap_or(|| false);
        let mut sources: Vec<Source> = inputs
            .into_iter()
            .map(|input| Source::new(input, stop))
            .collect::<io::Result<_>>()
            .map_err(|source| OpenError::File { path: name.into(), source })?;
        if stop() {
            let source = ReadError::Stopped { unit: "line", units: 0, records: 0 };
            return Err(OpenError::Read { name: name.into(), source });
        }
        if let Some(packing) = sources.iter().find_map(|source| packing(&source.head)) {
            return Err(OpenError::Packed { name: name.into(), packing });
        }
        let format = match named {
            Some(format) => format,
            None if sources[0].head.is_empty() => {
                let source = nothing_in(&mut sources[0]);
                return Err(OpenError::Read { name: name.into(), source });
            }
            None => Format::recognised(&sources[0].head, name)?,
        };
        let wanted = match options.device {
            _ if options.every_device => Wanted::Every,
            Some(number) => Wanted::Numbered(number),
            None => Wanted::Sole,
        };
        let compression = sources[0].compression.map(Compression::name);
        let mut trace = Self {
            name: name.into(),
            format,
            compression,
            reader: (format.read)(sources.into_iter().map(|source| source.input).collect()),
            sink: Sink::new(wanted, format.unit),
            next: 0,
            end: None,
            options: wanted,
            stop,
            progress: Progress::default(),
        };
        // Read the first batch now, so that opening a trace without requests fails.
        trace.fill();
        match trace.end.take() {
            Some(Err(source @ ReadError::SeveralDevices { .. })) => Err(trace.refusal(source)),
            Some(Err(source)) if trace.sink.total() == 0 => Err(trace.refusal(source)),
            end => {
                trace.end = end;
                Ok(trace)
            }
        }
    }

    fn refusal(&self, source: ReadError) -> OpenError {
        OpenError::Read { name: self.name.clone(), source }
    }

    /// Its path, or its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The trace's format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the progress of reading its files, which stays current.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Returns the summary; before the end, that of the part read so far.
    ///
    /// # Errors
    /// [`ReadError`] where the trace ended early or had no selected request.
    pub fn finish(self) -> Result<Summary, ReadError> {
        let summary = self.summary();
        match self.end {
            Some(Err(error)) => Err(error),
            _ => Ok(summary),
        }
    }

    /// Returns the summary of the part read so far.
    pub fn summary(&self) -> Summary {
        let sink = &self.sink;
        Summary {
            format: self.format,
            compression: self.compression,
            lines: sink.lines,
            records: sink.earlier + self.next as u64,
            skipped: sink.skipped,
            refused: sink.refused,
            refusals: sink.refusals.clone(),
            backward: sink.backward,
            devices: sink.devices(|number| self.reader.device_name(number)),
            ends_inside_line: sink.ends_inside_line,
            complete: matches!(self.end, Some(Ok(()))) && self.next == sink.records.len(),
        }
    }

    /// Reads until the batch has a request, or the input ends.
    #[cold]
    fn fill(&mut self) {
        self.sink.clear();
        self.next = 0;
        while self.end.is_none() && self.sink.records.is_empty() {
            self.end = match self.reader.fill(&mut self.sink) {
                Ok(true) => None,
                Ok(false) => Some(self.verdict()),
                Err(_) if (self.stop)() => Some(Err(self.stopped())),
                Err(source) => Some(Err(self.damage(source))),
            };
            if self.sink.has_too_many_devices() && !matches!(self.end, Some(Err(_))) {
                let devices = self.sink.devices(|number| self.reader.device_name(number));
                self.end = Some(Err(ReadError::SeveralDevices { devices, records: self.sink.total() }));
                self.sink.records.clear();
            }
        }
    }

    /// Checks a completely read trace for its selected requests.
    fn verdict(&self) -> Result<(), ReadError> {
        let sink = &self.sink;
        if sink.total() > 0 {
            return Ok(());
        }
        let devices = sink.devices(|number| self.reader.device_name(number));
        Err(match self.options {
            Wanted::Numbered(number) if !devices.is_empty() => ReadError::NoSuchDevice { number, devices },
            _ => ReadError::Nothing {
                unit: self.format.unit,
                lines: sink.lines,
                refused: sink.refused,
                refusals: sink.refusals.clone(),
            },
        })
    }

    fn stopped(&self) -> ReadError {
        let unit = self.format.unit;
        ReadError::Stopped { unit, units: self.sink.lines, records: self.sink.total() }
    }

    fn damage(&self, source: io::Error) -> ReadError {
        ReadError::Damaged {
            compression: self.compression,
            unit: self.format.unit,
            units: self.sink.lines,
            bytes: self.sink.bytes,
            records: self.sink.total(),
            source,
        }
    }
}

/// Returns why a source has no content: it is empty, or damaged before its first byte.
fn nothing_in(source: &mut Source) -> ReadError {
    let unit = "line";
    // The content is known to be empty: another read shows whether damage is the reason.
    let end = source.input.read(&mut [0]).map(drop);
    match end {
        Ok(()) => ReadError::Nothing { unit, lines: 0, refused: 0, refusals: Vec::new() },
        Err(error) => {
            let compression = source.compression.map(Compression::name);
            ReadError::Damaged { compression, unit, units: 0, bytes: 0, records: 0, source: error }
        }
    }
}

impl Iterator for Trace {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        if self.next == self.sink.records.len() {
            self.fill();
        }
        let record = self.sink.records.get(self.next).copied()?;
        self.next += 1;
        Some(record)
    }
}
