//! Sockets: reads commands, writes replies.
//!
//! One thread waits for the device and for the sockets in turn. A device that knows its next event, as one in real time
//! does, is waited for together with the sockets, asleep until shortly before the event and then spinning. A real
//! device with requests in flight is waited for alone, for a moment, and the sockets are only looked at.
//!
//! Invariant: a client from which bytes may have come is in `readable`, or in `full` if it had no room for commands.

use crate::engine::{ClientId, Engine};
use crate::options::Options;
use crate::served::{CLIENT_WAIT, Served};
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;
use flashlane_host::{Address, Listeners, Stream, wait_for_sockets};
use mio::event::Event;
use mio::{Events, Interest, Poll, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::time;

/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;
/// Reads from one client before others have their turn.
const READS: usize = 4;
/// Time in which commands that were read are answered when the server ends.
const ANSWER: Duration = Duration::from_ms(100);
/// Interval of looks for clients to close.
const LOOK: Duration = Duration::from_ms(200);
/// Open files that are not clients: devices, sockets, what libraries open.
const OTHER_FILES: u64 = 128;
/// Token of client 0; listeners have those below.
const FIRST_CLIENT: usize = 1 << 10;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it.
    #[error("{0} can be reached from other machines, and NBD protects nothing; 127.0.0.1 cannot")]
    Remote(Address),
    /// The system refuses it.
    #[error(transparent)]
    Refused(#[from] flashlane_host::ListenError),
}

/// A client's socket.
struct Connection {
    stream: Stream,
    /// Bytes that were read, and for whose commands there was no room.
    input: Vec<u8>,
    /// The socket may have more bytes.
    may_read: bool,
    /// The client sends no more than the socket has.
    is_read_closed: bool,
    /// The socket may take more bytes.
    may_write: bool,
}

/// Sockets that listen, on which no device is served yet: clients that connect wait.
pub struct Bound {
    poll: Poll,
    listeners: Listeners,
}

impl Bound {
    /// Listens on addresses. Those that other machines can reach are refused unless `allow_remote`.
    ///
    /// # Errors
    /// [`ListenError`] where one cannot be listened on.
    pub fn bind(addresses: &[Address], allow_remote: bool) -> Result<Self, ListenError> {
        if let Some(remote) = addresses.iter().find(|address| !allow_remote && address.is_remote()) {
            return Err(ListenError::Remote(remote.clone()));
        }
        let system = |error| flashlane_host::ListenError { address: "any address".into(), error };
        let poll = Poll::new().map_err(system)?;
        let listeners = Listeners::bind(addresses, &poll, Token(0))?;
        Ok(Self { poll, listeners })
    }

    /// Returns the addresses, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.listeners.addresses()
    }

    /// Serves a device, once [`Server::run`] is called.
    pub fn serve<D: DataDevice>(self, device: D, mut options: Options) -> Server<D> {
        let files = flashlane_host::allow_open_files(options.clients_max as u64 + OTHER_FILES);
        options.clients_max = options.clients_max.min(files.saturating_sub(OTHER_FILES).max(1) as usize);
        let engine = Engine::new(device, options);
        Server {
            looked: engine.served().now(),
            engine,
            bound: self,
            connections: BTreeMap::new(),
            readable: BTreeSet::new(),
            full: BTreeSet::new(),
            buffer: vec![0; READ_BYTES],
        }
    }
}

/// A server: an engine with its sockets.
pub struct Server<D: DataDevice> {
    engine: Engine<D>,
    bound: Bound,
    connections: BTreeMap<ClientId, Connection>,
    readable: BTreeSet<ClientId>,
    full: BTreeSet<ClientId>,
    buffer: Vec<u8>,
    looked: Instant,
}

impl<D: DataDevice> Server<D> {
    /// Returns the engine.
    pub fn engine(&self) -> &Engine<D> {
        &self.engine
    }

    /// Returns the device with its counts.
    pub fn served_mut(&mut self) -> &mut Served<D> {
        self.engine.served_mut()
    }

    /// Returns the addresses, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.bound.addresses()
    }

    /// Serves clients until `go_on` returns false, which is asked at least every 50 ms. Commands that were read by then
    /// are answered, if the device does them within 100 ms.
    ///
    /// # Errors
    /// The system's error where it cannot wait for sockets.
    pub fn run(&mut self, mut go_on: impl FnMut(&mut Served<D>) -> bool) -> io::Result<()> {
        flashlane_host::end_sleeps_on_time();
        let mut events = Events::with_capacity(1024);
        while go_on(self.engine.served_mut()) {
            self.turn();
            self.wait(&mut events, CLIENT_WAIT)?;
            self.read_all();
            self.close_stalled();
        }
        self.readable.clear();
        self.full.clear();
        let end = self.now() + ANSWER;
        while self.now() < end && (self.engine.served().is_busy() || self.has_output()) {
            self.turn();
            self.wait(&mut events, Duration::from_ms(1))?;
            self.readable.clear();
            self.full.clear();
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        self.engine.served().now()
    }

    fn has_output(&self) -> bool {
        self.connections.keys().any(|id| self.engine.output(*id).is_some_and(|output| !output.is_empty()))
    }

    /// Lets the device work as far as it is, and writes the replies that are ready.
    fn turn(&mut self) {
        self.engine.step(self.engine.served().work_until());
        for id in self.engine.take_touched() {
            self.write(id);
        }
    }

    /// Waits for events of the sockets, until shortly before the next event of the device, and at most for `longest`.
    fn wait(&mut self, events: &mut Events, longest: Duration) -> io::Result<()> {
        self.find_room();
        let wait = self.engine.served().asleep(longest);
        if self.readable.is_empty() && !wait.is_zero() {
            wait_for_sockets(&self.bound.poll, wait)?;
        }
        match self.bound.poll.poll(events, Some(time::Duration::ZERO)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        for event in &*events {
            self.note(event);
        }
        self.accept_all();
        Ok(())
    }

    fn note(&mut self, event: &Event) {
        if self.bound.listeners.note(event.token()) {
            return;
        }
        let Some(id) = event.token().0.checked_sub(FIRST_CLIENT) else { return };
        let id = id as ClientId;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if event.is_readable() || event.is_read_closed() {
            connection.may_read = true;
            connection.is_read_closed |= event.is_read_closed();
            self.readable.insert(id);
        }
        if event.is_writable() {
            connection.may_write = true;
            self.write(id);
        }
    }

    /// Accepts the clients that wait.
    fn accept_all(&mut self) {
        while let Some((mut stream, _)) = self.bound.listeners.accept() {
            // A client too many is disconnected: before the greeting the protocol has no other word.
            let Some(id) = self.engine.connect() else { continue };
            let token = Token(FIRST_CLIENT + id as usize);
            let interest = Interest::READABLE | Interest::WRITABLE;
            if self.bound.poll.registry().register(&mut stream, token, interest).is_err() {
                self.engine.disconnect(id);
                continue;
            }
            let connection = Connection {
                stream,
                input: Vec::new(),
                may_read: true,
                is_read_closed: false,
                may_write: true,
            };
            self.connections.insert(id, connection);
            self.readable.insert(id);
        }
    }

    /// Makes clients readable again that have room now.
    fn find_room(&mut self) {
        let Self { engine, readable, full, .. } = self;
        full.retain(|&id| {
            let has_room = engine.has_room(id);
            if has_room {
                readable.insert(id);
            }
            !has_room
        });
    }

    /// Reads from the clients that have sent something.
    fn read_all(&mut self) {
        self.find_room();
        for id in std::mem::take(&mut self.readable) {
            let mut reads = 0;
            while self.read(id) {
                reads += 1;
                if reads == READS {
                    self.readable.insert(id);
                    break;
                }
            }
        }
    }

    /// Reads from a client once. Returns whether it may have more, and room for it.
    fn read(&mut self, id: ClientId) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if !connection.input.is_empty() {
            let used = self.engine.feed(id, &connection.input);
            connection.input.drain(..used);
        }
        if connection.input.is_empty() && !connection.may_read {
            return false;
        }
        if !connection.input.is_empty() || !self.engine.has_room(id) {
            self.full.insert(id);
            return false;
        }
        match connection.stream.read(&mut self.buffer) {
            Ok(0) => {
                connection.may_read = false;
                self.engine.end_input(id);
                false
            }
            Ok(bytes) => {
                let used = self.engine.feed(id, &self.buffer[..bytes]);
                connection.input.extend_from_slice(&self.buffer[used..bytes]);
                // A read that did not fill the buffer has emptied the socket, and the next bytes are an event.
                connection.may_read = bytes == self.buffer.len() || connection.is_read_closed;
                connection.may_read || !connection.input.is_empty()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.may_read = false;
                false
            }
            Err(_) => {
                self.close(id);
                false
            }
        }
    }

    /// Writes the replies that a client has, as far as its socket takes them.
    fn write(&mut self, id: ClientId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        while connection.may_write {
            let Some(output) = self.engine.output(id) else { return self.close(id) };
            if output.is_empty() {
                break;
            }
            match connection.stream.write(output) {
                Ok(bytes) => self.engine.take(id, bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.may_write = false,
                Err(_) => return self.close(id),
            }
        }
        if self.engine.output(id).is_none() {
            self.close(id);
        }
    }

    /// Closes clients that hold memory which others need, and those that do not negotiate.
    fn close_stalled(&mut self) {
        let now = self.now();
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.engine.stalled().into_iter().for_each(|id| self.close(id));
        }
    }

    fn close(&mut self, id: ClientId) {
        self.engine.disconnect(id);
        self.connections.remove(&id);
        self.readable.remove(&id);
        self.full.remove(&id);
    }
}
