//! Carries out jobs: reads and writes the store for them, and replies.

use super::Engine;
use crate::jobs::{Answer, Begun, Job, JobId, JobRead, Step};
use crate::key::Key;
use crate::reply::Reply;
use crate::session::SlotId;
use crate::value::Value;
use flashlane_device::DataDevice;
use flashlane_store::{Item, Page, ReadFailure, ScanFailure, Ticket, Value as Stored};
use std::collections::BTreeMap;

/// Bytes of values after which a page ends.
const BYTES_AT_ONCE: u64 = 8 << 20;

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Begins a job. No command is in flight.
    pub(super) fn begin_job(&mut self, slot: SlotId, mut job: Job) {
        if let Err(refusal) = self.jobs.place(&mut job, &mut self.server.random) {
            return self.answer(slot, |reply| reply.error(refusal));
        }
        let loss = self.store.loss();
        let ended = loss.and_then(|loss| job.miss_keys(&loss.to_string()));
        if job.is_exclusive() && ended.is_none() {
            self.cache.clear();
        }
        let id = self.jobs.begin(job, slot, self.store.snapshot());
        self.job_step(id, ended.map_or(Step::Page, Step::End));
    }

    fn job_step(&mut self, id: JobId, step: Step) {
        match step {
            Step::Page => {
                let Begun { job, snapshot, .. } = self.jobs.get(id).expect("a job that reads is there");
                let ((start, end, keys_max), snapshot) = (job.next_page(), *snapshot);
                let ticket = self.store.scan(&start, end.as_deref(), keys_max, BYTES_AT_ONCE, Some(snapshot));
                self.jobs.read_begins(ticket, id, None);
            }
            Step::Types(keys) => {
                let snapshot = self.jobs.get(id).expect("a job that reads is there").snapshot;
                for key in keys {
                    let ticket = self.store.get(&key, Some(snapshot));
                    self.jobs.read_begins(ticket, id, Some(key));
                }
            }
            Step::Delete(items) => self.delete_page(id, items),
            Step::Wait => {}
            Step::End(answer) => self.end_job(id, answer),
        }
    }

    /// Ends a job with its reply.
    fn end_job(&mut self, id: JobId, answer: Answer) {
        let Begun { slot, snapshot, .. } = self.jobs.end(id);
        self.store.release(snapshot);
        match answer {
            Answer::Ok => self.answer(slot, Reply::ok),
            Answer::Key(None) => self.answer(slot, Reply::null),
            Answer::Key(Some(key)) => self.answer(slot, |reply| reply.bulk(&key)),
            Answer::Keys(keys) => self.answer(slot, |reply| write_keys(reply, &keys)),
            Answer::Count(keys) => self.answer(slot, |reply| reply.integer(keys as i64)),
            Answer::Error(text) => self.answer(slot, |reply| reply.error(text)),
            Answer::Unread(text, next) => {
                let cursor = self.jobs.add_cursor(next);
                self.answer(slot, |reply| {
                    reply.error(format!("{text}; cursor {cursor} goes on behind these keys"))
                });
            }
            Answer::Scanned(keys, next) => {
                let cursor = next.map_or(0, |place| self.jobs.add_cursor(place));
                self.answer(slot, |reply| {
                    reply.array(2);
                    reply.bulk(cursor.to_string().as_bytes());
                    write_keys(reply, &keys);
                });
            }
        }
    }

    fn fail_job(&mut self, id: JobId, failure: &ReadFailure) {
        self.end_job(id, Answer::Error(format!("ERR the keys cannot be read: {failure}")));
    }

    /// A page of a job was read.
    pub(super) fn job_scanned(&mut self, ticket: Ticket, result: Result<Page, ScanFailure>) {
        let JobRead { job: id, .. } = self.jobs.read_ended(ticket);
        let Begun { job, .. } = self.jobs.get(id).expect("a job with a read");
        let step = match result {
            Ok(page) => job.page_read(page, &mut self.server.random),
            Err(failure) => job.page_failed(&failure),
        };
        self.job_step(id, step);
    }

    /// A value was read whose type a SCAN wants.
    pub(super) fn job_got(&mut self, ticket: Ticket, result: Result<Option<Stored>, ReadFailure>) {
        let JobRead { job: id, key } = self.jobs.read_ended(ticket);
        let Some(Begun { job, .. }) = self.jobs.get(id) else {
            // The job has failed.
            return;
        };
        let value = match result {
            Ok(value) => value,
            Err(failure) => return self.fail_job(id, &failure),
        };
        let own_type = value.as_ref().map(|value| Value::type_of(&value.bytes));
        let step = job.type_read(key.expect("a get is for a key"), own_type);
        self.job_step(id, step);
    }

    fn delete_page(&mut self, id: JobId, items: Vec<Item>) {
        let mut slices: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for key in items.into_iter().map(|item| Key::from(item.key)) {
            self.watches.break_key(&key);
            slices.entry(self.store.slice_of(&key)).or_default().push((key, None));
        }
        for changes in slices.into_values() {
            self.jobs.get(id).expect("a job that deletes is there").job.write_begins();
            if let Err(error) = self.send_for_job(changes, id) {
                return self.end_job(id, Answer::Error(error));
            }
        }
        // The page itself, which the job counts as one.
        self.job_wrote(id, None);
    }

    /// A write of a job has ended.
    pub(super) fn job_wrote(&mut self, id: JobId, failure: Option<&str>) {
        let Some(Begun { job, .. }) = self.jobs.get(id) else {
            // The job has failed.
            return;
        };
        let step = match failure {
            Some(failure) => Step::End(Answer::Error(failure.into())),
            None => job.write_ended(),
        };
        self.job_step(id, step);
    }
}

fn write_keys(reply: &mut Reply, keys: &[Vec<u8>]) {
    reply.array(keys.len());
    keys.iter().for_each(|key| reply.bulk(key));
}
