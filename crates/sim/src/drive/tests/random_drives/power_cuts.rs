//! Laws of power cuts: random drives of each mechanism, which lose their power at random moments of a random load.
//!
//! A law that is broken names the seed of its drive and prints the profile.

use super::*;
use flashlane_base::Random;
use flashlane_device::AtRisk;
use std::ops::Range;

const REQUESTS: u64 = 300;

/// The settings that give the random drive of a seed a mechanism.
type Settings = fn(u64) -> Vec<(String, String)>;

#[test]
fn every_drive_survives_power_cuts() {
    survive(1);
}

#[test]
#[ignore = "for minutes, by hand"]
fn every_drive_survives_power_cuts_for_minutes() {
    survive(80);
}

/// Draws `times` the usual number of drives for each mechanism.
fn survive(times: u64) {
    let mechanisms: [(&str, u64, Settings); 11] = [
        ("none", 25, |_| Vec::new()),
        ("superblocks", 12, superblocks),
        ("pacing", 12, paced),
        ("replication", 12, replicated),
        ("rebuilds", 12, rebuilt),
        ("an SLC cache", 12, cached),
        ("queues", 12, queued),
        ("handles", 25, placed),
        ("a map on flash", 12, mapped_on_flash),
        ("large units", 12, large_units),
        ("page types", 12, celled),
    ];
    for (name, drives, settings) in mechanisms {
        let drives = drives * times;
        let accepted = (0..drives)
            // Parity is a matter of even seeds.
            .map(|seed| if name == "rebuilds" { 2 * seed } else { seed })
            .filter(|&seed| survives(seed, &settings(seed)))
            .count() as u64;
        assert!(accepted > drives / 8, "{name}: only {accepted} of {drives} profiles were drives");
    }
}

/// False where the profile is no drive.
fn survives(seed: u64, settings: &[(String, String)]) -> bool {
    let text = profile(&mut Seed(seed).derive("profile").source());
    let examined = catch_unwind(AssertUnwindSafe(|| {
        let Ok((config, _)) = parse_any(&Policies::default(), "random", &text, settings) else {
            return false;
        };
        let [first, again] = [(); 2].map(|()| CutLoad::run(&config, seed));
        assert_eq!(first.drive.trace_hash(), again.drive.trace_hash());
        assert_eq!(first.completions, again.completions);
        true
    }));
    examined.unwrap_or_else(|_| {
        panic!("the drive of seed {seed} breaks a law of power cuts:\n{text}\n{settings:?}")
    })
}

/// A random load with power cuts, and its results.
struct CutLoad {
    drive: Drive,
    requests: Vec<Request>,
    completions: Vec<Completion>,
    /// Mapping units that completed writes wrote and that no cut has lost and no trim touched since.
    kept: BTreeSet<u64>,
    ended_trims: BTreeSet<u64>,
    cuts: u32,
}

impl CutLoad {
    fn run(config: &DriveConfig, seed: u64) -> Self {
        let mut r = Seed(seed).derive("cuts").source();
        let drive = Drive::new(config, Seed(seed));
        let (kept, ended_trims) = (BTreeSet::new(), BTreeSet::new());
        let mut load = Self { drive, requests: vec![], completions: vec![], kept, ended_trims, cuts: 0 };
        let depth = from(&mut r, 1, config.link.depth.into()) as usize;
        for id in 0..REQUESTS {
            let request = random_request(&mut r, config, id);
            load.drive.submit(request).unwrap();
            load.requests.push(request);
            // A trim in flight may be done or not.
            if request.operation == Operation::Trim {
                load.forget(&request);
            }
            load.wait(depth - 1);
            if r.chance(0.05) {
                let until = load.drive.now() + Duration::from_us(r.below(5000));
                load.reap(until);
            }
            if r.chance(0.03) {
                load.cut();
            }
        }
        load.wait(0);
        load.cut();
        assert_eq!(load.completions.len(), REQUESTS as usize, "each request completes once");
        load
    }

    fn units_of(&self, offset_bytes: u64, length_bytes: u64) -> Range<u64> {
        let unit = self.drive.geometry().unit_bytes;
        offset_bytes / unit..(offset_bytes + length_bytes).div_ceil(unit)
    }

    /// Any or none of these units may have a place.
    fn forget(&mut self, trim: &Request) {
        for unit in self.units_of(trim.offset_bytes, trim.length_bytes) {
            self.kept.remove(&unit);
        }
    }

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
        for at in before..self.completions.len() {
            let done = self.completions[at];
            let request = self.requests[done.id.0 as usize];
            match request.operation {
                Operation::Trim => {
                    self.forget(&request);
                    self.ended_trims.insert(done.id.0);
                }
                Operation::Write if done.outcome.is_ok() => self.keep(&request),
                _ => {}
            }
        }
    }

    /// A write has completed: its units have places, but for those that a trim may have touched since.
    fn keep(&mut self, write: &Request) {
        let later = |trim: &&Request| trim.id > write.id || !self.ended_trims.contains(&trim.id.0);
        let trims = self.requests.iter().filter(|other| other.operation == Operation::Trim).filter(later);
        let trimmed: Vec<Range<u64>> =
            trims.map(|trim| self.units_of(trim.offset_bytes, trim.length_bytes)).collect();
        let units = self.units_of(write.offset_bytes, write.length_bytes);
        self.kept.extend(units.filter(|unit| !trimmed.iter().any(|range| range.contains(unit))));
    }

    /// Cuts the power: what is in flight fails, and what was acknowledged is lost as reported or has a place.
    fn cut(&mut self) {
        self.cuts += 1;
        let in_flight = self.requests.len() - self.completions.len();
        let expected = self.drive.at_risk();
        let lost = self.drive.cut_power();
        assert_eq!(lost, expected, "the drive loses what it says is at risk");
        assert_eq!(self.drive.at_risk(), Some(vec![]), "nothing is left to lose");
        let before = self.completions.len();
        self.wait(0);
        let failed = &self.completions[before..];
        assert_eq!(failed.len(), in_flight);
        assert!(failed.iter().all(|done| done.outcome == Err(Failure::DeviceLost)), "{failed:?}");
        self.drive.check_tables();
        for AtRisk { offset_bytes, length_bytes, .. } in lost.expect("simulated drives report it") {
            for unit in self.units_of(offset_bytes, length_bytes) {
                self.kept.remove(&unit);
            }
        }
        if self.drive.counters().get("blocks_worn_out") > Some(0) {
            // The buffer may have lost units for which no block was left.
            return;
        }
        for &unit in &self.kept {
            assert!(
                self.drive.plane_of(Lpn(unit as u32)).is_some(),
                "cut {}: unit {unit} was acknowledged, not reported as lost, and is not there",
                self.cuts
            );
        }
    }
}

/// A random request of a drive.
fn random_request(r: &mut Random, config: &DriveConfig, id: u64) -> Request {
    let (sector, sectors) = (config.sector.0, config.capacity.0 / config.sector.0);
    let longest = (4 * config.flash.page.0 / sector).min(sectors);
    let length = from(r, 1, longest);
    // Half of them in a small area, so that units are overwritten in the buffer.
    let area = if r.chance(0.5) { (8 * longest).min(sectors) } else { sectors };
    let (offset, length) = (from(r, 0, area - length) * sector, length * sector);
    let request = match r.below(20) {
        0 => Request::flush(id),
        1 => Request::trim(id, offset, length),
        2..6 => Request::read(id, offset, length),
        _ => Request::write(id, offset, length),
    };
    let request = request.in_queue(QueueId(r.below(config.queue_count().into()) as u16));
    if request.operation != Operation::Write {
        return request;
    }
    let request = if r.chance(0.15) { request.durable() } else { request };
    request.placed(PlacementHandle(r.below(config.handle_count().into()) as u16))
}
