//! Depth and size of fio jobs that reach what the device can deliver.

use crate::proposal::{Advice, Proposal};
use crate::{Calibration, CostModel, Reads, Trial};
use flashlane_base::units::format_bytes;

/// Default of `bs`.
const BLOCK_SIZE: u64 = 4 << 10;

impl Calibration {
    /// For fio, whose jobs are long: blocks of its default size, up to 512 in flight.
    pub fn of_fio() -> Self {
        Self { page_bytes: BLOCK_SIZE, most_in_flight: 512, ..Self::default() }
    }
}

/// Returns the depth of random reads and the size of sequential ones beyond which fio measures nothing new.
///
/// # Panics
/// If the model's pages are not fio's blocks, 4 KiB.
pub fn fio(model: &CostModel) -> Advice {
    assert_eq!(model.page_bytes(), BLOCK_SIZE, "a model for fio has its blocks");
    let mut advice = Advice::default();
    advice.consider(model, depth_of_random_reads(model));
    advice.consider(model, size_of_scans(model));
    advice
}

/// Pages that a trial reads.
const PAGES: f64 = 10_000.0;

fn us(ns: f64) -> String {
    format!("{:.1} µs", ns / 1e3)
}

fn depth_of_random_reads(model: &CostModel) -> Proposal {
    let (page, band) = (model.page_bytes(), model.area_pages() as f64);
    let depth = model.depth_of_random(band);
    let random = |depth| vec![Reads::Random { pages: PAGES, band_pages: band, depth }];
    Proposal {
        name: "iodepth (randread)".into(),
        now: "1".into(),
        proposed: depth.to_string(),
        scope: "job",
        apply: format!("rw=randread bs={page} ioengine=io_uring direct=1 iodepth={depth}"),
        undo: "iodepth=1".into(),
        measured: format!(
            "a page of {} takes {} alone and {} with {depth} in flight{}",
            format_bytes(page),
            us(model.random_page(band, 1).mean),
            us(model.random_page(band, depth).mean),
            model.more_may_be_better(depth)
        ),
        formula: "fewest in flight whose time of a page is within 5% of the best",
        void_when: "latency is measured: then the depth is that of the program",
        on: format!("{PAGES:.0} random reads of {}", format_bytes(page)),
        trial: Trial::reads(random(1), random(depth)),
        relies_on: None,
    }
}

fn size_of_scans(model: &CostModel) -> Proposal {
    let page = model.page_bytes();
    let most = model.scans().iter().map(|cost| cost.request_bytes).max().expect("a model has scans");
    let size = model.size_of_scan(1, most);
    let scan = |request_bytes| vec![Reads::Scan { pages: PAGES, request_bytes, depth: 1 }];
    Proposal {
        name: "bs (read)".into(),
        now: page.to_string(),
        proposed: size.to_string(),
        scope: "job",
        apply: format!("rw=read bs={size} ioengine=io_uring direct=1 iodepth=1"),
        undo: format!("bs={page}"),
        measured: format!(
            "a page of {} takes {} in requests of {} and {} in requests of {}",
            format_bytes(page),
            us(model.scanned_page(page, 1).mean),
            format_bytes(page),
            us(model.scanned_page(size, 1).mean),
            format_bytes(size)
        ),
        formula: "smallest request whose time of a page is within 5% of the best",
        void_when: "the program's own size of requests is to be measured",
        on: format!("a scan of {}", format_bytes(PAGES as u64 * page)),
        trial: Trial::reads(scan(page), scan(size)),
        relies_on: None,
    }
}
