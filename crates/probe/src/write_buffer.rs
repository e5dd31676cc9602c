//! The write buffer: whether writes complete before they are on flash, and the size of the buffer.
//!
//! Presence: a durable write takes longer than another. Size: writes to distinct pages complete at the rate of the link
//! while the buffer fills, then at the rate of flash; the bend (`bend`) shows when the buffer is full.
//!
//! *Filling fast.* Where flash takes pages as fast as they arrive, the buffer never fills. So whole pages are written,
//! many per request, which cross the link without a command each; and where places follow from addresses, to as few
//! dies as have room for them, so that flash takes few meanwhile. Where requests of whole pages bypass the buffer, or
//! show no bend, writes of single sectors are tried.
//!
//! *Pages that flash took.* A die takes a page when its program ends. So up to the bend the dies took a page per
//! `after_us`, but for the first program and the last: between the two bounds lie as many pages as there are dies at
//! work. Where these bounds leave the size open, a flush of the full buffer has to agree: it lasts as long as flash
//! takes for the whole content. Both suppose that flash takes pages after the bend as fast as before it. Garbage
//! collection slows it, and dies that are reached later speed it up. So where more than a few were taken, or would be
//! in as long a time after the bend, the number may not vary much from one interval to the next
//! (`Filled::taken_after`), and the same writes at a slower pace have to reach their bend later, by about as much as
//! the taken pages say (`Fill::at_once`). The size is between those by the two rates (`Repeated::joined`).

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bend::Bend;
use crate::error::EarlyEnd;
use crate::filled::{AGREE, Filled, Repeated, WriteTimes};
use flashlane_base::Duration;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Mark, Series};
use flashlane_workload::Access;

/// Least ratio of the latencies of durable and plain writes that shows a buffer.
const LATER: f64 = 1.25;
/// Before the bend flash may take pages several times as fast as after it, or as slowly: where by the rate after it
/// more than this share of the buffer was taken, the size is tested by writes that are slower by this factor.
const TAKEN_UNTESTED: f64 = 0.02;
const SLOWER: f64 = 1.4;
/// Two standard deviations of the number of pages that flash takes in as long a time after the bend are less than a
/// tenth of the buffer.
const DEVIATIONS: f64 = 2.0;
/// Requests of a curve: the bend lies between a half and four fifths of them, or among the first.
const REQUESTS: usize = 128;
/// After this number of doublings of the writes a buffer that fills is fuller by more than this factor.
const EMPTIED_AFTER: usize = 3;
const EMPTIED: f64 = 1.3;
/// Dies that writes in order reach at most, as far as emptied buffers are told from others; more are reached as evenly.
const DIES: u64 = 64;

/// The pages to write.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) area: Area,
    pub(crate) page_bytes: u64,
    /// Chunks, where known.
    pub(crate) chunk: Option<&'a Chunk>,
    /// The distance of those that share a die, where places follow from addresses.
    pub(crate) same_die: Option<usize>,
}

/// Finds the buffer and its size, and draws pages against time.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    target: Target<'_>,
    is_page_known: bool,
    most_pages: usize,
) -> Result<(Finding, Option<Figure>), EarlyEnd> {
    let sector = bench.sector_bytes();
    let write_times = WriteTimes::measure(bench, target.area, sector)?;
    let WriteTimes { plain_us: plain, durable_us: durable, .. } = write_times;
    if durable < LATER * plain {
        let evidence = format!(
            "a write takes {plain:.1} µs, and {durable:.1} µs where it must be on flash: no sooner without"
        );
        return Ok((Finding::absent(0.95, evidence), None));
    }
    let present =
        format!("a write is done in {plain:.1} µs, but in {durable:.1} µs where it must be on flash");
    if !is_page_known {
        let curve = Fill::of_sectors(bench, target, 2048.min(most_pages)).run(bench)?;
        let evidence = format!(
            "{present}: there is a buffer, but its size is counted in pages, and how large one is was not found"
        );
        return Ok((Finding::not_determined(evidence), Some(figure(&curve.times, 0))));
    }
    // A page that is written whole is on flash sooner than one of which a part has to be read.
    let page_times = WriteTimes::measure(bench, target.area, target.page_bytes)?;
    let by_pages = find_by_pages(bench, target, most_pages, page_times)?;
    let by_any = match by_pages {
        Fullness::Found(_) => Fullness::Unclear,
        Fullness::Emptied | Fullness::Unclear => find_by_sectors(bench, target, most_pages, write_times)?,
    };
    let is_emptied = matches!((&by_pages, &by_any), (Fullness::Emptied, Fullness::Emptied));
    let found = [by_pages, by_any].into_iter().find_map(|seen| match seen {
        Fullness::Found(found) => Some(found),
        Fullness::Emptied | Fullness::Unclear => None,
    });
    let Some(Size { pages, bend, curve, kind }) = found else {
        if is_emptied {
            let why = format!(
                "{present}: there is a buffer, but flash took {most_pages} pages as fast as they arrived, so that it did not fill"
            );
            return Ok((Finding::cannot_be_seen(why), None));
        }
        let evidence = format!(
            "{present}: there is a buffer, but {most_pages} writes to distinct pages showed no clear bend from which to tell its size"
        );
        return Ok((Finding::not_determined(evidence), None));
    };
    let evidence = match bend.steeper.is_finite() {
        true => format!("{present}; after {} {kind} each takes {:.1} times as long", bend.at, bend.steeper),
        false => {
            format!("{present}; {} {kind} are done faster than can be timed, and later ones are not", bend.at)
        }
    };
    let bytes = pages.round() as u64 * target.page_bytes;
    Ok((Finding::found(bytes, 0.8, evidence), Some(figure(&curve, bend.at))))
}

/// The size of a buffer, and how it was seen.
struct Size {
    pages: f64,
    bend: Bend,
    curve: Vec<f64>,
    /// The writes, in words.
    kind: String,
}

/// What more and more writes show.
enum Fullness {
    Found(Size),
    /// After many times as many writes the buffer is hardly fuller, since a flush takes no longer.
    Emptied,
    Unclear,
}

/// Finds the size by writes of whole pages: of one per request at first, then of twice as many, until the buffer fills
/// or no longer becomes fuller.
fn find_by_pages(
    bench: &mut Bench<'_>,
    target: Target<'_>,
    most_pages: usize,
    write_times: WriteTimes,
) -> Result<Fullness, EarlyEnd> {
    let mut flushes: Vec<f64> = Vec::new();
    let mut request_pages = 1;
    let area_pages = (target.area.length_bytes / target.page_bytes) as usize;
    while request_pages * REQUESTS < 2 * most_pages.max(area_pages / 2) {
        let fill = Fill::of_pages(target, request_pages as u64);
        let first = fill.run(bench)?;
        if let Some((pages, bend)) = fill.agreed(bench, &first, target, write_times)? {
            let kind = match fill.request_pages {
                1 => "writes of a page".into(),
                pages => format!("writes of {pages} pages"),
            };
            return Ok(Fullness::Found(Size { pages, bend, curve: first.times, kind }));
        }
        // Dies empty their parts of the buffer at once.
        flushes.push(first.flush_us * fill.dies as f64);
        let earlier = flushes.len().checked_sub(1 + EMPTIED_AFTER).map(|nth| flushes[nth]);
        if earlier.is_some_and(|earlier_us| flushes[flushes.len() - 1] < EMPTIED * earlier_us)
            && first.bend(write_times).is_none()
        {
            return Ok(Fullness::Emptied);
        }
        request_pages *= 2;
    }
    Ok(Fullness::Unclear)
}

/// Finds the size by writes of single sectors to distinct pages.
fn find_by_sectors(
    bench: &mut Bench<'_>,
    target: Target<'_>,
    most_pages: usize,
    write_times: WriteTimes,
) -> Result<Fullness, EarlyEnd> {
    let mut count = 2048.min(most_pages);
    let mut first_flush_us = f64::INFINITY;
    loop {
        let fill = Fill::of_sectors(bench, target, count);
        let first = fill.run(bench)?;
        if let Some((pages, bend)) = fill.agreed(bench, &first, target, write_times)? {
            let kind = "small writes to distinct pages".into();
            return Ok(Fullness::Found(Size { pages, bend, curve: first.times, kind }));
        }
        first_flush_us = first_flush_us.min(first.flush_us);
        if count == most_pages {
            let is_emptied = first.bend(write_times).is_none() && first.flush_us < EMPTIED * first_flush_us;
            return Ok(if is_emptied { Fullness::Emptied } else { Fullness::Unclear });
        }
        count = (4 * count).min(most_pages);
    }
}

/// What writes at a slower pace show of a buffer that was full after others.
enum Slower {
    /// Pages that it would take at once, and by how many a single request changes them.
    AtOnce { pages: f64, step: f64 },
    /// It is full no later: what showed was the drive's own work, such as garbage collection, and not the end of the
    /// buffer.
    NotLater,
    /// It does not fill, as flash keeps pace.
    NoBend,
}

/// What slower writes show of a number of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tested {
    /// It is this one, by both.
    Holds(f64),
    Refuted,
    /// Flash keeps pace with them.
    KeepsPace,
}

impl Tested {
    /// Returns the number of pages; `kept` where flash keeps pace.
    fn or(self, kept: Option<f64>) -> Option<f64> {
        match self {
            Self::Holds(pages) => Some(pages),
            Self::Refuted => None,
            Self::KeepsPace => kept,
        }
    }
}

/// Writes that fill the buffer, of so many pages each.
struct Fill {
    writes: Vec<Access>,
    /// Further ones, half as many where the area has room.
    more: Vec<Access>,
    request_pages: u64,
    /// Whether the writes to one die come first, and those to others after them.
    reaches_others: bool,
    /// Dies that the writes reach, as far as chunks tell; 1 where these are not known.
    dies: u64,
}

impl Fill {
    /// Writes of whole pages. Where it is known which chunks share a die, those of one die come first, in requests of
    /// at most a chunk.
    fn of_pages(target: Target<'_>, request_pages: u64) -> Self {
        let Target { area, page_bytes, chunk, same_die } = target;
        let chunk = chunk.filter(|chunk| chunk.size_bytes.is_multiple_of(page_bytes));
        let (chunk_bytes, phase_bytes, period) = match chunk.zip(same_die) {
            Some((chunk, period)) => (chunk.size_bytes, chunk.phase_bytes, period as u64),
            None => (area.length_bytes, 0, 1),
        };
        // The largest part of a chunk that divides it.
        let chunk_pages = chunk_bytes / page_bytes;
        let whole =
            (1..=request_pages.min(chunk_pages)).rev().find(|pages| chunk_pages.is_multiple_of(*pages));
        let count = REQUESTS * request_pages as usize;
        let request_pages = if period == 1 { request_pages } else { whole.unwrap_or(1) };
        let bytes = request_pages * page_bytes;
        let chunks = (area.length_bytes - phase_bytes) / chunk_bytes;
        // In order, each chunk is on another die.
        let (die_pages, most_dies) = match chunk {
            Some(chunk) if period == 1 => (chunk.size_bytes / page_bytes, DIES),
            _ => (chunks.div_ceil(period) * chunk_pages, period),
        };
        let dies = (count as u64).div_ceil(die_pages).min(most_dies);
        let requests = count / request_pages as usize;
        let mut writes: Vec<Access> = (0..period.min(chunks))
            .flat_map(|residue| (residue..chunks).step_by(period as usize))
            .flat_map(|chunk| {
                let start = area.offset_bytes + phase_bytes + chunk * chunk_bytes;
                (0..chunk_bytes / bytes).map(move |part| Access::write(start + part * bytes, bytes))
            })
            .take(requests + requests / 2)
            .collect();
        let reaches_others = period > 1 && writes.len() as u64 * request_pages > die_pages;
        let more = writes.split_off(requests.min(writes.len()));
        Self { writes, more, request_pages, reaches_others, dies }
    }

    /// Writes of a sector to this number of random pages.
    fn of_sectors(bench: &mut Bench<'_>, target: Target<'_>, count: usize) -> Self {
        let Target { area, page_bytes, .. } = target;
        let sector = bench.sector_bytes();
        let mut places: Vec<u64> =
            (0..area.length_bytes / page_bytes).map(|page| area.offset_bytes + page * page_bytes).collect();
        bench.random().shuffle(&mut places);
        let mut writes: Vec<Access> =
            places.into_iter().take(count + count / 2).map(|at| Access::write(at, sector)).collect();
        let more = writes.split_off(count.min(writes.len()));
        Self { writes, more, request_pages: 1, reaches_others: false, dies: 1 }
    }

    /// Returns the same writes in the order of their addresses, where these reach one die after another: as they reach
    /// further ones, flash takes pages faster.
    fn in_order(&self, target: Target<'_>) -> Option<Self> {
        let reaches_others = self.reaches_others;
        reaches_others.then(|| Self::of_pages(Target { same_die: None, ..target }, self.request_pages))
    }

    /// Writes more slowly than `fast`, and computes the pages that the buffer would take at once: from the end of the
    /// first program until it is full, flash takes pages at one rate, whatever that is.
    fn at_once(
        &self,
        bench: &mut Bench<'_>,
        fast: &Filled,
        write_times: WriteTimes,
    ) -> Result<Slower, EarlyEnd> {
        let Some(early) = fast.bend(write_times) else { return Ok(Slower::NoBend) };
        let slow = self.run_slowly(bench, SLOWER * early.at_us / early.at as f64)?;
        Ok(match early.of_slower(&slow.times) {
            None => Slower::NoBend,
            Some((at, at_us)) if at < early.at || at_us <= early.at_us => Slower::NotLater,
            Some((at, at_us)) => {
                let program_us = write_times.durable_us - write_times.plain_us;
                let taking = (early.at_us - program_us).max(0.0) / (at_us - early.at_us);
                let taken = (at - early.at) as f64 * fast.request_pages * taking;
                let step = fast.request_pages * (1.0 + taking);
                Slower::AtOnce { pages: fast.written(&early) - taken, step }
            }
        })
    }

    /// Returns the pages in the buffer, and the bend, where a second measurement agrees, and one at a slower pace where
    /// flash took more than a few pages, at a rate that does not vary too much.
    fn agreed(
        &self,
        bench: &mut Bench<'_>,
        first: &Filled,
        target: Target<'_>,
        write_times: WriteTimes,
    ) -> Result<Option<(f64, Bend)>, EarlyEnd> {
        let Some((pages, bend)) = first.size(write_times) else { return Ok(None) };
        let second = self.run(bench)?;
        let agreed = second.size(write_times).filter(|(again, _)| (pages / again - 1.0).abs() < AGREE);
        let Some((again, _)) = agreed else { return Ok(None) };
        let by_rate = Repeated::of(pages, again);
        let pages = by_rate.pages;
        let after = [first, &second].map(|filled| filled.taken_after(&bend, write_times).unwrap_or_default());
        let taken = after.into_iter().map(|(mean, _)| mean).fold(first.written(&bend) - pages, f64::max);
        if taken <= TAKEN_UNTESTED * pages {
            return Ok(Some((pages, bend)));
        }
        if after.into_iter().any(|(_, deviation)| DEVIATIONS * deviation > AGREE * pages) {
            return Ok(None);
        }
        let tested = match self.in_order(target) {
            None => self.test(bench, [first, &second], write_times, by_rate)?.or(Some(pages)),
            Some(in_order) => {
                let both = [in_order.run(bench)?, in_order.run(bench)?];
                let tested = in_order.test(bench, [&both[0], &both[1]], write_times, by_rate)?;
                let keeps_pace = tested == Tested::KeepsPace;
                let is_within =
                    keeps_pace && self.is_within(bench, first, write_times, first.written(&bend), pages)?;
                tested.or(is_within.then_some(pages))
            }
        };
        Ok(tested.map(|pages| (pages, bend)))
    }

    /// Tests the number of pages that the rate of flash after the bend leaves by slower writes, beside either of two
    /// measurements.
    ///
    /// Where the two numbers differ, flash took pages at one rate between the two bends and at another one after them,
    /// and at a rate that differs as much again before. So the size is between the first number and one as far behind
    /// the second, and the middle of both is off by one and a half times their difference at most, and by noise.
    fn test(
        &self,
        bench: &mut Bench<'_>,
        both: [&Filled; 2],
        write_times: WriteTimes,
        by_rate: Repeated,
    ) -> Result<Tested, EarlyEnd> {
        let mut found = Vec::new();
        for fast in both {
            match self.at_once(bench, fast, write_times)? {
                Slower::NotLater => return Ok(Tested::Refuted),
                Slower::NoBend if found.is_empty() => return Ok(Tested::KeepsPace),
                Slower::NoBend => return Ok(Tested::Refuted),
                Slower::AtOnce { pages, step } => found.push((pages, step)),
            }
        }
        let [(at_once, step), (other, _)] = [found[0], found[1]];
        // What the two differ by beyond the step of a request is noise.
        let noise = ((at_once - other).abs() - step).max(0.0) + by_rate.spread;
        Ok(by_rate.joined(at_once, step, noise).map_or(Tested::Refuted, Tested::Holds))
    }

    /// Returns whether a number of pages is near both limits of the size: all that was written is the most, and the
    /// least what the same writes at a slower pace leave, which reach further dies, so that flash takes pages faster
    /// than before.
    fn is_within(
        &self,
        bench: &mut Bench<'_>,
        fast: &Filled,
        write_times: WriteTimes,
        written: f64,
        pages: f64,
    ) -> Result<bool, EarlyEnd> {
        let Slower::AtOnce { pages: least, .. } = self.at_once(bench, fast, write_times)? else {
            return Ok(false);
        };
        Ok(pages - least < AGREE * least && written - pages < AGREE * written)
    }

    /// Writes to an empty buffer, and empties it.
    fn run(&self, bench: &mut Bench<'_>) -> Result<Filled, EarlyEnd> {
        self.run_with(bench, |bench, times| {
            let (depth, start) = (bench.depth(), bench.device().now());
            bench.stream_each(self.writes.iter().copied(), depth, |_, completion| {
                times.push(completion.completed.since(start).as_us_f64());
            })?;
            Ok(())
        })
    }

    /// Writes to an empty buffer, at most one request every `pace_us` microseconds and half as many more, and empties
    /// it.
    fn run_slowly(&self, bench: &mut Bench<'_>, pace_us: f64) -> Result<Filled, EarlyEnd> {
        self.run_with(bench, |bench, times| {
            let start = bench.device().now();
            for &access in self.writes.iter().chain(&self.more) {
                let took = bench.one(access)?;
                times.push(bench.device().now().since(start).as_us_f64());
                bench.pause(Duration::from_s_f64(pace_us / 1e6).saturating_sub(took));
            }
            Ok(())
        })
    }

    fn run_with(
        &self,
        bench: &mut Bench<'_>,
        write: impl FnOnce(&mut Bench<'_>, &mut Vec<f64>) -> Result<(), EarlyEnd>,
    ) -> Result<Filled, EarlyEnd> {
        bench.flush_and_pause()?;
        let mut times = Vec::with_capacity(self.writes.len());
        write(bench, &mut times)?;
        let full = bench.device().now();
        bench.flush()?;
        let flush_us = bench.device().now().since(full).as_us_f64();
        bench.flush_and_pause()?;
        Ok(Filled { times, request_pages: self.request_pages as f64, flush_us })
    }
}

fn figure(curve: &[f64], bend: usize) -> Figure {
    let step = (curve.len() / 500).max(1);
    Figure {
        id: "write-buffer".into(),
        title: "Writes to distinct pages, done against time".into(),
        x: Axis::linear("time", "ms"),
        y: Axis::linear("writes done", ""),
        series: vec![Series {
            name: "writes".into(),
            points: curve.iter().enumerate().step_by(step).map(|(i, t)| (t / 1e3, (i + 1) as f64)).collect(),
            ..Series::default()
        }],
        marks: (bend > 0)
            .then(|| Mark { x: curve[bend] / 1e3, y: None, label: "buffer full".into() })
            .into_iter()
            .collect(),
        caption: "While the buffer fills, writes complete at the link's pace; then at flash's.".into(),
    }
}
