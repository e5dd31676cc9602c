//! Power cuts of lanes over a drive with a volatile buffer, compared with a model: after a cut every unit has the state
//! and data of the last acknowledged request, or of the one in flight.

use crate::drives;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, NullDevice, Operation,
    Request, RequestId, SubmitError, UnitHead, UnitKind, UnitState,
};
use flashlane_layer::lanes::{Damage, Lanes, OLDEST_VERSION, SECTOR_BYTES, Shape, Superblock, seal};
use flashlane_layer::{Backed, Fault, Faults, Faulty, Rate};
use flashlane_sim::Drive;
use std::collections::BTreeMap;

const LANES: u32 = 3;
const UNIT: u64 = 16 << 10;
const WRITE: u64 = 4 << 10;

/// The acknowledged content of a unit: the values of its write units, and its erases.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    values: Vec<u64>,
    erases: u32,
}

struct Run<D> {
    lanes: Lanes<D>,
    units: Vec<Known>,
    in_flight: BTreeMap<u64, Request>,
    random: Random,
    next: u64,
    /// Number of units that a cut left as after the request in flight.
    ahead: u64,
    torn: u64,
}

impl<D: DataDevice> Run<D> {
    fn new(device: D, seed: Seed) -> Self {
        let shape = Shape { lanes: LANES, unit_bytes: UNIT, read_unit_bytes: 512, write_unit_bytes: WRITE };
        let lanes = Lanes::format(device, shape, seed).unwrap_or_else(|error| panic!("{error}"));
        Self::over(lanes, seed)
    }

    /// Creates a device with the oldest supported layout, written by hand as in `docs/layout.md`.
    fn version_1(mut device: D, seed: Seed) -> Self {
        let shape = Shape { lanes: LANES, unit_bytes: UNIT, read_unit_bytes: 512, write_unit_bytes: WRITE };
        let (id, device_bytes) = ([7; 16], device.info().capacity_bytes);
        let units = (device_bytes - 4 * SECTOR_BYTES) / UNIT / u64::from(LANES) * u64::from(LANES);
        assert!(units <= 253, "one sector of the table");
        // The records of never erased, empty units are zeros.
        let mut table = vec![0; SECTOR_BYTES as usize];
        table[..16].copy_from_slice(&id);
        table[16] = 1;
        table[28] = units as u8;
        seal(&mut table);
        let superblock =
            Superblock { version: OLDEST_VERSION, id, shape, device_bytes, address_map: 0 }.encode();
        let blocks =
            [(0, &superblock), (1, &table), (2, &table), (device_bytes / SECTOR_BYTES - 1, &superblock)];
        for (nth, block) in blocks {
            let write = Request::write(nth, nth * SECTOR_BYTES, SECTOR_BYTES).durable();
            device
                .submit_with(write, Buffer::from_slice(block))
                .unwrap_or_else(|(error, _)| panic!("{error}"));
            device.reap(Instant::FAR, &mut Vec::new());
            device.take_buffer(write.id);
        }
        Self::over(Lanes::open(device).unwrap_or_else(|error| panic!("{error}")), seed)
    }

    fn over(lanes: Lanes<D>, seed: Seed) -> Self {
        let units = lanes.info().capacity_bytes / UNIT * u64::from(LANES);
        Self {
            lanes,
            units: vec![Known::default(); units as usize],
            in_flight: BTreeMap::new(),
            random: seed.derive("power cuts").source(),
            next: 1,
            ahead: 0,
            torn: 0,
        }
    }

    fn number(request: &Request) -> usize {
        (request.offset_bytes / UNIT * u64::from(LANES)) as usize + request.lane.0 as usize
    }

    /// Returns the write units that a request covers, within its unit.
    fn written(request: &Request) -> std::ops::Range<usize> {
        let first = request.offset_bytes % UNIT / WRITE;
        first as usize..(first + request.length_bytes / WRITE) as usize
    }

    /// Returns the content of a unit after `request`.
    fn after(known: &Known, request: &Request) -> Known {
        let mut known = known.clone();
        if request.operation == Operation::Erase {
            return Known { values: Vec::new(), erases: known.erases + 1 };
        }
        known.values.resize(Self::written(request).end, request.id.0);
        known
    }

    fn submit(&mut self) {
        let r = &mut self.random;
        // Few units, so that they are erased often and share table sectors.
        let number = if r.chance(0.7) { r.below(12) } else { r.below(self.units.len() as u64) };
        let (lane, base) = (Lane((number % u64::from(LANES)) as u32), number / u64::from(LANES) * UNIT);
        let id = self.next;
        self.next += 1;
        let written = self.units[number as usize].values.len() as u64;
        let room = UNIT / WRITE - written;
        let request = if room == 0 || r.chance(0.2) {
            Request::erase(id, base, UNIT)
        } else {
            Request::write(id, base + written * WRITE, (1 + r.below(room)) * WRITE)
        };
        let request = request.on(lane);
        let bytes: Vec<u8> = (0..request.length_bytes / 8).flat_map(|_| id.to_le_bytes()).collect();
        let answer = self.lanes.submit_with(request, Buffer::from_slice(&bytes));
        if self.in_flight.values().any(|other| Self::number(other) == number as usize) {
            assert!(answer.is_err(), "a unit has one change in flight");
        } else {
            answer.unwrap_or_else(|(error, _)| panic!("{error}"));
            self.in_flight.insert(id, request);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        self.lanes.take_buffer(completion.id);
        let request = self.in_flight.remove(&completion.id.0).expect("it was in flight");
        assert_eq!(completion.outcome, Ok(()));
        let unit = &mut self.units[Self::number(&request)];
        *unit = Self::after(unit, &request);
    }

    fn reap(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.lanes.reap(until, &mut out);
        out.iter().for_each(|completion| self.completed(completion));
    }

    fn cut(&mut self) {
        assert_eq!(self.lanes.at_risk(), Some(vec![]), "completed writes are not at risk");
        assert_eq!(self.lanes.cut_power(), Some(vec![]));
        let mut out = Vec::new();
        self.lanes.reap(Instant::FAR, &mut out);
        assert_eq!(out.len(), self.in_flight.len());
        assert!(out.iter().all(|completion| completion.outcome == Err(Failure::DeviceLost)));
        assert_eq!(self.lanes.damage().lost_sectors, 0, "one slot is always sound");
        self.torn += self.lanes.damage().sectors;
        assert_eq!(self.lanes.damage().foreign, 0, "torn records are ours");
        let in_flight: Vec<Request> = std::mem::take(&mut self.in_flight).into_values().collect();
        for number in 0..self.units.len() {
            let found = self.found(number);
            let known = &self.units[number];
            let next = in_flight.iter().find(|request| Self::number(request) == number);
            let next = next.map(|request| Self::after(known, request));
            assert!(found == *known || Some(&found) == next.as_ref(), "{found:?}, of {known:?} and {next:?}");
            self.ahead += u64::from(found != *known);
            self.units[number] = found;
        }
    }

    /// Reads the content of a unit from the device.
    fn found(&mut self, number: usize) -> Known {
        let (lane, index) = (Lane((number as u32) % LANES), number as u64 / u64::from(LANES));
        let unit = self.lanes.unit(lane, index).expect("it is there");
        let UnitState::Written { bytes } = unit.state else { panic!("{unit:?}") };
        let mut values = Vec::new();
        if bytes > 0 {
            let read = Request::read(u64::MAX, index * UNIT, bytes).on(lane);
            self.lanes.submit_with(read, Buffer::zeroed(bytes as usize)).map_err(|(e, _)| e).unwrap();
            let mut out = Vec::new();
            while out.is_empty() {
                self.lanes.reap(Instant::FAR, &mut out);
            }
            let buffer = self.lanes.take_buffer(RequestId(u64::MAX)).expect("its bytes come back");
            for unit in buffer.as_slice().chunks(WRITE as usize) {
                let value = u64::from_le_bytes(unit[..8].try_into().expect("eight bytes"));
                assert!(unit.chunks(8).all(|bytes| bytes == value.to_le_bytes()), "a write unit is whole");
                values.push(value);
            }
        }
        Known { values, erases: unit.erases.expect("they are counted") }
    }

    fn run(&mut self, steps: u64, cuts: f64) {
        for _ in 0..steps {
            self.submit();
            while self.in_flight.len() >= 6 {
                self.reap(Instant::FAR);
            }
            if self.random.chance(0.3) {
                let until = self.lanes.now() + Duration::from_us(self.random.below(2000));
                self.reap(until);
            }
            if self.random.chance(cuts) {
                self.cut();
            }
        }
        self.cut();
    }
}

fn drive(settings: &[(&str, &str)], seed: u64) -> Backed<Drive> {
    Backed::new(drives::small(&[&[("buffer.size", "64KiB")], settings].concat(), seed))
}

#[test]
fn cuts_lose_no_acknowledged_change() {
    for policy in flashlane_policy::buffer::REGISTRY {
        for placement in ["above", "below"] {
            for seed in 0..4 {
                let settings = [("buffer.policy", policy.name), ("buffer.placement", placement)];
                let mut run = Run::new(drive(&settings, seed), Seed(seed));
                run.run(800, 0.04);
                assert_eq!(run.lanes.damage(), Damage::default(), "a cut tears no sector of this drive");
            }
        }
    }
}

#[test]
fn delayed_requests_lose_no_change() {
    for seed in 0..8 {
        let delays = Faults::default().with(Fault::Delay, Rate::Share(0.3)).late_by(Duration::from_us(900));
        let faulty = Faulty::over_data(drive(&[], seed), delays, Seed(seed));
        let mut run = Run::new(faulty, Seed(seed));
        for _ in 0..600 {
            run.submit();
            while run.in_flight.len() >= 6 {
                run.reap(Instant::FAR);
            }
        }
        while !run.in_flight.is_empty() {
            run.reap(Instant::FAR);
        }
        for number in 0..run.units.len() {
            assert_eq!(run.found(number), run.units[number]);
        }
    }
}

/// A drive that completes in any order, and whose writes in flight are torn at any sector by a cut.
struct Tearing {
    bytes: Vec<u8>,
    info: DeviceInfo,
    now: Instant,
    in_flight: Vec<(Request, Buffer, Instant)>,
    ready: Vec<Completion>,
    done: BTreeMap<RequestId, Buffer>,
    random: Random,
}

const SECTOR: usize = 512;

impl Tearing {
    fn new(length_bytes: u64, seed: Seed) -> Self {
        Self {
            bytes: vec![0; length_bytes as usize],
            info: DeviceInfo { depth: 32, ..NullDevice::new(length_bytes).info().clone() },
            now: Instant::ZERO,
            in_flight: Vec::new(),
            ready: Vec::new(),
            done: BTreeMap::new(),
            random: seed.derive("tearing").source(),
        }
    }

    fn end(
        &mut self,
        (request, buffer, submitted): (Request, Buffer, Instant),
        outcome: Result<(), Failure>,
    ) {
        self.done.insert(request.id, buffer);
        self.ready.push(Completion { id: request.id, submitted, completed: self.now, outcome });
    }
}

impl Device for Tearing {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Instant {
        self.now
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        let buffer = Buffer::zeroed(request.length_bytes as usize);
        self.submit_with(request, buffer).map_err(|(error, _)| error)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.ready.is_empty() && self.now < until && !self.in_flight.is_empty() {
            self.now += Duration::from_ns(1);
            let nth = self.random.below(self.in_flight.len() as u64) as usize;
            let (request, mut buffer, submitted) = self.in_flight.swap_remove(nth);
            let place = &mut self.bytes[request.offset_bytes as usize..][..request.length_bytes as usize];
            match request.operation {
                Operation::Write => place.copy_from_slice(buffer.as_slice()),
                Operation::Read => buffer.as_mut_slice().copy_from_slice(place),
                _ => {}
            }
            self.end((request, buffer, submitted), Ok(()));
        } else if self.in_flight.is_empty() && until != Instant::FAR {
            self.now = self.now.max(until);
        }
        out.append(&mut self.ready);
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(Vec::new())
    }
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        for (request, buffer, submitted) in std::mem::take(&mut self.in_flight) {
            if request.operation == Operation::Write {
                let place = &mut self.bytes[request.offset_bytes as usize..][..buffer.len()];
                for (there, new) in place.chunks_mut(SECTOR).zip(buffer.as_slice().chunks(SECTOR)) {
                    if self.random.chance(0.5) {
                        there.copy_from_slice(new);
                    }
                }
            }
            self.end((request, buffer, submitted), Err(Failure::DeviceLost));
        }
        Some(Vec::new())
    }
}

impl DataDevice for Tearing {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        match self.info.check(&request) {
            Ok(()) if self.in_flight.len() < 32 => {}
            Ok(()) => return Err((SubmitError::Full { depth: 32 }, buffer)),
            Err(error) => return Err((error, buffer)),
        }
        self.in_flight.push((request, buffer, self.now));
        Ok(())
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}

#[test]
fn cuts_that_tear_sectors_lose_no_acknowledged_change() {
    for version_1 in [false, true] {
        let (mut ahead, mut torn) = (0, 0);
        for seed in 0..150 {
            let device = Tearing::new(2 << 20, Seed(seed));
            let mut run =
                if version_1 { Run::version_1(device, Seed(seed)) } else { Run::new(device, Seed(seed)) };
            run.run(300, 0.1);
            ahead += run.ahead;
            torn += run.torn;
        }
        assert!(ahead > 0 && torn > 0, "{ahead} units ahead, {torn} torn sectors of the table");
    }
}

/// Units with the remains of a torn write can be written, although their content is compared before a first write.
#[test]
fn torn_writes_are_not_foreign_data() {
    let shape = Shape { lanes: LANES, unit_bytes: UNIT, read_unit_bytes: 512, write_unit_bytes: UNIT };
    let (mut cuts, mut writes) = (0, 0);
    for seed in 0..40 {
        let mut random = Seed(seed).derive("torn writes").source();
        let lanes = Lanes::format_checked(Tearing::new(512 << 10, Seed(seed)), shape, Seed(1));
        let mut lanes = lanes.unwrap_or_else(|error| panic!("{error}"));
        for id in 0..40 {
            let (lane, unit) = (Lane(random.below(LANES.into()) as u32), random.below(3));
            let erased = lanes.unit(lane, unit).is_some_and(|unit| unit.state == UnitState::ERASED);
            let mut bytes = vec![id as u8 + 1; UNIT as usize];
            let (kind, format) = (UnitKind::Block, [7; 16]);
            UnitHead { version: 1, kind, format, lane: lane.0, unit: unit as u32, erases: None }
                .encode(&mut bytes);
            let operation = if erased { Operation::Write } else { Operation::Erase };
            let request = Request { operation, ..Request::read(id, unit * UNIT, UNIT) }.on(lane);
            lanes.submit_with(request, Buffer::from_slice(&bytes)).expect("nothing is in flight");
            writes += u64::from(erased);
            let is_cut = random.chance(0.4);
            let mut ended = Vec::new();
            for _ in 0..if is_cut { random.below(6) } else { u64::MAX } {
                if !ended.is_empty() {
                    break;
                }
                let soon = lanes.now() + Duration::from_ns(1);
                lanes.reap(soon, &mut ended);
            }
            assert!(ended.iter().all(|one| one.outcome.is_ok()), "seed {seed}: {request:?}, {ended:?}");
            if is_cut {
                lanes.cut_power().expect("the device has power cuts");
                lanes.reap(Instant::ZERO, &mut Vec::new());
                lanes.take_buffer(request.id).expect("a request gives its buffer back");
                cuts += 1;
            }
        }
    }
    assert!(cuts > 300 && writes > 300, "{cuts} cuts, {writes} writes");
}
