//! Writes that the store has not completed, or refused as busy and gets later.
//!
//! Invariant: writes go to the store in the order in which they were made: none is sent while others are unsent.

use crate::jobs::JobId;
use crate::key::Key;
use crate::session::SlotId;
use crate::value::Entry;
use flashlane_store::Ticket;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// A key and its new value, if it has one.
pub type Change = (Key, Option<Entry>);

/// A write that the store has accepted.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The store's ticket of it.
    pub ticket: Ticket,
    /// The store may number it later than others.
    pub is_long: bool,
}

/// A write that the store has not completed, or not accepted yet.
#[derive(Debug, Default)]
pub struct WriteInFlight {
    /// Keys whose cells have the write; none of a job.
    pub keys: Vec<Key>,
    /// Replies that wait for it.
    pub slots: Vec<SlotId>,
    /// The store may number it later than others.
    pub is_long: bool,
    /// The job that it is for.
    pub job: Option<JobId>,
}

/// A write that the store refused as busy.
#[derive(Debug)]
pub struct Unsent {
    pub changes: Vec<Change>,
    pub write: WriteInFlight,
}

/// The writes of the server.
#[derive(Debug, Default)]
pub struct Writes {
    in_flight: HashMap<Ticket, WriteInFlight, FxBuildHasher>,
    unsent: VecDeque<Unsent>,
}

impl Writes {
    /// Returns whether there is no write.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.unsent.is_empty()
    }

    /// Returns whether the store has to accept writes before others are made.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The store has accepted a write.
    pub fn begin(&mut self, ticket: Ticket, write: WriteInFlight) {
        let before = self.in_flight.insert(ticket, write);
        assert!(before.is_none(), "the store does not use a ticket again");
    }

    /// Returns a write in flight.
    pub fn get(&self, ticket: Ticket) -> &WriteInFlight {
        &self.in_flight[&ticket]
    }

    /// Lets a reply wait for a write in flight.
    pub fn wait(&mut self, ticket: Ticket, slot: SlotId) {
        self.in_flight.get_mut(&ticket).expect("a write in flight").slots.push(slot);
    }

    /// Removes a write that has ended.
    pub fn end(&mut self, ticket: Ticket) -> WriteInFlight {
        self.in_flight.remove(&ticket).expect("a write of the engine")
    }

    /// Keeps a write, behind all others, until the store accepts it.
    pub fn keep(&mut self, unsent: Unsent) {
        self.unsent.push_back(unsent);
    }

    /// Keeps the first write again, which the store still refuses.
    pub fn keep_first(&mut self, unsent: Unsent) {
        self.unsent.push_front(unsent);
    }

    /// Takes the first write that is unsent.
    pub fn take_unsent(&mut self) -> Option<Unsent> {
        self.unsent.pop_front()
    }
}
