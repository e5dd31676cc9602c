//! Clients and their commands, without sockets: bytes in, bytes out, and a device in between.
//!
//! Memory: data of writes that came in part, commands in progress and replies that a client has not taken count towards the
//! limit. A client is read from only while all together are below it, or while the data of its write is incomplete; so the
//! limit is exceeded by one command at most.

use crate::disk::{Answer, Disk, Finished, Tag, data_bytes};
use crate::nbd::{Command, Event, Export, Session};
use crate::stats::Stats;
use flashlane_base::{Duration, Histogram, Instant};
use flashlane_device::{Counters, DataDevice, Operation, Profile};
use std::collections::BTreeMap;

/// A client's number, from 0.
pub(crate) type ClientId = u64;

/// Commands of one client in progress.
const COMMANDS_MAX: usize = 1024;
/// Memory that a command takes beside its data.
const COMMAND_BYTES: usize = 512;

/// What is served, and to how many.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients at most.
    pub clients_max: usize,
    /// Memory of commands and replies of all clients.
    pub memory_bytes: usize,
    /// Memory for the data of a simulated device; `None` for a device that keeps its data elsewhere.
    pub data_bytes: Option<u64>,
    /// Refuse writes, also where the device allows them.
    pub read_only: bool,
    /// Text for clients that ask for it.
    pub description: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients_max: 64,
            memory_bytes: 256 << 20,
            data_bytes: None,
            read_only: false,
            description: String::new(),
        }
    }
}

struct Client {
    session: Session,
    output: Vec<u8>,
    /// Bytes of `output` that were taken.
    taken: usize,
    /// Commands in progress, and their memory.
    commands: usize,
    commands_bytes: usize,
    /// When the device had done the commands whose replies are in `output` and were not yet handed over.
    due: Vec<Instant>,
    /// No more commands are read.
    is_ending: bool,
    /// It broke the protocol, or vanished.
    is_broken: bool,
}

impl Client {
    fn memory_bytes(&self) -> usize {
        self.session.memory_bytes() + self.commands_bytes + self.output.len()
    }
}

/// A command as a client asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When it was read, in the time of the device.
    pub at: Instant,
    /// From then until the device had done it.
    pub took: Duration,
    /// Read, write, trim or flush. Zeros count as what they were made of.
    pub operation: Operation,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 for a flush only.
    pub length_bytes: u32,
    /// Whether it had to be durable when it ended.
    pub durable: bool,
}

/// A served device.
pub struct Engine<D> {
    disk: Disk<D>,
    export: Export,
    options: Options,
    clients: BTreeMap<ClientId, Client>,
    clients_total: u64,
    total: Stats,
    recent: Stats,
    touched: Vec<ClientId>,
    /// Commands that succeeded, in the order of their ends, where they are kept.
    asked: Option<Vec<Asked>>,
}

impl<D: DataDevice> Engine<D> {
    /// Serves a device without erase units, and with one lane.
    pub fn new(device: D, options: Options) -> Self {
        let profile = device.profile();
        assert!(profile.erase_unit_bytes == 0 && profile.lanes == 1, "a served device takes writes anywhere");
        let export = export_of(profile, &options);
        Self {
            disk: Disk::new(device, export.clone(), options.data_bytes),
            export,
            options,
            clients: BTreeMap::new(),
            clients_total: 0,
            total: Stats::new(Histogram::new),
            recent: Stats::new(Histogram::coarse),
            touched: Vec::new(),
            asked: None,
        }
    }

    /// Keeps commands that succeed from now on, until they are taken.
    pub fn keep_asked(&mut self) {
        self.asked.get_or_insert_default();
    }

    /// Takes the kept commands, in the order in which they ended.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        self.asked.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns when the oldest command in progress was read; `None` without any. Commands that end later were not read before.
    pub fn oldest(&self) -> Option<Instant> {
        self.disk.oldest()
    }

    /// Returns the export.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Returns the time of the device.
    pub fn now(&self) -> Instant {
        self.disk.device().now()
    }

    /// Returns when the device has work next; `None` where it does not know.
    pub fn next_event(&self) -> Option<Instant> {
        self.disk.device().next_event()
    }

    /// Returns the counters of the device.
    pub fn counters(&self) -> Counters {
        self.disk.device().counters()
    }

    /// Returns the memory of the data of a simulated device.
    pub fn held_bytes(&self) -> Option<u64> {
        self.disk.held_bytes()
    }

    /// Returns the counts since the start.
    pub fn total(&self) -> &Stats {
        &self.total
    }

    /// Returns the counts since the last call.
    pub fn take_recent(&mut self) -> Stats {
        std::mem::replace(&mut self.recent, Stats::new(Histogram::coarse))
    }

    /// Returns the number of clients that are connected.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Returns the number of clients that ever connected.
    pub fn clients_total(&self) -> u64 {
        self.clients_total
    }

    /// Returns whether commands are in progress.
    pub fn is_busy(&self) -> bool {
        self.disk.is_busy()
    }

    /// Adds a client. Returns `None` where there are too many.
    pub fn connect(&mut self) -> Option<ClientId> {
        if self.clients.len() >= self.options.clients_max {
            return None;
        }
        let id = self.clients_total;
        self.clients_total += 1;
        let mut output = Vec::new();
        let session = Session::new(self.export.clone(), &mut output);
        let client = Client {
            session,
            output,
            taken: 0,
            commands: 0,
            commands_bytes: 0,
            due: Vec::new(),
            is_ending: false,
            is_broken: false,
        };
        self.clients.insert(id, client);
        self.touched.push(id);
        Some(id)
    }

    /// Removes a client. Its commands in progress are carried out.
    pub fn disconnect(&mut self, id: ClientId) {
        self.clients.remove(&id);
    }

    /// Returns whether bytes of a client can be read.
    pub fn has_room(&self, id: ClientId) -> bool {
        let Some(client) = self.clients.get(&id) else { return false };
        let is_open = !client.is_ending && client.commands < COMMANDS_MAX;
        is_open && (client.session.is_within_data() || !self.is_short_of_memory())
    }

    /// Returns whether clients take all the memory that they may.
    pub fn is_short_of_memory(&self) -> bool {
        let taken: usize = self.clients.values().map(Client::memory_bytes).sum();
        taken >= self.options.memory_bytes
    }

    /// Returns whether a client keeps memory for which only it can do something: a write that came in part, or replies that
    /// it does not take.
    pub fn holds_memory(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_some_and(|client| {
            client.commands == 0 && (client.session.is_within_data() || !client.output.is_empty())
        })
    }

    /// Returns whether a client still negotiates.
    pub fn is_negotiating(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_some_and(|client| !client.session.is_open())
    }

    /// Reads bytes of a client while there is room. Returns how many were used.
    pub fn feed(&mut self, id: ClientId, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() && self.has_room(id) {
            let client = self.clients.get_mut(&id).expect("it has room");
            let before = client.output.len();
            let fed = client.session.feed(&bytes[used..], &mut client.output);
            if client.output.len() > before {
                self.touched.push(id);
            }
            match fed {
                Err(_) => {
                    (client.is_ending, client.is_broken) = (true, true);
                    self.touched.push(id);
                }
                Ok((read, event)) => {
                    used += read;
                    match event {
                        Some(Event::Command(command)) => self.start(id, command),
                        Some(Event::Disconnect) => {
                            client.is_ending = true;
                            self.touched.push(id);
                        }
                        None => {}
                    }
                }
            }
        }
        used
    }

    /// The client sends no more.
    pub fn end_input(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.is_ending = true;
            self.touched.push(id);
        }
    }

    fn start(&mut self, id: ClientId, command: Command) {
        let client = self.clients.get_mut(&id).expect("it sent the command");
        client.commands += 1;
        let Command { offset_bytes, length_bytes, ref action, .. } = command;
        client.commands_bytes += COMMAND_BYTES + data_bytes(&self.export, action, offset_bytes, length_bytes);
        self.disk.start(Tag { client: id, cookie: command.cookie }, command);
        self.reply();
    }

    /// Lets the device work until a request completes, or until `until`, and replies.
    pub fn step(&mut self, until: Instant) {
        self.disk.reap(until);
        self.reply();
    }

    fn reply(&mut self) {
        let mut finished: Vec<Finished> = self.disk.take_finished();
        for end in finished.drain(..) {
            let latency = end.outcome.is_ok().then(|| end.due.since(end.arrived));
            if let Some(operation) = end.operation {
                self.total.count(operation, end.length_bytes, latency);
                self.recent.count(operation, end.length_bytes, latency);
                if let (Some(asked), Some(took)) = (&mut self.asked, latency) {
                    let Finished { offset_bytes, length_bytes, durable, arrived: at, .. } = end;
                    asked.push(Asked { at, took, operation, offset_bytes, length_bytes, durable });
                }
            }
            let Some(client) = self.clients.get_mut(&end.tag.client) else { continue };
            client.commands -= 1;
            client.commands_bytes -= COMMAND_BYTES + end.data_bytes;
            let (session, out) = (&client.session, &mut client.output);
            match &end.outcome {
                Ok(Answer::Done) => session.reply_done(end.tag.cookie, out),
                Ok(Answer::Data(data)) => {
                    let start = (end.offset_bytes % self.export.unit_bytes) as usize;
                    let data = &data.as_slice()[start..][..end.length_bytes as usize];
                    session.reply_read(end.tag.cookie, end.offset_bytes, data, out);
                }
                Ok(Answer::Extents(extents)) => session.reply_status(end.tag.cookie, extents, out),
                Err((error, text)) => session.reply_error(end.tag.cookie, *error, text, out),
            }
            if end.operation.is_some() && end.outcome.is_ok() {
                client.due.push(end.due);
            }
            self.touched.push(end.tag.client);
        }
        self.disk.give_back(finished);
    }

    /// Takes the clients that have output, or that are to be closed.
    pub fn take_touched(&mut self) -> Vec<ClientId> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Returns what a client has to be sent; `None` where its connection ends.
    pub fn output(&self, id: ClientId) -> Option<&[u8]> {
        let client = self.clients.get(&id)?;
        let output = &client.output[client.taken..];
        let is_over = client.is_broken || client.is_ending && client.commands == 0 && output.is_empty();
        (!is_over).then_some(output)
    }

    /// Notes that the first `bytes` of a client's output were sent.
    pub fn take(&mut self, id: ClientId, bytes: usize) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.taken += bytes;
        if client.taken == client.output.len() {
            client.taken = 0;
            // A long reply must not keep its memory.
            match client.output.capacity() > 1 << 20 {
                true => client.output = Vec::new(),
                false => client.output.clear(),
            }
        }
    }

    /// Notes that the replies of a client were handed to its socket, as far as it took them.
    pub fn delivered(&mut self, id: ClientId) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        for due in client.due.drain(..) {
            let lateness: Duration = now.since(due);
            self.total.lateness.record(lateness);
            self.recent.lateness.record(lateness);
        }
    }
}

/// Returns what clients see of a device.
fn export_of(profile: &Profile, options: &Options) -> Export {
    let (read, write) = (profile.read_unit_bytes, profile.write_unit_bytes);
    // Both are powers of two on nearly every device.
    let unit_bytes = if write.is_multiple_of(read) { write } else { read * write };
    Export {
        size_bytes: profile.capacity_bytes / unit_bytes * unit_bytes,
        unit_bytes,
        is_read_only: profile.read_only || options.read_only,
        description: options.description.clone(),
    }
}

#[cfg(test)]
mod tests;
