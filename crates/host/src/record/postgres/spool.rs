//! Keeps the transactions of a recording in an unnamed file, until the sizes of all relations are known.

use super::assemble::{PageAccess, PageName, PageTransaction};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// Bytes of a transaction before its accesses: session, start, processor time, kind, number of accesses.
const HEAD_BYTES: usize = 4 + 8 + 8 + 4 + 4;
/// Bytes of an access: its fork with the lowest bit for a write, its block.
const ACCESS_BYTES: usize = 8;
const NO_KIND: u32 = u32::MAX;

/// A fork of a relation with accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// As in [`PageName::file`].
    pub file: u32,
    /// As in [`PageName::fork`].
    pub fork: u8,
    /// The highest accessed block and one more.
    pub pages: u32,
}

/// The transactions while they are recorded.
#[derive(Debug)]
pub(super) struct Spool {
    file: BufWriter<File>,
    forks: Vec<Accessed>,
    numbers: BTreeMap<(u32, u8), u32>,
    /// Starts of the first and the last transaction of each session.
    sessions: BTreeMap<u32, (u64, u64)>,
}

impl Spool {
    /// Makes the file in `folder`. It has no name, so that the file system frees it even after a crash.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        Ok(Self { file, forks: Vec::new(), numbers: BTreeMap::new(), sessions: BTreeMap::new() })
    }

    pub(super) fn push(&mut self, transaction: &PageTransaction) -> io::Result<()> {
        let PageTransaction { session, started_ns, cpu_ns, kind, accesses } = transaction;
        self.sessions.entry(*session).or_insert((*started_ns, *started_ns)).1 = *started_ns;
        let out = &mut self.file;
        out.write_all(&session.to_ne_bytes())?;
        out.write_all(&started_ns.to_ne_bytes())?;
        out.write_all(&cpu_ns.to_ne_bytes())?;
        out.write_all(&kind.map_or(NO_KIND, u32::from).to_ne_bytes())?;
        out.write_all(&(accesses.len() as u32).to_ne_bytes())?;
        for PageAccess { page, is_write } in accesses {
            let number = *self.numbers.entry((page.file, page.fork)).or_insert_with(|| {
                self.forks.push(Accessed { file: page.file, fork: page.fork, pages: 0 });
                self.forks.len() as u32 - 1
            });
            let fork = &mut self.forks[number as usize];
            fork.pages = fork.pages.max(page.block.saturating_add(1));
            out.write_all(&(number << 1 | u32::from(*is_write)).to_ne_bytes())?;
            out.write_all(&page.block.to_ne_bytes())?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<PageTransactions> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let clients = concurrent(self.sessions.values().copied());
        Ok(PageTransactions { file: BufReader::with_capacity(1 << 20, file), forks: self.forks, clients })
    }
}

/// Returns the most sessions that were there at the same time, from their first to their last transaction.
fn concurrent(sessions: impl Iterator<Item = (u64, u64)>) -> usize {
    let mut changes: Vec<_> = sessions.flat_map(|(first, last)| [(first, 0_u8), (last, 1)]).collect();
    // A session that begins when another ends is beside it.
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, ends) in changes {
        now = if ends == 1 { now - 1 } else { now + 1 };
        most = most.max(now);
    }
    most
}

/// The recorded transactions, in the order of their commits.
#[derive(Debug)]
pub struct PageTransactions {
    file: BufReader<File>,
    forks: Vec<Accessed>,
    clients: usize,
}

impl PageTransactions {
    /// The forks with accesses, in the order of the first ones.
    pub fn forks(&self) -> &[Accessed] {
        &self.forks
    }

    /// The most sessions that ran beside each other.
    pub fn clients(&self) -> usize {
        self.clients
    }

    fn read(&mut self) -> io::Result<Option<PageTransaction>> {
        let mut head = [0; HEAD_BYTES];
        match self.file.read_exact(&mut head) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let word = |bytes: &[u8], at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from_ne_bytes(*head[at..].first_chunk().expect("the head is longer"));
        let kind = word(&head, 20);
        let mut accesses = Vec::new();
        let mut bytes = [0; ACCESS_BYTES];
        for _ in 0..word(&head, 24) {
            self.file.read_exact(&mut bytes)?;
            let number = word(&bytes, 0);
            let fork = self.forks[(number >> 1) as usize];
            let page = PageName { file: fork.file, fork: fork.fork, block: word(&bytes, 4) };
            accesses.push(PageAccess { page, is_write: number & 1 == 1 });
        }
        Ok(Some(PageTransaction {
            session: word(&head, 0),
            started_ns: long(4),
            cpu_ns: long(12),
            kind: (kind != NO_KIND).then_some(kind as u16),
            accesses,
        }))
    }
}

impl Iterator for PageTransactions {
    type Item = io::Result<PageTransaction>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transaction() -> impl Strategy<Value = PageTransaction> {
        let access =
            (0..9_u32, 0..3_u8, any::<u32>(), any::<bool>()).prop_map(|(file, fork, block, is_write)| {
                PageAccess { page: PageName { file, fork, block }, is_write }
            });
        let accesses = prop::collection::vec(access, 0..20);
        let kind = prop::option::of(0..1000_u16);
        (any::<u32>(), any::<u64>(), any::<u64>(), kind, accesses).prop_map(
            |(session, started_ns, cpu_ns, kind, accesses)| PageTransaction {
                session,
                started_ns,
                cpu_ns,
                kind,
                accesses,
            },
        )
    }

    proptest! {
        #[test]
        fn kept_transactions_are_returned(transactions in prop::collection::vec(transaction(), 0..30)) {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path()).unwrap();
            for transaction in &transactions {
                spool.push(transaction).unwrap();
            }
            let mut kept = spool.finish().unwrap();
            for access in transactions.iter().flat_map(|transaction| &transaction.accesses) {
                let PageName { file, fork, block } = access.page;
                let found = kept.forks().iter().find(|found| (found.file, found.fork) == (file, fork)).unwrap();
                prop_assert!(found.pages > block || block == u32::MAX);
            }
            prop_assert_eq!(kept.by_ref().collect::<Result<Vec<_>, _>>().unwrap(), transactions);
        }
    }

    #[test]
    fn clients_are_the_sessions_beside_each_other() {
        for (sessions, expected) in
            [(&[(0, 5), (6, 9), (7, 8)][..], 2), (&[(0, 5), (5, 9)], 2), (&[(3, 3)], 1), (&[], 0)]
        {
            assert_eq!(concurrent(sessions.iter().copied()), expected, "{sessions:?}");
        }
    }
}
