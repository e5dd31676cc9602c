//! Power cuts of software-defined flash with data, compared with a model: completed units keep every byte, units in
//! flight are torn, independently per read unit, and nothing else changes.

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    Buffer, DataDevice, Device, Failure, Lane, OneLane, Operation, Request, RequestId, UnitState,
};
use flashlane_device_testing::conformance;
use flashlane_layer::Backed;
use flashlane_sim::{Sdf, profile};
use std::collections::BTreeMap;

const UNIT: u64 = 8 << 10;
const UNITS: u64 = 8;
const LANES: u32 = 4;

fn sdf(seed: u64) -> Sdf {
    let settings = [
        ("capacity", "256KiB"),
        ("flash.channels", "4"),
        ("flash.packages", "1"),
        ("flash.blocks", "12"),
        ("flash.pages", "4"),
        ("flash.page", "1KiB"),
        ("lanes.stripe", "4KiB"),
        ("lanes.read_unit", "1KiB"),
        ("lanes.window", "8KiB"),
    ];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    Sdf::new(&profile::load("sdf", &settings).unwrap_or_else(|error| panic!("{error}")), Seed(seed))
}

#[test]
fn lanes_with_data_conform() {
    conformance::check_data(&mut || Box::new(Backed::new(sdf(1))));
    conformance::check_data(&mut || Box::new(Backed::new(OneLane::new(sdf(1), Lane(2)).unwrap())));
}

type Unit = (u32, u64);

/// The content of each unit, and the requests in flight.
#[derive(Clone)]
struct Run {
    device: Backed<Sdf>,
    random: Random,
    held: BTreeMap<Unit, Option<Vec<u8>>>,
    in_flight: BTreeMap<u64, (Request, Vec<u8>)>,
    next: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let held = (0..LANES).flat_map(|lane| (0..UNITS).map(move |unit| ((lane, unit), None))).collect();
        let random = Seed(seed).derive("torn units test").source();
        let device = Backed::new(sdf(seed)).seeded(Seed(seed));
        Self { device, random, held, in_flight: BTreeMap::new(), next: 1 }
    }

    fn submit(&mut self) {
        let at = (self.random.below(u64::from(LANES)) as u32, self.random.below(UNITS));
        let id = self.next;
        self.next += 1;
        let bytes: Vec<u8> = (0..UNIT).map(|_| self.random.bits() as u8).collect();
        let lane = Lane(at.0);
        let (request, answer) = if self.random.chance(0.6) {
            let write = Request::write(id, at.1 * UNIT, UNIT).on(lane);
            (write, self.device.submit_with(write, Buffer::from_slice(&bytes)).map_err(|(error, _)| error))
        } else {
            let erase = Request::erase(id, at.1 * UNIT, UNIT).on(lane);
            (erase, self.device.submit(erase))
        };
        if answer.is_ok() {
            self.in_flight.insert(id, (request, bytes));
        }
    }

    fn reap(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.device.reap(until, &mut out);
        for completion in out {
            assert_eq!(completion.outcome, Ok(()));
            self.device.take_buffer(completion.id);
            let (request, bytes) = self.in_flight.remove(&completion.id.0).expect("it was in flight");
            let holds = (request.operation == Operation::Write).then_some(bytes);
            self.held.insert((request.lane.0, request.offset_bytes / UNIT), holds);
        }
    }

    /// Reads a unit, if the rules allow it.
    fn bytes_of(&mut self, (lane, unit): Unit) -> Option<Vec<u8>> {
        let read = Request::read(u64::MAX, unit * UNIT, UNIT).on(Lane(lane));
        self.device.submit_with(read, Buffer::zeroed(UNIT as usize)).ok()?;
        let mut out = Vec::new();
        while out.is_empty() {
            self.device.reap(Instant::FAR, &mut out);
        }
        Some(self.device.take_buffer(RequestId(u64::MAX)).expect("its bytes come back").as_slice().to_vec())
    }

    /// Cuts the power and checks every unit.
    fn cut(mut self) -> Tears {
        assert_eq!(self.device.cut_power(), Some(vec![]));
        let mut out = Vec::new();
        while out.len() < self.in_flight.len() {
            self.device.reap(Instant::FAR, &mut out);
        }
        assert!(out.iter().all(|completion| completion.outcome == Err(Failure::DeviceLost)));
        let torn: BTreeMap<Unit, (Request, Vec<u8>)> = std::mem::take(&mut self.in_flight)
            .into_values()
            .map(|(request, bytes)| ((request.lane.0, request.offset_bytes / UNIT), (request, bytes)))
            .collect();
        let tears = Tears(torn.values().map(|(request, _)| request.operation).collect());
        for (at, holds) in self.held.clone() {
            let state = self.device.unit(Lane(at.0), at.1).unwrap().state;
            match (torn.get(&at), holds) {
                (Some(_), _) => {
                    assert_eq!(state, UnitState::Torn);
                    assert_eq!(self.bytes_of(at), None, "a torn unit cannot be read");
                    // An erase makes it usable again.
                    self.device.submit(Request::erase(1, at.1 * UNIT, UNIT).on(Lane(at.0))).unwrap();
                    let mut out = Vec::new();
                    self.device.reap(Instant::FAR, &mut out);
                    assert_eq!(self.device.unit(Lane(at.0), at.1).unwrap().state, UnitState::ERASED);
                }
                (None, None) => assert_eq!(state, UnitState::ERASED),
                (None, Some(bytes)) => {
                    assert_eq!(state, UnitState::Written { bytes: UNIT });
                    assert_eq!(self.bytes_of(at), Some(bytes));
                }
            }
        }
        tears
    }
}

struct Tears(Vec<Operation>);

#[test]
fn cut_tears_the_units_in_flight_only() {
    let (mut writes, mut erases) = (0, 0);
    for seed in 0..20 {
        let mut run = Run::new(seed);
        for _ in 0..120 {
            run.submit();
            if run.random.chance(0.5) {
                let until = run.device.now() + Duration::from_us(run.random.below(9000));
                run.reap(until);
            }
            // Cut a clone, and continue with the original.
            let Tears(torn) = run.clone().cut();
            writes += torn.iter().filter(|&&operation| operation == Operation::Write).count();
            erases += torn.iter().filter(|&&operation| operation == Operation::Erase).count();
        }
    }
    assert!(writes > 1000 && erases > 1000, "{writes} writes and {erases} erases were torn");
}
