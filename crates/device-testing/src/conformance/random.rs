//! Random operations under several seeds, and the repeatability of simulated runs.

use super::law::{Law, Make};
use super::refusals::unlawful;
use super::watched::{Health, Watched};
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    Completion, Counters, Device, DeviceInfo, Lane, Operation, QueueId, Request, SubmitError,
};

pub(super) const LAWS: &[(&str, Law)] = &[
    ("any mix of requests is answered lawfully", Law::Alone(any_mix_is_lawful)),
    ("the same calls on two fresh drives give the same completions", Law::Simulated(runs_repeat)),
    ("two drives in one process share no state", Law::Simulated(two_drives_share_no_state)),
];

/// Requests per seed.
const STEPS: usize = 200;
/// Longest request where the units allow, so that real devices complete soon.
const LONGEST_BYTES: u64 = 64 << 10;

fn any_mix_is_lawful(mut subject: Watched<Box<dyn Device>>) {
    for seed in 1..=4 {
        let mut mix = Mix::new(seed);
        (0..STEPS).for_each(|_| mix.step(&mut subject));
        subject.drain();
    }
}

fn runs_repeat(make: &mut Make<'_>, law: &'static str, health: Health) {
    for seed in 1..=2 {
        let (first, second) = (alone(make, law, health, seed), alone(make, law, health, seed));
        Watched::new(make(), law, health).require(first == second, || {
            let at = first.0.iter().zip(&second.0).position(|(a, b)| a != b);
            format!("under seed {seed} two runs differ from completion {at:?} on")
        });
    }
}

fn two_drives_share_no_state(make: &mut Make<'_>, law: &'static str, health: Health) {
    let expected = [alone(make, law, health, 1), alone(make, law, health, 2)];
    let mut drives = [1, 2].map(|seed| (Watched::new(make(), law, health), Mix::new(seed)));
    for _ in 0..STEPS {
        for (drive, mix) in &mut drives {
            mix.step(drive);
        }
    }
    for ((mut drive, _), expected) in drives.into_iter().zip(expected) {
        drive.drain();
        drive.require((&drive.log, drive.counters()) == (&expected.0, expected.1), || {
            "it behaves differently beside another drive than alone".into()
        });
    }
}

/// Runs one seed's mix on a fresh device.
fn alone(make: &mut Make<'_>, law: &'static str, health: Health, seed: u64) -> (Vec<Completion>, Counters) {
    let mut subject = Watched::new(make(), law, health);
    let mut mix = Mix::new(seed);
    (0..STEPS).for_each(|_| mix.step(&mut subject));
    subject.drain();
    let counters = subject.counters();
    (subject.log, counters)
}

/// A seeded mix of requests and waits.
struct Mix(Random);

impl Mix {
    fn new(seed: u64) -> Self {
        Self(Seed(seed).derive("conformance").source())
    }

    fn step(&mut self, subject: &mut Watched<Box<dyn Device>>) {
        let request = self.request(subject.info());
        let answer = subject.submit(request);
        let lawful = match answer {
            Ok(_) | Err(SubmitError::Rule { .. }) => true,
            Err(SubmitError::Full { depth }) => subject.in_flight() == depth as usize,
            Err(SubmitError::Unsupported { operation }) => {
                operation == request.operation && operation == Operation::Trim
            }
            Err(SubmitError::DeviceLost) => subject.may_fail(),
            Err(_) => false,
        };
        subject.require(lawful, || format!("{request:?} gave {answer:?}"));
        if self.0.chance(0.05) {
            self.unlawful(subject);
        }
        let now = subject.now();
        match self.0.below(8) {
            0 => drop(subject.reap(now)),
            1 => drop(subject.reap(now + Duration::from_ns(self.0.below(50_000)))),
            2 | 3 => drop(subject.reap(Instant::FAR)),
            _ => {}
        }
        if answer.is_err() && subject.in_flight() > 0 {
            subject.reap(Instant::FAR);
        }
    }

    fn unlawful(&mut self, subject: &mut Watched<Box<dyn Device>>) {
        let list = unlawful(subject.info());
        let (request, _) = list[self.0.below(list.len() as u64) as usize];
        let answer = subject.submit(request);
        subject.require(answer.is_err(), || format!("{request:?} was accepted"));
    }

    /// An operation that only zones have, on one of the first ones or any.
    fn of_zones(&mut self, p: &DeviceInfo) -> Request {
        let (unit, units) = (p.erase_unit_bytes, p.capacity_bytes / p.erase_unit_bytes);
        let among = if self.0.chance(0.5) { units.min(4) } else { units };
        let zone = self.0.below(among) * unit;
        match self.0.below(6) {
            0 => Request::open(0, zone, unit),
            1 => Request::close(0, zone, unit),
            2 => Request::finish(0, zone, unit),
            _ => {
                let most = (LONGEST_BYTES / p.write_unit_bytes).clamp(1, 16).min(unit / p.write_unit_bytes);
                Request::append(0, zone, (1 + self.0.below(most)) * p.write_unit_bytes)
            }
        }
    }

    fn request(&mut self, p: &DeviceInfo) -> Request {
        let lane = Lane(self.0.below(u64::from(p.lanes)) as u32);
        let operation = match self.0.below(100) {
            _ if p.read_only => Operation::Read,
            0 => return Request::flush(0),
            1..5 => Operation::Trim,
            5..45 => Operation::Write,
            45..55 if p.erase_unit_bytes > 0 => Operation::Erase,
            55..70 if p.zones.is_some() => return self.of_zones(p).on(lane),
            _ => Operation::Read,
        };
        let unit = match operation {
            Operation::Erase => p.erase_unit_bytes,
            Operation::Write => p.write_unit_bytes,
            _ => p.read_unit_bytes,
        };
        let units = p.capacity_bytes / unit;
        let count = 1 + self.0.below((LONGEST_BYTES / unit).clamp(1, 16).min(units));
        // A third near the beginning, where requests overlap; a few at the very end; the rest anywhere.
        let last = units - count;
        let first = match self.0.below(9) {
            0..3 => self.0.below(last.min(32) + 1),
            3 => last,
            _ => self.0.below(last + 1),
        };
        let durable = operation == Operation::Write && self.0.chance(0.1);
        let queue = match p.queues {
            1 => QueueId(0),
            queues => QueueId(self.0.below(u64::from(queues)) as u16),
        };
        Request { operation, durable, queue, ..Request::read(0, first * unit, count * unit) }.on(lane)
    }
}
