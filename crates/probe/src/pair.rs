//! Pairs of reads of two chunks, or of a read and a write, and their times by the runs of chunks that they lie in.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::error::EarlyEnd;
use flashlane_workload::Access;

/// Two chunks and the time of reading a part of a page of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) one: usize,
    pub(crate) other: usize,
    pub(crate) took_us: f64,
}

impl Pair {
    /// Measures a pair of reads of `bytes`, each at the start of a page.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        page: u64,
        bytes: u64,
    ) -> Result<Self, EarlyEnd> {
        let chunks = area.chunks(chunk);
        let one = bench.random().below(chunks);
        let other = (one + 1 + bench.random().below(chunks - 1)) % chunks;
        let pages = chunk.size_bytes / page;
        let mut at = |nth: u64| area.chunk_start(chunk, nth) + bench.random().below(pages) * page;
        let reads = [Access::read(at(one), bytes), Access::read(at(other), bytes)];
        let took_us = bench.burst(&reads)?.as_us_f64();
        Ok(Self { one: one as usize, other: other as usize, took_us })
    }
}

/// Returns the number of pairs and the sum of their times by the difference of the numbers of their runs.
pub(crate) fn by_difference(pairs: &[Pair], chunks: usize, run: usize, offset: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); chunks / run + 2];
    for pair in pairs {
        let difference = ((pair.one + offset) / run).abs_diff((pair.other + offset) / run);
        sums[difference].0 += 1.0;
        sums[difference].1 += pair.took_us;
    }
    sums
}
