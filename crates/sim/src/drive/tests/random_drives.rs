//! Laws that hold for every drive that a profile can describe: drives drawn at random over all of its fields, each
//! under a random load.
//!
//! A law that is broken names the seed of its drive and prints the profile, which is all it takes to see it again.

mod energy;
mod mechanisms;
mod power_cuts;
mod profile;

use super::*;
use crate::config::{DriveConfig, Time};
use crate::profile::parse_any;
use flashlane_device::{Failure, PlacementHandle, QueueId};
use flashlane_policy::Policies;
use mechanisms::{
    cached, celled, large_units, mapped_on_flash, paced, placed, queued, rebuilt, replicated, superblocks,
};
use profile::{from, profile};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Enough that most pairs of mechanisms meet, few enough for seconds.
const DRIVES: u64 = 300;
const REQUESTS: u64 = 600;

#[test]
fn every_drive_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| keeps_the_laws(seed)).count() as u64;
    assert!(accepted > DRIVES / 2, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
#[ignore = "for hours, by hand: goes on until a law is broken or it is stopped"]
fn every_drive_keeps_the_laws_for_hours() {
    (DRIVES..u64::MAX).for_each(|seed| {
        keeps_the_laws(seed);
    });
}

#[test]
fn every_drive_with_superblocks_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| holds(seed, &superblocks(seed))).count() as u64;
    assert!(accepted > DRIVES / 5, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_paced_drive_keeps_the_laws() {
    // Half of all are mapped by pages.
    let accepted = (0..2 * DRIVES).filter(|&seed| holds(seed, &paced(seed))).count() as u64;
    assert!(accepted > DRIVES / 2, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_that_replicates_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &replicated(seed))).count() as u64;
    // Half of all are mapped by pages, and many have few dies or little room.
    assert!(accepted > DRIVES / 10, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

#[test]
fn every_drive_that_rebuilds_keeps_the_laws() {
    let accepted = (0..DRIVES).map(|nth| 2 * nth).filter(|&seed| holds(seed, &rebuilt(seed))).count() as u64;
    // Some have a single channel.
    assert!(accepted > DRIVES / 10, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_with_an_slc_cache_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| holds(seed, &cached(seed))).count() as u64;
    assert!(accepted > DRIVES / 4, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_with_several_queues_keeps_the_laws() {
    let accepted = (0..DRIVES / 3).filter(|&seed| holds(seed, &queued(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 3);
}

#[test]
fn every_drive_with_placement_handles_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &placed(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

#[test]
fn every_drive_with_a_map_on_flash_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &mapped_on_flash(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

#[test]
fn every_drive_with_large_units_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &large_units(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

#[test]
fn every_drive_with_page_types_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &celled(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

/// False where the profile is no drive.
fn keeps_the_laws(seed: u64) -> bool {
    holds(seed, &[])
}

/// The same with these settings instead of what was drawn.
fn holds(seed: u64, settings: &[(String, String)]) -> bool {
    let text = profile(&mut Seed(seed).derive("profile").source());
    let examined = catch_unwind(AssertUnwindSafe(|| {
        // Also with settings that have no effect in the drive that was drawn.
        let Ok((config, _)) = parse_any(&Policies::default(), "random", &text, settings) else {
            return false;
        };
        let first = Load::run(&config, seed, false);
        first.check(&config);
        // Neither accounts of time nor of energy change anything.
        let metered = DriveConfig { power: Some(energy::power(seed)), ..config };
        let again = Load::run(&metered, seed, true);
        assert_eq!(first.drive.trace_hash(), again.drive.trace_hash());
        assert_eq!(first.completions, again.completions);
        again.all_time_is_accounted_for();
        energy::is_accounted_for(&again.drive, &metered);
        true
    }));
    examined.unwrap_or_else(|_| panic!("the drive of seed {seed} breaks a law:\n{text}"))
}

/// A random load and its results.
struct Load {
    drive: Drive,
    requests: Vec<Request>,
    completions: Vec<Completion>,
    /// Where the time of each went, if it is recorded.
    splits: Vec<Option<TimeSplit>>,
}

impl Load {
    fn run(config: &DriveConfig, seed: u64, splits: bool) -> Self {
        let mut r = Seed(seed).derive("load").source();
        let mut drive = Drive::new(config, Seed(seed));
        assert!(!splits || drive.record_time_splits());
        let mut load = Self { drive, requests: vec![], completions: vec![], splits: vec![] };
        let depth = from(&mut r, 1, config.link.depth.into()) as usize;
        let (sector, sectors) = (config.sector.0, config.capacity.0 / config.sector.0);
        let longest = (from(&mut r, 1, 8) * config.flash.page.0 / sector).min(sectors);
        let (reads, pauses) = (r.unit(), r.chance(0.3));
        for id in 0..REQUESTS {
            let length = from(&mut r, 1, longest);
            // A third continues where the one before ended, for the readahead to see.
            let end = load.requests.last().map_or(0, |last| (last.offset_bytes + last.length_bytes) / sector);
            let free = sectors - length;
            let offset = if r.chance(0.3) && end <= free { end } else { from(&mut r, 0, free) };
            let (offset, length) = (offset * sector, length * sector);
            let request = match r.below(40) {
                0 => Request::flush(id),
                1 | 2 => Request::trim(id, offset, length),
                _ if r.chance(reads) => Request::read(id, offset, length),
                _ => Request::write(id, offset, length),
            };
            let request = if r.chance(0.1) { request.durable() } else { request };
            let queues = u64::from(config.queue_count());
            let request = request.in_queue(QueueId((id * 7 % queues) as u16));
            let handle = PlacementHandle((id * 5 % u64::from(config.handle_count())) as u16);
            let is_write = request.operation == Operation::Write;
            let request = if is_write { request.placed(handle) } else { request };
            load.drive.submit(request).unwrap();
            load.requests.push(request);
            load.wait(depth - 1);
            if pauses && r.chance(0.05) {
                let until = load.drive.now() + Duration::from_us(r.below(5000));
                load.reap(until);
            }
        }
        load.wait(0);
        // What was acknowledged is on flash only after a flush.
        load.drive.submit(Request::flush(REQUESTS)).unwrap();
        load.requests.push(Request::flush(REQUESTS));
        load.wait(0);
        load
    }

    /// Until no more than `most` requests are in flight.
    fn wait(&mut self, most: usize) {
        while self.requests.len() - self.completions.len() > most {
            let before = self.completions.len();
            self.reap(Instant::FAR);
            assert!(self.completions.len() > before, "requests are in flight, but none completes");
        }
    }

    fn reap(&mut self, until: Instant) {
        let before = self.completions.len();
        self.drive.reap(until, &mut self.completions);
        let splits = self.completions[before..].iter().map(|done| self.drive.time_split(done.id));
        self.splits.extend(splits);
    }

    /// The parts of each latency add up to it, and a part without a cause has no time.
    fn all_time_is_accounted_for(&self) {
        for (completion, split) in self.completions.iter().zip(&self.splits) {
            let split = split.expect("it is recorded");
            let request = &self.requests[completion.id.0 as usize];
            assert_eq!(split.total(), completion.latency(), "{request:?}: {split:?}");
            let counters = self.drive.counters();
            let has = |part: Part| !split.of(part).is_zero();
            assert!(!has(Part::Retry) || counters.get("read_retries") > Some(0));
            assert!(
                !has(Part::BehindGc)
                    || counters.get("blocks_erased") > Some(0)
                    || counters.get("pages_moved_by_cleaning") > Some(0),
                "{split:?}"
            );
        }
    }

    fn check(&self, config: &DriveConfig) {
        self.each_completes_once();
        self.none_beats_its_parts(config);
        self.nothing_works_more_than_it_can(config);
        self.what_left_the_buffer_is_programmed();
        self.what_was_written_is_kept();
        self.drive.check_tables();
    }

    fn each_completes_once(&self) {
        let ids: BTreeSet<u64> = self.completions.iter().map(|completion| completion.id.0).collect();
        assert_eq!((ids.len(), self.completions.len()), (self.requests.len(), self.requests.len()));
        assert!(self.completions.is_sorted_by_key(|completion| completion.completed));
    }

    /// A request takes at least its submission, its command, and its data's time over the link; a write that goes
    /// of a bypassing write also a program.
    fn none_beats_its_parts(&self, config: &DriveConfig) {
        let submission = config.host.submission.0.as_ns() as f64 * (1.0 - config.host.jitter.0);
        let of_type = config.flash.program_by_type.iter().map(|time| time.0);
        let of_cache = config.slc.iter().map(|slc| slc.program.0);
        let program = of_type.chain(of_cache).fold(config.flash.program.0, Duration::min);
        let program = program.as_ns() as f64 * (1.0 - config.flash.noise.0);
        for completion in self.completions.iter().filter(|completion| completion.outcome.is_ok()) {
            let request = &self.requests[completion.id.0 as usize];
            let data = Duration::of_transfer(request.length_bytes, config.link.bandwidth.0);
            let programmed = config.buffer.is_none() || request.durable;
            let parts = match request.operation {
                Operation::Read => config.link.read_command.0 + data,
                Operation::Write if programmed => {
                    config.link.write_command.0 + data + Duration::from_ns(program as u64)
                }
                Operation::Write => config.link.write_command.0 + data,
                _ => config.link.write_command.0,
            };
            let least = submission as u64 + parts.as_ns();
            assert!(
                completion.latency().as_ns() + 2 >= least,
                "{request:?} in {completion:?}, least {least} ns"
            );
        }
    }

    /// Arrays, buses and the link are busy for no longer than they exist, but for what they are doing now.
    fn nothing_works_more_than_it_can(&self, config: &DriveConfig) {
        let (g, flash) = (self.drive.geometry(), &config.flash);
        let counters = self.drive.counters();
        let get = |name| counters.get(name).expect("the drive counts it");
        let elapsed = self.drive.now().as_ns();
        let cached = config.slc.as_ref().map_or(Duration::ZERO, |slc| slc.read.0 + slc.program.0);
        let of_types = |times: &[Time]| times.iter().map(|time| time.0).fold(Duration::ZERO, Duration::max);
        let typed = of_types(&flash.read_by_type) + of_types(&flash.program_by_type);
        let page = flash.read.0
            + flash.program.0
            + typed
            + cached
            + Duration::of_transfer(2 * flash.page.0, flash.bus.0);
        let longest = (page + flash.bus_command.0) * (2 * u64::from(g.block_units)) + flash.erase.0 * 2;
        let (dies, channels) = (u64::from(g.dies), u64::from(g.channels));
        assert!(get("array_busy_ns") <= dies * (elapsed + 9 * longest.as_ns()));
        assert!(get("bus_busy_ns") <= channels * (elapsed + longest.as_ns()));
        assert!(get("link_busy_ns") <= (1 + u64::from(config.link.duplex)) * elapsed);
        let (host, moved) = (get("host_pages_settled"), get("pages_moved_by_cleaning"));
        assert!(host <= get("host_pages_written"), "only what was written leaves the buffer");
        assert!(
            get("flash_pages_programmed")
                <= host
                    + moved
                    + get("buffer_pages_padded")
                    + get("parity_pages_programmed")
                    + counters.get("pages_left_empty").unwrap_or(0)
                    + counters.get("copies_written").unwrap_or(0)
                    + counters.get("translation_pages_written").unwrap_or(0)
        );
    }

    /// Every page that left the buffer, and was not replaced there, was programmed, on a drive that wears out too.
    fn what_left_the_buffer_is_programmed(&self) {
        let counters = self.drive.counters();
        let get = |name| counters.get(name).expect("the drive counts it");
        if get("pages_lost") == 0 {
            // The last flush has emptied the buffer.
            assert_eq!(get("host_pages_settled"), get("host_pages_written"));
            assert_eq!(get("host_bytes_settled"), get("host_bytes_written"));
        }
        let never_bypasses = |request: &Request| request.operation != Operation::Trim && !request.durable;
        if self.requests.iter().all(never_bypasses) {
            let left = get("host_pages_settled") - get("buffer_writes_absorbed");
            assert!(get("flash_pages_programmed") >= left, "{left} pages left the buffer");
        }
    }

    /// Unless blocks ran out, every page that was written and never trimmed has a place on flash after the last
    /// flush.
    fn what_was_written_is_kept(&self) {
        let refused = self.completions.iter().any(|c| c.outcome == Err(Failure::WornOut));
        let counters = self.drive.counters();
        let (lost, worn) = (counters.get("pages_lost"), counters.get("blocks_worn_out"));
        if refused || lost != Some(0) {
            assert!(worn > Some(0), "pages are refused or lost, but no block is worn");
            return;
        }
        let page_bytes = self.drive.geometry().unit_bytes;
        let pages = |operation: Operation| -> BTreeSet<u64> {
            let of_kind = self.requests.iter().filter(move |request| request.operation == operation);
            of_kind
                .flat_map(|r| {
                    r.offset_bytes / page_bytes..(r.offset_bytes + r.length_bytes).div_ceil(page_bytes)
                })
                .collect()
        };
        let (written, trimmed) = (pages(Operation::Write), pages(Operation::Trim));
        for &page in written.difference(&trimmed) {
            assert!(
                self.drive.plane_of(Lpn(page as u32)).is_some(),
                "page {page} was written and is not there"
            );
        }
    }
}
