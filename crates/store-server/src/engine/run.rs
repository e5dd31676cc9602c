//! The course of a command on keys: it waits for its keys, runs, and its changes go to the store (`commit`).

use super::{Engine, Waiting};
use crate::cells::{self, Cell, Keys, Knowledge};
use crate::command::Kind;
use crate::key::Key;
use crate::reply::Reply;
use crate::session::SlotId;
use crate::value::{Entry, Value};
use crate::work::Work;
use flashlane_device::DataDevice;
use flashlane_store::{ReadFailure, Ticket, Value as Stored};
use hashbrown::hash_map::Entry as Place;

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Lets a request begin, or wait for those that must end before.
    pub(super) fn admit(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.run_waiting();
    }

    /// Begins the requests that wait, in their order, as far as possible.
    pub(super) fn run_waiting(&mut self) {
        while !self.writes.has_unsent() && !self.jobs.hold_commands() {
            match self.waiting.pop_front() {
                None => break,
                Some(Waiting::Command(slot, work)) => self.enter(slot, work),
                Some(waiting) if !self.cells.is_empty() || !self.writes.is_empty() => {
                    self.waiting.push_front(waiting);
                    break;
                }
                Some(Waiting::Job(slot, job)) => self.begin_job(slot, job),
                Some(Waiting::Backup(slot)) => self.begin_backup(slot),
            }
        }
    }

    /// Runs a command, or lets it wait for its keys.
    fn enter(&mut self, slot: SlotId, work: Work) {
        let keys = work.keys();
        let mut is_free = true;
        for (key, needs) in &keys {
            match self.cells.entry(key.clone()) {
                Place::Occupied(place) => is_free &= place.get().is_free(*needs),
                Place::Vacant(place) => {
                    let known = if *needs { self.cache.get(key) } else { None };
                    let state = known.map_or(Knowledge::Unknown, Knowledge::Known);
                    is_free &= !needs || matches!(state, Knowledge::Known(_));
                    place.insert(Cell::new(state));
                }
            }
        }
        if is_free {
            return self.run(slot, work, &keys);
        }
        let id = self.commands.add(slot, work, keys.clone());
        for (key, _) in &keys {
            self.cells.get_mut(key).expect("it was made").enqueue(id);
            self.grant(key);
        }
    }

    /// Gives a key to the first command that waits for it, or begins to read its value.
    pub(super) fn grant(&mut self, key: &Key) {
        let Some(cell) = self.cells.get_mut(key) else { return };
        if cell.is_idle() {
            return cells::remove(&mut self.cells, key);
        }
        let Some(first) = cell.next_command() else { return };
        let is_loaded = !matches!(cell.state(), Knowledge::Unknown);
        if !is_loaded && self.commands.needs_value(first, key) {
            cell.load_begins();
            let ticket = self.store.get(key, None);
            self.loads.insert(ticket, key.clone());
            return;
        }
        cell.grant();
        self.commands.grant(first);
    }

    pub(super) fn loaded(&mut self, key: &Key, result: Result<Option<Stored>, ReadFailure>) {
        let state = match result {
            Ok(found) => {
                let entry =
                    found.map(|Stored { bytes, expiry_ms }| Entry { value: Value::decode(bytes), expiry_ms });
                self.cache.put(key, &entry);
                Knowledge::Known(entry)
            }
            Err(failure @ ReadFailure::MayBeLost(_)) => Knowledge::Failed(format!("ERR {failure}")),
            Err(failure) => Knowledge::Failed(format!("ERR the value cannot be read: {failure}")),
        };
        self.cells.get_mut(key).expect("a cell whose value is read").loaded(state);
        self.grant(key);
    }

    /// Runs the commands that have got all their keys.
    pub(super) fn run_ready(&mut self) {
        while !self.writes.has_unsent() {
            let Some((id, command)) = self.commands.take_ready() else { break };
            for (key, _) in &command.keys {
                self.cells.get_mut(key).expect("a command has its keys").leave(id);
            }
            self.run(command.slot, command.work, &command.keys);
        }
        self.commands.shrink();
    }

    /// Runs a command that has all its keys.
    fn run(&mut self, slot: SlotId, work: Work, keys: &[(Key, bool)]) {
        let client = self.clients.get(&slot.client);
        let mut reply = client.map_or_else(|| Reply::new(false), |client| client.reply_to(slot.number));
        let mut needed = keys.iter().filter(|(_, needs)| *needs);
        let failure = needed.find_map(|(key, _)| match self.cells[key].state() {
            Knowledge::Failed(failure) => Some(failure.clone()),
            _ => None,
        });
        let changes = match (&failure, &work) {
            (Some(failure), work) => {
                reply.error(failure);
                if let Work::Transaction(_, Some(watch)) = work {
                    self.watches.forget(*watch);
                }
                Vec::new()
            }
            (None, Work::One(spec, request)) => {
                let mut view =
                    Keys::new(&self.cells, self.server.now_ms, self.server.options.limits.string_bytes_max());
                let function = match &spec.kind {
                    Kind::Keys(_, function) | Kind::Atomic(function) => function,
                    _ => unreachable!("a command on keys"),
                };
                match function(&mut view, request, &mut reply) {
                    Ok(()) => view.into_changes(),
                    Err(error) => {
                        reply.truncate(0);
                        reply.error(error);
                        Vec::new()
                    }
                }
            }
            (None, Work::Transaction(commands, watch)) => {
                self.run_transaction(slot, commands, *watch, &mut reply)
            }
        };
        let refusal = self.commit(slot, changes, work.is_atomic());
        if let Some(refusal) = refusal {
            reply.truncate(0);
            reply.error(refusal);
        }
        self.wait_for_writes(slot, keys);
        self.answer_with(slot, reply);
        for (key, _) in keys {
            self.grant(key);
        }
    }

    /// Lets a reply wait for the writes of these keys that are in flight.
    fn wait_for_writes(&mut self, slot: SlotId, keys: &[(Key, bool)]) {
        let mut tickets: Vec<Ticket> =
            keys.iter().filter_map(|(key, _)| self.cells.get(key)?.last_write()).collect();
        tickets.sort_unstable();
        tickets.dedup();
        for ticket in tickets {
            self.writes.wait(ticket, slot);
            self.add_wait(slot);
        }
    }

    pub(super) fn add_wait(&mut self, slot: SlotId) {
        if let Some(client) = self.clients.get_mut(&slot.client) {
            client.write_begins(slot.number);
        }
    }
}
