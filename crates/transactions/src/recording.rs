//! Recordings of transactions: the page accesses of a database's buffer manager, in order, by transaction.
//!
//! A page is numbered by its address in the database: the relations lie one after another, so that page *p* is at byte
//! *p × page size* of the drive. Only committed transactions are recorded; the end of a recording counts those left
//! out.
//!
//! [`Recording::open`] reads a file and [`Writer`] writes one, both in constant memory: that of the longest
//! transaction. `docs/transactions.md` has the format, byte by byte.

mod decode;
mod encode;
mod error;
mod frame;
mod open;
mod read;
mod varint;
mod write;

pub use error::{OpenError, ReadError, Refused, WriteError};
pub use frame::{FRAME_BYTES_MOST, MAGIC, VERSION, seal};
pub use open::Recording;
pub use read::Reader;
pub use write::Writer;

use flashlane_base::{Duration, Instant};

/// The ending of a recording's name, before that of a compression.
pub const ENDING: &str = "pages";

/// Returns whether `path` is named as a recording is, with or without a compression that can be written.
pub fn is_named(path: &std::path::Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".xz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending));
    plain.unwrap_or(&name).strip_suffix(ENDING).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
}

/// Most pages of a database: 16 TiB of pages of 8 KiB.
pub const PAGES_MOST: u32 = 1 << 31;
/// Most page accesses of a transaction.
pub const ACCESSES_MOST: usize = 1 << 23;
/// Most relations of a database.
pub const RELATIONS_MOST: usize = 1 << 16;
/// Most kinds of transactions.
pub const KINDS_MOST: usize = 1 << 12;
/// Most bytes of a name, and of the text about the source.
pub const TEXT_BYTES_MOST: usize = 4096;
/// Page sizes, as PostgreSQL can be built with.
pub const PAGE_BYTES: [u32; 6] = [1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15];

/// Facts of a recording that hold for all its transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Size of a page: one of [`PAGE_BYTES`].
    pub page_bytes: u32,
    /// Pages of the database, at least 1: every access and every relation is below.
    pub pages: u32,
    /// Clients that ran the transactions, at least 1.
    pub clients: u16,
    /// What was recorded, and how.
    pub source: String,
    /// Names of the kinds of transactions, at least one: `new-order`, `payment` …
    pub kinds: Vec<String>,
    /// The relations in the order of their pages, without overlap; there may be room between them.
    pub relations: Vec<Relation>,
}

/// A relation of the database (a table, an index, or another fork of one), and its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// Its first page.
    pub first_page: u32,
    /// Its number of pages, with its room to grow; may be 0.
    pub pages: u32,
}

/// A committed transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The session that ran it.
    pub session: u16,
    /// Its kind: an index into [`Header::kinds`].
    pub kind: u16,
    /// When it began, since the recording began. Transactions are in the order in which they committed, so that these
    /// may run backwards.
    pub start: Instant,
    /// Processor time that it took.
    pub cpu: Duration,
    /// Its page accesses in order: at least one, at most [`ACCESSES_MOST`].
    pub accesses: Vec<RecordedAccess>,
}

/// An access to a page: a number below [`PAGES_MOST`], and whether the page was changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordedAccess(u32);

impl RecordedAccess {
    const WRITE: u32 = PAGES_MOST;

    /// A read of `page`. Requires: `page < PAGES_MOST`.
    #[inline]
    pub const fn read(page: u32) -> Self {
        assert!(page < PAGES_MOST, "a page number has 31 bits");
        Self(page)
    }

    /// A write of `page`. Requires: `page < PAGES_MOST`.
    #[inline]
    pub const fn write(page: u32) -> Self {
        assert!(page < PAGES_MOST, "a page number has 31 bits");
        Self(page | Self::WRITE)
    }

    /// The page.
    #[inline]
    pub const fn page(self) -> u32 {
        self.0 & !Self::WRITE
    }

    /// Returns whether the page is changed.
    #[inline]
    pub const fn is_write(self) -> bool {
        self.0 & Self::WRITE != 0
    }
}

impl std::fmt::Debug for RecordedAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.is_write() { "write" } else { "read" }, self.page())
    }
}

/// Transactions that a recorder left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Transactions that were rolled back.
    pub aborted: u64,
    /// Transactions that had begun before the recording, or had not ended with it.
    pub cut: u64,
}

/// Counts of a complete recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Its transactions.
    pub transactions: u64,
    /// Their page accesses.
    pub accesses: u64,
    /// Transactions that are not in it.
    pub left_out: LeftOut,
}

impl Header {
    /// Returns the bytes of the database.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pages) * u64::from(self.page_bytes)
    }

    /// Checks the ranges of all fields.
    ///
    /// # Errors
    /// [`Refused`] with the field.
    pub fn check(&self) -> Result<(), Refused> {
        if !PAGE_BYTES.contains(&self.page_bytes) {
            return Err(Refused::new(
                "the page size",
                self.page_bytes,
                "1024, 2048, 4096, 8192, 16384 or 32768 bytes",
            ));
        }
        range("the number of pages of the database", self.pages, 1, PAGES_MOST)?;
        range("the number of clients", self.clients, 1, u16::MAX)?;
        text("the text about the source", &self.source)?;
        range("the number of kinds of transactions", self.kinds.len(), 1, KINDS_MOST)?;
        self.kinds.iter().try_for_each(|kind| name("the name of a kind of transactions", kind))?;
        range("the number of relations", self.relations.len(), 0, RELATIONS_MOST)?;
        let mut end = 0;
        for relation in &self.relations {
            name("the name of a relation", &relation.name)?;
            let of = |what: &str| format!("the {what} of relation '{}'", relation.name);
            range(&of("first page"), relation.first_page, end, self.pages)?;
            range(&of("number of pages"), relation.pages, 0, self.pages - relation.first_page)?;
            end = relation.first_page + relation.pages;
        }
        Ok(())
    }

    /// Checks a transaction of this recording.
    ///
    /// # Errors
    /// [`Refused`] with the field.
    pub fn check_transaction(&self, transaction: &Transaction) -> Result<(), Refused> {
        self.check_kind(u64::from(transaction.kind))?;
        check_accesses(transaction.accesses.len() as u64)?;
        transaction.accesses.iter().try_for_each(|access| self.check_page(u64::from(access.page())))
    }

    fn check_kind(&self, kind: u64) -> Result<(), Refused> {
        range("the kind of the transaction", kind, 0, self.kinds.len() as u64 - 1)
    }

    #[inline]
    fn check_page(&self, page: u64) -> Result<(), Refused> {
        if page < u64::from(self.pages) { Ok(()) } else { Err(self.beyond(page)) }
    }

    #[cold]
    fn beyond(&self, page: u64) -> Refused {
        let allowed = format!("from 0 to {}, the last page of the database", self.pages - 1);
        Refused::new("the page of an access", page, &allowed)
    }
}

/// Checks the number of accesses of a transaction.
fn check_accesses(number: u64) -> Result<(), Refused> {
    if (1..=ACCESSES_MOST as u64).contains(&number) {
        return Ok(());
    }
    let allowed = format!("from 1 to {ACCESSES_MOST}; a longer transaction must be split, or left out");
    Err(Refused::new("the number of page accesses of the transaction", number, &allowed))
}

fn range<T: PartialOrd + std::fmt::Display>(field: &str, given: T, least: T, most: T) -> Result<(), Refused> {
    if least <= given && given <= most {
        return Ok(());
    }
    Err(Refused::new(field, given, &format!("from {least} to {most}")))
}

fn text(field: &str, given: &str) -> Result<(), Refused> {
    if given.len() <= TEXT_BYTES_MOST {
        return Ok(());
    }
    Err(Refused::new(
        field,
        format!("{} bytes long", given.len()),
        &format!("at most {TEXT_BYTES_MOST} bytes long"),
    ))
}

fn name(field: &str, given: &str) -> Result<(), Refused> {
    if given.is_empty() {
        return Err(Refused::new(field, "''", "a name"));
    }
    text(field, given)
}

#[cfg(test)]
mod tests;
