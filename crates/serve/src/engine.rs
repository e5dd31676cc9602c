//! Clients and their commands, without sockets: bytes in, bytes out, and a device in between.
//!
//! Memory: data of writes that came in part, commands in progress and replies that a client has not taken count towards
//! the limit. A client is read from only while it holds less than what is free (dynamic thresholds: Choudhury and
//! Hahne, *IEEE/ACM Transactions on Networking* 6(2), 1998), or while the data of its write is incomplete. So the limit
//! is exceeded by one command at most; one client gets half of it, *n* busy ones an equal share each, and one that
//! holds nothing is read from until nothing is free. Then the clients are closed that did not move within [`STALL`] the
//! bytes that they held.
//!
//! Invariant: `clients_bytes` is the sum of what the clients hold, each as of its last [`recount`](Engine::recount).

use crate::command::{Asked, Command};
use crate::disk::Answer;
use crate::nbd::{Event, Session};
use crate::options::Options;
use crate::output::Output;
use crate::served::Served;
use crate::task::{Tag, data_bytes};
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;
use std::collections::{BTreeMap, VecDeque};

/// A client's number, from 0.
pub(crate) type ClientId = u64;

/// Commands of one client in progress.
const COMMANDS_MAX: usize = 1024;
/// Memory that a command takes beside its data.
const COMMAND_BYTES: usize = 512;
/// Time in which a client that holds memory has to move the bytes that it held at the beginning, where no memory is
/// free.
const STALL: Duration = Duration::from_s(5);
/// Time in which a client has to choose the export.
const NEGOTIATION: Duration = Duration::from_s(30);

struct Client {
    session: Session,
    output: Output,
    /// Commands in progress, and their memory.
    commands: usize,
    commands_bytes: usize,
    /// Its share of `Engine::clients_bytes`.
    held_bytes: usize,
    /// Ends of the replies in `output`, counted from its first byte, and their commands.
    replies: VecDeque<(u64, Asked)>,
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

/// A served device with its NBD clients.
pub struct Engine<D> {
    served: Served<D>,
    options: Options,
    clients: BTreeMap<ClientId, Client>,
    clients_total: u64,
    /// Memory of the clients.
    clients_bytes: usize,
    touched: Vec<ClientId>,
}

impl<D: DataDevice> Engine<D> {
    /// Serves a device without erase units, and with one lane.
    pub fn new(device: D, options: Options) -> Self {
        Self {
            served: Served::new(device, &options),
            options,
            clients: BTreeMap::new(),
            clients_total: 0,
            clients_bytes: 0,
            touched: Vec::new(),
        }
    }

    /// Returns the device with its counts.
    pub fn served(&self) -> &Served<D> {
        &self.served
    }

    /// Returns the device with its counts.
    pub fn served_mut(&mut self) -> &mut Served<D> {
        &mut self.served
    }

    /// Returns the number of clients that are connected.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Returns the number of clients that ever connected.
    pub fn clients_total(&self) -> u64 {
        self.clients_total
    }

    /// Adds a client. Returns `None` where there are too many.
    pub fn connect(&mut self) -> Option<ClientId> {
        if self.clients.len() >= self.options.clients_max {
            return None;
        }
        let id = self.clients_total;
        self.clients_total += 1;
        let mut output = Output::default();
        let session = output.append(|out| Session::new(self.served.export().clone(), out));
        let client = Client {
            session,
            output,
            commands: 0,
            commands_bytes: 0,
            held_bytes: 0,
            replies: VecDeque::new(),
            connected: self.served.now(),
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

    /// Returns the clients to disconnect: those that do not negotiate, and where no memory is free, those that keep
    /// some. MUST be called some times in 5 s.
    pub fn stalled(&mut self) -> Vec<ClientId> {
        let (now, is_short) = (self.served.now(), self.free_bytes() == 0);
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
        client.commands_bytes +=
            COMMAND_BYTES + data_bytes(self.served.export(), action, offset_bytes, length_bytes);
        self.served.start(Tag { client: id, cookie: command.cookie }, command);
        self.reply();
    }

    /// Lets the device work until a request completes, or until `until`, and replies.
    pub fn step(&mut self, until: Instant) {
        self.served.work(until);
        self.reply();
    }

    fn reply(&mut self) {
        let mut ended = self.served.take_ended();
        for end in ended.drain(..) {
            let Some(client) = self.clients.get_mut(&end.tag.client) else { continue };
            client.commands -= 1;
            client.commands_bytes -= COMMAND_BYTES + end.data_bytes;
            let (session, cookie) = (&client.session, end.tag.cookie);
            client.output.append(|out| match &end.outcome {
                Ok(Answer::Done) => session.reply_done(cookie, out),
                Ok(Answer::Data(_)) => {
                    session.begin_read(cookie, end.offset_bytes, end.length_bytes as u32, out)
                }
                Ok(Answer::Extents(extents)) => session.reply_status(cookie, extents, out),
                Err((error, text)) => session.reply_error(cookie, *error, text, out),
            });
            if let Ok(Answer::Data(data)) = &end.outcome {
                let start = (end.offset_bytes % self.served.export().unit_bytes) as usize;
                client.output.append_data(&data.as_slice()[start..][..end.length_bytes as usize]);
            }
            if let Some(asked) = end.asked() {
                client.replies.push_back((client.output.appended_bytes(), asked));
            }
            self.recount(end.tag.client);
            self.touched.push(end.tag.client);
        }
        self.served.give_back(ended);
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
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.output.take(bytes);
        while let Some(&(end, asked)) = client.replies.front()
            && end <= client.output.taken_bytes()
        {
            client.replies.pop_front();
            self.served.count_reply(asked);
        }
        self.recount(id);
    }
}

#[cfg(test)]
mod tests;
