//! Reads that a program makes: the common currency of prediction and check.

use flashlane_base::Random;
use flashlane_workload::Access;

/// Reads of pages in one pattern. A *page* is that of the cost model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reads {
    /// Single pages at uniformly random places of a band: the index access of a database.
    Random {
        /// Number of reads.
        pages: f64,
        /// Pages of the band, the range of addresses over which the reads are spread.
        band_pages: f64,
        /// Reads in flight.
        depth: u32,
    },
    /// Pages in the order of their addresses: the scan of a table.
    Scan {
        /// Number of pages.
        pages: f64,
        /// Bytes of a request.
        request_bytes: u64,
        /// Requests in flight.
        depth: u32,
    },
}

/// An area of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub offset_bytes: u64,
    pub length_bytes: u64,
}

impl Area {
    /// Returns a random part of it with `length_bytes`, at most all of it, at a multiple of `unit_bytes`.
    pub fn part(self, length_bytes: u64, unit_bytes: u64, random: &mut Random) -> Self {
        let length_bytes = length_bytes.min(self.length_bytes);
        let places = (self.length_bytes - length_bytes) / unit_bytes + 1;
        let offset_bytes = self.offset_bytes + random.below(places) * unit_bytes;
        Self { offset_bytes, length_bytes }
    }
}

/// Returns `count` reads of a page at random places of `band`.
pub(crate) fn random_reads(
    band: Area,
    page_bytes: u64,
    count: u64,
    random: &mut Random,
) -> impl Iterator<Item = Access> {
    let pages = band.length_bytes / page_bytes;
    (0..count).map(move |_| Access::read(band.offset_bytes + random.below(pages) * page_bytes, page_bytes))
}

/// Returns the requests of a scan of `area`; a rest that is shorter than a request is left out.
pub(crate) fn scan(area: Area, request_bytes: u64) -> impl Iterator<Item = Access> {
    (0..area.length_bytes / request_bytes)
        .map(move |i| Access::read(area.offset_bytes + i * request_bytes, request_bytes))
}
