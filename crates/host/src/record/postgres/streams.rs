//! The processors' events, decoded and merged by time while they arrive.
//!
//! Each pipe is read until it is empty. An event that happened before the reading began, less a margin for events that
//! were being written, is then the next of its processor, and the earliest of all goes on: memory holds the events of
//! one round.

use super::assemble::{Assembler, Event};
use super::error::PostgresError;
use super::format::{Field, Format};
use super::instance::Instance;
use super::probes::{Definition, Role};
use super::ring::Page;
use super::spool::Spool;
use crate::record::RecordError;
use crate::record::settings::read;
use crate::record::tracefs::lost;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Length of the longest page; each read returns one.
const PAGE_BYTES: usize = 64 << 10;
/// Time in which an event, once begun, is in its buffer.
const MARGIN_NS: u64 = 50_000_000;

/// The events of the scheduler, in every instance.
const SWITCH: &str = "events/sched/sched_switch";

/// Fields of one kind of event.
#[derive(Debug)]
struct Decoder {
    role: Role,
    pid: Field,
    numbers: Vec<Field>,
    text: Option<Field>,
}

/// Decoders by the number of the event.
#[derive(Debug)]
pub(super) struct Decoders(BTreeMap<u16, Decoder>);

impl Decoders {
    /// Reads the formats of the defined events, and of the scheduler's if those are recorded.
    pub(super) fn read(
        instance: &Instance,
        events: &[Definition],
        has_switches: bool,
    ) -> Result<Self, PostgresError> {
        let defined = events.iter().map(|event| (event.role, instance.event(&event.name)));
        let switch = has_switches.then(|| (Role::Switch, instance.at(SWITCH)));
        let decoder = |(role, folder): (Role, PathBuf)| {
            let format = Format::parse(&read(&folder.join("format"))?);
            let format = format.ok_or(PostgresError::NoField { event: name(&folder), field: "ID" })?;
            let field = |field: &'static str| {
                let missing = || PostgresError::NoField { event: name(&folder), field };
                format.field(field).ok_or_else(missing)
            };
            let numbers: &[&'static str] = match role {
                Role::Query | Role::Start | Role::Commit | Role::Abort => &[],
                Role::ReadDone => &["fork", "block", "db", "rel"],
                Role::ReadReturned | Role::Dirty => &["buffer"],
                Role::Switch => &["prev_pid", "next_pid"],
            };
            let numbers = numbers.iter().map(|name| field(name)).collect::<Result<_, _>>()?;
            let text = if role == Role::Query { Some(field("text")?) } else { None };
            Ok((format.id, Decoder { role, pid: field("common_pid")?, numbers, text }))
        };
        defined.chain(switch).map(decoder).collect::<Result<_, PostgresError>>().map(Self)
    }

    /// Decodes an event to its process and content; `None` for one of another kind, or cut short.
    fn decode(&self, bytes: &[u8]) -> Option<(u32, Event)> {
        let id = u16::from_ne_bytes(*bytes.first_chunk()?);
        let decoder = self.0.get(&id)?;
        let mut numbers = [0; 4];
        for (number, field) in numbers.iter_mut().zip(&decoder.numbers) {
            *number = field.number(bytes)?;
        }
        // A text that could not be fetched is empty.
        let text = decoder.text.and_then(|field| field.text(bytes)).unwrap_or_default();
        let pid = decoder.pid.number(bytes)? as u32;
        Some((pid, Event::of(decoder.role, &numbers[..decoder.numbers.len()], text)?))
    }
}

fn name(folder: &std::path::Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Switches the scheduler's events on for processes of this name. Returns whether the kernel has them.
pub(super) fn enable_switches(instance: &Instance, process: &str) -> Result<bool, PostgresError> {
    let folder = instance.at(SWITCH);
    if !folder.exists() {
        return Ok(false);
    }
    let filter = format!("prev_comm == \"{process}\" || next_comm == \"{process}\"");
    crate::record::settings::write(&folder.join("filter"), &filter)?;
    crate::record::settings::write(&folder.join("enable"), "1")?;
    Ok(true)
}

#[derive(Debug)]
struct Stream {
    folder: PathBuf,
    pipe: File,
    waiting: VecDeque<(u64, u32, Event)>,
}

/// The streams of all processors.
#[derive(Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    decoders: Decoders,
    buffer: Vec<u8>,
}

impl Streams {
    pub(super) fn open(instance: &Instance, decoders: Decoders) -> Result<Self, RecordError> {
        let open = |folder: PathBuf| {
            let path = folder.join("trace_pipe_raw");
            let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            let pipe = pipe.map_err(|e| RecordError::os(&path, "open", e))?;
            Ok(Stream { folder, pipe, waiting: VecDeque::new() })
        };
        let streams = instance.tracefs().processors()?.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { streams, decoders, buffer: vec![0; PAGE_BYTES] })
    }

    /// Reads what has arrived, and gives the events that are complete to `assembler`: all where this is the `last`
    /// round. Returns the number of bytes read.
    pub(super) fn pump(
        &mut self,
        last: bool,
        assembler: &mut Assembler,
        spool: &mut Spool,
    ) -> Result<u64, PostgresError> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let mut taken = 0;
        for stream in &mut self.streams {
            taken += stream.read(&mut self.buffer, &self.decoders)?;
        }
        let until = if last { u64::MAX } else { now.saturating_sub(MARGIN_NS) };
        while let Some(stream) = self.earliest(until) {
            let Some((at_ns, pid, event)) = self.streams[stream].waiting.pop_front() else { break };
            if let Some(transaction) = assembler.add(at_ns, pid, event) {
                spool.push(&transaction).map_err(PostgresError::Keep)?;
            }
        }
        Ok(taken)
    }

    /// Returns the stream with the earliest event before `until`.
    fn earliest(&self, until: u64) -> Option<usize> {
        let next = |(at, stream): (usize, &Stream)| stream.waiting.front().map(|(at_ns, ..)| (*at_ns, at));
        let (at_ns, stream) = self.streams.iter().enumerate().filter_map(next).min()?;
        (at_ns < until).then_some(stream)
    }

    /// Returns the number of events that the kernel dropped.
    pub(super) fn lost(&self) -> Result<u64, RecordError> {
        self.streams.iter().try_fold(0, |sum, stream| Ok(sum + lost(&read(&stream.folder.join("stats"))?)))
    }
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8], decoders: &Decoders) -> Result<u64, RecordError> {
        let mut taken = 0;
        loop {
            let count = match self.pipe.read(buffer) {
                Ok(0) => return Ok(taken),
                Ok(count) => count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(taken),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(RecordError::os(&self.folder.join("trace_pipe_raw"), "read", e)),
            };
            taken += count as u64;
            let Some(page) = Page::parse(&buffer[..count]) else { continue };
            if page.missed() {
                self.waiting.push_back((page.at_ns(), 0, Event::Lost));
            }
            let decoded =
                page.filter_map(|(at, bytes)| decoders.decode(bytes).map(|(pid, event)| (at, pid, event)));
            self.waiting.extend(decoded);
        }
    }
}
