//! Dies by reads beside programs: a die that programs a page answers a read late.
//!
//! A program takes several times as long as an array read, a transfer or a command, so what these hide is seen: array
//! times that end before a bus is free, chunks of one sector, waits for a slow link. One page is written durably, and while
//! it is programmed a sector elsewhere is read. The read waits for the rest of the program if it is on the same die, and not
//! otherwise. A drive that suspends programs for reads, or keeps reads and writes apart, shows nothing.
//!
//! Pages at the start of the area are written in turn, and those behind them are read. Whether places follow from addresses
//! or from the order of writes shows in which of them the waits recur.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::dies::{ChunkPair, Dies, Fit};
use crate::error::Interruption;
use crate::mapping::Policy;
use crate::pattern;
use crate::rewritten::Rewritten;
use flashlane_base::Duration;
use flashlane_workload::Access;
use std::ops::Range;

/// Writes, and reads, of a reference.
const REFERENCE: usize = 64;
/// The read is submitted when at most this share of the program is left.
const LEFT: f64 = 0.85;
/// Least share of a program that a read on its die surely waits for, the most that it does, and least standard deviations of reads.
const WAIT_MIN: f64 = 0.2;
const WAIT_MAX: f64 = 1.3;
const DEVIATIONS: f64 = 8.0;
/// Samples after which a pattern is looked for, the factor from one time to the next, and most samples.
const FIRST_SAMPLES: usize = 750;
const MORE: usize = 4;
const SAMPLES_MAX: usize = 12_000;
/// Samples per chunk of the area: two chunks share a die at least as often as once in half of the area's chunks.
const PER_CHUNK: usize = 24;
/// Reads that tell two patterns apart before the samples are looked at again, and most such reads.
const AIMED: usize = 12;
const AIMED_MAX: usize = 240;
/// Share of the area that is written.
const WRITTEN: u64 = 8;
/// Reads of each kind that test the pattern, those of the pattern's die that may be early, and others that may be late.
const TESTS: usize = 24;
const EARLY_MAX: usize = 2;
const LATE_MAX: usize = 6;

/// Dies, and what is known of the reads that waited for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BusyDies {
    pub(crate) dies: Dies,
    /// How much longer reads took beside a program on their die, in microseconds.
    pub(crate) wait_us: f64,
    /// Number of such reads.
    pub(crate) waited: usize,
}

/// What reads beside programs show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    Dies(BusyDies),
    /// Reads are late on busy dies, but which dies there are remained open: a larger area may tell.
    Unclear,
    /// No read is late.
    Nothing,
}

impl Seen {
    pub(crate) fn dies(self) -> Option<BusyDies> {
        match self {
            Self::Dies(found) => Some(found),
            Self::Unclear | Self::Nothing => None,
        }
    }
}

/// Looks for the dies. The area MUST have been filled in order, with `fill_bytes` per request, and nothing been written
/// since; it is when this returns.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page_bytes: u64,
    fill_bytes: u64,
) -> Result<Seen, Interruption> {
    let is_possible = bench.depth() > 1 && area.chunks(chunk) >= 8;
    let Some(pages) = Rewritten::new(bench, area, chunk, page_bytes).filter(|_| is_possible) else {
        return Ok(Seen::Nothing);
    };
    let mut trial = Trial { pages, late: 0 };
    let found = trial.run(bench)?;
    let mut turned = 0;
    if found.is_none_or(|(_, policy)| policy == Policy::WriteOrder) {
        let among = trial.written_pages();
        trial.pages.restore(bench, fill_bytes, among)?;
        // The area now begins at another place of the stripe.
        turned = trial.pages.turn() * page_bytes / chunk.size_bytes;
    }
    Ok(match found {
        // In the area, the first whole chunk is chunk 0.
        Some((found, _)) => Seen::Dies(BusyDies { dies: found.dies.from(1 + turned as usize), ..found }),
        None if trial.late > 0 => Seen::Unclear,
        None => Seen::Nothing,
    })
}

struct Trial<'a> {
    pages: Rewritten<'a>,
    /// Reads that were late.
    late: usize,
}

/// When the read is submitted, and from when on it counts as late.
struct Timing {
    after: Duration,
    alone_us: f64,
    late_us: f64,
    /// A read that takes longer waited for more than a program.
    most_us: f64,
}

impl Trial<'_> {
    /// Pages of the area's start that are written in turn.
    fn written_pages(&self) -> u64 {
        self.pages.pages() / WRITTEN
    }

    /// Returns the offset of the page that is written next, and counts it.
    fn next_page(&mut self) -> u64 {
        self.pages.next_page(self.written_pages())
    }

    fn run(&mut self, bench: &mut Bench<'_>) -> Result<Option<(BusyDies, Policy)>, Interruption> {
        let Some(timing) = self.timing(bench)? else { return Ok(None) };
        let most = SAMPLES_MAX.min(PER_CHUNK * self.pages.area.chunks(self.pages.chunk) as usize);
        let mut samples = Vec::new();
        let mut enough = FIRST_SAMPLES.min(most);
        loop {
            while samples.len() < enough {
                let other = self.random_chunk(bench);
                samples.extend(self.sample(bench, &timing, other)?);
            }
            if let Some((dies, policy)) = self.decide(bench, &timing, &samples)? {
                let waits: Vec<f64> = samples
                    .iter()
                    .filter(|(sample, _)| sample.is_shared)
                    .map(|(_, took_us)| took_us - timing.alone_us)
                    .collect();
                let wait_us = waits.iter().sum::<f64>() / waits.len() as f64;
                return Ok(Some((BusyDies { dies, wait_us, waited: waits.len() }, policy)));
            }
            let is_hopeless = enough > FIRST_SAMPLES && self.late == 0;
            if enough == most || is_hopeless {
                return Ok(None);
            }
            enough = (MORE * enough).min(most);
        }
    }

    /// Returns the dies that explain the samples, after reads of chunks of which they and the next likely ones predict
    /// different things.
    fn decide(
        &mut self,
        bench: &mut Bench<'_>,
        timing: &Timing,
        samples: &[(ChunkPair, f64)],
    ) -> Result<Option<(Dies, Policy)>, Interruption> {
        let random: Vec<ChunkPair> = samples.iter().map(|(sample, _)| *sample).collect();
        let mut aimed = Vec::new();
        while let Some(Fit { dies, policy, rival, .. }) = Dies::fit(&random, &aimed) {
            let Some((other, other_policy)) = rival else {
                return Ok(self.test(bench, timing, dies, policy)?.then_some((dies, policy)));
            };
            if aimed.len() >= AIMED_MAX {
                return Ok(None);
            }
            for _ in 0..AIMED {
                let (one, next) = (self.next_chunk(policy), self.next_chunk(other_policy));
                let differ = |chunk: usize| dies.shares(one, chunk) != other.shares(next, chunk);
                let Some(chunk) = self.chunk_where(bench, differ) else { return Ok(None) };
                aimed.extend(self.sample(bench, timing, chunk)?.map(|(sample, _)| sample));
            }
        }
        Ok(None)
    }

    fn timing(&mut self, bench: &mut Bench<'_>) -> Result<Option<Timing>, Interruption> {
        let sector = bench.sector_bytes();
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for _ in 0..REFERENCE {
            let at = self.next_page();
            writes.push(bench.durable_write(at, self.pages.page_bytes)?.as_us_f64());
            let other = self.random_chunk(bench);
            let at = self.page_in(bench, other);
            reads.push(bench.one(Access::read(at, sector))?.as_us_f64());
        }
        let (write, read) = (pattern::point(&mut writes), pattern::point(&mut reads));
        // A write takes a program where a read takes an array time.
        let program_us = write.value - read.value;
        // The longest that a read can take to reach its die is the time of a read.
        let wait_us = LEFT * program_us - read.value;
        let deviation_us = read.error * (REFERENCE as f64).sqrt();
        let is_seen = wait_us > WAIT_MIN * program_us && wait_us > DEVIATIONS * deviation_us;
        Ok(is_seen.then(|| Timing {
            after: Duration::from_ns(((write.value - LEFT * program_us) * 1e3) as u64),
            alone_us: read.value,
            late_us: read.value + wait_us / 2.0,
            most_us: read.value + WAIT_MAX * program_us,
        }))
    }

    /// Numbers of the chunks behind those that are written.
    fn read_chunks(&self) -> Range<usize> {
        self.pages.chunk_of(self.written_pages()) + 1..self.pages.area.chunks(self.pages.chunk) as usize + 1
    }

    fn random_chunk(&self, bench: &mut Bench<'_>) -> usize {
        let chunks = self.read_chunks();
        chunks.start + bench.random().below(chunks.len() as u64) as usize
    }

    /// Returns a chunk to read for which something holds: the next from a random one.
    fn chunk_where(&self, bench: &mut Bench<'_>, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let (chunks, from) = (self.read_chunks(), self.random_chunk(bench));
        (from..chunks.end).chain(chunks.start..from).find(|&chunk| holds(chunk))
    }

    /// Returns the number of the chunk that is written next.
    fn next_chunk(&self, policy: Policy) -> usize {
        match policy {
            Policy::Lba => self.pages.chunk_of(self.pages.written() % self.written_pages()),
            Policy::WriteOrder => self.pages.chunk_of(self.pages.turn()),
        }
    }

    /// Returns the offset of a random page of a chunk.
    fn page_in(&self, bench: &mut Bench<'_>, chunk: usize) -> u64 {
        let pages = self.pages.chunk.size_bytes / self.pages.page_bytes;
        self.pages.area.chunk_start(self.pages.chunk, chunk as u64 - 1)
            + bench.random().below(pages) * self.pages.page_bytes
    }

    /// Writes the next page and reads a chunk. Returns whether the read was late, and its time in microseconds; `None` where
    /// it waited for more than a program.
    fn sample(
        &mut self,
        bench: &mut Bench<'_>,
        timing: &Timing,
        other: usize,
    ) -> Result<Option<(ChunkPair, f64)>, Interruption> {
        let (by_address, by_turn) = (self.next_chunk(Policy::Lba), self.next_chunk(Policy::WriteOrder));
        let write = Access::write(self.next_page(), self.pages.page_bytes);
        let read = Access::read(self.page_in(bench, other), bench.sector_bytes());
        let took_us = bench.read_beside_write(write, timing.after, read)?.as_us_f64();
        let sample = ChunkPair { by_address, by_turn, other, is_shared: took_us > timing.late_us };
        self.late += usize::from(sample.is_shared);
        Ok((took_us < timing.most_us).then_some((sample, took_us)))
    }

    /// Returns whether reads of chunks are late that share the die of the next write, and not those of others.
    fn test(
        &mut self,
        bench: &mut Bench<'_>,
        timing: &Timing,
        dies: Dies,
        policy: Policy,
    ) -> Result<bool, Interruption> {
        let mut failed = [0; 2];
        for nth in 0..2 * TESTS {
            let (next, shares) = (self.next_chunk(policy), nth % 2 == 0);
            let Some(other) = self.chunk_where(bench, |chunk| dies.shares(next, chunk) == shares) else {
                return Ok(false);
            };
            if let Some((sample, _)) = self.sample(bench, timing, other)? {
                failed[nth % 2] += usize::from(sample.is_shared != shares);
            }
        }
        Ok(failed[0] <= EARLY_MAX && failed[1] <= LATE_MAX)
    }
}
