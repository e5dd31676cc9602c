//! The trace of a replay: opens it, scans it for writes, buffers it for many replays, and notes its problems.

use crate::command::trace::{open_failure, side_by_side};
use crate::failure::Failure;
use crate::progress::metered;
use anyhow::anyhow;
use flashlane_base::Operation;
use flashlane_device::DeviceInfo;
use flashlane_layer::Format;
use flashlane_measure::{ReplayOptions, check_replay};
use flashlane_open::Target;
use flashlane_result::replay::{PlacedRow, ReplayResult, TraceRow};
use flashlane_result::{Warning, WarningCode};
use flashlane_trace::{
    Doubt, OpenOptions, Placed, Record, SideBySide, Trace, files, input_name, is_standard_input,
};
use std::path::{Path, PathBuf};

/// Memory limit for the buffered requests of a trace.
const BUFFERED_BYTES: usize = 1 << 30;

/// A trace as named on the command line.
#[derive(Clone, Copy)]
pub(super) struct Recording<'a> {
    pub(super) path: &'a Path,
    pub(super) opening: OpenOptions<'a>,
}

/// Source of requests.
pub(super) enum Requests<'a> {
    /// A trace to read, and the placement of its devices if there are several.
    Opened(Box<Trace>, Option<SideBySide>),
    Buffered(&'a Buffered),
}

/// The requests of a trace in memory, for many replays.
pub(super) struct Buffered {
    pub(super) records: Vec<Record>,
    pub(super) notes: TraceNotes,
}

/// Facts about a trace for the result of its replay.
#[derive(Clone)]
pub(super) struct TraceNotes {
    row: TraceRow,
    doubts: Vec<Doubt>,
    /// Why the trace ended early.
    incomplete: Option<String>,
}

impl Recording<'_> {
    /// Returns the name of the trace in messages and results.
    pub(super) fn name(&self) -> String {
        input_name(self.path)
    }

    pub(super) fn described(&self) -> String {
        format!("the trace '{}'", self.name())
    }

    /// Names the part of the trace that is not a regular file, and so may be readable only once, like a pipe.
    pub(super) fn non_regular_file(&self) -> Option<String> {
        if is_standard_input(self.path) {
            return Some(self.described());
        }
        let is_other = |file: &PathBuf| file.metadata().is_ok_and(|meta| !meta.is_file());
        let file = files(self.path).into_iter().find(is_other)?;
        let is_part = file != self.path;
        Some(if is_part { format!("'{}' of {}", file.display(), self.described()) } else { self.described() })
    }

    /// Names an alternative that overwrites nothing.
    pub(super) fn alternative(&self) -> &'static str {
        if self.non_regular_file().is_some() {
            "replay a trace that only reads, from a regular file, which can be scanned first"
        } else {
            "replay a trace that only reads"
        }
    }

    pub(super) fn open(&self) -> Result<Trace, Failure> {
        flashlane_trace::open(self.path, &self.opening).map_err(|error| open_failure(error, "--trace-format"))
    }

    /// Reads the trace to place all its devices, if all are selected. Fails if the trace can be read only once.
    pub(super) fn side_by_side(&self) -> Result<Option<SideBySide>, Failure> {
        if !self.opening.every_device {
            return Ok(None);
        }
        if let Some(part) = self.non_regular_file() {
            return Err(Failure::unusable(anyhow!(
                "--trace-device all reads the trace once more, for the sizes of its devices, and {part} is not a regular \
                 file: save it to one first"
            )));
        }
        let side_by_side = side_by_side(&mut self.open()?, &self.name())?;
        check_stop()?;
        Ok(Some(side_by_side))
    }

    /// Returns whether the first `max_requests` requests change data on the device. True without reading the trace for
    /// a simulated device, where it does not matter, and for a trace that can be read only once.
    pub(super) fn changes(&self, target: &Target, max_requests: usize) -> Result<bool, Failure> {
        if target.is_simulated() || self.non_regular_file().is_some() {
            return Ok(true);
        }
        let mut trace = self.open()?;
        let what = format!("looking for writes in {}", self.name());
        let writes = |record: Record| !matches!(record.operation, Operation::Read | Operation::Flush);
        if metered(&mut trace, what).take(max_requests).any(writes) {
            return Ok(true);
        }
        // Ctrl-C ends the trace early.
        check_stop()?;
        Ok(false)
    }

    /// Refuses a trace that can be read only once for a device that is formatted before it is read: what it asks cannot
    /// be checked before the device loses its data.
    pub(super) fn check_format(&self, target: &Target) -> Result<(), Failure> {
        match self.non_regular_file() {
            Some(part) if target.state_settings().format == Some(Format::Always) => {
                Err(Failure::unusable(anyhow!(
                    "'format=yes' erases {target} before a trace is replayed, so the trace is checked first, and {part} is \
                     not a regular file: save it to one first"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks the first `max_requests` requests before a device with these properties loses its data or takes long to
    /// prepare. A trace that can be read only once is not checked.
    pub(super) fn check(
        &self,
        info: &DeviceInfo,
        how: &ReplayOptions,
        max_requests: usize,
        side_by_side: Option<&SideBySide>,
    ) -> Result<(), Failure> {
        if self.non_regular_file().is_some() {
            return Ok(());
        }
        let mut trace = self.open()?;
        let records = trace.by_ref().take(max_requests);
        let records = records.map(|record| side_by_side.map_or(record, |devices| devices.place(record)));
        let checked = check_replay(records, info, how);
        // Ctrl-C ends the trace early, and an error is a consequence.
        check_stop()?;
        checked.map_err(Failure::unusable)
    }

    /// Reads the first `max_requests` requests into memory; `None` if they are too many.
    pub(super) fn buffered(
        &self,
        max_requests: usize,
        side_by_side: Option<&SideBySide>,
    ) -> Result<Option<Buffered>, Failure> {
        let mut trace = self.open()?;
        let mut records = Vec::new();
        for record in metered(&mut trace, format!("reading {}", self.name())).take(max_requests) {
            if records.len() == BUFFERED_BYTES / size_of::<Record>() {
                return Ok(None);
            }
            records.push(side_by_side.map_or(record, |devices| devices.place(record)));
        }
        check_stop()?;
        Ok(Some(Buffered { records, notes: TraceNotes::of(trace, side_by_side) }))
    }
}

/// Fails if the user stopped the command before anything was replayed.
pub(super) fn check_stop() -> Result<(), Failure> {
    if flashlane_host::interrupted() {
        return Err(Failure::failed(anyhow!("stopped on request, before anything was replayed")));
    }
    Ok(())
}

impl TraceNotes {
    pub(super) fn of(trace: Trace, side_by_side: Option<&SideBySide>) -> Self {
        let summary = trace.summary();
        let placed = |placed: &Placed| PlacedRow {
            number: placed.device,
            begin_bytes: placed.begin_bytes,
            length_bytes: placed.length_bytes,
        };
        Self {
            row: TraceRow {
                name: trace.name().into(),
                format: summary.format.name.into(),
                lines: summary.lines,
                lines_refused: summary.refused,
                side_by_side: side_by_side.into_iter().flat_map(SideBySide::devices).map(placed).collect(),
            },
            doubts: summary.doubts().collect(),
            incomplete: trace.finish().err().map(|error| format!("the trace ends early: {error}")),
        }
    }

    /// Adds the notes to the result of a replay.
    pub(super) fn add_to(self, result: &mut ReplayResult) {
        result.trace = Some(self.row);
        for doubt in self.doubts {
            let (code, message) = (WarningCode::from(doubt.code()), doubt.to_string());
            match doubt {
                // The replay warns of it, if it used time stamps; only the trace knows the line.
                Doubt::TimeBackwards { unit, backward } => {
                    if let Some(warning) = result.warnings.iter_mut().find(|warning| warning.code == code) {
                        warning.message +=
                            &format!("; the first in the trace is {unit} {}", backward.first_line);
                    }
                }
                _ => result.warnings.push(Warning::new(code, message)),
            }
        }
        if let Some(reason) = self.incomplete {
            // The result covers the requests before the end.
            result.warnings.insert(0, Warning::new(WarningCode::TraceIncomplete, reason.clone()));
            result.partial.get_or_insert(reason);
        }
    }
}
