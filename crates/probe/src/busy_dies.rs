//! Dies by what is late beside a program: a die that programs a page answers a read, or ends another program, late.
//!
//! A program takes several times as long as an array read, a transfer or a command, so what these hide is seen: array
//! times that end before a bus is free, chunks of one sector, waits for a slow link. One page is written durably, and
//! while it is programmed a sector elsewhere is read. The read waits for the rest of the program if it is on the same
//! die, and not otherwise. A drive that suspends programs for reads, or keeps reads and writes apart, shows nothing.
//! There two pages are written, and on one die take two programs one after the other (`beside`); one request at a time
//! writes them to a buffer, and a flush waits for both. This shows dies where places follow from addresses.
//!
//! Pages at the start of the area are written in turn, and those behind them are read. Whether places follow from
//! addresses or from the order of writes shows in which of them the waits recur.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::beside::{Beside, Timing};
use crate::dies::{ChunkPair, Dies, Fit};
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::pattern;
use crate::rewritten::Rewritten;
use flashlane_workload::Access;
use std::ops::Range;

/// Samples after which a pattern is looked for, the factor from one time to the next, and most samples.
const FIRST_SAMPLES: usize = 750;
const MORE: usize = 4;
const SAMPLES_MAX: usize = 12_000;
/// Samples per chunk of the area: two chunks share a die at least as often as once in half of the area's chunks.
const PER_CHUNK: usize = 24;
/// Reads that tell two patterns apart before the samples are looked at again, and most such reads.
const AIMED: usize = 12;
const AIMED_MAX: usize = 240;
/// Most pages that are written out of turn: four turns of several hundred dies.
const AHEAD_MAX: u64 = 150_000;
/// Share of the area that is written.
const WRITTEN: u64 = 8;
/// Reads of each kind that test the pattern, those of the pattern's die that may be early, and others that may be late.
const TESTS: usize = 24;
const EARLY_MAX: usize = 2;
const LATE_MAX: usize = 6;
/// Standard errors by which pairs on one die take longer.
const STANDARD_ERRORS: f64 = 8.0;

/// Dies, and what is known of the reads that waited for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BusyDies {
    pub(crate) dies: Dies,
    pub(crate) policy: Policy,
    pub(crate) beside: Beside,
    /// How much longer these took beside a program on their die, in microseconds.
    pub(crate) wait_us: f64,
    /// Number of those that waited.
    pub(crate) waited: usize,
}

impl BusyDies {
    /// Returns how the dies were seen, in words.
    pub(crate) fn evidence(&self) -> String {
        let (count, beside) = (self.dies.count(), self.beside.words());
        format!(
            "of {beside} {} waited for it, by {:.1} µs: those on one of {count} dies",
            self.waited, self.wait_us
        )
    }
}

/// What reads or writes beside programs show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    Dies(BusyDies),
    /// Some are late on busy dies, but which dies there are remained open: a larger area may tell.
    Unclear,
    /// None is late.
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
    beside: Beside,
) -> Result<Seen, EarlyEnd> {
    let is_possible = bench.depth() >= beside.least_depth() && area.chunks(chunk) >= 8;
    let Some(pages) = Rewritten::new(bench, area, chunk, page_bytes).filter(|_| is_possible) else {
        return Ok(Seen::Nothing);
    };
    let mut trial = Trial { pages, beside, late: 0, ahead: 0 };
    let mut found = trial.run(bench)?;
    if let Some(found) = &mut found
        && found.dies.alternate_only()
        && trial.places_follow_addresses(bench, found.dies)?
    {
        found.policy = Policy::Lba;
    }
    let mut turned = 0;
    if found.is_none_or(|found| found.policy == Policy::WriteOrder) {
        let among = trial.written_pages();
        trial.pages.restore(bench, fill_bytes, among)?;
        // The area now begins at another place of the stripe.
        turned = trial.pages.turn() * page_bytes / chunk.size_bytes;
    }
    Ok(match found {
        // In the area, the first whole chunk is chunk 0.
        Some(found) => Seen::Dies(BusyDies { dies: found.dies.from(1 + turned as usize), ..found }),
        None if trial.late > 0 => Seen::Unclear,
        None => Seen::Nothing,
    })
}

struct Trial<'a> {
    pages: Rewritten<'a>,
    beside: Beside,
    /// Samples that were late.
    late: usize,
    /// Pages that were written out of turn, to tell patterns apart.
    ahead: u64,
}

impl Trial<'_> {
    /// Pages of the area's start that are written in turn.
    fn written_pages(&self) -> u64 {
        self.pages.pages() / WRITTEN
    }

    fn run(&mut self, bench: &mut Bench<'_>) -> Result<Option<BusyDies>, EarlyEnd> {
        let among = self.written_pages();
        let Some(timing) = self.beside.timing(bench, &mut self.pages, among)? else { return Ok(None) };
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
                let beside = self.beside;
                return Ok(Some(BusyDies { dies, policy, beside, wait_us, waited: waits.len() }));
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
    ) -> Result<Option<(Dies, Policy)>, EarlyEnd> {
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
                let rivals = [(dies, policy), (other, other_policy)];
                let Some(chunk) = self.telling_chunk(bench, rivals)? else { return Ok(None) };
                aimed.extend(self.sample(bench, timing, chunk)?.map(|(sample, _)| sample));
            }
        }
        Ok(None)
    }

    /// Returns a chunk of which two patterns predict different things beside the next write. Where there is none, and
    /// places may follow from the order of writes, pages are written out of turn until there is: the next chunks in
    /// that order are farther from those that are read, by a turn of dies at a time, and their addresses are not.
    fn telling_chunk(
        &mut self,
        bench: &mut Bench<'_>,
        [one, other]: [(Dies, Policy); 2],
    ) -> Result<Option<usize>, EarlyEnd> {
        let may_be_ahead = [one.1, other.1].contains(&Policy::WriteOrder);
        loop {
            let shares =
                |(dies, policy): (Dies, Policy), chunk: usize| dies.shares(self.next_chunk(policy), chunk);
            let found = self.chunk_where(bench, |chunk| shares(one, chunk) != shares(other, chunk));
            if found.is_some() || !may_be_ahead || self.ahead >= AHEAD_MAX {
                return Ok(found);
            }
            let next = self.pages.next_in_turn(self.written_pages()) * self.pages.page_bytes;
            for _ in 0..one.0.inner as u64 * self.pages.chunk.size_bytes / self.pages.page_bytes {
                bench.durable_write(self.pages.area.offset_bytes + next, self.pages.page_bytes)?;
                self.pages.count(1);
                self.ahead += 1;
            }
        }
    }

    /// Returns whether two pages that are written at once take two programs where their addresses share a die. Where
    /// places follow from the order of writes, all such pairs are neighbours.
    fn places_follow_addresses(&mut self, bench: &mut Bench<'_>, dies: Dies) -> Result<bool, EarlyEnd> {
        let mut times = [const { Vec::new() }; 2];
        for nth in 0..2 * TESTS {
            let (next, shares) = (self.next_chunk(Policy::Lba), nth % 2 == 0);
            let Some(other) = self.chunk_where(bench, |chunk| dies.shares(next, chunk) == shares) else {
                return Ok(false);
            };
            let pair = [self.pages.next_page(self.written_pages()), self.pages.page_in(bench, other)];
            self.pages.count(1);
            let writes = pair.map(|at| Access::write(at, self.pages.page_bytes));
            times[nth % 2].push(bench.write_to_flash(&writes)?.as_us_f64());
        }
        let [shared, apart] = times.map(|mut times| pattern::point(&mut times));
        Ok(shared.value - apart.value > STANDARD_ERRORS * shared.error.hypot(apart.error))
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
            Policy::Lba => self.pages.chunk_of(self.pages.next_in_turn(self.written_pages())),
            Policy::WriteOrder => self.pages.chunk_of(self.pages.turn()),
        }
    }

    /// Writes the next page, and reads or writes a chunk beside it. Returns whether that was late, and its time in
    /// microseconds; `None` where it waited for more than a program, or was answered from memory.
    fn sample(
        &mut self,
        bench: &mut Bench<'_>,
        timing: &Timing,
        other: usize,
    ) -> Result<Option<(ChunkPair, f64)>, EarlyEnd> {
        let (by_address, by_turn) = (self.next_chunk(Policy::Lba), self.next_chunk(Policy::WriteOrder));
        let next = self.pages.next_page(self.written_pages());
        let beside = self.pages.page_in(bench, other);
        let took_us = self.beside.measure(bench, &mut self.pages, timing, (next, beside))?;
        let sample = ChunkPair { by_address, by_turn, other, is_shared: took_us > timing.late_us };
        self.late += usize::from(sample.is_shared);
        Ok((timing.least_us..timing.most_us).contains(&took_us).then_some((sample, took_us)))
    }

    /// Returns whether chunks are late that share the die of the next write, and not others.
    fn test(
        &mut self,
        bench: &mut Bench<'_>,
        timing: &Timing,
        dies: Dies,
        policy: Policy,
    ) -> Result<bool, EarlyEnd> {
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
