//! Sockets: reads commands, writes replies.
//!
//! One thread waits for the device and for the sockets in turn. A device that knows its next event, as one in real time
//! does, is waited for together with the sockets, asleep until shortly before the event and then spinning. A real
//! device with requests in flight is waited for alone, for a moment, and the sockets are only looked at.
//!
//! What goes over the connections of clients is [`Connections`]' part.

use crate::engine::{ClientId, Engine};
use crate::options::Options;
use crate::served::{CLIENT_WAIT, Served};
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;
use flashlane_host::{Address, ClientEngine, Connections, Listeners, wait_for_sockets};
use mio::{Events, Poll, Token};
use std::io;
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
            connections: Connections::new(FIRST_CLIENT, READS, READ_BYTES),
        }
    }
}

/// A server: an engine with its sockets.
pub struct Server<D: DataDevice> {
    engine: Engine<D>,
    bound: Bound,
    connections: Connections,
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
            self.connections.read_all(&mut self.engine);
            self.close_stalled();
        }
        self.connections.stop_reading();
        let end = self.now() + ANSWER;
        while self.now() < end
            && (self.engine.served().is_busy() || self.connections.has_output(&self.engine))
        {
            self.turn();
            self.wait(&mut events, Duration::from_ms(1))?;
            self.connections.stop_reading();
        }
        Ok(())
    }

    fn now(&self) -> Instant {
        self.engine.served().now()
    }

    /// Lets the device work as far as it is, and writes the replies that are ready.
    fn turn(&mut self) {
        self.engine.step(self.engine.served().work_until());
        for id in self.engine.take_touched() {
            self.connections.write(&mut self.engine, id);
        }
    }

    /// Waits for events of the sockets, until shortly before the next event of the device, and at most for `longest`.
    fn wait(&mut self, events: &mut Events, longest: Duration) -> io::Result<()> {
        let wait = self.engine.served().asleep(longest);
        if !self.connections.is_readable(&self.engine) && !wait.is_zero() {
            wait_for_sockets(&self.bound.poll, wait)?;
        }
        match self.bound.poll.poll(events, Some(time::Duration::ZERO)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        for event in &*events {
            if !self.bound.listeners.note(event.token()) {
                self.connections.note(&mut self.engine, event);
            }
        }
        self.accept_all();
        Ok(())
    }

    /// Accepts the clients that wait.
    fn accept_all(&mut self) {
        while let Some((stream, _)) = self.bound.listeners.accept() {
            // A client too many is disconnected: before the greeting the protocol has no other word.
            let Some(id) = self.engine.connect() else { continue };
            self.connections.open(&mut self.engine, id, stream, self.bound.poll.registry());
        }
    }

    /// Closes clients that hold memory which others need, and those that do not negotiate.
    fn close_stalled(&mut self) {
        let now = self.now();
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.engine.stalled().into_iter().for_each(|id| self.connections.close(&mut self.engine, id));
        }
    }
}

impl<D: DataDevice> ClientEngine for Engine<D> {
    fn has_room(&self, client: ClientId) -> bool {
        Engine::has_room(self, client)
    }

    fn feed(&mut self, client: ClientId, bytes: &[u8]) -> usize {
        Engine::feed(self, client, bytes)
    }

    fn end_input(&mut self, client: ClientId) {
        Engine::end_input(self, client);
    }

    fn output(&self, client: ClientId) -> Option<&[u8]> {
        Engine::output(self, client)
    }

    fn take(&mut self, client: ClientId, bytes: usize) {
        Engine::take(self, client, bytes);
    }

    fn disconnect(&mut self, client: ClientId) {
        Engine::disconnect(self, client);
    }
}
