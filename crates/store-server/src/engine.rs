//! The engine: one thread that owns the store, and runs the commands of all clients.
//!
//! Nothing waits: a command whose values are read, or whose writes are on their way, is kept until the store completes
//! these, and others go on. So requests of a pipeline and of many clients are in flight at once, and writes that come
//! together share a write of the log. See `cells` for atomicity and the order in which commands run, `run` for a
//! command's course.
//!
//! Invariants:
//! - A reply leaves when all writes that the command made or saw are as safe as the options say.
//! - While `unsent` has writes no command runs, so that the store numbers writes in the order of the commands.
//! - A command on all keys begins when no other is in flight; those that arrive after it wait in `waiting` until it has
//!   begun.

mod backup;
mod commit;
mod jobs;
mod run;
#[cfg(test)]
mod tests;
mod transactions;

use self::backup::Backups;
use crate::cache::Cache;
use crate::cells::Cells;
use crate::clients::Client;
use crate::command::{self, CommandError, Context, Kind, SessionFn, Spec};
use crate::commands::COMMANDS;
use crate::jobs::{Job, Jobs};
use crate::key::Key;
use crate::metrics;
use crate::protocol::{ProtocolError, Request, RequestLimits};
use crate::reply::Reply;
use crate::server_state::{ServerOptions, ServerState};
use crate::session::{ClientId, Session, SlotId};
use crate::watches::Watches;
use crate::work::{WaitingCommands, Work};
use crate::writes::Writes;
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;
use flashlane_store::space::is_of_a_face;
use flashlane_store::{Finished, Outcome, Store, Ticket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

/// A request that waits for others to end.
#[derive(Debug)]
enum Waiting {
    Command(SlotId, Work),
    Job(SlotId, Job),
    Backup(SlotId),
}

/// Runs the commands of clients on a store.
pub struct Engine<D: DataDevice, L: DataDevice> {
    store: Store<D, L>,
    server: ServerState,
    clients: BTreeMap<ClientId, Client>,
    next_client: ClientId,
    /// Clients that got replies, or were closed.
    touched: BTreeSet<ClientId>,
    /// Requests that have not begun.
    waiting: VecDeque<Waiting>,
    commands: WaitingCommands,
    cells: Cells,
    cache: Cache,
    /// Reads of values.
    loads: BTreeMap<Ticket, Key>,
    writes: Writes,
    watches: Watches,
    jobs: Jobs,
    backups: Backups,
    finished: Vec<Finished>,
}

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Begins to serve a store.
    pub fn new(store: Store<D, L>, options: ServerOptions) -> Self {
        let mut server = ServerState::new(options, store.now());
        let jobs = Jobs::new(&mut server.random);
        let cache = Cache::new(server.options.limits.cache_bytes);
        Self {
            store,
            server,
            clients: BTreeMap::new(),
            next_client: 1,
            touched: BTreeSet::new(),
            waiting: VecDeque::new(),
            commands: WaitingCommands::default(),
            cells: Cells::default(),
            cache,
            loads: BTreeMap::new(),
            writes: Writes::default(),
            watches: Watches::default(),
            jobs,
            backups: Backups::default(),
            finished: Vec::new(),
        }
    }

    /// Sets the calendar time, in milliseconds since 1970.
    pub fn set_time(&mut self, now_ms: u64) {
        self.server.now_ms = now_ms;
        self.store.set_time(now_ms);
    }

    /// Returns the state of the server.
    pub fn server(&self) -> &ServerState {
        &self.server
    }

    /// Returns the page of metrics.
    pub fn metrics(&self) -> String {
        metrics::text(&self.server, &self.store.status(), &self.store.blocks().status().lanes)
    }

    /// Adds a client. Returns `None` where there are too many.
    pub fn connect(&mut self, address: Option<SocketAddr>) -> Option<ClientId> {
        let state = &mut self.server;
        if self.clients.len() >= state.options.limits.clients_max {
            state.clients_refused += 1;
            return None;
        }
        let id = self.next_client;
        self.next_client += 1;
        let session = Session {
            id,
            address,
            is_authenticated: state.options.password.is_none(),
            connected: state.now,
            active: state.now,
            ..Session::default()
        };
        self.clients.insert(id, Client::new(session));
        state.clients += 1;
        state.clients_total += 1;
        Some(id)
    }

    /// Removes a client. Its commands go on, and their replies are dropped.
    pub fn disconnect(&mut self, client: ClientId) {
        let Some(mut client) = self.clients.remove(&client) else { return };
        self.server.clients -= 1;
        self.server.memory_bytes -= client.counted_bytes();
        if let Some(watch) = client.take_watch() {
            self.watches.forget(watch);
        }
    }

    /// Returns whether a client's requests are read now. False where it must take replies first, or is gone.
    pub fn has_room(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|client| client.has_room(&self.server.options.limits))
    }

    /// Takes bytes from a client, up to the end of the requests for which there is room. Returns their number.
    pub fn feed(&mut self, id: ClientId, input: &[u8]) -> usize {
        let mut used = 0;
        while used < input.len() && self.has_room(id) {
            let client = self.clients.get_mut(&id).expect("a client with room is there");
            let limits = RequestLimits {
                request_bytes_max: self.server.options.limits.request_bytes_max,
                is_authenticated: client.session.is_authenticated,
            };
            match client.read(&input[used..], &limits) {
                Ok((bytes, request)) => {
                    used += bytes;
                    if let Some(request) = request.filter(|request| !request.is_empty()) {
                        self.arrive(id, request);
                    }
                }
                Err(error) => {
                    self.refuse_protocol(id, &error);
                    used = input.len();
                }
            }
        }
        self.count_memory(id);
        used
    }

    fn refuse_protocol(&mut self, id: ClientId, error: &ProtocolError) {
        let client = self.clients.get_mut(&id).expect("the client was read from");
        let number = client.begin(None, self.server.now, 0);
        client.session.is_closing = true;
        self.answer(SlotId { client: id, number }, |reply| reply.error(format!("ERR {error}")));
    }

    /// Returns the clients that have replies, or that end.
    pub fn take_touched(&mut self) -> BTreeSet<ClientId> {
        std::mem::take(&mut self.touched)
    }

    /// A client sends nothing more: it gets its replies, and its connection ends.
    pub fn end_input(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.session.is_closing = true;
            self.touched.insert(id);
        }
    }

    /// Returns a client's replies that are ready; `None` where its connection ends.
    pub fn output(&self, id: ClientId) -> Option<&[u8]> {
        let client = self.clients.get(&id)?;
        (!client.is_over()).then(|| client.output())
    }

    /// Removes the first bytes of a client's replies, which the connection has taken.
    pub fn take(&mut self, id: ClientId, bytes: usize) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.take(bytes);
            self.count_memory(id);
        }
    }

    /// Notes how much memory a client takes, and closes the client that takes most where all together take too much.
    fn count_memory(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (before, bytes) = client.count_bytes();
        self.server.memory_bytes = self.server.memory_bytes - before + bytes;
        if self.server.memory_bytes > self.server.options.limits.memory_bytes {
            let most = self.clients.iter().max_by_key(|(_, client)| client.counted_bytes());
            let most = *most.expect("clients take the memory").0;
            self.server.clients_evicted += 1;
            self.touched.insert(most);
            self.disconnect(most);
        }
    }

    /// Begins to make all writes durable and to mark the end of the log ([`Store::begin_close`]).
    pub fn begin_close(&mut self) {
        self.store.begin_close();
    }

    /// Lets the devices work for at most `longest` where nothing has completed, and handles what has. Returns whether
    /// more is in flight.
    pub fn step(&mut self, longest: Duration) -> bool {
        let is_busy = self.store.step_for(longest);
        self.server.now = self.store.now();
        self.server.cache_bytes = self.cache.bytes();
        let mut finished = std::mem::take(&mut self.finished);
        self.store.reap(Instant::ZERO, &mut finished);
        let is_busy = is_busy || !finished.is_empty();
        for finished in finished.drain(..) {
            self.ended(finished);
        }
        self.finished = finished;
        self.send_unsent();
        if !is_busy {
            self.refuse_unsent();
        }
        loop {
            self.run_ready();
            self.run_waiting();
            if !self.commands.has_ready() || self.writes.has_unsent() {
                break;
            }
        }
        is_busy
    }

    /// Returns whether a request is not answered.
    pub fn is_busy(&self) -> bool {
        !self.writes.is_empty() || !self.loads.is_empty() || !self.waiting.is_empty() || !self.jobs.is_empty()
    }

    fn ended(&mut self, finished: Finished) {
        let Some(finished) = self.backup_ended(finished) else { return };
        let ticket = finished.ticket;
        match finished.outcome {
            Outcome::Write(result) => {
                self.write_ended(ticket, result.err().map(|failure| format!("ERR {failure}")));
            }
            Outcome::Get(result) => match self.loads.remove(&ticket) {
                Some(key) => self.loaded(&key, result),
                None => self.job_got(ticket, result),
            },
            Outcome::Scan(result) => self.job_scanned(ticket, result),
        }
    }

    // Requests.

    fn arrive(&mut self, id: ClientId, request: Request) {
        let spec = command::find(COMMANDS, request.arg(0));
        let client = self.clients.get_mut(&id).expect("the client was read from");
        let session = &mut client.session;
        (session.active, session.last_command) = (self.server.now, spec.map_or("unknown", |spec| spec.name));
        let refusal = match spec {
            Some(spec) if !session.is_authenticated && !spec.flags.contains(&"no_auth") => {
                Some(CommandError::Other("NOAUTH Authentication required.".into()))
            }
            None if !session.is_authenticated => {
                Some(CommandError::Other("NOAUTH Authentication required.".into()))
            }
            None => Some(command::unknown(&request)),
            Some(spec) if !spec.takes(request.len()) => Some(CommandError::Arity(spec.name)),
            Some(Spec { kind: Kind::Refused(reason), .. }) => Some(CommandError::Other((*reason).into())),
            Some(spec) if spec.key_numbers(&request).any(|nth| is_of_a_face(request.arg(nth))) => {
                Some(CommandError::OfAFace)
            }
            Some(_) => None,
        };
        let is_in_transaction = client.transaction.is_some();
        let bytes = request.memory_bytes();
        let number = client.begin(spec, self.server.now, bytes);
        let slot = SlotId { client: id, number };
        if let Some(refusal) = refusal {
            self.refuse_transaction(id);
            return self.answer(slot, |reply| reply.error(&refusal));
        }
        let spec = spec.expect("an unknown command was refused");
        let ends_transaction = matches!(spec.name, "quit" | "reset");
        match &spec.kind {
            Kind::Transaction(verb) => self.transact(slot, *verb, &request),
            _ if is_in_transaction && !ends_transaction => self.collect(slot, spec, request),
            Kind::Session(function) => self.run_session(slot, *function, &request),
            Kind::Keys(..) | Kind::Atomic(_) => self.admit(Waiting::Command(slot, Work::One(spec, request))),
            Kind::Keyspace(job) => match job(&request) {
                Ok(job) => self.admit(Waiting::Job(slot, job)),
                Err(error) => self.answer(slot, |reply| reply.error(&error)),
            },
            Kind::Backup => self.admit(Waiting::Backup(slot)),
            Kind::Refused(_) => unreachable!("it was refused"),
        }
    }

    fn run_session(&mut self, slot: SlotId, function: SessionFn, request: &Request) {
        let mut client = self.clients.remove(&slot.client).expect("the client has just called");
        let mut reply = client.reply_to(slot.number);
        let is_reset = request.arg(0).eq_ignore_ascii_case(b"reset");
        let result = self.with_context(&mut client.session, |context| function(context, request, &mut reply));
        if is_reset {
            client.transaction = None;
            if let Some(watch) = client.take_watch() {
                self.watches.forget(watch);
            }
        }
        self.clients.insert(slot.client, client);
        if let Err(error) = result {
            reply.truncate(0);
            reply.error(error);
        }
        self.answer_with(slot, reply);
    }

    /// Calls a function with what commands of the connection see.
    fn with_context<T>(&mut self, session: &mut Session, call: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (store, clients, now) = (&self.store, &self.clients, self.server.now);
        let status = || store.status();
        let lines = || clients.values().map(|client| client.line(now) + "\n").collect();
        let lanes = || lane_lines(store);
        call(&mut Context {
            session,
            server: &mut self.server,
            status: &status,
            lanes: &lanes,
            clients: &lines,
            commands: COMMANDS,
        })
    }

    /// Gives a request its reply, which leaves when its writes have ended.
    fn answer(&mut self, slot: SlotId, write: impl FnOnce(&mut Reply)) {
        let Some(client) = self.clients.get(&slot.client) else { return };
        let mut reply = client.reply_to(slot.number);
        write(&mut reply);
        self.answer_with(slot, reply);
    }

    /// Gives a request this reply, which leaves when its writes have ended.
    fn answer_with(&mut self, slot: SlotId, reply: Reply) {
        let Some(client) = self.clients.get_mut(&slot.client) else { return };
        client.answer(slot.number, reply.into_bytes());
        self.release(slot.client);
    }

    /// Moves replies that are ready to the client's output.
    fn release(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let now = self.server.now;
        let server = &mut self.server;
        let has_replies = client.release(|slot| {
            if let Some(spec) = slot.spec {
                server.count(spec.name, now.since(slot.arrived), slot.is_failed());
            }
        });
        if has_replies {
            self.touched.insert(id);
            self.count_memory(id);
        }
    }
}

/// Returns blocks, wear and queue (requests waiting + in flight) of each lane of a store, for INFO.
fn lane_lines<D: DataDevice, L: DataDevice>(store: &Store<D, L>) -> String {
    let mut out = String::new();
    for (nth, lane) in store.blocks().status().lanes.iter().enumerate() {
        let erases = lane.erases.map(|(least, mean, most)| format!(",erases={least}/{mean:.1}/{most}"));
        let queue = lane.queue;
        out += &format!(
            "lane{nth}:blocks={},erased={},dirty={},bad={},damaged={}{},reads={}+{},writes={}+{}\r\n",
            lane.blocks,
            lane.erased,
            lane.to_erase,
            lane.bad,
            lane.damaged,
            erases.unwrap_or_default(),
            queue.reads_waiting,
            queue.reads_in_flight,
            queue.writes_waiting,
            queue.writes_in_flight
        );
    }
    out
}
