//! Settings of RocksDB 8 and later that follow from reads.
//!
//! What follows from writes (rate limiter, background jobs that flush) is not advised: the cost model has no writes.

use crate::proposal::{Advice, Proposal};
use crate::{CostModel, Reads, Trial};
use flashlane_base::units::format_bytes;

const SUBCOMPACTIONS: &str = "max_subcompactions";
/// Default of `compaction_readahead_size`.
const READAHEAD: u64 = 2 << 20;
/// Largest readahead that is proposed.
const MOST_READAHEAD: u64 = 4 << 20;
/// Default of `max_file_opening_threads`.
const OPENERS: u32 = 16;
/// Bytes of a compaction whose time is predicted.
const COMPACTION: u64 = 1 << 30;
/// Files that are opened, and pages read of each: footer, index and filter.
const FILES: f64 = 1000.0;
const PAGES_OF_FILE: f64 = 3.0;

/// Returns settings of RocksDB for the device of `model`.
pub fn rocksdb(model: &CostModel) -> Advice {
    let mut advice = Advice::default();
    advice.consider(model, subcompactions(model));
    // What several readers gain, longer requests of each do not gain again.
    let readers = if advice.proposals.is_empty() { 1 } else { model.depth_of_scan(READAHEAD) };
    advice.consider(model, readahead(model, readers));
    advice.consider(model, opening_threads(model));
    advice
}

/// Returns the readahead of a compaction with so many readers: the default, or as many as are proposed.
fn readahead(model: &CostModel, readers: u32) -> Proposal {
    let page = model.page_bytes();
    let best = model.size_of_scan(readers, MOST_READAHEAD).max(READAHEAD);
    Proposal {
        name: "compaction_readahead_size".into(),
        now: READAHEAD.to_string(),
        proposed: best.to_string(),
        scope: "database; SetDBOptions, no restart",
        apply: format!("compaction_readahead_size={best}"),
        undo: format!("compaction_readahead_size={READAHEAD}"),
        measured: format!(
            "a page of {} takes {} in requests of {} and {} in requests of {}, {readers} in flight",
            format_bytes(page),
            us(model.scanned_page(READAHEAD, readers).mean),
            format_bytes(READAHEAD),
            us(model.scanned_page(best, readers).mean),
            format_bytes(best)
        ),
        formula: "smallest request, of 2 MiB at least, whose time of a page is within 5% of the best",
        void_when: "compactions read from the page cache, or are bound by compression",
        on: reads_of_compaction(),
        trial: Trial::reads(compaction(model, READAHEAD, readers), compaction(model, best, readers)),
        relies_on: (readers > 1).then_some(SUBCOMPACTIONS),
    }
}

fn subcompactions(model: &CostModel) -> Proposal {
    let page = model.page_bytes();
    let streams = model.depth_of_scan(READAHEAD);
    Proposal {
        name: SUBCOMPACTIONS.into(),
        now: "1".into(),
        proposed: streams.to_string(),
        scope: "database; SetDBOptions, no restart",
        apply: format!("max_subcompactions={streams}"),
        undo: "max_subcompactions=1".into(),
        measured: format!(
            "a page of {} takes {} with one request of {} in flight and {} with {streams}",
            format_bytes(page),
            us(model.scanned_page(READAHEAD, 1).mean),
            format_bytes(READAHEAD),
            us(model.scanned_page(READAHEAD, streams).mean)
        ),
        formula: "fewest readers whose time of a page is within 5% of the best",
        void_when: "compactions are bound by writes or by the processor, or there are fewer cores",
        on: reads_of_compaction(),
        trial: Trial::reads(compaction(model, READAHEAD, 1), compaction(model, READAHEAD, streams)),
        relies_on: None,
    }
}

fn opening_threads(model: &CostModel) -> Proposal {
    let band = model.area_pages() as f64;
    let openers = model.depth_of_random(band);
    let opening = |depth| vec![Reads::Random { pages: FILES * PAGES_OF_FILE, band_pages: band, depth }];
    Proposal {
        name: "max_file_opening_threads".into(),
        now: OPENERS.to_string(),
        proposed: openers.to_string(),
        scope: "database; at opening",
        apply: format!("max_file_opening_threads={openers}"),
        undo: format!("max_file_opening_threads={OPENERS}"),
        measured: format!(
            "a page at random takes {} with {OPENERS} in flight and {} with {openers}{}",
            us(model.random_page(band, OPENERS).mean),
            us(model.random_page(band, openers).mean),
            model.more_may_be_better(openers)
        ),
        formula: "fewest in flight whose time of a page is within 5% of the best",
        void_when: "max_open_files is not -1, so that files are opened when they are read",
        on: format!("opening a database of {FILES:.0} files"),
        trial: Trial::reads(opening(OPENERS), opening(openers)),
        relies_on: None,
    }
}

fn us(ns: f64) -> String {
    format!("{:.1} µs", ns / 1e3)
}

/// Returns the reads of a compaction.
fn compaction(model: &CostModel, request_bytes: u64, depth: u32) -> Vec<Reads> {
    vec![Reads::Scan { pages: (COMPACTION / model.page_bytes()) as f64, request_bytes, depth }]
}

fn reads_of_compaction() -> String {
    format!("the reads of a compaction of {}", format_bytes(COMPACTION))
}
