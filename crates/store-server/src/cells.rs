//! The keys that commands work on now.
//!
//! A *cell* is a key with commands that wait for it or writes in flight. It knows the key's newest value, so a command
//! sees the writes before it at once, though the store may not have numbered them yet. Commands enter the queues of all
//! their keys when they arrive; one is *granted* a key when it is first in the queue and the value is loaded, or not
//! needed. It runs when all its keys are granted, at once and alone: every command is atomic, and commands on a key run
//! in the order of arrival.
//!
//! Invariants: a cell exists while it has commands or writes, and no longer; the first command of a queue is granted
//! unless the value is being loaded or a long one is being written; a value that is known is that of the last command
//! that ran.

use crate::key::{Key, KeyBytes, KeyTable};
use crate::value::Entry;
use crate::writes::{Change, Sent};
use flashlane_store::Ticket;
use std::collections::{BTreeMap, VecDeque};

/// Number of a command that runs or waits.
pub type CommandId = u32;

/// What is known of a key's value.
#[derive(Clone, Debug, Default)]
pub enum Knowledge {
    /// Nothing.
    #[default]
    Unknown,
    /// The value, if there is one.
    Known(Option<Entry>),
    /// It could not be read.
    Failed(String),
}

/// A key with commands or writes.
#[derive(Debug, Default)]
pub struct Cell {
    /// The value after the last command that ran.
    state: Knowledge,
    /// Commands that wait for the key, in the order of arrival.
    queue: VecDeque<CommandId>,
    /// The first command has the key.
    is_granted: bool,
    /// The value is being read.
    is_loading: bool,
    /// Writes that the store has not completed.
    writes: u32,
    /// The last of these.
    last_write: Option<Ticket>,
    /// Writes in flight that the store may number late: no other may begin.
    long_writes: u32,
}

impl Cell {
    /// Returns a cell of which no command and no write is known.
    pub fn new(state: Knowledge) -> Self {
        Self { state, ..Self::default() }
    }

    /// Returns what is known of the value.
    pub fn state(&self) -> &Knowledge {
        &self.state
    }

    /// Returns the last write in flight.
    pub fn last_write(&self) -> Option<Ticket> {
        self.last_write
    }

    /// Returns whether nothing needs the cell.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.writes == 0 && !self.is_loading
    }

    /// Returns whether a command can run at once that needs the value or not.
    pub fn is_free(&self, needs_value: bool) -> bool {
        self.queue.is_empty()
            && self.long_writes == 0
            && !self.is_loading
            && (!needs_value || !matches!(self.state, Knowledge::Unknown))
    }

    /// Lets a command wait for the key.
    pub fn enqueue(&mut self, command: CommandId) {
        self.queue.push_back(command);
    }

    /// Returns the command that gets the key next, if the key can be granted.
    pub fn next_command(&self) -> Option<CommandId> {
        let is_held = self.is_granted || self.is_loading || self.long_writes > 0;
        self.queue.front().copied().filter(|_| !is_held)
    }

    /// Gives the key to the first command.
    pub fn grant(&mut self) {
        assert!(!self.is_granted && !self.is_loading && !self.queue.is_empty(), "the key can be granted");
        self.is_granted = true;
    }

    /// Takes the key from the command that runs.
    pub fn leave(&mut self, command: CommandId) {
        assert_eq!(self.queue.pop_front(), Some(command), "a command that runs is first");
        assert!(self.is_granted, "a command that runs has its keys");
        self.is_granted = false;
    }

    /// The value is being read from now on.
    pub fn load_begins(&mut self) {
        assert!(matches!(self.state, Knowledge::Unknown), "only an unknown value is read");
        self.is_loading = true;
    }

    /// The value was read.
    pub fn loaded(&mut self, state: Knowledge) {
        assert!(self.is_loading, "a value that was read was asked for");
        (self.is_loading, self.state) = (false, state);
    }

    /// A command has set the value. Its write was sent, or is unsent.
    pub fn write_begins(&mut self, entry: Option<Entry>, sent: Option<Sent>) {
        self.state = Knowledge::Known(entry);
        self.writes += 1;
        if let Some(sent) = sent {
            self.write_is_sent(sent);
        }
    }

    /// The store has accepted a write.
    pub fn write_is_sent(&mut self, sent: Sent) {
        assert!(self.writes > 0, "the write has begun");
        self.last_write = Some(sent.ticket);
        self.long_writes += u32::from(sent.is_long);
    }

    /// A write has failed: its value may be there or not.
    pub fn write_fails(&mut self, failure: &str) {
        self.state = Knowledge::Failed(failure.into());
    }

    /// A write has ended, which the store has completed if it was sent.
    pub fn write_ends(&mut self, sent: Option<Sent>) {
        assert!(self.writes > 0, "the write has begun");
        self.writes -= 1;
        if let Some(Sent { ticket, is_long }) = sent {
            self.last_write.take_if(|last| *last == ticket);
            self.long_writes -= u32::from(is_long);
        }
        if self.writes == 0 {
            self.last_write = None;
        }
    }
}

/// All cells, in no order.
pub type Cells = KeyTable<Cell>;

/// Cells for which a table keeps room.
const ROOM_KEPT: usize = 1024;

/// Removes a cell. A table that a burst of requests has made large gives its memory back once an eighth of it is in
/// use.
pub fn remove(cells: &mut Cells, key: &Key) {
    cells.remove(key);
    if cells.capacity() > 8 * cells.len().max(ROOM_KEPT) {
        cells.shrink_to(2 * cells.len().max(ROOM_KEPT));
    }
}

/// The keys of a command that runs: their values, and what it changes.
pub struct Keys<'a> {
    cells: &'a Cells,
    changes: BTreeMap<Key, Option<Entry>>,
    now_ms: u64,
    string_bytes_max: usize,
}

impl<'a> Keys<'a> {
    /// Begins without changes.
    pub fn new(cells: &'a Cells, now_ms: u64, string_bytes_max: usize) -> Self {
        Self { cells, changes: BTreeMap::new(), now_ms, string_bytes_max }
    }

    /// Returns the length of the longest string that a command may build.
    pub fn string_bytes_max(&self) -> usize {
        self.string_bytes_max
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Returns the value of a key that the command has loaded.
    pub fn get(&self, key: &[u8]) -> Option<&Entry> {
        let Some((key, cell)) = self.cells.get_key_value(&KeyBytes::new(key)) else {
            unreachable!("a command reads its own keys")
        };
        let entry = match (self.changes.get(key), cell.state()) {
            (Some(entry), _) | (None, Knowledge::Known(entry)) => entry.as_ref(),
            (None, other) => unreachable!("a command reads a key that it has loaded, not {other:?}"),
        };
        entry.filter(|entry| !entry.is_expired(self.now_ms))
    }

    /// Sets a value.
    pub fn put(&mut self, key: &[u8], entry: Entry) {
        let expired = entry.is_expired(self.now_ms);
        self.change(key, if expired { None } else { Some(entry) });
    }

    /// Removes a key. Returns whether it was there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let is_there = self.get(key).is_some();
        if is_there {
            self.change(key, None);
        }
        is_there
    }

    fn change(&mut self, key: &[u8], entry: Option<Entry>) {
        let (key, _) = self.cells.get_key_value(&KeyBytes::new(key)).expect("a command changes its own keys");
        self.changes.insert(key.clone(), entry);
    }

    /// Returns the changes, in the order of keys.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes.into_iter().collect()
    }
}
