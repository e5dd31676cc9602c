//! Connections of a server's clients: bytes from their sockets to an engine, and its replies back, for one thread that
//! polls the sockets.
//!
//! An event reports once that a socket has bytes, or takes some, so that both are remembered until a read or a write
//! finds that it is so no more. A client is read from only while the engine has room for what it may send.
//!
//! Invariant: a client from which bytes may have come is in `readable`, or in `full` if the engine had no room for
//! them.

use crate::sockets::Stream;
use mio::event::Event;
use mio::{Interest, Registry, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

/// What serves the clients behind connections: bytes in, bytes out. A client has the number with which it was
/// [opened](Connections::open).
pub trait ClientEngine {
    /// Returns whether bytes of a client can be taken.
    fn has_room(&self, client: u64) -> bool;

    /// Takes bytes from a client while there is room. Returns their number.
    fn feed(&mut self, client: u64, bytes: &[u8]) -> usize;

    /// A client sends no more.
    fn end_input(&mut self, client: u64);

    /// Returns the next bytes to send to a client; `None` where its connection ends.
    fn output(&self, client: u64) -> Option<&[u8]>;

    /// Notes that the first bytes of a client's output were sent.
    fn take(&mut self, client: u64, bytes: usize);

    /// Removes a client, whose connection has ended.
    fn disconnect(&mut self, client: u64);
}

/// A client's socket.
struct Connection {
    stream: Stream,
    /// Bytes that were read, and for which there was no room.
    input: Vec<u8>,
    /// The socket may have more bytes.
    may_read: bool,
    /// The client sends no more than the socket has.
    is_read_closed: bool,
    /// The socket may take more bytes.
    may_write: bool,
}

/// The connections of a server.
pub struct Connections {
    first_token: usize,
    /// Reads from one client before others have their turn.
    reads: usize,
    buffer: Vec<u8>,
    connections: BTreeMap<u64, Connection>,
    readable: BTreeSet<u64>,
    full: BTreeSet<u64>,
}

impl Connections {
    /// Creates a server's connections. Client `n` has the token `first_token + n`; each has its turn for `reads` reads
    /// of at most `read_bytes` bytes.
    pub fn new(first_token: usize, reads: usize, read_bytes: usize) -> Self {
        Self {
            first_token,
            reads,
            buffer: vec![0; read_bytes],
            connections: BTreeMap::new(),
            readable: BTreeSet::new(),
            full: BTreeSet::new(),
        }
    }

    /// Connects a client of the engine with its socket. Where the system does not report its events it is disconnected.
    pub fn open(&mut self, engine: &mut impl ClientEngine, id: u64, mut stream: Stream, registry: &Registry) {
        let token = Token(self.first_token + id as usize);
        if registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_err() {
            return engine.disconnect(id);
        }
        let connection =
            Connection { stream, input: Vec::new(), may_read: true, is_read_closed: false, may_write: true };
        self.connections.insert(id, connection);
        self.readable.insert(id);
    }

    /// Notes an event of a client's socket, and writes where it may take more.
    pub fn note(&mut self, engine: &mut impl ClientEngine, event: &Event) {
        let Some(id) = event.token().0.checked_sub(self.first_token) else { return };
        let id = id as u64;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if event.is_readable() || event.is_read_closed() {
            connection.may_read = true;
            connection.is_read_closed |= event.is_read_closed();
            self.readable.insert(id);
        }
        if event.is_writable() {
            connection.may_write = true;
            self.write(engine, id);
        }
    }

    /// Returns whether a client can be read from now, for which the server need not wait.
    pub fn is_readable(&mut self, engine: &impl ClientEngine) -> bool {
        self.find_room(engine);
        !self.readable.is_empty()
    }

    /// Makes clients readable again for which there is room now.
    fn find_room(&mut self, engine: &impl ClientEngine) {
        let Self { readable, full, .. } = self;
        full.retain(|&id| {
            let has_room = engine.has_room(id);
            if has_room {
                readable.insert(id);
            }
            !has_room
        });
    }

    /// Reads from the clients that have sent something.
    pub fn read_all(&mut self, engine: &mut impl ClientEngine) {
        self.find_room(engine);
        for id in std::mem::take(&mut self.readable) {
            let mut reads = 0;
            while self.read(engine, id) {
                reads += 1;
                if reads == self.reads {
                    self.readable.insert(id);
                    break;
                }
            }
        }
    }

    /// Forgets that clients have sent something, at the end of a server.
    pub fn stop_reading(&mut self) {
        self.readable.clear();
        self.full.clear();
    }

    /// Reads from a client once. Returns whether it may have more, and room for it.
    fn read(&mut self, engine: &mut impl ClientEngine, id: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if !connection.input.is_empty() {
            let used = engine.feed(id, &connection.input);
            connection.input.drain(..used);
        }
        if connection.input.is_empty() && !connection.may_read {
            return false;
        }
        if !connection.input.is_empty() || !engine.has_room(id) {
            self.full.insert(id);
            return false;
        }
        match connection.stream.read(&mut self.buffer) {
            Ok(0) => {
                connection.may_read = false;
                engine.end_input(id);
                false
            }
            Ok(bytes) => {
                let used = engine.feed(id, &self.buffer[..bytes]);
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
                self.close(engine, id);
                false
            }
        }
    }

    /// Writes the replies that a client has, as far as its socket takes them, and closes a connection that has ended.
    pub fn write(&mut self, engine: &mut impl ClientEngine, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        while connection.may_write {
            let Some(output) = engine.output(id) else { return self.close(engine, id) };
            if output.is_empty() {
                break;
            }
            match connection.stream.write(output) {
                Ok(bytes) => engine.take(id, bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.may_write = false,
                Err(_) => return self.close(engine, id),
            }
        }
        if engine.output(id).is_none() {
            self.close(engine, id);
        }
    }

    /// Returns whether a client has replies that its socket has not taken.
    pub fn has_output(&self, engine: &impl ClientEngine) -> bool {
        self.connections.keys().any(|id| engine.output(*id).is_some_and(|output| !output.is_empty()))
    }

    /// Closes a connection.
    pub fn close(&mut self, engine: &mut impl ClientEngine, id: u64) {
        engine.disconnect(id);
        self.connections.remove(&id);
        self.readable.remove(&id);
        self.full.remove(&id);
    }
}

#[cfg(test)]
mod tests;
