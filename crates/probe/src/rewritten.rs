//! An area that was filled in order, and of which pages are written again: where places follow from the order of
//! writes, the turn of a page says in which chunk it lies.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::error::EarlyEnd;

/// Chunks after which two, three and four planes recur. Larger requests, such as those that recommendations are
/// measured with, reach the planes of a die at once where they lie in chunks as on a drive that was written in order
/// from its start.
const PLANES_TURN: u64 = 12;

pub(crate) struct Rewritten<'a> {
    pub(crate) area: Area,
    pub(crate) chunk: &'a Chunk,
    pub(crate) page_bytes: u64,
    /// Pages written since the area was filled.
    written: u64,
    /// Of these, pages written in turn.
    in_turn: u64,
}

impl<'a> Rewritten<'a> {
    /// Nothing is written again yet; `None` where chunks do not hold whole pages that can be written.
    pub(crate) fn new(bench: &Bench<'_>, area: Area, chunk: &'a Chunk, page_bytes: u64) -> Option<Self> {
        let is_possible = chunk.size_bytes.is_multiple_of(page_bytes)
            && chunk.phase_bytes.is_multiple_of(page_bytes)
            && page_bytes.is_multiple_of(bench.unit_bytes(true));
        is_possible.then_some(Self { area, chunk, page_bytes, written: 0, in_turn: 0 })
    }

    /// Pages of the area.
    pub(crate) fn pages(&self) -> u64 {
        self.area.length_bytes / self.page_bytes
    }

    /// Returns the page that is written next if the first `among` pages take turns.
    pub(crate) fn next_in_turn(&self, among: u64) -> u64 {
        self.in_turn % among
    }

    /// Turn of the page that is written next, where filling the area wrote the first ones.
    pub(crate) fn turn(&self) -> u64 {
        self.pages() + self.written
    }

    /// Counts pages that are written out of turn.
    pub(crate) fn count(&mut self, pages: u64) {
        self.written += pages;
    }

    /// Returns the number of the chunk of the page that is or would be this number of pages from the area's start.
    /// Chunk 0 is the one that may begin before the area.
    pub(crate) fn chunk_of(&self, page: u64) -> usize {
        let bytes = page * self.page_bytes + self.chunk.size_bytes - self.chunk.phase_bytes;
        (bytes / self.chunk.size_bytes) as usize
    }

    /// Returns the offset of a random page of a chunk, given by its number.
    pub(crate) fn page_in(&self, bench: &mut Bench<'_>, chunk: usize) -> u64 {
        let pages = self.chunk.size_bytes / self.page_bytes;
        self.area.chunk_start(self.chunk, chunk as u64 - 1) + bench.random().below(pages) * self.page_bytes
    }

    /// Returns the offset of a random page behind the first `among`.
    pub(crate) fn random_page_behind(&self, bench: &mut Bench<'_>, among: u64) -> u64 {
        let page = among + bench.random().below(self.pages() - among);
        self.area.offset_bytes + page * self.page_bytes
    }

    /// Returns the offset of the page that is written next if the first `among` pages take turns, and counts it.
    pub(crate) fn next_page(&mut self, among: u64) -> u64 {
        let page = self.next_in_turn(among);
        self.in_turn += 1;
        self.written += 1;
        self.area.offset_bytes + page * self.page_bytes
    }

    /// Fills the area in order again, with `fill_bytes` per request, from a turn at which its pages lie in chunks and
    /// on planes as they did; until then the first `among` pages take turns.
    pub(crate) fn restore(
        &mut self,
        bench: &mut Bench<'_>,
        fill_bytes: u64,
        among: u64,
    ) -> Result<(), EarlyEnd> {
        let period = PLANES_TURN * self.chunk.size_bytes / self.page_bytes;
        while !self.turn().is_multiple_of(period) {
            let at = self.next_page(among);
            bench.durable_write(at, self.page_bytes)?;
        }
        bench.fill_durably(self.area.offset_bytes, self.area.length_bytes, fill_bytes)
    }
}
