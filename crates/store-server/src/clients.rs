//! Clients: their session, and the replies that they have not got.
//!
//! Replies leave in the order of requests. A reply is ready when its command has run and the writes that it depends on are as
//! safe as the server promises; it waits for those before it.
//!
//! Invariant: `slots` has the requests that are not answered, in their order; the first one is not ready.

use crate::commands::Spec;
use crate::protocol::{Parser, Request};
use flashlane_base::Instant;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Bytes of memory for replies that a client keeps.
const OUTPUT_BYTES_KEPT: usize = 16 << 10;

/// Number of a client, never used again.
pub type ClientId = u64;

/// Where a reply goes: a client, and the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId {
    /// The client.
    pub client: ClientId,
    /// Number of the request.
    pub number: u64,
}

/// A request that is not answered.
#[derive(Debug)]
pub struct Slot {
    /// The command; `None` where there is no such.
    pub spec: Option<&'static Spec>,
    /// When it came.
    pub arrived: Instant,
    /// Bytes of memory of the request.
    pub request_bytes: usize,
    /// The reply, once the command has run.
    pub reply: Option<Vec<u8>>,
    /// Writes that it depends on.
    pub writes: u32,
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Its commands.
    pub commands: Vec<(&'static Spec, Request)>,
    /// Bytes of memory of these.
    pub bytes: usize,
    /// A command was refused, so EXEC is.
    pub is_refused: bool,
}

/// State of a connection.
#[derive(Debug, Default)]
pub struct Session {
    /// Number of the client.
    pub id: ClientId,
    /// Address of the client.
    pub address: Option<SocketAddr>,
    /// The client has given the password, or none is needed.
    pub is_authenticated: bool,
    /// Replies have the form of RESP3.
    pub is_resp3: bool,
    /// Name by CLIENT SETNAME.
    pub name: Vec<u8>,
    /// Library and its version, by CLIENT SETINFO.
    pub library: [Vec<u8>; 2],
    /// Whether the client asked not to be closed for lack of memory, which is only noted.
    pub is_no_evict: bool,
    /// Commands after MULTI.
    pub transaction: Option<Transaction>,
    /// Keys that the client watches, and their bytes of memory.
    pub watch: Option<u64>,
    pub watch_bytes: usize,
    /// The connection ends after the replies so far.
    pub is_closing: bool,
    /// Name of the last command.
    pub last_command: &'static str,
    /// When the client connected, and when its last request came.
    pub connected: Instant,
    pub active: Instant,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    /// State of the connection.
    pub session: Session,
    /// Its requests.
    pub parser: Parser,
    pub slots: VecDeque<Slot>,
    /// Number of the first of `slots`.
    pub first_slot: u64,
    /// Replies that are ready, and the number of their bytes that the connection has taken.
    output: Vec<u8>,
    taken: usize,
    /// Bytes of requests and replies in `slots`.
    pub slot_bytes: usize,
    /// Bytes of memory that were added to the server's sum.
    pub counted_bytes: usize,
}

impl Client {
    /// Returns a client that has just connected.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            parser: Parser::default(),
            slots: VecDeque::new(),
            first_slot: 0,
            output: Vec::new(),
            taken: 0,
            slot_bytes: 0,
            counted_bytes: 0,
        }
    }

    /// Begins a request. Returns its number.
    pub fn begin(&mut self, spec: Option<&'static Spec>, arrived: Instant, request_bytes: usize) -> u64 {
        self.slots.push_back(Slot { spec, arrived, request_bytes, reply: None, writes: 0 });
        self.slot_bytes += request_bytes;
        self.first_slot + self.slots.len() as u64 - 1
    }

    /// Returns a request that is not answered.
    pub fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first_slot) as usize]
    }

    /// Moves the replies that are ready to the output, and calls `answered` for each.
    pub fn release(&mut self, mut answered: impl FnMut(&Slot)) {
        while let Some(slot) = self.slots.front().filter(|slot| slot.writes == 0) {
            let Some(reply) = &slot.reply else { break };
            self.slot_bytes -= slot.request_bytes + reply.len();
            self.output.extend_from_slice(reply);
            answered(slot);
            self.slots.pop_front();
            self.first_slot += 1;
        }
    }

    /// Returns the bytes of memory of its requests and replies.
    pub fn memory_bytes(&self) -> usize {
        let transaction = self.session.transaction.as_ref().map_or(0, |transaction| transaction.bytes);
        let output = self.output.capacity();
        self.parser.memory_bytes() + self.slot_bytes + output + transaction + self.session.watch_bytes
    }

    /// Returns the replies that are ready.
    pub fn output(&self) -> &[u8] {
        &self.output[self.taken..]
    }

    /// Removes the first bytes of the replies, which the connection has taken.
    pub fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken == self.output.len() {
            self.taken = 0;
            self.output.clear();
            // A long reply must not hold its memory.
            self.output.shrink_to(OUTPUT_BYTES_KEPT);
        }
    }
}

impl Session {
    /// Ends watching keys. Returns which.
    pub fn take_watch(&mut self) -> Option<u64> {
        self.watch_bytes = 0;
        self.watch.take()
    }

    /// Returns the client's line in CLIENT LIST.
    pub fn line(&self, now: Instant) -> String {
        let seconds = |since: Instant| now.since(since).as_ns() / 1_000_000_000;
        let address = self.address.map_or_else(|| "unix:0".to_owned(), |address| address.to_string());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "id={} addr={address} name={} age={} idle={} flags=N db=0 multi={} cmd={} user=default lib-name={} lib-ver={} resp={}",
            self.id,
            text(&self.name),
            seconds(self.connected),
            seconds(self.active),
            self.transaction.as_ref().map_or(-1, |transaction| transaction.commands.len() as i64),
            self.last_command,
            text(&self.library[0]),
            text(&self.library[1]),
            if self.is_resp3 { 3 } else { 2 }
        )
    }
}
