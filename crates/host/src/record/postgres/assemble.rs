//! Assembles events into transactions.
//!
//! - An access is a finished read of a page, hit or miss, in the order of the process; reading a page that is still
//!   pinned is none, as in PostgreSQL's own count.
//! - An access writes if the transaction makes the page dirty, or sets hint bits on it, before it reads it again: the
//!   latest access to that page becomes a write. A page that the transaction makes dirty without having read it (its
//!   pin is older) gets a separate access at that point.
//! - The time on a processor is that between the events of the scheduler, from the start of the transaction to its end.
//!   It includes the probes: one to two microseconds for each event.
//! - A transaction that aborts is left out and counted, and so is one that was open when events were lost.

use super::probes::Role;
use std::collections::{BTreeMap, BTreeSet};

/// A page of the database: a file, named by its number, and a block of one of its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageName {
    /// Number of the relation's file (`relfilenode`).
    pub file: u32,
    /// 0 for the relation itself, 1 for its free space map, 2 for its visibility map.
    pub fork: u8,
    /// Number of the page in the fork.
    pub block: u32,
}

/// An access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAccess {
    /// The page.
    pub page: PageName,
    /// Whether the transaction changed the page.
    pub is_write: bool,
}

/// A committed transaction with at least one access to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTransaction {
    /// The server process: numbers in the order in which they appear.
    pub session: u32,
    /// Its start, since the first transaction of the recording.
    pub started_ns: u64,
    /// Its time on a processor.
    pub cpu_ns: u64,
    /// Index into [`PageCounts::kinds`], from the first comment that begins a statement of the transaction.
    pub kind: Option<u16>,
    /// Accesses, in order.
    pub accesses: Vec<PageAccess>,
}

/// Totals of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Committed transactions with accesses to the database.
    pub committed: u64,
    /// Aborted ones, which are left out.
    pub aborted: u64,
    /// Transactions that did not end in the recording, or were open when events were lost.
    pub incomplete: u64,
    /// Reads of the database's pages, of all processes, in transactions or not.
    pub reads: u64,
    /// Reads of pages that belong to the cluster or to other databases, which are left out.
    pub reads_elsewhere: u64,
    /// Accesses of the committed transactions.
    pub accesses: u64,
    /// Those of them that write.
    pub writes: u64,
    /// Pages made dirty by a transaction that had not read them.
    pub dirty_unread: u64,
    /// Buffers made dirty whose page is not known, because it was read before the recording.
    pub dirty_unknown: u64,
    /// Times that events were lost.
    pub losses: u64,
    /// Names of the kinds of transactions, in the order in which they appear.
    pub kinds: Vec<String>,
}

/// An event with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Text of a statement.
    Query(Vec<u8>),
    Start,
    Commit,
    Abort,
    /// A page was read, from the drive or the buffer pool.
    ReadDone {
        database: u32,
        page: PageName,
    },
    /// The read returned this buffer.
    ReadReturned {
        buffer: i32,
    },
    Dirty {
        buffer: i32,
    },
    /// The processor went from one process to another.
    Switch {
        from: u32,
        to: u32,
    },
    /// Events before this one were lost.
    Lost,
}

impl Event {
    /// Builds an event from the numbers of its fields; `None` where one is missing or out of range.
    pub(super) fn of(role: Role, numbers: &[u64], text: &[u8]) -> Option<Self> {
        // A number of 32 bits keeps its bits, with or without a sign.
        let number = |at: usize| numbers.get(at).map(|&number| number as u32);
        Some(match role {
            Role::Query => Self::Query(text.to_vec()),
            Role::Start => Self::Start,
            Role::Commit => Self::Commit,
            Role::Abort => Self::Abort,
            Role::ReadDone => Self::ReadDone {
                database: number(2)?,
                page: PageName { file: number(3)?, fork: u8::try_from(number(0)?).ok()?, block: number(1)? },
            },
            Role::ReadReturned => Self::ReadReturned { buffer: number(0)? as i32 },
            Role::Dirty => Self::Dirty { buffer: number(0)? as i32 },
            Role::Switch => Self::Switch { from: number(0)?, to: number(1)? },
        })
    }
}

/// Longest name of a kind.
const KIND_BYTES: usize = 64;
/// Limit of the kinds; statements with comments that differ each time have none from here on.
const KINDS_MAX: usize = 1000;

#[derive(Debug, Default)]
struct Session {
    number: Option<u32>,
    kind: Option<u16>,
    open: Option<Open>,
    /// Page whose read has finished and whose buffer comes next.
    read: Option<Read>,
    cpu_ns: u64,
    /// Since when the process is on a processor.
    running: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    page: PageName,
    is_ours: bool,
}

#[derive(Debug)]
struct Open {
    started_ns: u64,
    cpu_before_ns: u64,
    accesses: Vec<PageAccess>,
    /// Index of the latest access to each page.
    latest: BTreeMap<PageName, usize>,
}

/// The state of all processes.
#[derive(Debug)]
pub(super) struct Assembler {
    database: u32,
    /// Where there are no events of the scheduler, all time counts as time on a processor.
    has_switches: bool,
    sessions: BTreeMap<u32, Session>,
    /// Pages of the buffers: those of the pool, and negative ones of a process.
    buffers: BTreeMap<(u32, i32), Read>,
    kinds: BTreeMap<String, u16>,
    numbered: u32,
    first_ns: Option<u64>,
    /// Pages that any process made dirty, in transactions or not.
    dirtied: BTreeSet<PageName>,
    counts: PageCounts,
}

impl Assembler {
    pub(super) fn new(database: u32, has_switches: bool) -> Self {
        Self {
            database,
            has_switches,
            sessions: BTreeMap::new(),
            buffers: BTreeMap::new(),
            kinds: BTreeMap::new(),
            numbered: 0,
            first_ns: None,
            dirtied: BTreeSet::new(),
            counts: PageCounts::default(),
        }
    }

    /// Takes the next event of the process `pid`. Returns the transaction that it ends, if that counts.
    pub(super) fn add(&mut self, at_ns: u64, pid: u32, event: Event) -> Option<PageTransaction> {
        match event {
            Event::Switch { from, to } => {
                self.switch(at_ns, from, to);
                return None;
            }
            Event::Lost => {
                self.lose();
                return None;
            }
            _ => {}
        }
        let session = self.sessions.entry(pid).or_default();
        session.running.get_or_insert(at_ns);
        match event {
            Event::Switch { .. } | Event::Lost => {}
            Event::Query(text) => {
                if session.kind.is_none()
                    && let Some(name) = comment(&text)
                {
                    session.kind = kind(&mut self.kinds, &mut self.counts.kinds, name);
                }
            }
            Event::Start => self.counts.incomplete += u64::from(session.start(at_ns)),
            Event::Commit => return self.commit(at_ns, pid),
            Event::Abort => {
                session.kind = None;
                let open = session.open.take();
                self.counts.aborted += u64::from(open.is_some_and(|open| !open.accesses.is_empty()));
            }
            Event::ReadDone { database, page } => {
                let is_ours = database == self.database;
                session.read = Some(Read { page, is_ours });
                if !is_ours {
                    self.counts.reads_elsewhere += 1;
                    return None;
                }
                self.counts.reads += 1;
                if let Some(open) = &mut session.open {
                    open.access(page, false);
                }
            }
            Event::ReadReturned { buffer } => {
                if let Some(read) = session.read.take() {
                    self.buffers.insert(owned(pid, buffer), read);
                }
            }
            Event::Dirty { buffer } => self.mark_dirty(pid, buffer),
        }
        None
    }

    /// The process `pid` made the page in a buffer dirty.
    fn mark_dirty(&mut self, pid: u32, buffer: i32) {
        let page = match self.buffers.get(&owned(pid, buffer)) {
            None => return self.counts.dirty_unknown += 1,
            Some(Read { is_ours: false, .. }) => return,
            Some(Read { page, .. }) => *page,
        };
        self.dirtied.insert(page);
        let open = self.sessions.get_mut(&pid).and_then(|session| session.open.as_mut());
        if let Some(open) = open
            && !open.mark(page)
        {
            open.access(page, true);
            self.counts.dirty_unread += 1;
        }
    }

    fn commit(&mut self, at_ns: u64, pid: u32) -> Option<PageTransaction> {
        let session = self.sessions.get_mut(&pid)?;
        let kind = session.kind.take();
        let open = session.open.take().filter(|open| !open.accesses.is_empty())?;
        let cpu_ns = match self.has_switches {
            true => session.cpu_ns(at_ns).saturating_sub(open.cpu_before_ns),
            false => at_ns.saturating_sub(open.started_ns),
        };
        let number = *session.number.get_or_insert_with(|| {
            self.numbered += 1;
            self.numbered - 1
        });
        let first_ns = *self.first_ns.get_or_insert(open.started_ns);
        self.counts.committed += 1;
        self.counts.accesses += open.accesses.len() as u64;
        self.counts.writes += open.accesses.iter().filter(|access| access.is_write).count() as u64;
        Some(PageTransaction {
            session: number,
            started_ns: open.started_ns.saturating_sub(first_ns),
            cpu_ns,
            kind,
            accesses: open.accesses,
        })
    }

    fn switch(&mut self, at_ns: u64, from: u32, to: u32) {
        if let Some(session) = self.sessions.get_mut(&from)
            && let Some(since) = session.running.take()
        {
            session.cpu_ns += at_ns.saturating_sub(since);
        }
        if let Some(session) = self.sessions.get_mut(&to) {
            session.running = Some(at_ns);
        }
    }

    /// Forgets all that lost events may have changed.
    fn lose(&mut self) {
        self.counts.losses += 1;
        self.buffers.clear();
        for session in self.sessions.values_mut() {
            let open = session.open.take();
            self.counts.incomplete += u64::from(open.is_some_and(|open| !open.accesses.is_empty()));
            (session.kind, session.read, session.running) = (None, None, None);
        }
    }

    /// Returns the totals, and all pages made dirty.
    pub(super) fn finish(mut self) -> (PageCounts, BTreeSet<PageName>) {
        let open = self.sessions.values().filter_map(|session| session.open.as_ref());
        self.counts.incomplete += open.filter(|open| !open.accesses.is_empty()).count() as u64;
        (self.counts, self.dirtied)
    }
}

impl Session {
    /// Returns the time on a processor until `now`.
    fn cpu_ns(&self, now: u64) -> u64 {
        self.cpu_ns + self.running.map_or(0, |since| now.saturating_sub(since))
    }

    /// Begins a transaction. Returns whether the one before, which has no end, had accessed pages.
    fn start(&mut self, now: u64) -> bool {
        let cpu_before_ns = self.cpu_ns(now);
        let open = Open { started_ns: now, cpu_before_ns, accesses: Vec::new(), latest: BTreeMap::new() };
        self.open.replace(open).is_some_and(|open| !open.accesses.is_empty())
    }
}

impl Open {
    fn access(&mut self, page: PageName, is_write: bool) {
        self.latest.insert(page, self.accesses.len());
        self.accesses.push(PageAccess { page, is_write });
    }

    /// Makes the latest access to `page` a write; returns whether there is one.
    fn mark(&mut self, page: PageName) -> bool {
        let latest = self.latest.get(&page).copied();
        if let Some(at) = latest {
            self.accesses[at].is_write = true;
        }
        latest.is_some()
    }
}

/// Key of a buffer: negative numbers are of the process, the others of all.
fn owned(pid: u32, buffer: i32) -> (u32, i32) {
    (if buffer < 0 { pid } else { 0 }, buffer)
}

/// Returns the number of a kind; `None` where there are too many.
fn kind(known: &mut BTreeMap<String, u16>, names: &mut Vec<String>, name: &str) -> Option<u16> {
    if let Some(&number) = known.get(name) {
        return Some(number);
    }
    if names.len() == KINDS_MAX {
        return None;
    }
    let number = names.len() as u16;
    known.insert(name.into(), number);
    names.push(name.into());
    Some(number)
}

/// Returns the text of the comment that begins a statement.
fn comment(statement: &[u8]) -> Option<&str> {
    let text = statement.trim_ascii_start().strip_prefix(b"/*")?;
    let end = text.windows(2).position(|two| two == b"*/")?;
    let name = std::str::from_utf8(&text[..end]).ok()?.trim();
    (!name.is_empty() && name.len() <= KIND_BYTES && !name.contains(char::is_control)).then_some(name)
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
