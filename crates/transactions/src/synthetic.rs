//! Synthetic recordings, for tests, benchmarks and trials without a database: page accesses in the manner of TPC-B.
//!
//! Each transaction changes one of 100,000 accounts a branch, its teller and its branch through their indexes, and
//! appends to the history. Row counts a page are PostgreSQL's at 8 KiB.

use crate::recording::{Header, RecordedAccess, Relation, Transaction};
use flashlane_base::{Duration, Instant, Random, Seed};

/// Rows of a heap page.
const ROWS: u64 = 61;
/// Entries of an index page.
const ENTRIES: u64 = 366;
/// Accounts a branch.
const ACCOUNTS: u64 = 100_000;
/// Tellers a branch.
const TELLERS: u64 = 10;
/// History rows of a page.
const HISTORY_ROWS: u64 = 157;
/// Mean processor time of a transaction.
const CPU_MEAN_NS: f64 = 150_000.0;

/// A generator of transactions; it has no end.
#[derive(Clone, Debug)]
pub struct TpcB {
    header: Header,
    tables: [Table; 3],
    history: (u32, u32),
    random: Random,
    number: u64,
    at: Instant,
}

/// A table and its index.
#[derive(Clone, Copy, Debug)]
struct Table {
    rows: u64,
    heap: u32,
    index: u32,
}

impl TpcB {
    /// Begins with the empty history of a database of `branches`, at least 1, and `clients`.
    pub fn new(branches: u32, clients: u16, seed: Seed) -> Self {
        let mut relations: Vec<Relation> = Vec::new();
        let mut pages = 0;
        let mut place = |name: &str, length: u64| {
            let relation = Relation { name: name.into(), first_page: pages, pages: length as u32 };
            pages += relation.pages;
            let first = relation.first_page;
            relations.push(relation);
            first
        };
        let branches = u64::from(branches);
        let tables = [("accounts", ACCOUNTS), ("tellers", TELLERS), ("branches", 1)].map(|(name, rows)| {
            let rows = rows * branches;
            let heap = place(name, rows.div_ceil(ROWS));
            let index = place(&format!("{name}_pkey"), 1 + levels(rows).iter().sum::<u64>());
            Table { rows, heap, index }
        });
        let history_pages = 1000 * branches;
        let history = (place("history", history_pages), history_pages as u32);
        let source = format!("synthetic, in the manner of TPC-B, {branches} branches");
        let kinds = vec!["tpc-b".into()];
        let header = Header { page_bytes: 8192, pages, clients, source, kinds, relations };
        let random = seed.derive("tpc-b").source();
        Self { header, tables, history, random, number: 0, at: Instant::ZERO }
    }

    /// The header of its recordings.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Makes the next transaction in `into`, whose memory is used again.
    pub fn make(&mut self, into: &mut Transaction) {
        into.session = (self.number % u64::from(self.header.clients)) as u16;
        into.kind = 0;
        into.start = self.at;
        into.cpu = Duration::from_ns(self.random.exponential(CPU_MEAN_NS) as u64);
        self.at += into.cpu;
        into.accesses.clear();
        for table in self.tables {
            let row = self.random.below(table.rows);
            table.change(row, &mut into.accesses);
        }
        let (first, pages) = self.history;
        into.accesses
            .push(RecordedAccess::write(first + (self.number / HISTORY_ROWS % u64::from(pages)) as u32));
        self.number += 1;
    }
}

impl Iterator for TpcB {
    type Item = Transaction;

    fn next(&mut self) -> Option<Transaction> {
        let mut made = Transaction::default();
        self.make(&mut made);
        Some(made)
    }
}

/// Returns the pages of an index's levels for this number of rows, from the root.
fn levels(rows: u64) -> Vec<u64> {
    let mut levels = vec![rows.div_ceil(ENTRIES)];
    while levels[0] > 1 {
        levels.insert(0, levels[0].div_ceil(ENTRIES));
    }
    levels
}

impl Table {
    /// Appends the accesses that find a row by its index and change it. The index begins with a page about it, then the
    /// root, then the levels below.
    fn change(self, row: u64, accesses: &mut Vec<RecordedAccess>) {
        let levels = levels(self.rows);
        let mut page = self.index + 1;
        for (nth, pages) in levels.iter().enumerate() {
            let below = ENTRIES.pow((levels.len() - nth) as u32);
            accesses.push(RecordedAccess::read(page + (row / below) as u32));
            page += *pages as u32;
        }
        accesses.push(RecordedAccess::write(self.heap + (row / ROWS) as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_fit_their_header() {
        for branches in [1, 7, 150] {
            let mut made = TpcB::new(branches, 10, Seed(1));
            let header = made.header().clone();
            header.check().unwrap();
            for transaction in made.by_ref().take(1000) {
                header.check_transaction(&transaction).unwrap();
            }
        }
        // pgbench's accounts of scale 150 take 1.9 GiB, and their index 0.3 GiB.
        let gib = TpcB::new(150, 10, Seed(1)).header().bytes() as f64 / f64::from(1 << 30);
        assert!((2.2..3.5).contains(&gib), "{gib}");
    }

    #[test]
    fn account_is_found_through_its_index() {
        let table = Table { rows: 1_000_000, heap: 10_000, index: 0 };
        let mut accesses = Vec::new();
        table.change(999_999, &mut accesses);
        // 2733 leaves below 8 pages below the root.
        let expected = [1, 1 + 8, 1 + 8 + 2733].map(RecordedAccess::read);
        assert_eq!(accesses[..3], expected);
        assert_eq!(accesses[3..], [RecordedAccess::write(10_000 + 999_999 / 61)]);
    }
}
