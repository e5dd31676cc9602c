//! Commands on all keys: KEYS, SCAN, RANDOMKEY, DBSIZE, FLUSHALL.
//!
//! A job begins when no command is in flight. It reads the store page by page, at a snapshot, while later commands go on; only
//! FLUSHALL lets them wait until it has ended.
//!
//! A cursor of SCAN is a number that stands for a place in the order of keys. The server keeps the places of the last cursors,
//! so a call costs as much as the keys that it looks at, the cursors end, and no key is returned twice or left out that is
//! there all the time.

use crate::cells::Key;
use crate::clients::SlotId;
use crate::engine::Engine;
use crate::glob;
use crate::reply::Reply;
use crate::value::Value;
use flashlane_base::Random;
use flashlane_device::DataDevice;
use flashlane_store::space::{PlainRange, plain_range};
use flashlane_store::{Item, Page, ReadFailure, Snapshot, Ticket, Value as Stored, end_of_prefix};
use std::collections::BTreeMap;

/// Number of a job.
pub type JobId = u64;

/// Keys that a job reads at once, and the bytes of values after which it stops.
const KEYS_AT_ONCE: u64 = 1000;
const BYTES_AT_ONCE: u64 = 8 << 20;
/// Keys that are deleted at once.
const DELETES_AT_ONCE: u64 = 256;
/// Keys of which RANDOMKEY chooses one.
const RANDOM_KEYS: u64 = 64;
/// Most bytes of the keys that KEYS returns.
const KEYS_BYTES_MAX: usize = 64 << 20;
/// Most cursors that are kept, and their bytes.
const CURSORS_MAX: usize = 1 << 16;
const CURSOR_BYTES_MAX: usize = 16 << 20;

/// A command on all keys.
#[derive(Debug)]
pub struct Job {
    kind: JobKind,
    /// Where the next page begins, and the end of all.
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// Where the keys go on behind the page that is being read, if that ends before those of tables and files.
    behind_faces: Option<Vec<u8>>,
    begun: Option<Begun>,
}

/// What a job has once it has begun.
#[derive(Debug)]
struct Begun {
    slot: SlotId,
    snapshot: Snapshot,
}

#[derive(Debug)]
enum JobKind {
    Keys {
        pattern: Vec<u8>,
        found: Vec<Vec<u8>>,
        bytes: usize,
    },
    Scan {
        cursor: u64,
        pattern: Option<Vec<u8>>,
        count: u64,
        type_name: Option<String>,
        found: Vec<Vec<u8>>,
        next: Option<Vec<u8>>,
        /// Values in pieces whose type is being read.
        reads: usize,
    },
    RandomKey {
        has_wrapped: bool,
    },
    Count {
        keys: u64,
    },
    Flush {
        writes: usize,
        /// What was read is the last.
        is_last: bool,
    },
}

/// What a read of the store is for.
#[derive(Debug)]
pub struct JobTicket {
    job: JobId,
    /// The key whose type is read; `None` for a page.
    key: Option<Vec<u8>>,
}

impl Job {
    fn new(kind: JobKind) -> Self {
        Self { kind, start: Vec::new(), end: None, behind_faces: None, begun: None }
    }

    fn with_pattern(mut self, pattern: &[u8]) -> Self {
        self.start = glob::prefix(pattern);
        self.end = end_of_prefix(&self.start);
        self
    }

    /// Returns the keys that match a pattern.
    pub fn keys(pattern: &[u8]) -> Self {
        Self::new(JobKind::Keys { pattern: pattern.to_vec(), found: Vec::new(), bytes: 0 })
            .with_pattern(pattern)
    }

    /// Returns some keys, and a cursor for the next.
    pub fn scan(cursor: u64, pattern: Option<Vec<u8>>, count: u64, type_name: Option<String>) -> Self {
        let of_pattern = pattern.clone().unwrap_or_default();
        let count = count.min(KEYS_AT_ONCE);
        let (found, next) = (Vec::new(), None);
        Self::new(JobKind::Scan { cursor, pattern, count, type_name, found, next, reads: 0 })
            .with_pattern(&of_pattern)
    }

    /// Returns a key.
    pub fn random_key() -> Self {
        Self::new(JobKind::RandomKey { has_wrapped: false })
    }

    /// Counts the keys.
    pub fn count() -> Self {
        Self::new(JobKind::Count { keys: 0 })
    }

    /// Deletes all keys.
    pub fn flush() -> Self {
        Self::new(JobKind::Flush { writes: 0, is_last: false })
    }

    fn items_max(&self) -> u64 {
        match &self.kind {
            JobKind::Keys { .. } | JobKind::Count { .. } => KEYS_AT_ONCE,
            JobKind::Scan { count, .. } => *count,
            JobKind::RandomKey { .. } => RANDOM_KEYS,
            JobKind::Flush { .. } => DELETES_AT_ONCE,
        }
    }
}

/// Places of cursors.
#[derive(Debug)]
pub struct Cursors {
    places: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    last: u64,
}

impl Cursors {
    /// Begins with a random number, so that a cursor of an earlier server is not taken for one of this.
    pub fn new(random: &mut Random) -> Self {
        Self { places: BTreeMap::new(), bytes: 0, last: random.below(1 << 48) << 14 }
    }

    fn add(&mut self, place: Vec<u8>) -> u64 {
        self.last += 1;
        self.bytes += place.len();
        self.places.insert(self.last, place);
        while self.places.len() > CURSORS_MAX || self.bytes > CURSOR_BYTES_MAX {
            let (_, place) = self.places.pop_first().expect("there is one");
            self.bytes -= place.len();
        }
        self.last
    }

    fn get(&self, cursor: u64) -> Option<&[u8]> {
        self.places.get(&cursor).map(Vec::as_slice)
    }
}

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Begins a job. No command is in flight.
    pub(crate) fn begin_job(&mut self, slot: SlotId, mut job: Job) {
        match &job.kind {
            JobKind::Scan { cursor, .. } if *cursor != 0 => match self.cursors.get(*cursor) {
                Some(place) => job.start = place.to_vec(),
                None => {
                    let text = "ERR invalid cursor: the server keeps the last 65536; begin with 0";
                    return self.answer(slot, |reply| reply.error(text));
                }
            },
            JobKind::RandomKey { .. } => {
                job.start = self.server.random.below(1 << 48).to_be_bytes()[2..].to_vec();
            }
            JobKind::Flush { .. } => {
                self.cache.clear();
                self.exclusive = Some(self.next_job);
            }
            _ => {}
        }
        job.begun = Some(Begun { slot, snapshot: self.store.snapshot() });
        let id = self.next_job;
        self.next_job += 1;
        self.jobs.insert(id, job);
        self.read_page(id);
    }

    /// Reads plain keys only: tables and files are none of the server's.
    fn read_page(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("a job that reads is there");
        let snapshot = job.begun.as_ref().expect("the job has begun").snapshot;
        let PlainRange { start, end, next } = plain_range(&job.start, job.end.as_deref());
        job.behind_faces = next;
        let ticket = self.store.scan(&start, end.as_deref(), job.items_max(), BYTES_AT_ONCE, Some(snapshot));
        self.job_tickets.insert(ticket, JobTicket { job: id, key: None });
    }

    /// Ends a job with its reply.
    fn end_job(&mut self, id: JobId, write: impl FnOnce(&mut Reply)) {
        let job = self.jobs.remove(&id).expect("a job that ends is there");
        let Begun { slot, snapshot } = job.begun.expect("the job has begun");
        self.store.release(snapshot);
        self.exclusive.take_if(|exclusive| *exclusive == id);
        self.answer(slot, write);
    }

    /// A page of a job was read.
    pub(crate) fn job_scanned(&mut self, ticket: Ticket, result: Result<Page, ReadFailure>) {
        let JobTicket { job: id, .. } = self.job_tickets.remove(&ticket).expect("a scan of a job");
        let page = match result {
            Ok(page) => page,
            Err(failure) => {
                return self
                    .end_job(id, |reply| reply.error(format!("ERR the keys cannot be read: {failure}")));
            }
        };
        let job = self.jobs.get_mut(&id).expect("a job with a read");
        let snapshot = job.begun.as_ref().expect("the job has begun").snapshot;
        let ends_at_faces = page.next.is_none();
        let next = page.next.or_else(|| job.behind_faces.take());
        if let Some(next) = next.as_ref().filter(|_| page.items.is_empty()) {
            job.start = next.clone();
            return self.read_page(id);
        }
        match &mut job.kind {
            JobKind::Keys { pattern, found, bytes } => {
                let matching =
                    page.items.into_iter().map(|item| item.key).filter(|key| glob::matches(pattern, key));
                for key in matching {
                    *bytes += key.len() + size_of::<Vec<u8>>();
                    found.push(key);
                }
                if *bytes > KEYS_BYTES_MAX {
                    let text = "ERR KEYS would return more than 64 MiB: use SCAN";
                    return self.end_job(id, |reply| reply.error(text));
                }
                if next.is_none() {
                    let found = std::mem::take(found);
                    return self.end_job(id, |reply| write_keys(reply, &found));
                }
            }
            JobKind::Count { keys } => {
                *keys += page.items.len() as u64;
                if next.is_none() {
                    let keys = *keys;
                    return self.end_job(id, |reply| reply.integer(keys as i64));
                }
            }
            JobKind::Scan { pattern, type_name, found, next: own_next, reads, .. } => {
                *own_next = next;
                let mut unknown = Vec::new();
                for Item { key, value, .. } in page.items {
                    if pattern.as_ref().is_some_and(|pattern| !glob::matches(pattern, &key)) {
                        continue;
                    }
                    match (&type_name, value) {
                        (None, _) => found.push(key),
                        (Some(name), Some(value)) if Value::type_of(&value) == name => found.push(key),
                        (Some(_), Some(_)) => {}
                        (Some(_), None) => unknown.push(key),
                    }
                }
                // A cursor is for the keys that COUNT leaves, not for those behind tables and files.
                if let Some(next) = own_next.take_if(|_| ends_at_faces && unknown.is_empty()) {
                    job.start = next;
                    return self.read_page(id);
                }
                *reads = unknown.len();
                for key in unknown {
                    let ticket = self.store.get(&key, Some(snapshot));
                    self.job_tickets.insert(ticket, JobTicket { job: id, key: Some(key) });
                }
                return self.end_scan(id);
            }
            JobKind::RandomKey { has_wrapped } => {
                if !page.items.is_empty() {
                    let nth = self.server.random.below(page.items.len() as u64) as usize;
                    return self.end_job(id, |reply| reply.bulk(&page.items[nth].key));
                }
                if next.is_none() && std::mem::replace(has_wrapped, true) {
                    return self.end_job(id, Reply::null);
                }
                job.start = next.unwrap_or_default();
                return self.read_page(id);
            }
            JobKind::Flush { writes, is_last } => {
                *is_last = next.is_none();
                *writes += 1;
                if let Some(next) = next {
                    job.start = next;
                }
                return self.delete_page(id, page.items);
            }
        }
        job.start = next.expect("the last page ended the job");
        self.read_page(id);
    }

    /// A value was read whose type a SCAN wants.
    pub(crate) fn job_got(&mut self, ticket: Ticket, result: Result<Option<Stored>, ReadFailure>) {
        let JobTicket { job: id, key } = self.job_tickets.remove(&ticket).expect("a get of a job");
        let Some(JobKind::Scan { type_name, found, reads, .. }) =
            self.jobs.get_mut(&id).map(|job| &mut job.kind)
        else {
            // The job has failed.
            return;
        };
        match result {
            Err(failure) => {
                return self
                    .end_job(id, |reply| reply.error(format!("ERR the keys cannot be read: {failure}")));
            }
            Ok(Some(value)) if type_name.as_deref() == Some(Value::type_of(&value.bytes)) => {
                found.extend(key)
            }
            Ok(_) => {}
        }
        *reads -= 1;
        self.end_scan(id);
    }

    /// Ends a SCAN that has read everything.
    fn end_scan(&mut self, id: JobId) {
        let JobKind::Scan { found, next, reads: 0, .. } = &mut self.jobs.get_mut(&id).expect("a job").kind
        else {
            return;
        };
        let (mut found, next) = (std::mem::take(found), next.take());
        found.sort_unstable();
        let cursor = next.map_or(0, |place| self.cursors.add(place));
        self.end_job(id, |reply| {
            reply.array(2);
            reply.bulk(cursor.to_string().as_bytes());
            write_keys(reply, &found);
        });
    }

    fn delete_page(&mut self, id: JobId, items: Vec<Item>) {
        let mut slices: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for key in items.into_iter().map(|item| Key::from(item.key)) {
            self.break_watches(&key);
            slices.entry(self.store.slice_of(&key)).or_default().push((key, None));
        }
        for changes in slices.into_values() {
            if let Some(JobKind::Flush { writes, .. }) = self.jobs.get_mut(&id).map(|job| &mut job.kind) {
                *writes += 1;
            }
            if let Err(error) = self.send_for_job(changes, id) {
                return self.end_job(id, |reply| reply.error(error));
            }
        }
        // The page itself counts as one, so that the job does not end before all its writes have begun.
        self.job_wrote(id, None);
    }

    /// A write of a job has ended.
    pub(crate) fn job_wrote(&mut self, id: JobId, failure: Option<&str>) {
        let Some(JobKind::Flush { writes, is_last }) = self.jobs.get_mut(&id).map(|job| &mut job.kind) else {
            // The job has failed.
            return;
        };
        *writes -= 1;
        let (is_done, is_last) = (*writes == 0, *is_last);
        match failure {
            Some(failure) => self.end_job(id, |reply| reply.error(failure)),
            None if is_done && is_last => self.end_job(id, Reply::ok),
            None if is_done => self.read_page(id),
            None => {}
        }
    }
}

fn write_keys(reply: &mut Reply, keys: &[Vec<u8>]) {
    reply.array(keys.len());
    keys.iter().for_each(|key| reply.bulk(key));
}
