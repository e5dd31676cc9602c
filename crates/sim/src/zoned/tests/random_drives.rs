//! Laws that hold for every zoned drive: drives drawn at random, each under a random load of all operations.

use super::*;
use flashlane_base::{Duration, Random};
use std::collections::BTreeSet;

const DRIVES: u64 = 120;
const REQUESTS: u64 = 400;

/// Settings of a random drive; not all of them make one.
fn settings(r: &mut Random) -> Vec<(&'static str, String)> {
    let pick = |r: &mut Random, of: &[&str]| of[r.below(of.len() as u64) as usize].to_owned();
    let mut all: Vec<(&'static str, String)> =
        TINY.iter().map(|&(key, value)| (key, value.to_owned())).collect();
    all.extend([
        ("flash.channels", pick(r, &["1", "2", "4"])),
        ("flash.packages", pick(r, &["1", "2", "3"])),
        ("flash.planes", pick(r, &["1", "1", "2"])),
        ("flash.multi_plane", pick(r, &["true", "false"])),
        ("flash.cache_mode", pick(r, &["true", "false"])),
        ("flash.programming", pick(r, &["one-shot", "page"])),
        ("flash.pages", pick(r, &["3", "6", "12"])),
        ("flash.blocks", "400".into()),
        ("flash.noise", pick(r, &["0%", "15%"])),
        ("flash.read_retry", pick(r, &["0%", "20%"])),
        ("zones.dies", pick(r, &["1", "2", "4"])),
        ("zones.lanes", pick(r, &["1", "2", "8", "16"])),
        ("zones.buffer", pick(r, &["24KiB", "48KiB", "1MiB"])),
        ("zones.max_open", pick(r, &["1", "2", "5"])),
        ("zones.max_active", pick(r, &["5", "7"])),
        ("zones.append_latency", pick(r, &["0us", "9us"])),
        ("zones.write", pick(r, &["0us", "5us"])),
        ("host.submission", pick(r, &["0us", "5us"])),
        ("host.jitter", pick(r, &["0%", "10%"])),
        ("link.depth", pick(r, &["1", "4", "64"])),
        ("link.duplex", pick(r, &["true", "false"])),
        ("scheduling.policy", pick(r, &["fifo", "read-first"])),
        ("initial.state", pick(r, &["fresh", "full"])),
    ]);
    if r.chance(0.3) {
        all.extend([("flash.endurance", "12".into()), ("flash.endurance_spread", "50%".into())]);
        all.push(("zones.write_failures", "40%".into()));
    }
    if r.chance(0.3) {
        all.extend([("queues.count", "2".into()), ("queues.slots", "1".into())]);
    }
    all
}

struct Load {
    drive: Zoned,
    accepted: Vec<Request>,
    completions: Vec<Completion>,
    splits: Vec<Option<TimeSplit>>,
}

impl Load {
    fn run(config: &DriveConfig, seed: u64, splits: bool) -> Self {
        let mut r = Seed(seed).derive("load").source();
        let mut drive = Zoned::new(config, Seed(seed));
        assert!(!splits || drive.record_time_splits());
        let mut load = Self { drive, accepted: vec![], completions: vec![], splits: vec![] };
        for id in 0..REQUESTS {
            let request = load.request(&mut r, id);
            if load.drive.submit(request).is_ok() {
                load.accepted.push(request);
            } else {
                load.reap(Instant::FAR);
            }
            if r.chance(0.2) {
                let until = load.drive.now() + Duration::from_us(r.below(3000));
                load.reap(until);
            }
        }
        while load.completions.len() < load.accepted.len() {
            let before = load.completions.len();
            load.reap(Instant::FAR);
            assert!(load.completions.len() > before, "requests are in flight, but none completes");
        }
        load
    }

    /// A request that its zone mostly admits.
    fn request(&self, r: &mut Random, id: u64) -> Request {
        let p = self.drive.info();
        let lane = Lane(r.below(u64::from(p.lanes)) as u32);
        let zones = p.capacity_bytes / p.erase_unit_bytes;
        let index = r.below(zones.min(3));
        let (start, capacity, unit) = (index * p.erase_unit_bytes, p.erase_unit_bytes, p.write_unit_bytes);
        let pointer = self.drive.zone(lane, index).unwrap().write_pointer_bytes;
        let length = (1 + r.below(60)) * unit;
        let request = match r.below(30) {
            0 => return Request::flush(id),
            1 => Request::finish(id, start, capacity),
            2 | 3 => Request::erase(id, start, capacity),
            4 => Request::open(id, start, capacity),
            5 => Request::close(id, start, capacity),
            6..16 => Request::write(
                id,
                start + pointer.min(capacity - unit),
                length.min((capacity - pointer).max(unit)),
            ),
            16..23 => Request::append(id, start, length.min((capacity - pointer).max(unit))),
            _ => {
                let from = r.below(pointer.max(unit) / unit) * unit;
                Request::read(id, start + from, length.min(pointer.saturating_sub(from).max(unit)))
            }
        };
        let queue = if p.queues > 1 { r.below(2) as u16 } else { 0 };
        request.on(lane).in_queue(flashlane_device::QueueId(queue))
    }

    fn reap(&mut self, until: Instant) {
        let before = self.completions.len();
        self.drive.reap(until, &mut self.completions);
        let splits = self.completions[before..].iter().map(|done| self.drive.time_split(done.id));
        self.splits.extend(splits);
    }

    fn check(&self, config: &DriveConfig) {
        let ids: BTreeSet<u64> = self.completions.iter().map(|completion| completion.id.0).collect();
        assert_eq!((ids.len(), self.completions.len()), (self.accepted.len(), self.accepted.len()));
        assert!(self.completions.is_sorted_by_key(|completion| completion.completed));
        let of = |id: u64| self.accepted.iter().find(|request| request.id.0 == id).unwrap();
        for done in self.completions.iter().filter(|done| done.outcome.is_ok()) {
            self.takes_its_parts(config, of(done.id.0), done);
        }
        let counters = self.drive.counters();
        let get = |name| counters.get(name).expect("the drive counts it");
        let (flash, now) = (&config.flash, self.drive.now().as_ns());
        let dies = u64::from(flash.channels * flash.packages * flash.dies);
        // But for what they are doing now: an erase of all blocks of a zone, or a program.
        let longest = flash.erase.0.as_ns() * 40 + flash.program.0.as_ns() * 2;
        assert!(get("array_busy_ns") <= dies * (now + longest));
        assert!(get("link_busy_ns") <= 2 * now);
        // All whole programs of what was written are on flash, or on their way.
        let at_once = config.program_bytes();
        let programs = get("flash_pages_programmed") * flash.page.0 / at_once;
        assert!(programs >= self.whole_programs(at_once), "{programs} programs");
        self.zones_and_units_agree();
    }

    /// A request takes at least its submission, its firmware, and its data's time over the link.
    fn takes_its_parts(&self, config: &DriveConfig, request: &Request, done: &Completion) {
        let zones = config.zones.as_ref().unwrap();
        let submission = config.host.submission.0.as_ns() as f64 * (1.0 - config.host.jitter.0);
        let data = Duration::of_transfer(request.length_bytes, config.link.bandwidth.0).as_ns();
        let least = match request.operation {
            Operation::Read => data,
            Operation::Write => data + zones.write.0.as_ns(),
            Operation::Append => data + (zones.append.0 + zones.append_latency.0).as_ns(),
            Operation::Open => zones.open.0.as_ns(),
            Operation::Close => zones.close.0.as_ns(),
            Operation::Finish => zones.finish.0.as_ns(),
            Operation::Erase => zones.reset.0.as_ns(),
            _ => 0,
        };
        let least = submission as u64 + least;
        assert!(done.latency().as_ns() + 1 >= least, "{request:?}: {done:?}, least {least} ns");
    }

    /// Whole programs of zones that were written and not finished, as they are now.
    fn whole_programs(&self, at_once: u64) -> u64 {
        let p = self.drive.info();
        let zones = p.capacity_bytes / p.erase_unit_bytes;
        let written = |lane, index| match self.drive.zone(lane, index).unwrap() {
            Zone { state: ZoneState::Full, .. } => 0,
            Zone { write_pointer_bytes, .. } => write_pointer_bytes / at_once,
        };
        let lanes = (0..p.lanes).map(Lane);
        lanes.flat_map(|lane| (0..zones).map(move |index| (lane, index))).map(|(l, i)| written(l, i)).sum()
    }

    fn zones_and_units_agree(&self) {
        let p = self.drive.info();
        let (mut open, mut active) = (0, 0);
        for lane in (0..p.lanes).map(Lane) {
            for index in 0..p.capacity_bytes / p.erase_unit_bytes {
                let (zone, unit) =
                    (self.drive.zone(lane, index).unwrap(), self.drive.unit(lane, index).unwrap());
                open += u32::from(zone.state.is_open());
                active += u32::from(zone.state.is_active());
                let bytes = zone.write_pointer_bytes;
                match zone.state {
                    ZoneState::ReadOnly | ZoneState::Offline => assert_eq!(unit.state, UnitState::Bad),
                    _ => assert_eq!(unit.state, UnitState::Written { bytes }),
                }
                assert_eq!(
                    zone.state == ZoneState::Full,
                    unit.state == UnitState::Written { bytes: p.erase_unit_bytes }
                );
                assert!(zone.state != ZoneState::Empty || bytes == 0);
            }
        }
        let limits = p.zones.unwrap();
        assert!(open <= limits.most_open.unwrap() && active <= limits.most_active.unwrap());
    }

    /// The parts of each latency add up to it.
    fn all_time_is_accounted_for(&self) {
        for (completion, split) in self.completions.iter().zip(&self.splits) {
            let split = split.expect("it is recorded");
            assert_eq!(split.total(), completion.latency(), "{completion:?}: {split:?}");
        }
    }
}

#[test]
fn every_zoned_drive_keeps_the_laws() {
    let (mut drives, mut worn) = (0, 0);
    for seed in 0..DRIVES {
        let settings = settings(&mut Seed(seed).derive("settings").source());
        let settings: Vec<(String, String)> = settings.into_iter().map(|(k, v)| (k.into(), v)).collect();
        let Ok(config) = profile::load("zn540-1tb", &settings) else { continue };
        drives += 1;
        let first = Load::run(&config, seed, false);
        first.check(&config);
        let again = Load::run(&config, seed, true);
        assert_eq!(first.drive.trace_hash(), again.drive.trace_hash(), "seed {seed}");
        assert_eq!(first.completions, again.completions, "seed {seed}");
        again.all_time_is_accounted_for();
        worn += u64::from(first.drive.counters().get("zones_read_only") > Some(0));
        worn += u64::from(first.drive.counters().get("zones_offline") > Some(0));
    }
    assert!(drives > DRIVES / 3, "only {drives} of {DRIVES} profiles were drives");
    assert!(worn > 3, "zones wore out on {worn} drives");
}
