//! Sockets: reads requests, writes replies.
//!
//! One thread waits for the devices and for the sockets in turn: while the store has requests in flight it waits for
//! these, at most [`DEVICE_WAIT`], and only looks at the sockets; otherwise it waits for the sockets.
//!
//! The page of metrics has sockets beside those of clients: `pages`.
//!
//! A client that does not take its replies is not read from, so its replies take no more memory than those to what was
//! read. What goes over the connections of clients is [`Connections`]' part.

mod pages;

use self::pages::Pages;
use crate::backups::BackupTarget;
use crate::engine::Engine;
use crate::server_state::{ServerOptions, ServerState};
use crate::session::ClientId;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_host::{Address, ClientEngine, Connections, Listeners};
use flashlane_store::Store;
use mio::event::Event;
use mio::{Events, Poll, Token};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time;

/// Longest wait for the devices before sockets are looked at.
const DEVICE_WAIT: Duration = Duration::from_us(50);
/// Longest wait for sockets before the end of the server is looked for.
const SOCKET_WAIT: time::Duration = time::Duration::from_millis(50);
/// Bytes of a read.
const READ_BYTES: usize = 64 << 10;
/// Reads from one client before others have their turn.
const READS: usize = 1;
/// Time in which requests that were read are answered when the server ends, and in which the store then comes to rest.
const ANSWER_MS: u64 = 500;
const REST_MS: u64 = 300;
/// Open files that are not clients: devices, sockets, what libraries open.
const OTHER_FILES: u64 = 128;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it, and no password protects it.
    #[error("{address} can be reached from other machines, which requires a password; 127.0.0.1 cannot")]
    NoPassword {
        /// The address.
        address: Address,
    },
    /// The system refuses it.
    #[error(transparent)]
    Refused(#[from] flashlane_host::ListenError),
}

/// A server: an engine with its sockets.
pub struct Server<D: DataDevice, L: DataDevice> {
    engine: Engine<D, L>,
    poll: Poll,
    listeners: Listeners,
    connections: Connections,
    /// Where the page of metrics is served.
    metrics: Option<Listeners>,
    pages: Pages,
}

impl<D: DataDevice, L: DataDevice> Server<D, L> {
    /// Listens on addresses. A store is served once [`run`](Self::run) is called.
    ///
    /// # Errors
    /// [`ListenError`] where one cannot be listened on.
    pub fn bind(
        store: Store<D, L>,
        addresses: &[Address],
        mut options: ServerOptions,
    ) -> Result<Self, ListenError> {
        let system = |error| flashlane_host::ListenError { address: "any address".into(), error };
        if let Some(remote) =
            addresses.iter().find(|address| address.is_remote() && options.password.is_none())
        {
            return Err(ListenError::NoPassword { address: remote.clone() });
        }
        let poll = Poll::new().map_err(system)?;
        let listeners = Listeners::bind(addresses, &poll, FIRST_LISTENER)?;
        let limits = &mut options.limits;
        let files = flashlane_host::allow_open_files(limits.clients_max as u64 + OTHER_FILES);
        limits.clients_max = limits.clients_max.min(files.saturating_sub(OTHER_FILES).max(1) as usize);
        let port = listeners.addresses().find_map(|address| match address {
            Address::Tcp(address) => Some(address.port()),
            Address::Unix(_) => None,
        });
        options.port = port.unwrap_or(0);
        Ok(Self {
            engine: Engine::new(store, options),
            poll,
            listeners,
            connections: Connections::new(FIRST_CLIENT, READS, READ_BYTES),
            metrics: None,
            pages: Pages::new(FIRST_PAGE),
        })
    }

    /// Lets clients order backups (BGSAVE).
    pub fn write_backups(&mut self, target: Box<dyn BackupTarget>) {
        self.engine.write_backups(target);
    }

    /// Serves the page of metrics on an address too. Returns the address with the port that the system chose.
    ///
    /// # Errors
    /// [`ListenError`] where it cannot be listened on.
    pub fn serve_metrics(&mut self, address: SocketAddr) -> Result<SocketAddr, ListenError> {
        let address = Address::Tcp(address);
        if address.is_remote() && self.engine.server().options.password.is_none() {
            return Err(ListenError::NoPassword { address });
        }
        let listeners = Listeners::bind(&[address], &self.poll, METRICS_LISTENER)?;
        let Some(&Address::Tcp(bound)) = listeners.addresses().next() else {
            unreachable!("it listens on a TCP address")
        };
        self.metrics = Some(listeners);
        Ok(bound)
    }

    /// Returns where the server listens: with the ports that the system chose.
    pub fn addresses(&self) -> Vec<Address> {
        self.listeners.addresses().cloned().collect()
    }

    /// Returns the state of the server.
    pub fn state(&self) -> &ServerState {
        self.engine.server()
    }

    /// Serves clients until `go_on` returns false, which is asked every few milliseconds, or a client calls SHUTDOWN.
    /// Requests that were read by then are answered, and it returns within a second.
    ///
    /// # Errors
    /// The system's error where it cannot wait for sockets.
    pub fn run(&mut self, mut go_on: impl FnMut() -> bool) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while go_on() && !self.engine.server().is_stopping {
            let is_busy = self.turn();
            let is_readable = self.connections.is_readable(&self.engine);
            let wait = if is_busy || is_readable { time::Duration::ZERO } else { SOCKET_WAIT };
            self.wait(&mut events, wait)?;
            self.connections.read_all(&mut self.engine);
        }
        self.listeners.close();
        self.metrics = None;
        self.connections.stop_reading();
        let begun = flashlane_host::calendar_ms();
        let since = || flashlane_host::calendar_ms().saturating_sub(begun);
        while since() < ANSWER_MS && (self.engine.is_busy() || self.connections.has_output(&self.engine)) {
            let is_busy = self.turn();
            if !is_busy {
                self.wait(&mut events, time::Duration::from_millis(1))?;
            }
            self.connections.stop_reading();
        }
        // Writes that are acknowledged from memory reach the log, whose end is marked.
        self.engine.begin_close();
        while since() < ANSWER_MS + REST_MS && self.engine.step(DEVICE_WAIT) {}
        Ok(())
    }

    /// Lets the store work, and writes the replies that are ready.
    fn turn(&mut self) -> bool {
        self.engine.set_time(flashlane_host::calendar_ms());
        let is_busy = self.engine.step(DEVICE_WAIT);
        for id in self.engine.take_touched() {
            self.connections.write(&mut self.engine, id);
        }
        is_busy
    }

    fn wait(&mut self, events: &mut Events, longest: time::Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(longest)) {
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
        let token = event.token();
        if self.listeners.note(token) || self.metrics.as_mut().is_some_and(|metrics| metrics.note(token)) {
            return;
        }
        let engine = &self.engine;
        if self.pages.note(token, engine.server().options.password.as_deref(), || engine.metrics()) {
            return;
        }
        self.connections.note(&mut self.engine, event);
    }

    /// Accepts the clients that wait, and the readers of the page.
    fn accept_all(&mut self) {
        while let Some((stream, _)) = self.metrics.as_mut().and_then(Listeners::accept) {
            self.pages.connect(stream, self.poll.registry());
        }
        while let Some((mut stream, address)) = self.listeners.accept() {
            let Some(id) = self.engine.connect(address) else {
                // The client may be gone already.
                let _ = stream.write(b"-ERR max number of clients reached\r\n");
                continue;
            };
            self.connections.open(&mut self.engine, id, stream, self.poll.registry());
        }
    }
}

impl<D: DataDevice, L: DataDevice> ClientEngine for Engine<D, L> {
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

/// Tokens: the listener of the page, its connections, the listeners of clients, clients from 0 on.
const METRICS_LISTENER: Token = Token(0);
const FIRST_PAGE: usize = 1;
const FIRST_LISTENER: Token = Token(FIRST_PAGE + pages::CONNECTIONS_MAX);
const FIRST_CLIENT: usize = 1 << 10;

#[cfg(test)]
mod tests;
