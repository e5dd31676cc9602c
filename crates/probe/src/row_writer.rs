//! Durable writes of an area: pages at random places, and rows of pages in order.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;

/// Reach of the search for pages: several pages of the largest usual size.
pub(crate) const PAGES_REACH_BYTES: u64 = 64 * 1024;
/// Fewest pages of a row.
const ROW_PAGES_MIN: u64 = 256;

/// Writes pages, and counts them: a drive that places pages in the order of writes places this many.
pub(crate) struct Writer {
    pub(crate) area: Area,
    pub(crate) page_bytes: u64,
    pub(crate) turn: u64,
    pub(crate) row_bytes: u64,
}

impl Writer {
    /// Returns a random place of the area at a multiple of every usual page.
    pub(crate) fn place(&self, bench: &mut Bench<'_>) -> u64 {
        let places = self.area.length_bytes / PAGES_REACH_BYTES - 2;
        self.area.offset_bytes + bench.random().below(places) * PAGES_REACH_BYTES
    }

    /// Returns the offset of a random page of the area: readahead would soon hold those of a row.
    pub(crate) fn random_page(&self, bench: &mut Bench<'_>) -> u64 {
        let pages = self.area.length_bytes / self.page_bytes;
        self.area.offset_bytes + bench.random().below(pages) * self.page_bytes
    }

    /// Pages of a row, an even number.
    pub(crate) fn row_pages(&self) -> u64 {
        let half = self.area.length_bytes / self.page_bytes / 2;
        (self.row_bytes / self.page_bytes).max(ROW_PAGES_MIN).min(half) & !1
    }

    /// Writes a page behind the rows until a turn.
    pub(crate) fn write_until(&mut self, bench: &mut Bench<'_>, turn: u64) -> Result<(), EarlyEnd> {
        while self.turn < turn {
            self.write(bench, self.row_pages(), 1)?;
        }
        Ok(())
    }

    /// Writes pages from the `first` of the area on in one request. Returns its time in microseconds.
    pub(crate) fn write(&mut self, bench: &mut Bench<'_>, first: u64, pages: u64) -> Result<f64, EarlyEnd> {
        self.turn += pages;
        let at = self.area.offset_bytes + first * self.page_bytes;
        bench.durable_write(at, pages * self.page_bytes).map(|time| time.as_us_f64())
    }
}
