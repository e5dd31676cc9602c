//! Commands on all keys: KEYS, SCAN, RANDOMKEY, DBSIZE, FLUSHALL.
//!
//! A job begins when no command is in flight. It reads the store page by page, at a snapshot, while later commands go
//! on; only FLUSHALL lets them wait until it has ended. A [`Job`] decides by the page or write that ended which
//! [`Step`] follows, and the engine carries that out.
//!
//! Invariants: a job reads one page at a time, or values, or writes, never two of these at once; while `exclusive` is
//! set its job is there.

use crate::cursors::Cursors;
use crate::glob;
use crate::session::SlotId;
use crate::value::Value;
use flashlane_base::Random;
use flashlane_store::space::{PlainRange, plain_range};
use flashlane_store::{Gap, Item, Page, ScanFailure, Snapshot, Ticket, end_of_prefix};
use std::collections::BTreeMap;

/// Number of a job.
pub type JobId = u64;

/// Keys that a job reads at once.
const KEYS_AT_ONCE: u64 = 1000;
/// Keys that are deleted at once.
const DELETES_AT_ONCE: u64 = 256;
/// Keys of which RANDOMKEY chooses one.
const RANDOM_KEYS: u64 = 64;
/// Most bytes of the keys that KEYS returns.
const KEYS_BYTES_MAX: usize = 64 << 20;

/// A command on all keys.
#[derive(Debug)]
pub struct Job {
    kind: JobKind,
    /// Where the next page begins, and the end of all.
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// Where the keys go on behind the page that is being read, if that ends before those of tables and files.
    behind_faces: Option<Vec<u8>>,
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
        /// The error where no key is found in a store that has lost some.
        loss: Option<String>,
    },
    Count {
        keys: u64,
        /// The first keys that could not be read.
        unread: Option<String>,
    },
    Flush {
        writes: usize,
        /// What was read is the last.
        is_last: bool,
    },
}

/// What a job needs next.
#[derive(Debug)]
pub enum Step {
    /// The next page.
    Page,
    /// The types of the values of these keys.
    Types(Vec<Vec<u8>>),
    /// That these keys are deleted.
    Delete(Vec<Item>),
    /// The ends of reads or writes in flight.
    Wait,
    /// Its reply: it has ended.
    End(Answer),
}

/// Reply of a job.
#[derive(Debug)]
pub enum Answer {
    /// The keys are deleted.
    Ok,
    /// A key, if there is one.
    Key(Option<Vec<u8>>),
    /// Keys that match.
    Keys(Vec<Vec<u8>>),
    /// Keys that match, and where the next ones begin.
    Scanned(Vec<Vec<u8>>, Option<Vec<u8>>),
    /// SCAN cannot read the keys that come next, and where those behind them begin.
    Unread(String, Vec<u8>),
    /// A number of keys.
    Count(u64),
    /// It failed.
    Error(String),
}

impl Job {
    fn new(kind: JobKind) -> Self {
        Self { kind, start: Vec::new(), end: None, behind_faces: None }
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
        Self::new(JobKind::RandomKey { has_wrapped: false, loss: None })
    }

    /// Counts the keys.
    pub fn count() -> Self {
        Self::new(JobKind::Count { keys: 0, unread: None })
    }

    /// Deletes all keys.
    pub fn flush() -> Self {
        Self::new(JobKind::Flush { writes: 0, is_last: false })
    }

    /// Returns whether no command runs during the job.
    pub fn is_exclusive(&self) -> bool {
        matches!(self.kind, JobKind::Flush { .. })
    }

    /// Chooses where to begin. Fails for a cursor that is not known.
    fn place(&mut self, cursors: &Cursors, random: &mut Random) -> Result<(), &'static str> {
        match &self.kind {
            JobKind::Scan { cursor, .. } if *cursor != 0 => {
                let place = cursors.get(*cursor);
                self.start = place
                    .ok_or("ERR invalid cursor: the server keeps the last 65536; begin with 0")?
                    .to_vec();
            }
            JobKind::RandomKey { .. } => self.start = random.below(1 << 48).to_be_bytes()[2..].to_vec(),
            _ => {}
        }
        Ok(())
    }

    /// The store has lost keys, for which the reply has an error. Returns it where the job ends so at once: SCAN has a
    /// cursor, which goes on with the keys that are left.
    pub fn miss_keys(&mut self, loss: &str) -> Option<Answer> {
        let text = format!("ERR {loss}");
        match &mut self.kind {
            JobKind::Scan { cursor: 0, .. } => Some(Answer::Unread(text, self.start.clone())),
            JobKind::Scan { .. } => None,
            JobKind::Count { unread, .. } => {
                *unread = Some(loss.to_owned());
                None
            }
            JobKind::RandomKey { loss: own, .. } => {
                *own = Some(text);
                None
            }
            JobKind::Keys { .. } | JobKind::Flush { .. } => Some(Answer::Error(text)),
        }
    }

    /// Returns the range of the next page, and its most keys. Only plain keys are read: tables and files are none of
    /// the server's.
    pub fn next_page(&mut self) -> (Vec<u8>, Option<Vec<u8>>, u64) {
        let PlainRange { start, end, next } = plain_range(&self.start, self.end.as_deref());
        self.behind_faces = next;
        let keys_max = match &self.kind {
            JobKind::Keys { .. } | JobKind::Count { .. } => KEYS_AT_ONCE,
            JobKind::Scan { count, .. } => *count,
            JobKind::RandomKey { .. } => RANDOM_KEYS,
            JobKind::Flush { .. } => DELETES_AT_ONCE,
        };
        (start, end, keys_max)
    }

    /// A page was read.
    pub fn page_read(&mut self, page: Page, random: &mut Random) -> Step {
        let ends_at_faces = page.next.is_none();
        let next = page.next.or_else(|| self.behind_faces.take());
        if let Some(next) = next.as_ref().filter(|_| page.items.is_empty()) {
            self.start = next.clone();
            return Step::Page;
        }
        match &mut self.kind {
            JobKind::Keys { pattern, found, bytes } => {
                let matching =
                    page.items.into_iter().map(|item| item.key).filter(|key| glob::matches(pattern, key));
                for key in matching {
                    *bytes += key.len() + size_of::<Vec<u8>>();
                    found.push(key);
                }
                if *bytes > KEYS_BYTES_MAX {
                    let text = "ERR KEYS would return more than 64 MiB: use SCAN";
                    return Step::End(Answer::Error(text.into()));
                }
                if next.is_none() {
                    return Step::End(Answer::Keys(std::mem::take(found)));
                }
            }
            JobKind::Count { keys, unread } => {
                *keys += page.items.len() as u64;
                if next.is_none() {
                    return Step::End(count(*keys, unread.as_ref()));
                }
            }
            JobKind::Scan { next: own_next, .. } => {
                *own_next = next;
                return self.scan_page(page.items, ends_at_faces);
            }
            JobKind::RandomKey { has_wrapped, loss } => {
                if !page.items.is_empty() {
                    let nth = random.below(page.items.len() as u64) as usize;
                    return Step::End(Answer::Key(Some(page.items[nth].key.clone())));
                }
                if next.is_none() && std::mem::replace(has_wrapped, true) {
                    return Step::End(loss.take().map_or(Answer::Key(None), Answer::Error));
                }
                self.start = next.unwrap_or_default();
                return Step::Page;
            }
            JobKind::Flush { writes, is_last } => {
                *is_last = next.is_none();
                // The page itself counts as one, so that the job does not end before all its writes have begun.
                *writes += 1;
                if let Some(next) = next {
                    self.start = next;
                }
                return Step::Delete(page.items);
            }
        }
        self.start = next.expect("the last page ended the job");
        Step::Page
    }

    /// SCAN has read a page: of the keys that match, those in pieces have a type that is still to be read, if one was
    /// asked for.
    fn scan_page(&mut self, items: Vec<Item>, ends_at_faces: bool) -> Step {
        let JobKind::Scan { pattern, type_name, found, next, reads, .. } = &mut self.kind else {
            unreachable!("only SCAN reads pages of keys with types")
        };
        let mut unknown = Vec::new();
        for Item { key, value, .. } in items {
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
        if let Some(next) = next.take_if(|_| ends_at_faces && unknown.is_empty()) {
            self.start = next;
            return Step::Page;
        }
        *reads = unknown.len();
        if unknown.is_empty() { self.scanned() } else { Step::Types(unknown) }
    }

    /// A page could not be read.
    pub fn page_failed(&mut self, failure: &ScanFailure) -> Step {
        let text = format!("ERR {failure}");
        let is_within = |gap: &&Gap| self.end.as_ref().is_none_or(|end| gap.to < *end);
        let Some(Gap { to, .. }) = failure.gap.as_ref().filter(is_within) else {
            return Step::End(Answer::Error(text));
        };
        match &mut self.kind {
            JobKind::Scan { .. } => return Step::End(Answer::Unread(text, to.clone())),
            JobKind::Count { unread, .. } => drop(unread.get_or_insert(failure.to_string())),
            JobKind::RandomKey { .. } => {}
            JobKind::Keys { .. } | JobKind::Flush { .. } => return Step::End(Answer::Error(text)),
        }
        self.start = to.clone();
        Step::Page
    }

    /// The type of a key's value was read; it has none where the key is gone.
    pub fn type_read(&mut self, key: Vec<u8>, own_type: Option<&str>) -> Step {
        let JobKind::Scan { type_name, found, reads, .. } = &mut self.kind else {
            unreachable!("only SCAN reads types")
        };
        if own_type.is_some() && type_name.as_deref() == own_type {
            found.push(key);
        }
        *reads -= 1;
        self.scanned()
    }

    /// Ends a SCAN that has read everything.
    fn scanned(&mut self) -> Step {
        let JobKind::Scan { found, next, reads: 0, .. } = &mut self.kind else { return Step::Wait };
        let (mut found, next) = (std::mem::take(found), next.take());
        found.sort_unstable();
        Step::End(Answer::Scanned(found, next))
    }

    /// A write of deletes begins.
    pub fn write_begins(&mut self) {
        *self.writes() += 1;
    }

    /// A write, or the page that it is made of, has ended.
    pub fn write_ended(&mut self) -> Step {
        *self.writes() -= 1;
        match &self.kind {
            JobKind::Flush { writes: 0, is_last: true } => Step::End(Answer::Ok),
            JobKind::Flush { writes: 0, is_last: false } => Step::Page,
            _ => Step::Wait,
        }
    }

    fn writes(&mut self) -> &mut usize {
        match &mut self.kind {
            JobKind::Flush { writes, .. } => writes,
            other => unreachable!("only FLUSHALL writes, not {other:?}"),
        }
    }
}

/// Returns the reply to DBSIZE: a count of a part of the keys is an error.
fn count(keys: u64, unread: Option<&String>) -> Answer {
    match unread {
        None => Answer::Count(keys),
        Some(unread) => {
            Answer::Error(format!("ERR {keys} keys can be read, and there may be more: {unread}"))
        }
    }
}

/// A job that has begun.
#[derive(Debug)]
pub struct Begun {
    pub job: Job,
    /// Where its reply goes.
    pub slot: SlotId,
    /// What it reads.
    pub snapshot: Snapshot,
}

/// What a read of the store is for.
#[derive(Debug)]
pub struct JobRead {
    pub job: JobId,
    /// The key whose type is read; `None` for a page.
    pub key: Option<Vec<u8>>,
}

/// The jobs that have begun, their reads, and the cursors of SCAN.
#[derive(Debug)]
pub struct Jobs {
    begun: BTreeMap<JobId, Begun>,
    reads: BTreeMap<Ticket, JobRead>,
    next: JobId,
    /// The job during which no command runs.
    exclusive: Option<JobId>,
    cursors: Cursors,
}

impl Jobs {
    /// Begins without jobs.
    pub fn new(random: &mut Random) -> Self {
        Self {
            begun: BTreeMap::new(),
            reads: BTreeMap::new(),
            next: 0,
            exclusive: None,
            cursors: Cursors::new(random),
        }
    }

    /// Returns whether there is no job.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Returns whether commands wait for a job to end.
    pub fn hold_commands(&self) -> bool {
        self.exclusive.is_some()
    }

    /// Chooses where a job begins to read. Fails for a cursor that is not known.
    pub fn place(&self, job: &mut Job, random: &mut Random) -> Result<(), &'static str> {
        job.place(&self.cursors, random)
    }

    /// Adds a job. Returns its number.
    pub fn begin(&mut self, job: Job, slot: SlotId, snapshot: Snapshot) -> JobId {
        assert!(self.exclusive.is_none(), "no job begins during FLUSHALL");
        let id = self.next;
        self.next += 1;
        self.exclusive = job.is_exclusive().then_some(id);
        self.begun.insert(id, Begun { job, slot, snapshot });
        id
    }

    /// Returns a job; `None` where it has failed.
    pub fn get(&mut self, id: JobId) -> Option<&mut Begun> {
        self.begun.get_mut(&id)
    }

    /// Removes a job that has ended.
    pub fn end(&mut self, id: JobId) -> Begun {
        self.exclusive.take_if(|exclusive| *exclusive == id);
        self.begun.remove(&id).expect("a job that ends is there")
    }

    /// Notes a read for a job.
    pub fn read_begins(&mut self, ticket: Ticket, job: JobId, key: Option<Vec<u8>>) {
        self.reads.insert(ticket, JobRead { job, key });
    }

    /// Returns the job of a read that has ended.
    pub fn read_ended(&mut self, ticket: Ticket) -> JobRead {
        self.reads.remove(&ticket).expect("a read of a job")
    }

    /// Returns the cursor of a place.
    pub fn add_cursor(&mut self, place: Vec<u8>) -> u64 {
        self.cursors.add(place)
    }
}
