//! The trace of what clients ask for, in the drive's own time.
//!
//! Commands end in another order than they came in. One is written once all in progress came after it, so a trace is in
//! the order of its time stamps.
//!
//! Invariant: `ended` has the commands that are not written yet, none of which came before one that was.

use crate::command::sdf::counted;
use crate::command::trace::out;
use crate::failure::Failure;
use flashlane_base::Instant;
use flashlane_device::{DataDevice, Operation};
use flashlane_serve::{Asked, Served};
use flashlane_trace::{Format, Output, Record, WriteError, Writer, output_name};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub struct Recording {
    path: PathBuf,
    format: &'static Format,
    writer: Writer<Output>,
    /// By the time of reading, then in the order of ends.
    ended: BTreeMap<(Instant, u64), Asked>,
    count: u64,
    slowdown: u64,
}

impl Recording {
    /// Begins a trace; its file appears under its name at the end.
    pub fn begin(path: &Path, to: Option<&str>, force: bool, slowdown: u32) -> Result<Self, Failure> {
        let format = out::format(path, to, None)?;
        let writer = Writer::new(format, out::create(path, force)?).map_err(Failure::unusable)?;
        let ended = BTreeMap::new();
        Ok(Self { path: path.into(), format, writer, ended, count: 0, slowdown: slowdown.into() })
    }

    /// Writes the commands that ended, if no other can come before them.
    pub fn tick<D: DataDevice>(&mut self, served: &mut Served<D>) -> Result<(), Failure> {
        for asked in served.take_asked() {
            self.ended.insert((asked.at, self.count), asked);
            self.count += 1;
        }
        let oldest = served.oldest().unwrap_or(Instant::FAR);
        self.write(oldest).map_err(Failure::failed)
    }

    fn write(&mut self, before: Instant) -> Result<(), WriteError> {
        while let Some(entry) = self.ended.first_entry()
            && entry.key().0 < before
        {
            let record = record_of(&entry.remove(), self.slowdown);
            let failed = |source| WriteError::File { name: output_name(&self.path), source };
            self.writer.push(&record).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the rest and ends the trace.
    pub fn end(mut self) -> Result<(), Failure> {
        self.write(Instant::FAR).map_err(Failure::failed)?;
        let failed = |source| Failure::failed(WriteError::File { name: output_name(&self.path), source });
        let (file, written) = self.writer.finish().map_err(failed)?;
        if written.records == 0 {
            return out::print_summary(&self.path, "not written: no client asked for anything");
        }
        let path = out::close(file, &self.path).map_err(Failure::failed)?;
        let lost = out::losses(&written, "\n  ");
        let text =
            format!("{} as {}{lost}", counted(written.records, "request", "requests"), self.format.name);
        out::print_summary(&path, &text)
    }
}

/// Returns a command as the drive saw it, without the slowdown.
pub fn record_of(asked: &Asked, slowdown: u64) -> Record {
    let is_write = asked.operation == Operation::Write;
    Record {
        at: Instant::ZERO + asked.at.since(Instant::ZERO) / slowdown,
        took: Some(asked.took / slowdown),
        device: 0,
        operation: asked.operation,
        offset_bytes: asked.offset_bytes,
        length_bytes: asked.length_bytes,
        durable: is_write && asked.durable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Duration;

    #[test]
    fn record_is_in_the_time_of_the_drive() {
        let asked = Asked {
            at: Instant::from_ns(8_000),
            took: Duration::from_us(4),
            operation: Operation::Trim,
            offset_bytes: 512,
            length_bytes: 1024,
            durable: true,
        };
        let record = record_of(&asked, 4);
        assert_eq!((record.at.as_ns(), record.took), (2_000, Some(Duration::from_us(1))));
        assert_eq!((record.offset_bytes, record.length_bytes, record.durable), (512, 1024, false));
    }
}
