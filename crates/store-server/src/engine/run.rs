//! The course of a command on keys: it waits for its keys, runs, and its changes go to the store.

use super::{Change, Engine, Unsent, Waiting, WriteInFlight};
use crate::cells::{self, Cell, CommandId, Key, Keys, State};
use crate::clients::SlotId;
use crate::commands::{Kind, Spec};
use crate::protocol::Request;
use crate::reply::Reply;
use crate::value::{Entry, Value};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, ReadFailure, Ticket, Value as Stored, WriteError};
use std::collections::BTreeMap;

/// Commands that wait for keys, for which memory is kept when none waits any more.
const COMMANDS_KEPT: usize = 1024;

/// What a command does.
#[derive(Debug)]
pub(crate) enum Work {
    /// A command on keys.
    One(&'static Spec, Request),
    /// The commands between MULTI and EXEC, and the keys that were watched.
    Transaction(Vec<(&'static Spec, Request)>, Option<u64>),
}

/// A command that waits for keys.
#[derive(Debug)]
pub(crate) struct Running {
    slot: SlotId,
    work: Work,
    /// Its keys, and whether it needs their values.
    keys: Vec<(Key, bool)>,
    /// Keys that it has not got.
    blocked: usize,
}

impl Work {
    /// Returns the keys, each once, and whether their values are needed.
    fn keys(&self) -> Vec<(Key, bool)> {
        let one = |spec: &Spec, request: &Request| -> Vec<(Key, bool)> {
            let needs = match &spec.kind {
                Kind::Keys(needs_value, _) => needs_value(request),
                _ => true,
            };
            spec.key_numbers(request).map(|nth| (Key::from(request.arg(nth)), needs)).collect()
        };
        let mut keys = match self {
            Self::One(spec, request) => one(spec, request),
            Self::Transaction(commands, _) => {
                commands.iter().flat_map(|(spec, request)| one(spec, request)).collect()
            }
        };
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 |= is_same && next.1;
                is_same
            });
        }
        keys
    }

    fn is_atomic(&self) -> bool {
        match self {
            Self::One(spec, _) => matches!(spec.kind, Kind::Atomic(_)),
            Self::Transaction(..) => true,
        }
    }
}

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Lets a request begin, or wait for those that must end before.
    pub(super) fn admit(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.run_waiting();
    }

    /// Begins the requests that wait, in their order, as far as possible.
    pub(super) fn run_waiting(&mut self) {
        while self.unsent.is_empty() && self.exclusive.is_none() {
            match self.waiting.pop_front() {
                None => break,
                Some(Waiting::Command(slot, work)) => self.enter(slot, work),
                Some(Waiting::Job(slot, job)) => {
                    if self.cells.is_empty() && self.writes.is_empty() {
                        self.begin_job(slot, job);
                    } else {
                        self.waiting.push_front(Waiting::Job(slot, job));
                        break;
                    }
                }
            }
        }
    }

    /// Runs a command, or lets it wait for its keys.
    fn enter(&mut self, slot: SlotId, work: Work) {
        let keys = work.keys();
        let mut is_free = true;
        for (key, needs) in &keys {
            match self.cells.get(key) {
                Some(cell) => is_free &= cell.is_free(*needs),
                None => {
                    let known = if *needs { self.cache.get(key) } else { None };
                    let state = known.map_or(State::Unknown, State::Known);
                    is_free &= !needs || matches!(state, State::Known(_));
                    self.cells.insert(key.clone(), Cell { state, ..Cell::default() });
                }
            }
        }
        if is_free {
            return self.run(slot, work, &keys);
        }
        let blocked = keys.len();
        let running = Some(Running { slot, work, keys: keys.clone(), blocked });
        let id = match self.free_ids.pop() {
            Some(id) => {
                self.running[id as usize] = running;
                id
            }
            None => {
                self.running.push(running);
                (self.running.len() - 1) as CommandId
            }
        };
        for (key, _) in &keys {
            self.cells.get_mut(key).expect("it was made").queue.push_back(id);
            self.grant(key);
        }
    }

    /// Gives a key to the first command that waits for it, or begins to read its value.
    fn grant(&mut self, key: &Key) {
        let Some(cell) = self.cells.get_mut(key) else { return };
        let Some(&first) = cell.queue.front() else {
            if cell.is_idle() {
                cells::remove(&mut self.cells, key);
            }
            return;
        };
        if cell.is_granted || cell.is_loading || cell.long_writes > 0 {
            return;
        }
        let running = self.running[first as usize].as_mut().expect("a command that waits is there");
        let needs = running.keys.iter().any(|(own, needs)| own == key && *needs);
        if needs && matches!(cell.state, State::Unknown) {
            cell.is_loading = true;
            let ticket = self.store.get(key, None);
            self.loads.insert(ticket, key.clone());
            return;
        }
        cell.is_granted = true;
        running.blocked -= 1;
        if running.blocked == 0 {
            self.ready.push_back(first);
        }
    }

    pub(super) fn loaded(&mut self, key: &Key, result: Result<Option<Stored>, ReadFailure>) {
        let cell = self.cells.get_mut(key).expect("a cell whose value is read");
        cell.is_loading = false;
        cell.state = match result {
            Ok(found) => {
                let entry =
                    found.map(|Stored { bytes, expiry_ms }| Entry { value: Value::decode(bytes), expiry_ms });
                self.cache.put(key, &entry);
                State::Known(entry)
            }
            Err(failure) => State::Failed(format!("ERR the value cannot be read: {failure}")),
        };
        self.grant(key);
    }

    /// Runs the commands that have got all their keys.
    pub(super) fn run_ready(&mut self) {
        while self.unsent.is_empty() {
            let Some(id) = self.ready.pop_front() else { break };
            let running = self.running[id as usize].take().expect("a command that is ready is there");
            self.free_ids.push(id);
            for (key, _) in &running.keys {
                let cell = self.cells.get_mut(key).expect("a command has its keys");
                assert_eq!(cell.queue.pop_front(), Some(id), "a command that runs is first");
                cell.is_granted = false;
            }
            self.run(running.slot, running.work, &running.keys);
        }
        if self.free_ids.len() == self.running.len() && self.running.len() > COMMANDS_KEPT {
            (self.running, self.free_ids) = (Vec::new(), Vec::new());
        }
    }

    /// Runs a command that has all its keys.
    fn run(&mut self, slot: SlotId, work: Work, keys: &[(Key, bool)]) {
        let is_resp3 = self.clients.get(&slot.client).is_some_and(|client| client.session.is_resp3);
        let mut reply = Reply::new(is_resp3);
        let failure = keys.iter().find_map(|(key, needs)| match &self.cells[key].state {
            State::Failed(failure) if *needs => Some(failure.clone()),
            _ => None,
        });
        let changes = match (&failure, &work) {
            (Some(failure), work) => {
                reply.error(failure);
                if let Work::Transaction(_, Some(watch)) = work {
                    self.forget_watch(*watch);
                }
                BTreeMap::new()
            }
            (None, Work::One(spec, request)) => {
                let mut view = Keys::new(&self.cells, self.server.now_ms);
                let function = match &spec.kind {
                    Kind::Keys(_, function) | Kind::Atomic(function) => function,
                    _ => unreachable!("a command on keys"),
                };
                match function(&mut view, request, &mut reply) {
                    Ok(()) => view.into_changes(),
                    Err(error) => {
                        reply.truncate(0);
                        reply.error(error);
                        BTreeMap::new()
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
            keys.iter().filter_map(|(key, _)| self.cells.get(key)?.last_write).collect();
        tickets.sort_unstable();
        tickets.dedup();
        for ticket in tickets {
            self.writes.get_mut(&ticket).expect("a write in flight").slots.push(slot);
            self.add_wait(slot);
        }
    }

    fn add_wait(&mut self, slot: SlotId) {
        if let Some(client) = self.clients.get_mut(&slot.client) {
            client.slot(slot.number).writes += 1;
        }
    }

    /// Hands changes to the store, a batch a slice. Returns why it refuses them; what is refused has changed nothing.
    fn commit(
        &mut self,
        slot: SlotId,
        changes: BTreeMap<Key, Option<Entry>>,
        is_atomic: bool,
    ) -> Option<String> {
        if changes.is_empty() {
            return None;
        }
        // Both are in the order of keys.
        let mut slices: Vec<(u32, Vec<Change>)> = Vec::new();
        for change in changes {
            let slice = self.store.slice_of(&change.0);
            match slices.last_mut().filter(|(last, _)| *last == slice) {
                Some((_, changes)) => changes.push(change),
                None => slices.push((slice, vec![change])),
            }
        }
        if is_atomic && slices.len() > 1 {
            let text = "CROSSSLOT the keys of this request lie in several slices of the store, and are changed in one only";
            return Some(text.into());
        }
        let mut refusal = None;
        for (_, changes) in slices {
            match self.send(&changes, None) {
                Ok(ticket) => self.apply(changes, Some(ticket)),
                Err(WriteError::Busy { .. }) => {
                    self.add_wait(slot);
                    let write = WriteInFlight { slots: vec![slot], ..WriteInFlight::default() };
                    self.apply(changes.clone(), None);
                    self.unsent.push_back(Unsent { changes, write });
                }
                Err(error) => refusal = Some(refusal_text(&error)),
            }
        }
        refusal
    }

    /// Hands a batch to the store, in order behind the unsent ones.
    fn send(&mut self, changes: &[Change], job: Option<u64>) -> Result<Ticket, WriteError> {
        if !self.unsent.is_empty() {
            return Err(WriteError::Busy { waiting_bytes: 0 });
        }
        let (mut batch, mut is_long) = (Batch::default(), false);
        let inline_bytes_max = self.store.inline_bytes_max();
        for (key, entry) in changes {
            match entry {
                None => batch.delete(&key[..]),
                Some(entry) => {
                    let bytes = entry.value.encode();
                    is_long |= bytes.len() as u64 > inline_bytes_max;
                    batch.put_shared(&key[..], bytes, entry.expiry_ms)
                }
            };
        }
        let ticket = self.store.write(batch, self.server.options.durability)?;
        let keys =
            if job.is_some() { Vec::new() } else { changes.iter().map(|(key, _)| key.clone()).collect() };
        self.writes.insert(ticket, WriteInFlight { keys, slots: Vec::new(), is_long, job });
        Ok(ticket)
    }

    /// Lets commands see changes, and watchers notice them.
    fn apply(&mut self, changes: Vec<Change>, ticket: Option<Ticket>) {
        let is_long = ticket.is_some_and(|ticket| self.writes[&ticket].is_long);
        for (key, entry) in changes {
            self.break_watches(&key);
            self.cache.put(&key, &entry);
            let cell = self.cells.get_mut(&key).expect("a command changes its own keys");
            cell.state = State::Known(entry);
            cell.writes += 1;
            cell.long_writes += u32::from(is_long);
            cell.last_write = ticket.or(cell.last_write);
        }
    }

    /// Deletes keys for a job. Returns whether the store took the deletes, which may be later.
    pub(crate) fn send_for_job(&mut self, changes: Vec<Change>, job: u64) -> Result<(), String> {
        match self.send(&changes, Some(job)) {
            Ok(_) => Ok(()),
            Err(WriteError::Busy { .. }) => {
                let write = WriteInFlight { job: Some(job), ..WriteInFlight::default() };
                self.unsent.push_back(Unsent { changes, write });
                Ok(())
            }
            Err(error) => Err(refusal_text(&error)),
        }
    }

    /// Hands over what the store refused as busy.
    pub(super) fn send_unsent(&mut self) {
        while let Some(Unsent { changes, write }) = self.unsent.pop_front() {
            let rest = std::mem::take(&mut self.unsent);
            let sent = self.send(&changes, write.job);
            self.unsent = rest;
            match sent {
                Ok(ticket) => {
                    let own = self.writes.get_mut(&ticket).expect("it was sent");
                    own.slots.extend(write.slots);
                    let is_long = own.is_long;
                    for key in own.keys.clone() {
                        let cell = self.cells.get_mut(&key).expect("a cell with a write");
                        cell.last_write = Some(ticket);
                        cell.long_writes += u32::from(is_long);
                    }
                }
                Err(WriteError::Busy { .. }) => {
                    self.unsent.push_front(Unsent { changes, write });
                    break;
                }
                Err(error) => self.refuse(Unsent { changes, write }, &refusal_text(&error)),
            }
        }
    }

    /// With nothing in flight no room is made for what the store refused as busy: the writes before wait for a full device.
    pub(super) fn refuse_unsent(&mut self) {
        while let Some(unsent) = self.unsent.pop_front() {
            self.refuse(unsent, "OOM the device is full: writes wait for room; delete keys to make room");
        }
    }

    fn refuse(&mut self, unsent: Unsent, refusal: &str) {
        let Unsent { changes, write } = unsent;
        // Of a job no cell was changed.
        let keys = changes.into_iter().map(|(key, _)| key).filter(|_| write.job.is_none()).collect();
        self.write_failed(WriteInFlight { keys, ..write }, refusal);
    }

    pub(super) fn write_ended(&mut self, ticket: Ticket, write: WriteInFlight, failure: Option<String>) {
        for key in &write.keys {
            let cell = self.cells.get_mut(key).expect("a cell with a write");
            cell.last_write = cell.last_write.filter(|last| *last != ticket);
            cell.long_writes -= u32::from(write.is_long);
        }
        match failure {
            Some(failure) => self.write_failed(write, &failure),
            None => self.write_done(write, None),
        }
    }

    /// The changes of a write may be there or not.
    fn write_failed(&mut self, write: WriteInFlight, failure: &str) {
        for key in &write.keys {
            self.cache.forget(key);
            self.cells.get_mut(key).expect("a cell with a write").state = State::Failed(failure.into());
        }
        self.write_done(write, Some(failure));
    }

    fn write_done(&mut self, write: WriteInFlight, failure: Option<&str>) {
        for key in &write.keys {
            let cell = self.cells.get_mut(key).expect("a cell with a write");
            cell.writes -= 1;
            if cell.writes == 0 {
                cell.last_write = None;
            }
            self.grant(key);
        }
        for slot in write.slots {
            let Some(client) = self.clients.get_mut(&slot.client) else { continue };
            let own = client.slot(slot.number);
            own.writes -= 1;
            if let Some(failure) = failure {
                let reply = format!("-{failure}\r\n").into_bytes();
                let before = own.reply.replace(reply).map_or(0, |reply| reply.len());
                let after = own.reply.as_ref().map_or(0, Vec::len);
                client.slot_bytes = client.slot_bytes + after - before;
            }
            self.release(slot.client);
        }
        if let Some(job) = write.job {
            self.job_wrote(job, failure);
        }
    }
}

/// Returns the error that clients get where the store refuses a write. `OOM` is that of a full Redis.
fn refusal_text(error: &WriteError) -> String {
    match error {
        WriteError::Full { .. } => format!("OOM {error}"),
        WriteError::ReadOnly => format!("READONLY {error}"),
        _ => format!("ERR {error}"),
    }
}
