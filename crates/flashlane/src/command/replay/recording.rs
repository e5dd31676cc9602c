//! The trace that is replayed: opened, looked through for writes, kept for many replays, and what is told of it.

use crate::command::trace::{open_failure, side_by_side};
use crate::failure::Failure;
use crate::progress::metered;
use anyhow::anyhow;
use flashlane_base::Operation;
use flashlane_open::Target;
use flashlane_result::Warning;
use flashlane_result::replay::{PlacedRow, ReplayResult, TraceRow};
use flashlane_trace::{
    Doubt, OpenOptions, Placed, Record, SideBySide, Trace, files, input_name, is_standard_input,
};
use std::path::{Path, PathBuf};

/// The most memory for the requests of a trace that are kept.
const BUFFERED_BYTES: usize = 1 << 30;

/// A trace as it is named on the command line.
#[derive(Clone, Copy)]
pub(super) struct Recording<'a> {
    pub(super) path: &'a Path,
    pub(super) opening: OpenOptions<'a>,
}

/// Where requests come from.
pub(super) enum Requests<'a> {
    /// They are still to be read; of several devices with the places that these have.
    Opened(Box<Trace>, Option<SideBySide>),
    /// They were read before.
    Buffered(&'a Buffered),
}

/// A trace's requests, for many replays.
pub(super) struct Buffered {
    pub(super) records: Vec<Record>,
    pub(super) notes: TraceNotes,
}

/// What is to be said of a trace that was read.
#[derive(Clone)]
pub(super) struct TraceNotes {
    row: TraceRow,
    doubts: Vec<Doubt>,
    /// Why it could not be read to its end.
    incomplete: Option<String>,
}

impl Recording<'_> {
    /// What it is called in messages and results.
    pub(super) fn name(&self) -> String {
        input_name(self.path)
    }

    pub(super) fn described(&self) -> String {
        format!("the trace '{}'", self.name())
    }

    /// What of it is no plain file, and may be gone once it was read: what comes from a pipe is.
    pub(super) fn non_regular_file(&self) -> Option<String> {
        if is_standard_input(self.path) {
            return Some(self.described());
        }
        let is_other = |file: &PathBuf| file.metadata().is_ok_and(|meta| !meta.is_file());
        let file = files(self.path).into_iter().find(is_other)?;
        let is_part = file != self.path;
        Some(if is_part { format!("'{}' of {}", file.display(), self.described()) } else { self.described() })
    }

    /// What to replay where nothing may be overwritten.
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

    /// Where the devices lie, where all are asked for: found out by reading the trace once. An error where that is not
    /// possible.
    pub(super) fn side_by_side(&self) -> Result<Option<SideBySide>, Failure> {
        if !self.opening.every_device {
            return Ok(None);
        }
        if let Some(part) = self.non_regular_file() {
            return Err(Failure::unusable(anyhow!(
                "--trace-device all reads the trace once more, for the sizes of its devices, and {part} is not a regular file: save it to \
                 one first"
            )));
        }
        let side_by_side = side_by_side(&mut self.open()?, &self.name())?;
        check_stop()?;
        Ok(Some(side_by_side))
    }

    /// Whether its first `most` requests change what the device holds. On a simulated device that does not matter, and
    /// the trace is not looked through for it; one that cannot be read twice counts as writing.
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
        // A trace that is stopped ends.
        check_stop()?;
        Ok(false)
    }

    /// Its first `most` requests; `None` where they are too many.
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

/// Says whether to go on before anything is replayed.
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

    /// Says it in the result of a replay.
    pub(super) fn add_to(self, result: &mut ReplayResult) {
        result.trace = Some(self.row);
        for doubt in self.doubts {
            let (code, message) = (doubt.code(), doubt.to_string());
            match doubt {
                // The replay tells it, if it has looked at the time; where that is, only the trace knows.
                Doubt::TimeBackwards { unit, backward } => {
                    if let Some(notes) = result.warnings.iter_mut().find(|warning| warning.code == code) {
                        notes.message +=
                            &format!("; the first in the trace is {unit} {}", backward.first_line);
                    }
                }
                _ => result.warnings.push(Warning::new(code, message)),
            }
        }
        if let Some(reason) = self.incomplete {
            // What was replayed until there stands.
            result.warnings.insert(0, Warning::new("trace-incomplete", reason.clone()));
            result.partial.get_or_insert(reason);
        }
    }
}
