//! Clients: their connection, and the replies that they have not got.
//!
//! Replies leave in the order of requests. A reply is ready when its command has run and the writes that it depends on
//! are as safe as the server promises; it waits for those before it.
//!
//! Invariants: `slots` has the requests that are not answered, in their order; the first one is not ready. `slot_bytes`
//! is the sum of the bytes of these requests and their replies.

use crate::command::Spec;
use crate::limits::Limits;
use crate::protocol::{Parser, ProtocolError, Request, RequestLimits};
use crate::reply::Reply;
use crate::session::Session;
use crate::watches::WatchId;
use flashlane_base::Instant;
use std::collections::VecDeque;

/// Bytes of memory for replies that a client keeps.
const OUTPUT_BYTES_KEPT: usize = 16 << 10;
/// Bytes of memory of a watched key beside its own.
const WATCH_BYTES: usize = 128;

/// A request that is not answered.
#[derive(Debug)]
pub struct Slot {
    /// The command; `None` where there is no such.
    pub spec: Option<&'static Spec>,
    /// When it came.
    pub arrived: Instant,
    /// Bytes of memory of the request.
    request_bytes: usize,
    /// The reply has the form of RESP3: that of the connection when the request came, whatever a later HELLO asks for.
    is_resp3: bool,
    /// The reply, once the command has run.
    reply: Option<Vec<u8>>,
    /// Writes that it depends on.
    writes: u32,
}

impl Slot {
    /// Returns whether its reply is an error.
    pub fn is_failed(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.first() == Some(&b'-'))
    }
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Its commands.
    pub commands: Vec<(&'static Spec, Request)>,
    /// Bytes of memory of these.
    bytes: usize,
    /// A command was refused, so EXEC is.
    pub is_refused: bool,
}

impl Transaction {
    /// Adds a command.
    pub fn collect(&mut self, spec: &'static Spec, request: Request) {
        self.bytes += request.memory_bytes();
        self.commands.push((spec, request));
    }
}

/// A client.
#[derive(Debug)]
pub struct Client {
    /// State of the connection.
    pub session: Session,
    /// Commands after MULTI.
    pub transaction: Option<Transaction>,
    /// Keys that the client watches, and their bytes of memory.
    watch: Option<WatchId>,
    watch_bytes: usize,
    parser: Parser,
    slots: VecDeque<Slot>,
    /// Number of the first of `slots`.
    first_slot: u64,
    /// Replies that are ready, and the number of their bytes that the connection has taken.
    output: Vec<u8>,
    taken: usize,
    slot_bytes: usize,
    /// Bytes of memory that were added to the server's sum.
    counted_bytes: usize,
}

impl Client {
    /// Returns a client that has just connected.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            transaction: None,
            watch: None,
            watch_bytes: 0,
            parser: Parser::default(),
            slots: VecDeque::new(),
            first_slot: 0,
            output: Vec::new(),
            taken: 0,
            slot_bytes: 0,
            counted_bytes: 0,
        }
    }

    /// Reads bytes up to the end of a request: see [`Parser::read`].
    pub fn read(
        &mut self,
        input: &[u8],
        limits: &RequestLimits,
    ) -> Result<(usize, Option<Request>), ProtocolError> {
        self.parser.read(input, limits)
    }

    /// Returns whether its requests are read now. False where it must take replies first, or its connection ends.
    pub fn has_room(&self, limits: &Limits) -> bool {
        let bytes = self.output().len() + self.slot_bytes;
        self.slots.len() < limits.requests_max && bytes < limits.output_bytes_max && !self.session.is_closing
    }

    /// Returns whether the connection ends now.
    pub fn is_over(&self) -> bool {
        self.session.is_closing && self.slots.is_empty() && self.output().is_empty()
    }

    /// Begins a request. Returns its number.
    pub fn begin(&mut self, spec: Option<&'static Spec>, arrived: Instant, request_bytes: usize) -> u64 {
        let is_resp3 = self.session.is_resp3;
        self.slots.push_back(Slot { spec, arrived, request_bytes, is_resp3, reply: None, writes: 0 });
        self.slot_bytes += request_bytes;
        self.first_slot + self.slots.len() as u64 - 1
    }

    /// Returns an empty reply in the form that goes with a request.
    pub fn reply_to(&self, number: u64) -> Reply {
        Reply::new(self.slots[(number - self.first_slot) as usize].is_resp3)
    }

    fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first_slot) as usize]
    }

    /// Gives a request its reply.
    pub fn answer(&mut self, number: u64, reply: Vec<u8>) {
        self.slot_bytes += reply.len();
        let before = self.slot(number).reply.replace(reply);
        assert!(before.is_none(), "a request has one reply");
    }

    /// Lets a reply wait for a write.
    pub fn write_begins(&mut self, number: u64) {
        self.slot(number).writes += 1;
    }

    /// A write has ended for which a reply waits. Where it failed, the reply says so.
    pub fn write_ends(&mut self, number: u64, failure: Option<&str>) {
        let slot = self.slot(number);
        slot.writes -= 1;
        if let Some(failure) = failure {
            let reply = format!("-{failure}\r\n").into_bytes();
            let after = reply.len();
            let before = slot.reply.replace(reply).map_or(0, |reply| reply.len());
            self.slot_bytes = self.slot_bytes + after - before;
        }
    }

    /// Moves the replies that are ready to the output, and calls `answered` for each. Returns whether there was one.
    pub fn release(&mut self, mut answered: impl FnMut(&Slot)) -> bool {
        let before = self.first_slot;
        while let Some(slot) = self.slots.front().filter(|slot| slot.writes == 0) {
            let Some(reply) = &slot.reply else { break };
            self.slot_bytes -= slot.request_bytes + reply.len();
            self.output.extend_from_slice(reply);
            answered(slot);
            self.slots.pop_front();
            self.first_slot += 1;
        }
        self.first_slot > before
    }

    /// Returns the bytes of memory that the server's sum has of it.
    pub fn counted_bytes(&self) -> usize {
        self.counted_bytes
    }

    /// Counts the bytes of memory of its requests and replies. Returns those counted before and now.
    pub fn count_bytes(&mut self) -> (usize, usize) {
        let transaction = self.transaction.as_ref().map_or(0, |transaction| transaction.bytes);
        let output = self.output.capacity();
        let bytes = self.parser.memory_bytes() + self.slot_bytes + output + transaction + self.watch_bytes;
        (std::mem::replace(&mut self.counted_bytes, bytes), bytes)
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

    /// Returns the keys that the client watches; `new` numbers them where there are none.
    pub fn watch(&mut self, new: impl FnOnce() -> WatchId) -> WatchId {
        *self.watch.get_or_insert_with(new)
    }

    /// Counts a key that the client watches from now on.
    pub fn count_watched(&mut self, key: &[u8]) {
        self.watch_bytes += key.len() + WATCH_BYTES;
    }

    /// Ends watching keys. Returns which.
    pub fn take_watch(&mut self) -> Option<WatchId> {
        self.watch_bytes = 0;
        self.watch.take()
    }

    /// Returns the client's line in CLIENT LIST.
    pub fn line(&self, now: Instant) -> String {
        let collected = self.transaction.as_ref().map(|transaction| transaction.commands.len());
        self.session.line(now, collected)
    }
}
