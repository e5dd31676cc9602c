//! Dies by single writes of several neighbouring chunks: one request at a time, whatever hides array times.
//!
//! A durable write of `n` chunks is programmed on all dies at once, and each die programs its pages one after the
//! other. So it takes as long as the die with the *most* of these chunks: with each turn of the dies it takes a chunk's
//! programs longer. A program takes several times as long as a transfer, and no read has to wait for it: this needs no
//! second request, no buffer, and no particular mapping, and neither cache mode, nor programs that are suspended for
//! reads, nor a drive that keeps reads and writes apart hides it.
//!
//! *Size.* The time of a page and of a chunk are measured, and those of all writes follow, in whole chunks on the
//! busiest die. The dies count if nearly all writes come out, of which garbage collection delays some, and every other
//! number of dies, with planes between them or without, is refuted by the writes of which the two predict different
//! times. Where planes come between dies, a turn of the inner dies recurs before the outer ones follow: so writes have
//! to reach over more turns than a die has planes. Where the link or a bus is busy for longer than the dies, times rise
//! with each chunk, and no dies come out.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::dies::{Dies, PLANES_MAX};
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::numbers::is_prime;
use crate::pattern;
use crate::rewritten::Rewritten;
use flashlane_result::probe::Finding;
use flashlane_workload::Access;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Writes of a page, reads of one, and writes of a chunk, from which the times of others follow; chunks of one page are
/// one.
const REFERENCE: u64 = 48;
/// Most chunks of a write, of the first attempt and of further ones.
const CHUNKS_MAX: [usize; 5] = [12, 24, 60, 120, 240];
/// Number of attempts where the channels are not known: only a prime number of dies shows them, too, and few are.
const FEW: usize = 2;
/// Lengths of writes in an attempt, writes of each length at least and at most, and pages that all write, at most.
const LENGTHS: usize = 40;
const WRITES_MIN: usize = 3;
const WRITES_MAX: usize = 10;
const PAGES_MAX: u64 = 100_000;
/// How much shorter and how much longer than predicted a write may be, as shares of a chunk's programs: transfers that
/// wait for a bus or the link only add to them.
const SHORTER: f64 = 0.12;
const LONGER: f64 = 0.25;
/// Least share of the lengths of which some write takes as long as predicted, and most writes that take less.
const EXPLAINED: f64 = 0.85;
const LESS: f64 = 0.03;
/// Of the writes that the right pattern explains, any other explains less by this number at least, or it predicts that
/// this number of further writes would take longer.
const DIFFER: usize = 10;
/// Share of the writes of a length that none delays, at least.
const ALONE: f64 = 0.15;
/// A program takes at least this multiple of a page's time on a bus: otherwise what recurs may be channels.
const OF_BUS: f64 = 1.3;
/// Writes that begin in the middle of a chunk take this share of those of whole chunks at most, as half of a chunk is
/// programmed beside the other.
const OF_WHOLE: f64 = 0.75;
/// Times of a program that are tried between their limits, where chunks are of one page.
const PROGRAMS: usize = 5;

/// Confidence in the dies.
const CONFIDENCE: f64 = 0.92;

/// What the writes show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WrittenSpans {
    pub(crate) dies: Dies,
    /// Programs of a chunk, in microseconds.
    pub(crate) step_us: f64,
    /// Number of writes.
    pub(crate) writes: usize,
}

impl WrittenSpans {
    /// Returns how the dies were seen, in words.
    pub(crate) fn evidence(&self) -> String {
        format!(
            "{} writes of several chunks take {:.1} µs longer for each that is on a die with another: there are {} dies",
            self.writes,
            self.step_us,
            self.dies.count()
        )
    }

    /// Completes findings on the interleaving degree and the sub-domains by the dies, or takes them back where they
    /// disagree.
    pub(crate) fn complete(&self, degree: &mut Finding, sub_domains: &mut Finding) {
        let (count, seen) = (self.dies.count() as u64, self.evidence());
        let found = |number: u64, why: String| Finding::found(number, CONFIDENCE, why);
        match degree.number() {
            Some(channels) if !count.is_multiple_of(channels) => {
                let why = format!("two experiments disagree: {}; {seen}", degree.evidence);
                (*degree, *sub_domains) =
                    (Finding::not_determined(why.clone()), Finding::not_determined(why));
            }
            Some(channels) => *sub_domains = found(count / channels, format!("{seen}; {}", degree.evidence)),
            None if is_prime(self.dies.count()) => {
                let why =
                    format!("{seen}: each has a channel, or all share one, as {count} has no other divisor");
                (*degree, *sub_domains) = (found(count, why.clone()), found(1, why));
            }
            None if degree.is_hidden() => {}
            None => {
                let why = format!("{seen}; but a shared channel could not be told");
                (*degree, *sub_domains) =
                    (Finding::not_determined(why.clone()), Finding::not_determined(why));
            }
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
    degree: &Finding,
) -> Result<Option<WrittenSpans>, EarlyEnd> {
    let chunks = area.chunks(chunk) as usize;
    let Some(pages) = Rewritten::new(bench, area, chunk, page_bytes).filter(|_| chunks >= 8) else {
        return Ok(None);
    };
    let mut trial = Trial { pages, chunks, next: 0 };
    let attempts = if degree.number().is_some() { CHUNKS_MAX.len() } else { FEW };
    let found = trial.run(bench, attempts)?;
    let among = trial.pages.pages();
    trial.pages.restore(bench, fill_bytes, among)?;
    Ok(found)
}

/// A write of some chunks: the number of the first, if places follow from addresses, and if they follow from the order
/// of writes.
#[derive(Clone, Copy, Debug)]
struct Span {
    by_address: usize,
    by_turn: usize,
    count: usize,
    took_us: f64,
}

impl Span {
    fn first(&self, policy: Policy) -> usize {
        match policy {
            Policy::Lba => self.by_address,
            Policy::WriteOrder => self.by_turn,
        }
    }
}

/// Times in microseconds from which those of all writes follow.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// One write of a chunk.
    chunk_us: f64,
    /// Programs of a chunk on a die that is busy, at least and at most.
    step_us: [f64; 2],
}

/// What writes show.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fit {
    /// The dies, and the programs of a chunk in microseconds.
    Dies(Dies, f64),
    /// Longer writes may show them.
    Unclear,
    /// No dies explain half of the lengths.
    Nothing,
}

struct Trial<'a> {
    pages: Rewritten<'a>,
    /// Chunks of the area, and the number of the one that is written next.
    chunks: usize,
    next: usize,
}

impl Trial<'_> {
    fn chunk_pages(&self) -> u64 {
        self.pages.chunk.size_bytes / self.pages.page_bytes
    }

    fn run(&mut self, bench: &mut Bench<'_>, attempts: usize) -> Result<Option<WrittenSpans>, EarlyEnd> {
        let Some(costs) = self.costs(bench)? else { return Ok(None) };
        for most in CHUNKS_MAX.into_iter().take(attempts) {
            let most = most.min(self.chunks - 2);
            let lengths = most.min(LENGTHS);
            let pages = self.chunk_pages() * (most as u64).div_ceil(2) * lengths as u64;
            let writes = WRITES_MAX.min((PAGES_MAX / pages.max(1)) as usize);
            if writes < WRITES_MIN {
                break;
            }
            let mut spans = Vec::with_capacity(writes * lengths);
            for nth in 0..writes * lengths {
                spans.push(self.write(bench, 1 + nth % lengths * most / lengths)?);
            }
            match costs.dies(&spans) {
                Fit::Dies(dies, step_us) => {
                    return Ok(Some(WrittenSpans { dies, step_us, writes: spans.len() }));
                }
                Fit::Nothing => break,
                Fit::Unclear if most + 2 == self.chunks => break,
                Fit::Unclear => {}
            }
        }
        Ok(None)
    }

    /// Measures pages and chunks; `None` where a bus may be busy for as long as a die.
    fn costs(&mut self, bench: &mut Bench<'_>) -> Result<Option<Costs>, EarlyEnd> {
        let (page_bytes, sector) = (self.pages.page_bytes, bench.sector_bytes());
        let [mut writes, mut reads, mut page_reads, mut chunks] = [const { Vec::new() }; 4];
        // Writes of pages end where a chunk ends, also if places follow from the order of writes.
        while writes.len() < REFERENCE as usize || !self.is_aligned() {
            let at = self.pages.next_page(self.pages.pages());
            writes.push(bench.durable_write(at, page_bytes)?.as_us_f64());
        }
        for _ in 0..REFERENCE {
            for (times, bytes) in [(&mut reads, sector), (&mut page_reads, page_bytes)] {
                let at = self.pages.random_page_behind(bench, 0);
                times.push(bench.one(Access::read(at, bytes))?.as_us_f64());
            }
        }
        for _ in 0..REFERENCE / 2 {
            chunks.push(self.write(bench, 1)?.took_us);
        }
        let [page_us, chunk_us] = [writes, chunks].map(|times| pattern::undelayed(&times));
        let [read, page_read] = [reads, page_reads].map(|mut times| pattern::point(&mut times));
        let least_us = page_us - page_read.value - 4.0 * page_read.error;
        if !self.begins_chunks(bench, chunk_us)? {
            return Ok(None);
        }
        let count = self.chunk_pages() as f64;
        let step_us = match self.chunk_pages() {
            1 => [least_us, page_us],
            _ => [(chunk_us - page_us) / (count - 1.0) * count; 2],
        };
        let rest = (page_bytes - sector) as f64;
        let bus_us = match page_bytes == sector {
            true => page_read.value,
            false => (page_read.value - read.value).max(0.0) * page_bytes as f64 / rest,
        };
        let is_program = step_us[0] > OF_BUS * bus_us * count && step_us[0] > 0.0;
        Ok(is_program.then_some(Costs { chunk_us, step_us }))
    }

    /// Returns whether writes of a chunk are each on one die, as they take longer than writes that begin in the middle
    /// of one. Where garbage collection takes turns in the order of writes, chunks are counted wrongly.
    fn begins_chunks(&mut self, bench: &mut Bench<'_>, chunk_us: f64) -> Result<bool, EarlyEnd> {
        let (pages, page_bytes) = (self.chunk_pages(), self.pages.page_bytes);
        if pages == 1 {
            return Ok(true);
        }
        let parts = [pages / 2, pages - pages / 2].map(|part| part * page_bytes);
        let Rewritten { area, chunk, .. } = self.pages;
        let start = area.chunk_start(chunk, 0);
        let writes = REFERENCE / 4;
        bench.durable_write(start, parts[0])?;
        let mut times = Vec::new();
        for nth in 0..writes {
            let at = start + parts[0] + nth % (self.chunks as u64 - 2) * chunk.size_bytes;
            times.push(bench.durable_write(at, chunk.size_bytes)?.as_us_f64());
        }
        bench.durable_write(start, parts[1])?;
        self.pages.count((1 + writes) * pages);
        Ok(pattern::undelayed(&times) < OF_WHOLE * chunk_us)
    }

    /// Returns whether the page that is written next begins a chunk, if places follow from the order of writes.
    fn is_aligned(&self) -> bool {
        let turn = self.pages.turn();
        self.pages.chunk_of(turn) > self.pages.chunk_of(turn - 1)
    }

    /// Writes this number of chunks, from where the last ones ended. What is overwritten in order leaves whole blocks
    /// stale, so that garbage collection has less to do.
    fn write(&mut self, bench: &mut Bench<'_>, count: usize) -> Result<Span, EarlyEnd> {
        let Rewritten { area, chunk, .. } = self.pages;
        let first = if self.next + count <= self.chunks { self.next as u64 } else { 0 };
        self.next = first as usize + count;
        let by_turn = self.pages.chunk_of(self.pages.turn());
        let took = bench.durable_write(area.chunk_start(chunk, first), count as u64 * chunk.size_bytes)?;
        self.pages.count(count as u64 * self.chunk_pages());
        // Chunk 0 may begin before the area.
        Ok(Span { by_address: first as usize + 1, by_turn, count, took_us: took.as_us_f64() })
    }
}

impl Costs {
    fn dies(&self, spans: &[Span]) -> Fit {
        let [least, most] = self.step_us;
        let steps = if least == most { 1 } else { PROGRAMS };
        let step = |nth: usize| least + (most - least) * nth as f64 / (PROGRAMS - 1) as f64;
        let mut best = Fit::Nothing;
        for step_us in (0..steps).map(step) {
            match self.dies_at(spans, step_us) {
                Fit::Nothing => {}
                Fit::Unclear => best = Fit::Unclear,
                found @ Fit::Dies(..) => return found,
            }
        }
        best
    }

    fn dies_at(&self, spans: &[Span], step_us: f64) -> Fit {
        let seen: Vec<Seen> = spans.iter().map(|span| self.seen(span, step_us)).collect();
        let longest = spans.iter().map(|span| span.count).max().unwrap_or(0);
        let mut tried: Vec<(Explained, Dies)> = patterns(spans, &seen, longest)
            .into_iter()
            .map(|(dies, policy)| (Explained::of(spans, &seen, dies, policy), dies))
            .collect();
        tried.sort_by_key(|(explained, dies)| (Reverse(explained.score()), dies.period()));
        let (best, dies) = *tried.first().expect("a single die is tried");
        let recurs = |dies: Dies| dies.period() < longest;
        let is_refuted = |(other, others): &(Explained, Dies)| {
            best.writes >= other.writes + DIFFER
                || other.less >= best.less + DIFFER
                || (others.count() == dies.count() && recurs(*others))
        };
        let is_explained = best.lengths as f64 >= EXPLAINED * lengths(spans) as f64
            && best.less as f64 <= LESS * spans.len() as f64;
        if is_explained && tried.iter().all(is_refuted) && dies.count() > 1 && recurs(dies) {
            return Fit::Dies(dies, step_us);
        }
        let is_hopeless = tried.iter().all(|(explained, _)| 2 * explained.lengths < lengths(spans));
        if is_hopeless { Fit::Nothing } else { Fit::Unclear }
    }

    fn seen(&self, span: &Span, step_us: f64) -> Seen {
        let more = (span.took_us - self.chunk_us) / step_us;
        let whole = (more + SHORTER).floor().max(0.0);
        Seen { most: whole as usize + 1, is_whole: more - whole < LONGER }
    }
}

/// Chunks on the busiest die of a write, at most; exactly as many where its time is one of whole chunks.
#[derive(Clone, Copy, Debug)]
struct Seen {
    most: usize,
    is_whole: bool,
}

/// What a pattern explains: writes, and lengths of which it explains one; and writes that take less than it predicts.
#[derive(Clone, Copy, Debug)]
struct Explained {
    writes: usize,
    lengths: usize,
    less: usize,
}

impl Explained {
    fn of(spans: &[Span], seen: &[Seen], dies: Dies, policy: Policy) -> Self {
        let mut explained = Self { writes: 0, lengths: 0, less: 0 };
        let mut lengths = BTreeSet::new();
        let less_max = (LESS * spans.len() as f64) as usize + DIFFER;
        for (span, seen) in spans.iter().zip(seen) {
            let most = dies.most_on_one(span.first(policy), span.count);
            if seen.most == most && seen.is_whole {
                explained.writes += 1;
                lengths.insert(span.count);
            }
            explained.less += usize::from(seen.most < most);
            if explained.less > less_max {
                break;
            }
        }
        explained.lengths = lengths.len();
        explained
    }

    fn score(self) -> i64 {
        self.writes as i64 - DIFFER as i64 * self.less as i64
    }
}

/// Returns the number of different lengths.
fn lengths(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.count).collect::<BTreeSet<_>>().len()
}

/// Returns every order of dies and planes that the writes may show, also such that do not recur within them.
fn patterns(spans: &[Span], seen: &[Seen], longest: usize) -> Vec<(Dies, Policy)> {
    // In no more chunks than there are inner dies no two share one.
    let is_inner = |inner: &usize| {
        let near =
            || spans.iter().zip(seen).filter(|(span, _)| span.count <= *inner && 2 * span.count > *inner);
        let alone = near().filter(|(_, seen)| seen.most == 1 && seen.is_whole).count();
        alone as f64 >= ALONE * near().count() as f64
    };
    let most = (1..=longest).filter(is_inner).max().unwrap_or(1);
    let mut patterns: Vec<(Dies, Policy)> = (1..=longest)
        .map(|inner| (Dies { inner, planes: 1, outer: 1, offset: 0 }, Policy::WriteOrder))
        .collect();
    for inner in most.div_ceil(2)..=most {
        for planes in 2..=PLANES_MAX {
            let turn = inner * planes;
            // The last number of outer dies stands for all that do not recur.
            for outer in 2..=longest / turn + 2 {
                for policy in [Policy::Lba, Policy::WriteOrder] {
                    patterns.extend((0..turn).map(|offset| (Dies { inner, planes, outer, offset }, policy)));
                }
            }
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    const COSTS: Costs = Costs { chunk_us: 1250.0, step_us: [1200.0; 2] };

    /// Writes over dies, of which half are delayed; each chunk takes as long as `rise_us` on the link.
    fn spans(dies: Dies, longest: usize, rise_us: f64) -> Vec<Span> {
        let mut random = Seed(5).source();
        (0..400)
            .map(|nth| {
                let (by_address, by_turn) = (random.below(300) as usize, random.below(3000) as usize);
                let count = 1 + nth % 40 * longest / 40;
                let turns = dies.most_on_one(by_turn, count);
                let delayed = if random.chance(0.5) { 2000.0 } else { 0.0 };
                let took_us = 1250.0 + 1200.0 * (turns - 1) as f64 + rise_us * count as f64 + delayed;
                Span { by_address, by_turn, count, took_us: took_us + 40.0 * random.unit() }
            })
            .collect()
    }

    fn found(dies: Dies, longest: usize, rise_us: f64) -> Option<usize> {
        match COSTS.dies(&spans(dies, longest, rise_us)) {
            Fit::Dies(dies, _) => Some(dies.count()),
            Fit::Unclear | Fit::Nothing => None,
        }
    }

    const fn dies(inner: usize, planes: usize, outer: usize) -> Dies {
        Dies { inner, planes, outer, offset: 0 }
    }

    #[test]
    fn dies_are_found_with_planes_between_them_and_without() {
        for (layout, longest) in [
            (dies(4, 1, 1), 24),
            (dies(12, 1, 1), 120),
            (dies(20, 1, 1), 120),
            (dies(6, 2, 2), 60),
            (dies(4, 4, 3), 120),
        ] {
            assert_eq!(found(layout, longest, 2.0), Some(layout.count()), "{layout:?}");
        }
    }

    #[test]
    fn dies_that_do_not_recur_are_not_found() {
        assert_eq!(found(dies(12, 1, 1), 24, 2.0), None, "after two planes others may follow");
        assert_eq!(found(dies(6, 2, 8), 60, 2.0), None);
        assert_eq!(found(dies(70, 1, 1), 60, 2.0), None);
    }

    #[test]
    fn times_that_rise_with_each_chunk_show_no_dies() {
        for rise_us in [100.0, 300.0, 420.0, 600.0, 900.0, 1200.0] {
            assert!(found(dies(500, 1, 1), 60, rise_us).is_none(), "{rise_us}");
        }
    }
}
