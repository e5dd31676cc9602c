//! Hands the changes of commands and jobs to the store, and ends their writes.

use super::Engine;
use crate::jobs::JobId;
use crate::key::Key;
use crate::session::SlotId;
use crate::value::Entry;
use crate::writes::{Change, Unsent, WriteInFlight};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Ticket, WriteError};
use std::collections::BTreeMap;

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Hands changes to the store, a batch a slice. Returns why it refuses them; what is refused has changed nothing.
    pub(super) fn commit(
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
                    self.writes.keep(Unsent { changes, write });
                }
                Err(error) => refusal = Some(refusal_text(&error)),
            }
        }
        refusal
    }

    /// Hands a batch to the store, in order behind the unsent ones.
    fn send(&mut self, changes: &[Change], job: Option<JobId>) -> Result<Ticket, WriteError> {
        if self.writes.has_unsent() {
            return Err(WriteError::Busy { waiting_bytes: 0 });
        }
        self.send_next(changes, job)
    }

    /// Hands a batch to the store.
    fn send_next(&mut self, changes: &[Change], job: Option<JobId>) -> Result<Ticket, WriteError> {
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
        self.writes.begin(ticket, WriteInFlight { keys, slots: Vec::new(), is_long, job });
        Ok(ticket)
    }

    /// Lets commands see changes, and watchers notice them.
    fn apply(&mut self, changes: Vec<Change>, ticket: Option<Ticket>) {
        let is_long = ticket.is_some_and(|ticket| self.writes.get(ticket).is_long);
        for (key, entry) in changes {
            self.watches.break_key(&key);
            self.cache.put(&key, &entry);
            let cell = self.cells.get_mut(&key).expect("a command changes its own keys");
            cell.write_begins(entry, ticket, is_long);
        }
    }

    /// Deletes keys for a job. Returns whether the store took the deletes, which may be later.
    pub(super) fn send_for_job(&mut self, changes: Vec<Change>, job: JobId) -> Result<(), String> {
        match self.send(&changes, Some(job)) {
            Ok(_) => Ok(()),
            Err(WriteError::Busy { .. }) => {
                let write = WriteInFlight { job: Some(job), ..WriteInFlight::default() };
                self.writes.keep(Unsent { changes, write });
                Ok(())
            }
            Err(error) => Err(refusal_text(&error)),
        }
    }

    /// Hands over what the store refused as busy.
    pub(super) fn send_unsent(&mut self) {
        while let Some(Unsent { changes, write }) = self.writes.take_unsent() {
            match self.send_next(&changes, write.job) {
                Ok(ticket) => {
                    write.slots.iter().for_each(|slot| self.writes.wait(ticket, *slot));
                    let sent = self.writes.get(ticket);
                    for key in &sent.keys {
                        let cell = self.cells.get_mut(key).expect("a cell with a write");
                        cell.write_is_sent(ticket, sent.is_long);
                    }
                }
                Err(WriteError::Busy { .. }) => {
                    self.writes.keep_first(Unsent { changes, write });
                    break;
                }
                Err(error) => self.refuse(Unsent { changes, write }, &refusal_text(&error)),
            }
        }
    }

    /// With nothing in flight no room is made for what the store refused as busy: the writes before wait for a device
    /// that is full, or fails.
    pub(super) fn refuse_unsent(&mut self) {
        let refusal = match self.store.put_failure() {
            Some(failure) => {
                format!("ERR the device fails: {failure}; writes wait for room that it does not give")
            }
            None => "OOM the device is full: writes wait for room; delete keys to make room".to_owned(),
        };
        while let Some(unsent) = self.writes.take_unsent() {
            self.refuse(unsent, &refusal);
        }
    }

    fn refuse(&mut self, unsent: Unsent, refusal: &str) {
        let Unsent { changes, write } = unsent;
        // Of a job no cell was changed.
        let keys = changes.into_iter().map(|(key, _)| key).filter(|_| write.job.is_none()).collect();
        self.write_failed(WriteInFlight { keys, ..write }, refusal);
    }

    pub(super) fn write_ended(&mut self, ticket: Ticket, failure: Option<String>) {
        let write = self.writes.end(ticket);
        for key in &write.keys {
            let cell = self.cells.get_mut(key).expect("a cell with a write");
            cell.write_completes(ticket, write.is_long);
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
            self.cells.get_mut(key).expect("a cell with a write").write_fails(failure);
        }
        self.write_done(write, Some(failure));
    }

    fn write_done(&mut self, write: WriteInFlight, failure: Option<&str>) {
        for key in &write.keys {
            let cell = self.cells.get_mut(key).expect("a cell with a write");
            cell.write_ends();
            self.grant(key);
        }
        for slot in write.slots {
            let Some(client) = self.clients.get_mut(&slot.client) else { continue };
            client.write_ends(slot.number, failure);
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
        WriteError::Full { failure: None, .. } => format!("OOM {error}"),
        WriteError::ReadOnly => format!("READONLY {error}"),
        _ => format!("ERR {error}"),
    }
}
