//! Devices without structure: the probe finds none under any distribution of latencies.

use crate::options;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Completion, Device, DeviceInfo, NullDevice, Request, SubmitError};
use flashlane_probe::{Effort, Feature, Options, ProbeResult, Status, probe};

/// A distribution of latencies in nanoseconds, given the number of the request and the time.
type Spread = fn(&mut Random, u64, Instant) -> f64;

fn exponential(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}

const SPREADS: [(&str, Spread); 8] = [
    ("constant", |_, _, _| 80_000.0),
    ("even", |random, _, _| 80_000.0 + 5_000.0 * random.unit()),
    ("exponential", |random, _, _| 40_000.0 + 80_000.0 * exponential(random)),
    ("stalls", |random, _, _| {
        let stall = if random.chance(0.02) { 3e6 } else { 0.0 };
        80_000.0 + 20_000.0 * exponential(random) + stall * exponential(random)
    }),
    ("power law", |random, _, _| 40_000.0 * (1.0 - random.unit()).max(1e-6).powf(-0.7)),
    ("drift", |random, nth, _| {
        80_000.0 * (1.0 + 0.5 * (nth as f64 / 5000.0).sin()) + 4_000.0 * random.unit()
    }),
    ("every tenth", |random, nth, _| {
        80_000.0 + 2_000.0 * random.unit() + if nth.is_multiple_of(10) { 60_000.0 } else { 0.0 }
    }),
    ("bad milliseconds", |random, _, now| {
        let bad = (now.as_ns() / 1_000_000).is_multiple_of(10);
        80_000.0 + 500.0 * random.unit() + if bad { 50_000.0 } else { 0.0 }
    }),
];

/// Completes each request after a time that depends on no structure.
struct Structureless {
    info: DeviceInfo,
    now: Instant,
    in_flight: Vec<Completion>,
    random: Random,
    requests: u64,
    spread: Spread,
}

impl Structureless {
    fn new(spread: Spread, seed: u64) -> Self {
        let info = DeviceInfo { depth: 64, ..NullDevice::new(1 << 30).info().clone() };
        let random = Seed(seed).derive("structureless").source();
        Self { info, now: Instant::ZERO, in_flight: Vec::new(), random, requests: 0, spread }
    }
}

impl Device for Structureless {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        if self.in_flight.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        self.requests += 1;
        let latency = (self.spread)(&mut self.random, self.requests, self.now);
        let completed = self.now + Duration::from_ns(latency as u64);
        self.in_flight.push(Completion { id: request.id, submitted: self.now, completed, outcome: Ok(()) });
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let next = (0..self.in_flight.len()).min_by_key(|&i| self.in_flight[i].completed);
        match next.filter(|&i| self.in_flight[i].completed <= until) {
            Some(index) => {
                let completion = self.in_flight.swap_remove(index);
                self.now = self.now.max(completion.completed);
                out.push(completion);
            }
            None if until != Instant::FAR => self.now = self.now.max(until),
            None => {}
        }
    }
}

fn assert_nothing_found(name: &str, result: &ProbeResult) {
    for feature in [
        Feature::ChunkSize,
        Feature::PageSize,
        Feature::InterleavingDegree,
        Feature::SubDomains,
        Feature::MappingPolicy,
        Feature::ReadaheadStreams,
        Feature::WriteBuffer,
        Feature::LinkBandwidth,
    ] {
        let finding = result.finding(feature).unwrap();
        assert_ne!(finding.status, Status::Found, "{name}, {feature}: {finding:?}");
    }
}

#[test]
fn random_latencies_show_no_structure() {
    for (name, spread) in SPREADS {
        for seed in 0..3 {
            let mut device = Structureless::new(spread, seed);
            let result = probe(&mut device, options(Effort::Quick, seed)).unwrap();
            assert_eq!(result.partial, None);
            assert_nothing_found(name, &result);
        }
    }
}

#[test]
fn null_device_shows_no_structure() {
    let result = probe(&mut NullDevice::new(1 << 30), options(Effort::Normal, 0)).unwrap();
    assert_nothing_found("null", &result);
}

/// Of 20,000 reads the 100 that come together in a bad spell are 0.5%, of the 4,096 of a further measurement 2.4%.
#[test]
fn reads_that_miss_the_latency_bound_are_not_recommended() {
    let bad_spells: Spread = |random, nth, _| {
        let is_bad = nth % 20_000 < 100;
        80_000.0 + 2_000.0 * random.unit() + if is_bad { 400_000.0 } else { 0.0 }
    };
    let options = Options {
        request_bytes: Some(8192),
        p99: Some(Duration::from_us(200)),
        may_write: false,
        ..options(Effort::Quick, 1)
    };
    let result = probe(&mut Structureless::new(bad_spells, 1), options).unwrap();
    assert!(!result.recommendation.contains_key("random_read"), "{:?}", result.recommendation);
    let missed = result.advice.iter().find(|advice| advice.about == "random_read").unwrap();
    assert!(missed.text.contains("no number in flight keeps p99 within 200 µs"), "{missed:?}");
}
