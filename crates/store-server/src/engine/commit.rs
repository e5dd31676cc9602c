//! Hands the changes of commands and jobs to the store, and ends their writes.

use super::Engine;
use crate::cells;
use crate::jobs::JobId;
use crate::session::SlotId;
use crate::writes::{Change, Sent, Unsent, WriteInFlight};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Ticket, WriteError};

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Hands changes, which are in the order of keys, to the store, a batch a slice. Returns why it refuses them; what
    /// is refused has changed nothing.
    pub(super) fn commit(
        &mut self,
        slot: SlotId,
        mut changes: Vec<Change>,
        is_atomic: bool,
    ) -> Option<String> {
        let mut refusal = None;
        while let Some((first, _)) = changes.first() {
            let slice = self.store.slice_of(first);
            let end = changes.partition_point(|(key, _)| self.store.slice_of(key) <= slice);
            if is_atomic && end < changes.len() {
                let text = "CROSSSLOT the keys of this request lie in several slices of the store, and are changed in one only";
                return Some(text.into());
            }
            let rest = changes.split_off(end);
            match self.send(&changes, None) {
                Ok(sent) => self.apply(changes, Some(sent)),
                Err(WriteError::Busy { .. }) => {
                    self.add_wait(slot);
                    let write = WriteInFlight { slots: vec![slot], ..WriteInFlight::default() };
                    self.apply(changes.clone(), None);
                    self.writes.keep(Unsent { changes, write });
                }
                Err(error) => refusal = Some(refusal_text(&error)),
            }
            changes = rest;
        }
        refusal
    }

    /// Hands a batch to the store, in order behind the unsent ones.
    fn send(&mut self, changes: &[Change], job: Option<JobId>) -> Result<Sent, WriteError> {
        if self.writes.has_unsent() {
            return Err(WriteError::Busy { waiting_bytes: 0 });
        }
        self.send_next(changes, job)
    }

    /// Hands a batch to the store.
    fn send_next(&mut self, changes: &[Change], job: Option<JobId>) -> Result<Sent, WriteError> {
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
        Ok(Sent { ticket, is_long })
    }

    /// Lets commands see changes, and watchers notice them.
    fn apply(&mut self, changes: Vec<Change>, sent: Option<Sent>) {
        for (key, entry) in changes {
            self.watches.break_key(&key);
            self.cache.put(&key, &entry);
            let cell = self.cells.get_mut(&key).expect("a command changes its own keys");
            cell.write_begins(entry, sent);
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
                Ok(sent) => {
                    write.slots.iter().for_each(|slot| self.writes.wait(sent.ticket, *slot));
                    for key in &self.writes.get(sent.ticket).keys {
                        let cell = self.cells.get_mut(key).expect("a cell with a write");
                        cell.write_is_sent(sent);
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
            Some(failure) => format!("ERR {}", failure.verdict()),
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
        self.write_done(WriteInFlight { keys, ..write }, None, Some(refusal));
    }

    pub(super) fn write_ended(&mut self, ticket: Ticket, failure: Option<String>) {
        let write = self.writes.end(ticket);
        let sent = Sent { ticket, is_long: write.is_long };
        self.write_done(write, Some(sent), failure.as_deref());
    }

    /// Ends a write that the store has completed, if it was sent. Where it failed, the changes may be there or not.
    fn write_done(&mut self, write: WriteInFlight, sent: Option<Sent>, failure: Option<&str>) {
        for key in &write.keys {
            let cell = self.cells.get_mut(key).expect("a cell with a write");
            if let Some(failure) = failure {
                self.cache.forget(key);
                cell.write_fails(failure);
            }
            cell.write_ends(sent);
            if cell.is_idle() {
                cells::remove(&mut self.cells, key);
            } else {
                self.grant(key);
            }
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
