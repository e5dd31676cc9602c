//! Channels by writes of parts of pages, with the dies known: behind any link.
//!
//! A write of one sector crosses the link as a sector, and the bus as two pages: the rest of its page is read, and the
//! whole page is programmed. So where the link is slower than the bus of a channel, and hides the wait of reads for it,
//! two such writes at once still wait for each other on one channel. One request at a time writes them to a buffer, and
//! a flush waits for both. Requires that places follow from addresses: otherwise the places of both are neighbours.
//!
//! - *Channels.* Pairs of chunks on different dies are fitted to every order of the stripe (`channels`). Programs vary
//!   by more than a transfer takes, so many pairs are measured, and their wait has to be of the size of transfers.
//! - *One die each.* Where the mean of no order waits, though it would have been seen, no die shares a channel that
//!   others do not: each has its own channel, or all share one. Both look alike from outside, also where the only
//!   channel's bus is busy, and the dies are the domains. Array times and commands let two transfers that are shorter
//!   than their spread meet seldom, so that the mean wait on a shared bus is computed from both
//!   (`BusTime::mean_wait_us`), and is a small part of a transfer.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::busy_dies::BusyDies;
use crate::channels::{self, Channels};
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::pair::Pair;
use flashlane_base::Duration;
use flashlane_workload::Access;

/// Pairs of each attempt, in total; the last where these would show the least wait in a quarter of the pairs.
const PAIRS: [usize; 4] = [1500, 6000, 16_000, 50_000];
/// Standard error of the wait of a quarter of the pairs, in deviations of one, as a multiple of that of the mean of
/// all.
const OF_QUARTER: f64 = 2.3;
/// Pairs of reads of each attempt, in total; the last where these would show the least wait in a quarter of the pairs.
const READ_PAIRS: [usize; 2] = [4000, 20_000];
/// A write of a part of a page has two transfers, and waits for at most this number and at least this one.
const TRANSFERS: f64 = 2.0;
const TRANSFERS_MAX: f64 = 2.5;
const TRANSFERS_MIN: f64 = 0.3;
/// Pairs that share a bus wait for at least this share of the time that they would with arrivals as computed.
const SEEN_OF_WAIT: f64 = 0.4;
/// Writes alone, and pairs, that show how much later the second one begins.
const TIMED_WRITES: usize = 200;
/// Where a second write begins late, at least this share of the first one's transfers lies behind its start: less of it
/// may be over before, as a buffer takes its time.
const LEFT_MIN: f64 = 0.3;
/// A pair that takes this number of standard deviations more than all transfers waited for something else.
const DEVIATIONS: f64 = 6.0;
/// A wait of the mean of a sixteenth of all pairs is seen from this share of a standard deviation on.
const SEEN: f64 = 0.25;
/// Standard errors of a wait that would have been seen.
const STANDARD_ERRORS: f64 = 6.0;

/// What the pairs show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buses {
    Channels(Channels),
    /// No die shares a bus that others do not share; a page takes this time on it, in microseconds.
    OneDieEach {
        bus_us: f64,
    },
    /// A command and a sector take longer on the link than all transfers of a page on a bus, and a page longer than
    /// one, so that none ever waits.
    Hidden {
        bus: BusTime,
    },
    Unclear,
}

/// Looks for the channels of known dies.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page_bytes: u64,
    busy: &BusyDies,
) -> Result<Buses, EarlyEnd> {
    let Some(bus) = BusTime::measure(bench, area, page_bytes)? else { return Ok(Buses::Unclear) };
    let search = Search { area, chunk, page_bytes, dies: busy.dies, bus };
    if bench.depth() > 1 && search.is_one_die_each_by_reads(bench)? {
        return Ok(Buses::OneDieEach { bus_us: search.bus.least_us });
    }
    // The second of two requests reaches its die when the first one's transfers are over, and pages of one request
    // cross the bus sooner than the link.
    let is_hidden =
        bench.depth() > 1 && TRANSFERS * bus.most_us < bus.least_sector_us && bus.most_us < bus.least_link_us;
    match busy.policy {
        _ if is_hidden => Ok(Buses::Hidden { bus }),
        Policy::Lba => search.by_writes(bench),
        Policy::WriteOrder => Ok(Buses::Unclear),
    }
}

struct Search<'a> {
    area: Area,
    chunk: &'a Chunk,
    page_bytes: u64,
    dies: Dies,
    bus: BusTime,
}

impl Search<'_> {
    fn by_writes(&self, bench: &mut Bench<'_>) -> Result<Buses, EarlyEnd> {
        let unit = bench.unit_bytes(true);
        let begins_late = bench.second_write_begins_late(|| self.area.chunk_start(self.chunk, 0), unit)?;
        // Of two transfers, those of a write that begins late may wait for the rest only; and a buffer may read the
        // rest of a page long before it programs it.
        let transfers = if begins_late == Duration::ZERO { TRANSFERS } else { 1.0 };
        let transfers_us = transfers * self.bus.least_us;
        let command_us = if begins_late == Duration::ZERO { self.second_write_us(bench, unit)? } else { 0.0 };
        let later_us = begins_late.as_us_f64() + (command_us - self.bus.most_sector_us.max(0.0)).max(0.0);
        let wait_us = self.bus.mean_wait_us(transfers_us, later_us);
        let waits = match begins_late {
            Duration::ZERO => transfers_us - command_us > LEFT_MIN * transfers_us,
            _ => wait_us > LEFT_MIN * transfers_us,
        };
        let least_wait_us = if waits { SEEN_OF_WAIT * wait_us } else { 0.0 };
        let mut pairs: Vec<Pair> = Vec::new();
        for count in PAIRS {
            while pairs.len() < count {
                let Some(([one, other], accesses)) = self.pair(bench, |at| Access::write(at, unit)) else {
                    return Ok(Buses::Unclear);
                };
                let took_us = bench.write_to_flash(&accesses)?.as_us_f64();
                pairs.push(Pair { one, other, took_us });
            }
            let (kept, deviation_us) = without_other_waits(&pairs, self.bus.most_us);
            if let Some(found) = channels::of_pairs(&kept, self.chunks(), self.dies) {
                return Ok(match self.may_wait(found.step_us) {
                    true => Buses::Channels(found),
                    false => Buses::Unclear,
                });
            }
            if self.none_shares(&kept, least_wait_us) {
                return Ok(Buses::OneDieEach { bus_us: self.bus.least_us });
            }
            let needed = (STANDARD_ERRORS * OF_QUARTER * deviation_us / least_wait_us.max(0.01)).powi(2);
            let is_last = count == PAIRS[PAIRS.len() - 2] && needed > PAIRS[PAIRS.len() - 1] as f64;
            if is_last || TRANSFERS_MAX * self.bus.most_us < SEEN * deviation_us {
                break;
            }
        }
        Ok(Buses::Unclear)
    }

    /// Returns how much later than the first the second of two writes on different dies reaches its die, at most, in
    /// microseconds: the command of a write may take longer than that of a read. Two writes end later than one by this
    /// time, where programs take equally long.
    fn second_write_us(&self, bench: &mut Bench<'_>, unit: u64) -> Result<f64, EarlyEnd> {
        let mut took_us = [Vec::new(), Vec::new()];
        for nth in 0..2 * TIMED_WRITES {
            let Some((_, accesses)) = self.pair(bench, |at| Access::write(at, unit)) else { return Ok(0.0) };
            let together = &accesses[..1 + nth % 2];
            took_us[nth % 2].push(bench.write_to_flash(together)?.as_us_f64());
        }
        for times in &mut took_us {
            times.sort_unstable_by(f64::total_cmp);
        }
        let [one, both] = took_us;
        // Half of the greater of two lie below the level below which seven tenths of one do.
        let of_one = (TIMED_WRITES as f64 * std::f64::consts::FRAC_1_SQRT_2) as usize;
        Ok((both[TIMED_WRITES / 2] - one[of_one]).max(0.0))
    }

    /// Returns whether reads of pages show no shared bus, though they would.
    fn is_one_die_each_by_reads(&self, bench: &mut Bench<'_>) -> Result<bool, EarlyEnd> {
        // The link separates reads that share no bus.
        let [bus_us, link_us] =
            [self.bus.least_us, self.bus.link_us].map(|hold_us| self.bus.mean_wait_us(hold_us, 0.0));
        let least_wait_us = SEEN_OF_WAIT * (bus_us - link_us);
        if least_wait_us <= 0.0 {
            return Ok(false);
        }
        let mut pairs = Vec::new();
        for count in READ_PAIRS {
            while pairs.len() < count {
                let Some(([one, other], accesses)) = self.pair(bench, |at| Access::read(at, self.page_bytes))
                else {
                    return Ok(false);
                };
                let took_us = bench.burst(&accesses)?.as_us_f64();
                pairs.push(Pair { one, other, took_us });
            }
            let (kept, deviation_us) = without_other_waits(&pairs, self.bus.most_us);
            if self.none_shares(&kept, least_wait_us) {
                return Ok(true);
            }
            let needed = (STANDARD_ERRORS * OF_QUARTER * deviation_us / least_wait_us).powi(2);
            if needed > READ_PAIRS[READ_PAIRS.len() - 1] as f64 {
                break;
            }
        }
        Ok(false)
    }

    /// Returns whether a write of a part of a page may wait for this time for a bus.
    fn may_wait(&self, step_us: f64) -> bool {
        (TRANSFERS_MIN * self.bus.least_us..TRANSFERS_MAX * self.bus.most_us).contains(&step_us)
    }

    fn none_shares(&self, pairs: &[Pair], least_wait_us: f64) -> bool {
        least_wait_us > 0.0
            && channels::none_of_pairs(pairs, self.chunks(), self.dies, least_wait_us, STANDARD_ERRORS)
    }

    fn chunks(&self) -> usize {
        self.area.chunks(self.chunk) as usize
    }

    /// Returns two random chunks on different dies, and accesses to a page of each; `None` where there are none.
    fn pair(
        &self,
        bench: &mut Bench<'_>,
        access: impl Fn(u64) -> Access,
    ) -> Option<([usize; 2], [Access; 2])> {
        let (chunks, pages) = (self.chunks() as u64, self.chunk.size_bytes / self.page_bytes);
        let (one, from) = (bench.random().below(chunks), bench.random().below(chunks));
        let is_apart = |other: &u64| !self.dies.shares(one as usize, *other as usize);
        let other = (from..chunks).chain(0..from).find(is_apart)?;
        let mut page_of = |chunk: u64| {
            self.area.chunk_start(self.chunk, chunk) + bench.random().below(pages) * self.page_bytes
        };
        let accesses = [one, other].map(|chunk| access(page_of(chunk)));
        Some(([one as usize, other as usize], accesses))
    }
}

/// Returns the pairs that waited for transfers at most, and not for garbage collection, and the standard deviation of
/// those that did not wait.
fn without_other_waits(pairs: &[Pair], most_bus_us: f64) -> (Vec<Pair>, f64) {
    let mut times: Vec<f64> = pairs.iter().map(|pair| pair.took_us).collect();
    times.sort_unstable_by(f64::total_cmp);
    let (lower, middle) = (times[times.len() / 4], times[times.len() / 2]);
    // The lower half of a normal distribution's middle half is 0.674 standard deviations wide.
    let deviation_us = (middle - lower) / 0.674;
    let most_us = middle + TRANSFERS_MAX * most_bus_us + DEVIATIONS * deviation_us;
    (pairs.iter().copied().filter(|pair| pair.took_us < most_us).collect(), deviation_us)
}
