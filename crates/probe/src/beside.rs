//! What is done beside a program, and when it counts as late: a read of a part of a page, or a write of another page.
//!
//! - *Read.* It is submitted while the die programs, and waits for the rest of the program.
//! - *Reads.* Several reads of the other chunk are submitted while the die programs. Where they suspend the program, it
//!   ends later by their array times, and so does the write: it shows what a read that waits for nothing does not.
//! - *Write.* Both pages are written at once; on one die they take two programs. Two pages on different dies of a
//!   channel wait for its bus only, so that a program has to be longer than the transfer of a page.
//!
//! Both waits follow from the time of one write and one read, and what is seen has to be of that size. A drive may
//! answer reads from memory that it wrote before, whatever its dies do: such reads are as fast as those of trimmed
//! space, and do not count.

use crate::bench::Bench;
use crate::bus_time::{self, BusTime};
use crate::error::EarlyEnd;
use crate::pattern::{self, Point};
use crate::rewritten::Rewritten;
use flashlane_base::Duration;
use flashlane_workload::Access;

/// Writes, and reads, of a reference.
pub(crate) const REFERENCE: usize = 64;
/// The read is submitted when at most this share of the program is left.
const LEFT: f64 = 0.85;
/// Least share of a program that a read on its die surely waits for, the most that it does, and least standard
/// deviations.
const WAIT_MIN: f64 = 0.2;
const WAIT_MAX: f64 = 1.3;
const DEVIATIONS: f64 = 8.0;
/// Standard deviations of a write that it is delayed by at least: half of them tell the delayed ones, of which few need
/// not be.
const DELAY_DEVIATIONS: f64 = 6.0;
/// Most reads that suspend a program, the share of it that they take at most, and the least share of a write that they
/// delay it by.
const READS_MAX: usize = 40;
const OF_PROGRAM: f64 = 0.5;
const LEAST_DELAY: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A read of a sector.
    Read,
    /// Reads of several sectors, which delay the write.
    Reads,
    /// A write of a page.
    Write,
}

/// When a read is submitted, and from when on it, or two writes, count as late.
pub(crate) struct Timing {
    pub(crate) after: Duration,
    /// Number of reads beside the write.
    pub(crate) reads: usize,
    pub(crate) alone_us: f64,
    pub(crate) late_us: f64,
    /// What takes longer waited for more than a program, which takes less than a write.
    pub(crate) most_us: f64,
    /// A read that takes less was answered from memory.
    pub(crate) least_us: f64,
}

/// Times of [`REFERENCE`] durable writes of a page, and reads of a sector and of a page, in microseconds.
pub(crate) struct References {
    /// Of writes that garbage collection does not delay, with the error of all.
    pub(crate) write: Point,
    pub(crate) read: Point,
    pub(crate) read_page: Point,
    /// Reads of a sector that take less were answered from memory.
    pub(crate) least_read_us: f64,
}

/// Takes out the times up to `memory_us`, where others are left: at least a quarter. Returns whether they are.
fn keep_flash(times: &mut Vec<f64>, memory_us: f64) -> bool {
    let is_flash = |time: &f64| *time > memory_us;
    let is_seen = 4 * times.iter().filter(|time| is_flash(time)).count() >= times.len();
    if is_seen {
        times.retain(is_flash);
    }
    is_seen
}

impl References {
    fn measure(bench: &mut Bench<'_>, pages: &mut Rewritten<'_>, among: u64) -> Result<Self, EarlyEnd> {
        let (sector, page_bytes) = (bench.sector_bytes(), pages.page_bytes);
        let [mut writes, mut reads, mut page_reads] = [const { Vec::new() }; 3];
        for _ in 0..REFERENCE {
            let at = pages.next_page(among);
            writes.push(bench.durable_write(at, page_bytes)?.as_us_f64());
            for (times, bytes) in [(&mut reads, sector), (&mut page_reads, page_bytes)] {
                let at = pages.random_page_behind(bench, among);
                times.push(bench.one(Access::read(at, bytes))?.as_us_f64());
            }
        }
        let memory = bus_time::longest_memory_reads_us(bench, pages.area, page_bytes)?;
        let [sector_us, page_us] = memory.unwrap_or_default();
        let least_read_us = if keep_flash(&mut reads, sector_us) { sector_us } else { 0.0 };
        keep_flash(&mut page_reads, page_us);
        Ok(Self::of([writes, reads, page_reads], least_read_us))
    }

    /// Of writes of a page, and reads of a sector and of a page, at least one of each.
    pub(crate) fn of(times: [Vec<f64>; 3], least_read_us: f64) -> Self {
        // What garbage collection delays is not the time of a program.
        let value = pattern::undelayed(&times[0]);
        let [write, read, read_page] = times.map(|mut times| pattern::point(&mut times));
        Self { write: Point { value, ..write }, read, read_page, least_read_us }
    }

    /// Least time of a program: the write of a page takes one where its read takes an array time.
    fn program_us(&self) -> f64 {
        self.write.value - self.read_page.value
    }

    /// Longest time of a page on the bus, from how much longer its read takes than that of a sector.
    fn most_bus_us(&self, sector_share: f64) -> f64 {
        if sector_share >= 1.0 {
            return self.read_page.value;
        }
        let rest_us =
            self.read_page.value - self.read.value + 4.0 * self.read_page.error.hypot(self.read.error);
        rest_us.max(0.0) / (1.0 - sector_share)
    }
}

impl Beside {
    /// Measures when something is late; `None` where that would not be seen. The first `among` pages take turns.
    pub(crate) fn timing(
        self,
        bench: &mut Bench<'_>,
        pages: &mut Rewritten<'_>,
        among: u64,
    ) -> Result<Option<Timing>, EarlyEnd> {
        let references = References::measure(bench, pages, among)?;
        match self {
            Self::Read => Ok(Timing::of_reads(&references)),
            Self::Reads => Timing::of_delays(bench, pages, among, &references),
            Self::Write => Timing::of_writes(bench, pages, among, &references),
        }
    }

    /// Writes a page, and reads or writes another beside it. Returns the time of the read, or of both writes, in
    /// microseconds.
    pub(crate) fn measure(
        self,
        bench: &mut Bench<'_>,
        pages: &mut Rewritten<'_>,
        timing: &Timing,
        (written, other): (u64, u64),
    ) -> Result<f64, EarlyEnd> {
        let write = Access::write(written, pages.page_bytes);
        let took = match self {
            Self::Read => {
                bench.read_beside_write(write, timing.after, Access::read(other, bench.sector_bytes()))?
            }
            Self::Reads => {
                let reads = reads_of_chunk(bench, pages, other, timing.reads);
                bench.write_beside_reads(write, timing.after, &reads)?
            }
            Self::Write => {
                pages.count(1);
                bench.write_to_flash(&[write, Access::write(other, pages.page_bytes)])?
            }
        };
        Ok(took.as_us_f64())
    }

    /// Returns the least queue depth that allows it.
    pub(crate) fn least_depth(self) -> u32 {
        match self {
            Self::Write => 1,
            Self::Read => 2,
            Self::Reads => 3,
        }
    }

    /// Returns what waits on a busy die, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Read => "reads beside a program",
            Self::Reads => "pages written beside reads that suspend a program",
            Self::Write => "pages written beside another",
        }
    }
}

impl Timing {
    pub(crate) fn of_reads(references: &References) -> Option<Self> {
        let (program_us, read) = (references.program_us(), references.read);
        // The longest that a read can take to reach its die is the time of a read.
        let wait_us = LEFT * program_us - read.value;
        let is_seen = wait_us > WAIT_MIN * program_us && wait_us > DEVIATIONS * deviation_us(read);
        is_seen.then(|| Self {
            after: Duration::from_ns(((references.write.value - LEFT * program_us) * 1e3) as u64),
            reads: 1,
            alone_us: read.value,
            late_us: read.value + wait_us / 2.0,
            most_us: read.value + WAIT_MAX * references.write.value,
            least_us: references.least_read_us,
        })
    }

    /// Writes beside reads of random chunks are on two dies where there are three or more, so that the faster quarter
    /// of them is not delayed. Reads that suspend the program delay it by an array time each, which a read of flash
    /// takes longer than one of memory, but for the sector on the bus.
    fn of_delays(
        bench: &mut Bench<'_>,
        pages: &mut Rewritten<'_>,
        among: u64,
        references: &References,
    ) -> Result<Option<Self>, EarlyEnd> {
        let program_us = references.program_us();
        let Some(bus) = BusTime::measure(bench, pages.area, pages.page_bytes)? else { return Ok(None) };
        let sector_share = bench.sector_bytes() as f64 / pages.page_bytes as f64;
        let array_us = bus.flash_us - sector_share * bus.most_us;
        // All reads begin and end before the program would.
        let reads = READS_MAX.min((OF_PROGRAM * program_us / bus.flash_us.max(0.1)) as usize);
        let delay_us = reads as f64 * array_us;
        let write = references.write;
        if delay_us < DELAY_DEVIATIONS * deviation_us(write) || delay_us < LEAST_DELAY * write.value {
            return Ok(None);
        }
        let after_us = write.value - LEFT * program_us;
        let after = Duration::from_ns((after_us.max(0.0) * 1e3) as u64);
        let mut times = Vec::new();
        for _ in 0..REFERENCE {
            let (at, other) = (pages.next_page(among), pages.random_page_behind(bench, among));
            let beside = reads_of_chunk(bench, pages, other, reads);
            let write = Access::write(at, pages.page_bytes);
            times.push(bench.write_beside_reads(write, after, &beside)?.as_us_f64());
        }
        times.sort_unstable_by(f64::total_cmp);
        let alone_us = times[REFERENCE / 4];
        Ok(Some(Self {
            after,
            reads,
            alone_us,
            late_us: alone_us + delay_us / 2.0,
            most_us: alone_us + WAIT_MAX * write.value,
            least_us: 0.0,
        }))
    }

    /// Pairs of random pages are on two dies where there are three or more, so that the faster quarter of them waits
    /// for no program.
    fn of_writes(
        bench: &mut Bench<'_>,
        pages: &mut Rewritten<'_>,
        among: u64,
        references: &References,
    ) -> Result<Option<Self>, EarlyEnd> {
        let page_bytes = pages.page_bytes;
        let mut times = Vec::new();
        for _ in 0..REFERENCE {
            let pair = [pages.next_page(among), pages.random_page_behind(bench, among)];
            pages.count(1);
            times.push(bench.write_to_flash(&pair.map(|at| Access::write(at, page_bytes)))?.as_us_f64());
        }
        times.sort_unstable_by(f64::total_cmp);
        let apart_us = times[REFERENCE / 4];
        let begins_late = bench.second_write_begins_late(|| pages.next_page(among), page_bytes)?;
        let sector_share = bench.sector_bytes() as f64 / page_bytes as f64;
        let program_us = references.program_us();
        let bus_us = references.most_bus_us(sector_share);
        let wait_us = program_us - begins_late.as_us_f64() - bus_us;
        let deviation_us = deviation_us(references.write);
        let is_seen = wait_us > WAIT_MIN * program_us && wait_us > DEVIATIONS * deviation_us;
        Ok(is_seen.then(|| Self {
            after: Duration::ZERO,
            reads: 0,
            alone_us: apart_us,
            late_us: apart_us + bus_us + wait_us / 2.0,
            most_us: apart_us + bus_us + WAIT_MAX * references.write.value,
            least_us: 0.0,
        }))
    }
}

/// Returns reads of sectors of the page at `other` and those behind it in its chunk, in turn.
fn reads_of_chunk(bench: &Bench<'_>, pages: &Rewritten<'_>, other: u64, count: usize) -> Vec<Access> {
    let (sector, page_bytes) = (bench.sector_bytes(), pages.page_bytes);
    let start = pages.area.offset_bytes + pages.chunk.phase_bytes;
    let end = start + ((other.max(start) - start) / pages.chunk.size_bytes + 1) * pages.chunk.size_bytes;
    let left = (end.min(pages.area.offset_bytes + pages.area.length_bytes) - other) / page_bytes;
    (0..count as u64).map(|nth| Access::read(other + nth % left.max(1) * page_bytes, sector)).collect()
}

/// Returns the standard deviation of the times of a reference.
fn deviation_us(point: Point) -> f64 {
    point.error * (REFERENCE as f64).sqrt()
}
