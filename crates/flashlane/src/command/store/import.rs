//! Stores the pairs of a file or of standard input, with many writes in flight, or restores a backup.

use super::Level;
use super::backup::{self, Input};
use super::device::{Place, create_simulated, open_to_write};
use crate::command::sdf::counted;
use crate::failure::{Failure, Status, notify};
use crate::output::print;
use crate::progress::Meter;
use anyhow::{Context, anyhow};
use flashlane_base::Duration;
use flashlane_base::units::exact_bytes;
use flashlane_device::DataDevice;
use flashlane_store::space::is_of_a_face;
use flashlane_store::text::{escape, parse_pair};
use flashlane_store::{Loader, is_backup};
use flashlane_trace::is_standard_input;
use std::fs::File;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::Path;

/// Longest wait between two checks for Ctrl-C.
const WAIT: Duration = Duration::from_ms(50);
/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;
/// Longest line: a mistaken path (a device, a dump) must not exhaust memory.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Bytes by which a backup is known.
const BACKUP_BEGINS_BYTES: usize = 8;
/// Waits for other writes in flight after one has failed.
const WAITS_FOR_OTHERS: u32 = 200;
/// What a line is called, and more of them.
const LINES: [&str; 2] = ["line", "lines"];
/// Lines between two looks at the completed writes.
const LINES_PER_LOOK: u64 = 64;

/// What the input holds next.
enum Found {
    Line(Vec<u8>),
    /// Another program writes it, and has not yet.
    NotYet,
    End,
}

/// The lines of a file.
struct Lines {
    file: File,
    /// Bytes of the file; `None` where another program writes them.
    length_bytes: Option<u64>,
    read_bytes: u64,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are used, and that have no line feed behind these.
    used: usize,
    searched: usize,
    is_at_end: bool,
}

impl Lines {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let file = match is_standard_input(path) {
            true => File::from(io::stdin().as_fd().try_clone_to_owned()?),
            false => File::open(path).with_context(|| format!("cannot open '{}'", path.display()))?,
        };
        let length_bytes = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
        Ok(Self {
            file,
            length_bytes,
            read_bytes: 0,
            buffer: Vec::new(),
            used: 0,
            searched: 0,
            is_at_end: false,
        })
    }

    fn next(&mut self) -> anyhow::Result<Found> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') {
                let end = self.searched + at;
                let line = self.buffer[self.used..end].to_vec();
                (self.used, self.searched) = (end + 1, end + 1);
                return Ok(Found::Line(line));
            }
            self.buffer.drain(..self.used);
            (self.used, self.searched) = (0, self.buffer.len());
            if self.is_at_end {
                let last = std::mem::take(&mut self.buffer);
                self.searched = 0;
                return Ok(if last.is_empty() { Found::End } else { Found::Line(last) });
            }
            if self.buffer.len() > LINE_BYTES_MAX {
                return Err(anyhow!(
                    "it is longer than {}; 'flashlane store put' stores a long value",
                    exact_bytes(LINE_BYTES_MAX as u64)
                ));
            }
            if !self.read()? {
                return Ok(Found::NotYet);
            }
        }
    }

    /// Returns whether it is a backup, once enough of it is read.
    fn is_backup(&mut self) -> anyhow::Result<bool> {
        while self.buffer.len() < BACKUP_BEGINS_BYTES && !self.is_at_end && !flashlane_host::interrupted() {
            self.read()?;
        }
        Ok(is_backup(&self.buffer))
    }

    /// Whether it is a regular file without bytes; call it after [`Self::is_backup`], since the length that the system
    /// reports of some files is 0 though they can be read.
    fn is_empty_file(&self) -> bool {
        self.length_bytes.is_some() && self.is_at_end && self.read_bytes == 0
    }

    /// Returns what is read and what is not.
    fn into_input(self) -> Input {
        Input { begun: self.buffer, file: self.file, length_bytes: self.length_bytes }
    }

    /// Reads more. Returns false where another program has not written it yet.
    fn read(&mut self) -> anyhow::Result<bool> {
        if !flashlane_host::is_readable(&self.file, std::time::Duration::from_nanos(WAIT.as_ns()))? {
            return Ok(false);
        }
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let more = self.file.read(&mut self.buffer[length..])?;
        self.buffer.truncate(length + more);
        self.read_bytes += more as u64;
        self.is_at_end = more == 0;
        Ok(true)
    }

    fn share(&self) -> Option<f64> {
        let unread = self.buffer.len() - self.used;
        self.length_bytes.map(|length| (self.read_bytes - unread as u64) as f64 / length.max(1) as f64)
    }
}

/// Prints the number of stored lines where it has grown, if asked for.
struct Acknowledged {
    is_printed: bool,
    last: u64,
}

impl Acknowledged {
    fn set(&mut self, stored: u64) -> Result<(), Failure> {
        if self.is_printed && stored > self.last {
            self.last = stored;
            print(&format!("{stored}\n"))?;
        }
        Ok(())
    }
}

/// How an import ended, and why.
enum Ended {
    Done,
    Stopped,
    /// At this line.
    Refused(u64, anyhow::Error),
}

/// Stores a pair from each line, or the entries of a backup. On a simulated device, creates a store first.
pub fn import(place: &Place, path: &Path, level: Level, acknowledge: bool) -> Result<Status, Failure> {
    let mut lines = Lines::open(path).map_err(Failure::unusable)?;
    let mut store = match place.device.is_simulated() {
        true => create_simulated(place, level)?,
        false => open_to_write(place, level)?,
    };
    let name =
        if is_standard_input(path) { "standard input".to_owned() } else { format!("'{}'", path.display()) };
    if lines.is_backup().map_err(Failure::unusable)? {
        return backup::restore(store, lines.into_input(), &name, level);
    }
    if lines.is_empty_file() && !is_standard_input(path) {
        return Err(Failure::failed(anyhow!(
            "{name} is empty, as a backup is that failed before its first byte; nothing is stored. Standard input (-) may be empty"
        )));
    }
    let meter = Meter::new(format!("storing the lines of {name}"));
    let mut acknowledged = Acknowledged { is_printed: acknowledge, last: 0 };
    let mut loader = store.loader();
    let ended = load(&mut lines, &mut loader, &meter, &mut acknowledged)?;
    // On a full device writes that were taken may wait for room that nothing gives back.
    while !loader.is_done() && !flashlane_host::interrupted() && wait(&mut loader)? {
        acknowledged.set(loader.stored())?;
    }
    acknowledged.set(loader.stored())?;
    let is_stuck = !loader.is_done() && !flashlane_host::interrupted();
    let (stored, most) = (loader.stored(), *loader.stored_in_all().end());
    let before = stored_of(&loader, LINES);
    let is_stopped = matches!(ended, Ended::Stopped) || !loader.is_done();
    meter.say("merging");
    meter.set(None);
    // The log is written, and merges that are due end.
    while !flashlane_host::interrupted() && store.store().step_for(WAIT) {}
    drop(meter);
    let lines = counted(stored, "line", "lines");
    let refused = |error: anyhow::Error| match most {
        0 => Failure::unusable(error),
        _ => Failure::failed(error),
    };
    match ended {
        Ended::Refused(number, error) => Err(refused(
            error.context(format!("line {number} of {name} is not stored; stored before it: {before}")),
        )),
        _ if is_stuck => Err(refused(anyhow!(
            "the device is full, and lines behind the first {stored} wait for room; stored: {before}; delete keys to make room"
        ))),
        _ if is_stopped => {
            notify(&format!("stopped; {lines} stored from the first on, durability: {}", level.name()));
            Ok(Status::Failed)
        }
        _ => {
            let written = store.status().counters.write_amplification();
            print(&format!(
                "{lines} stored, durability: {}; bytes written per byte of keys and values: {written:.2}\n",
                level.name()
            ))?;
            Ok(Status::Done)
        }
    }
}

/// Hands all lines over.
fn load<D: DataDevice, L: DataDevice>(
    lines: &mut Lines,
    loader: &mut Loader<'_, D, L>,
    meter: &Meter,
    acknowledged: &mut Acknowledged,
) -> Result<Ended, Failure> {
    let mut number = 0;
    loop {
        number += 1;
        let (key, value) = loop {
            if meter.watch(lines.share()).is_break() {
                return Ok(Ended::Stopped);
            }
            match lines.next() {
                Err(error) => return Ok(Ended::Refused(number, error)),
                Ok(Found::End) => return Ok(Ended::Done),
                Ok(Found::Line(line)) => match parse_pair(&line) {
                    Ok((key, _)) if is_of_a_face(&key) => {
                        let error = anyhow!(
                            "key '{}' begins with \\x00FL, as those of tables and files do",
                            escape(&key)
                        );
                        return Ok(Ended::Refused(number, error));
                    }
                    Ok(pair) => break pair,
                    Err(error) => return Ok(Ended::Refused(number, error.into())),
                },
                Ok(Found::NotYet) => drop(wait(loader)?),
            }
            acknowledged.set(loader.stored())?;
        };
        loop {
            match loader.offer(&key, &value) {
                Ok(true) => break,
                Ok(false) => drop(wait(loader)?),
                Err(error) => return Ok(Ended::Refused(number, error.into())),
            }
            acknowledged.set(loader.stored())?;
            if flashlane_host::interrupted() {
                return Ok(Ended::Stopped);
            }
        }
        if number % LINES_PER_LOOK == 0 {
            wait_for(loader, Duration::ZERO, LINES)?;
            acknowledged.set(loader.stored())?;
        }
    }
}

fn wait<D: DataDevice, L: DataDevice>(loader: &mut Loader<'_, D, L>) -> Result<bool, Failure> {
    wait_for(loader, WAIT, LINES)
}

/// Lets a loader wait. Where a write fails, the error says how many are stored once the others have ended.
pub fn wait_for<D: DataDevice, L: DataDevice>(
    loader: &mut Loader<'_, D, L>,
    longest: Duration,
    names: [&str; 2],
) -> Result<bool, Failure> {
    let error = match loader.wait(longest) {
        Ok(is_working) => return Ok(is_working),
        Err(error) => error,
    };
    let mut waits_left = WAITS_FOR_OTHERS;
    while loader.is_in_flight() && waits_left > 0 && loader.wait(WAIT) != Ok(false) {
        waits_left -= 1;
    }
    let stored = stored_of(loader, names);
    Err(Failure::failed(
        anyhow::Error::from(error).context(format!("stored: {stored}; one behind them is not")),
    ))
}

/// Says how many of a loader's pairs are stored: see [`stored_text`].
pub fn stored_of<D: DataDevice, L: DataDevice>(loader: &Loader<'_, D, L>, names: [&str; 2]) -> String {
    stored_text(loader.stored(), loader.stored_in_all(), names)
}

/// Says how many are stored in all, one or more of them named so, and how many of these from the first on where one is
/// missing.
pub fn stored_text(first: u64, all: RangeInclusive<u64>, [one, more]: [&str; 2]) -> String {
    let (least, most) = all.into_inner();
    let count = match least == most {
        true => counted(least, one, more),
        false => format!("{least} to {most} {more}"),
    };
    if first == most { count } else { format!("{count}, of which {first} from the first on") }
}
