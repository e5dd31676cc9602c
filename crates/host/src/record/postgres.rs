//! Records the page accesses of a running PostgreSQL, by transaction, through uprobe events of the kernel and no other
//! program: the server needs no restart and no extension.
//!
//! The server's own probes (SDT notes, which Debian builds in) report transactions and finished reads of pages; changes
//! of pages are seen at two functions that it exports. Events come as binary pages from the buffers of a tracing
//! instance made for the recording, and are assembled at once: memory grows with the pages that change, not with time.
//!
//! | module | holds |
//! | --- | --- |
//! | `elf`, `argument` | probes and functions of the program, and their arguments in the notation of tracefs |
//! | `probes` | the events that are defined |
//! | `instance` | the tracing instance with its events, and their removal |
//! | `format`, `ring`, `streams` | events from bytes, in the order of time |
//! | `assemble` | transactions from events |
//! | `spool` | transactions kept until their relations have their places |
//! | `server` | the server's relations and counters |

mod argument;
mod assemble;
mod elf;
mod error;
mod format;
mod instance;
mod probes;
mod ring;
mod server;
mod spool;
mod streams;

pub use assemble::{PageAccess, PageCounts, PageName, PageTransaction};
pub use error::PostgresError;
pub use server::{Database, Relation};
pub use spool::{Accessed, PageTransactions};

use super::tracefs::Tracefs;
use super::{Ended, Ending, PAUSE, Until};
use crate::interrupt::Uninterruptible;
use assemble::Assembler;
use elf::Symbols;
use flashlane_base::Duration;
use instance::Instance;
use probes::{Definition, definitions};
use spool::Spool;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use streams::{Decoders, Streams, enable_switches};

/// Name under which PostgreSQL's probes are listed.
const PROVIDER: &str = "postgresql";

/// The result of a recording.
#[derive(Debug)]
pub struct PagesRecorded {
    /// The transactions.
    pub transactions: PageTransactions,
    /// Totals.
    pub counts: PageCounts,
    /// The database's pages that were made dirty by any process, in transactions or not.
    pub dirtied: BTreeSet<PageName>,
    /// Ends of the server's log when the recording began and ended, for [`Database::changed_pages`].
    pub log: (String, String),
    /// Events lost because the kernel's buffers were full.
    pub lost_events: u64,
    /// Whether the time on a processor is the scheduler's; otherwise it is the time from start to end.
    pub has_cpu_time: bool,
    /// Duration of the recording.
    pub took: Duration,
    /// What ended it.
    pub ended: Ended,
}

/// A server program whose page accesses can be recorded.
#[derive(Debug)]
pub struct PostgresRecorder {
    tracefs: Tracefs,
    program: PathBuf,
    events: Vec<Definition>,
}

impl PostgresRecorder {
    /// Reads the probes of the server program at `program`.
    ///
    /// # Errors
    /// The program has no probes that are understood, or tracing is not available.
    pub fn find(program: &Path) -> Result<Self, PostgresError> {
        let symbols = Symbols::read(program, PROVIDER)?;
        let events = definitions(&symbols, program)?;
        // The kernel finds the program by its path from the root.
        let program = std::path::absolute(program)
            .map_err(|source| PostgresError::Program { path: program.into(), source })?;
        Ok(Self { tracefs: Tracefs::mounted()?, program, events })
    }

    /// Finds the database `name` of the running server.
    ///
    /// # Errors
    /// No server of this program runs, or several, or psql cannot connect.
    pub fn database(&self, name: &str) -> Result<Database, PostgresError> {
        Database::find(&self.program, name)
    }

    /// Records until `until`: the committed transactions with accesses to `database`. An unnamed file in `folder` holds
    /// them: eight bytes an access.
    ///
    /// # Errors
    /// Tracing is refused, the program cannot be started, or the operating system reports an error. Events and instance
    /// are removed.
    pub fn record(
        &self,
        database: &Database,
        until: &Until,
        folder: &Path,
    ) -> Result<PagesRecorded, PostgresError> {
        // A signal must not prevent the removal of the events.
        let _whole = Uninterruptible::begin();
        let instance = Instance::create(&self.tracefs, &self.events, &self.program)?;
        let process = self.program.file_name().unwrap_or_default().to_string_lossy();
        let has_cpu_time = enable_switches(&instance, &process)?;
        let decoders = Decoders::read(&instance, &self.events, has_cpu_time)?;
        let mut streams = Streams::open(&instance, decoders)?;
        let mut spool = Spool::create(folder).map_err(PostgresError::Keep)?;
        let mut assembler = Assembler::new(database.oid, has_cpu_time);
        instance.enable(true)?;
        let log_begin = database.log_end()?;
        let mut ending = Ending::begin(until)?;
        let ended = loop {
            let quiet = streams.pump(false, &mut assembler, &mut spool)? == 0;
            if let Some(ended) = ending.reached()? {
                break ended;
            }
            if quiet {
                thread::sleep(PAUSE);
            }
        };
        let took = ending.elapsed();
        // The backends of the program's connections may still be ending; their last accesses count in PostgreSQL, too.
        thread::sleep(PAUSE * 20);
        let log = (log_begin, database.log_end()?);
        instance.enable(false)?;
        streams.pump(true, &mut assembler, &mut spool)?;
        let lost_events = streams.lost()?;
        // An instance with open pipes cannot be removed.
        drop(streams);
        drop(instance);
        drop(ending);
        let transactions = spool.finish().map_err(PostgresError::Keep)?;
        let (counts, dirtied) = assembler.finish();
        Ok(PagesRecorded { transactions, counts, dirtied, log, lost_events, has_cpu_time, took, ended })
    }
}
