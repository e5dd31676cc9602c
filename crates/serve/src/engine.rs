//! Clients and their commands, without sockets: bytes in, bytes out, and a device in between.
//!
//! Memory: data of writes that came in part, commands in progress and replies that a client has not taken count towards the
//! limit. A client is read from only while it holds less than what is free (dynamic thresholds: Choudhury and Hahne, *IEEE/ACM
//! Transactions on Networking* 6(2), 1998), or while the data of its write is incomplete. So the limit is exceeded by one
//! command at most; one client gets half of it, *n* busy ones an equal share each, and one that holds nothing is read from until
//! nothing is free. Then the clients are closed that did not move within [`STALL`] the bytes that they held.
//!
//! Invariant: `clients_bytes` is the sum of what the clients hold, each as of its last [`recount`](Engine::recount).

use crate::disk::{Answer, Disk, Finished, Tag, data_bytes};
use crate::nbd::{Command, Event, Export, PAYLOAD_BYTES_MAX, Session};
use crate::output::Output;
use crate::stats::Stats;
use flashlane_base::{Duration, Histogram, Instant};
use flashlane_device::{Counters, DataDevice, Operation, Profile};
use std::collections::{BTreeMap, VecDeque};

/// A client's number, from 0.
pub(crate) type ClientId = u64;

/// Commands of one client in progress.
const COMMANDS_MAX: usize = 1024;
/// Memory that a command takes beside its data.
const COMMAND_BYTES: usize = 512;
/// Time in which a client that holds memory has to move the bytes that it held at the beginning, where no memory is free.
const STALL: Duration = Duration::from_s(5);
/// Time in which a client has to choose the export.
const NEGOTIATION: Duration = Duration::from_s(30);

/// Memory of clients in which the longest read fits with its reply.
pub const CLIENT_MEMORY_BYTES_MIN: usize = 2 * PAYLOAD_BYTES_MAX as usize;

/// What is served, and to how many.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients at most.
    pub clients_max: usize,
    /// Memory of commands and replies of all clients; [`CLIENT_MEMORY_BYTES_MIN`] or more for requests of any length.
    pub memory_bytes: usize,
    /// Memory for the data of a simulated device, at least [`DATA_BYTES_MIN`](crate::DATA_BYTES_MIN) to write any; `None` for a device that keeps its data elsewhere.
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
    output: Output,
    /// Commands in progress, and their memory.
    commands: usize,
    commands_bytes: usize,
    /// Its share of `Engine::clients_bytes`.
    held_bytes: usize,
    /// Ends of the replies in `output`, counted from its first byte, and when the device had done their commands.
    due: VecDeque<(u64, Instant)>,
    connected: Instant,
    /// Bytes that were read of it.
    read_bytes: u64,
    /// When it is stalled, unless [`moved_bytes`](Self::moved_bytes) has reached the number by then.
    stalls: Option<(Instant, u64)>,
    /// No more commands are read.
    is_ending: bool,
    /// It broke the protocol, or vanished.
    is_broken: bool,
}

impl Client {
    fn memory_bytes(&self) -> usize {
        self.session.memory_bytes() + self.commands_bytes + self.output.held_bytes()
    }

    /// Returns the number of bytes that came from the client or went to it.
    fn moved_bytes(&self) -> u64 {
        self.read_bytes + self.output.taken_bytes()
    }

    /// Returns the number of bytes that only the client can move: the rest of a write, and replies.
    fn owed_bytes(&self) -> u64 {
        self.session.missing_bytes() + self.output.waiting_bytes()
    }

    /// Returns whether the client held bytes for [`STALL`] without moving them, as of the last call.
    fn is_stalled(&mut self, now: Instant) -> bool {
        let (owed, moved) = (self.owed_bytes(), self.moved_bytes());
        match self.stalls {
            _ if owed == 0 => self.stalls = None,
            Some((_, target)) if moved < target => {}
            _ => self.stalls = Some((now + STALL, moved + owed)),
        }
        self.stalls.is_some_and(|(at, _)| now >= at)
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
    /// Memory of the clients.
    clients_bytes: usize,
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
            clients_bytes: 0,
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
        let mut output = Output::default();
        let session = output.append(|out| Session::new(self.export.clone(), out));
        let client = Client {
            session,
            output,
            commands: 0,
            commands_bytes: 0,
            held_bytes: 0,
            due: VecDeque::new(),
            connected: self.now(),
            read_bytes: 0,
            stalls: None,
            is_ending: false,
            is_broken: false,
        };
        self.clients.insert(id, client);
        self.recount(id);
        self.touched.push(id);
        Some(id)
    }

    /// Removes a client. Its commands in progress are carried out.
    pub fn disconnect(&mut self, id: ClientId) {
        if let Some(client) = self.clients.remove(&id) {
            self.clients_bytes -= client.held_bytes;
        }
    }

    /// Returns whether bytes of a client can be read.
    pub fn has_room(&self, id: ClientId) -> bool {
        let Some(client) = self.clients.get(&id) else { return false };
        let is_open = !client.is_ending && client.commands < COMMANDS_MAX;
        is_open && (client.session.is_within_data() || client.held_bytes < self.free_bytes())
    }

    fn free_bytes(&self) -> usize {
        self.options.memory_bytes.saturating_sub(self.clients_bytes)
    }

    /// Counts the memory of a client anew, after a change.
    fn recount(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            let held_bytes = client.memory_bytes();
            self.clients_bytes = self.clients_bytes - client.held_bytes + held_bytes;
            client.held_bytes = held_bytes;
        }
    }

    /// Returns the clients to disconnect: those that do not negotiate, and where no memory is free, those that keep some. MUST
    /// be called some times in 5 s.
    pub fn stalled(&mut self) -> Vec<ClientId> {
        let (now, is_short) = (self.now(), self.free_bytes() == 0);
        let is_over = |client: &mut Client| {
            let is_idle = client.session.is_negotiating() && now.since(client.connected) >= NEGOTIATION;
            client.is_stalled(now) && is_short || is_idle
        };
        self.clients.iter_mut().filter_map(|(&id, client)| is_over(client).then_some(id)).collect()
    }

    /// Reads bytes of a client while there is room. Returns how many were used.
    pub fn feed(&mut self, id: ClientId, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() && self.has_room(id) {
            let client = self.clients.get_mut(&id).expect("it has room");
            let before = client.output.appended_bytes();
            let fed = client.output.append(|out| client.session.feed(&bytes[used..], out));
            if client.output.appended_bytes() > before {
                self.touched.push(id);
            }
            match fed {
                Err(_) => {
                    (client.is_ending, client.is_broken) = (true, true);
                    self.touched.push(id);
                }
                Ok((read, event)) => {
                    used += read;
                    client.read_bytes += read as u64;
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
            self.recount(id);
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
            let (session, cookie) = (&client.session, end.tag.cookie);
            client.output.append(|out| match &end.outcome {
                Ok(Answer::Done) => session.reply_done(cookie, out),
                Ok(Answer::Data(_)) => session.begin_read(cookie, end.offset_bytes, end.length_bytes, out),
                Ok(Answer::Extents(extents)) => session.reply_status(cookie, extents, out),
                Err((error, text)) => session.reply_error(cookie, *error, text, out),
            });
            if let Ok(Answer::Data(data)) = &end.outcome {
                let start = (end.offset_bytes % self.export.unit_bytes) as usize;
                client.output.append_data(&data.as_slice()[start..][..end.length_bytes as usize]);
            }
            if end.operation.is_some() && end.outcome.is_ok() {
                client.due.push_back((client.output.appended_bytes(), end.due));
            }
            self.recount(end.tag.client);
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

    /// Returns the next bytes that a client has to be sent; `None` where its connection ends.
    pub fn output(&self, id: ClientId) -> Option<&[u8]> {
        let client = self.clients.get(&id)?;
        let output = client.output.first();
        let is_over = client.is_broken || client.is_ending && client.commands == 0 && output.is_empty();
        (!is_over).then_some(output)
    }

    /// Notes that the first `bytes` of a client's output were sent now, and with them the replies that end there.
    pub fn take(&mut self, id: ClientId, bytes: usize) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.output.take(bytes);
        while let Some(&(end, due)) = client.due.front()
            && end <= client.output.taken_bytes()
        {
            client.due.pop_front();
            let lateness: Duration = now.since(due);
            self.total.lateness.record(lateness);
            self.recent.lateness.record(lateness);
        }
        self.recount(id);
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
