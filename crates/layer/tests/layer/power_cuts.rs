//! Power cuts of a buffered drive with data, compared with a model: after a cut every sector has a version no older
//! than the last one acknowledged as durable.

use crate::drives;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, Failure, Operation, PlacementHandle, Request, RequestId,
};
use flashlane_layer::Backed;
use flashlane_sim::{Drive, profile};

const SECTOR: u64 = 512;
const SECTORS: u64 = 512;

/// A version of a sector's content.
#[derive(Clone, Copy, Debug)]
struct Version {
    /// The request that made it.
    id: u64,
    value: u64,
    submitted: u64,
    /// The step of its completion.
    completed: Option<u64>,
    durable: bool,
}

/// A request in flight.
struct InFlight {
    request: Request,
    submitted: u64,
}

/// All versions that each sector may have, and the requests in flight. Every event is one step of time.
struct Model {
    sectors: Vec<Vec<Version>>,
    in_flight: Vec<InFlight>,
    step: u64,
}

impl Model {
    fn new() -> Self {
        let zeros = Version { id: 0, value: 0, submitted: 0, completed: Some(0), durable: true };
        Self { sectors: vec![vec![zeros]; SECTORS as usize], in_flight: Vec::new(), step: 0 }
    }

    fn touched(&mut self, request: &Request) -> &mut [Vec<Version>] {
        let first = (request.offset_bytes / SECTOR) as usize;
        &mut self.sectors[first..first + (request.length_bytes / SECTOR) as usize]
    }

    fn submitted(&mut self, request: Request, value: u64) {
        self.step += 1;
        let submitted = self.step;
        if request.operation != Operation::Flush {
            let version = Version { id: request.id.0, value, submitted, completed: None, durable: false };
            self.touched(&request).iter_mut().for_each(|versions| versions.push(version));
        }
        self.in_flight.push(InFlight { request, submitted });
    }

    fn completed(&mut self, completion: &Completion) {
        self.step += 1;
        let step = self.step;
        let at = self.in_flight.iter().position(|request| request.request.id == completion.id);
        let InFlight { request, submitted } = self.in_flight.remove(at.expect("it was in flight"));
        assert_eq!(completion.outcome, Ok(()));
        if request.operation == Operation::Flush {
            for version in self.sectors.iter_mut().flatten() {
                version.durable |= version.completed.is_some_and(|completed| completed < submitted);
            }
            return;
        }
        let versions = self.touched(&request).iter_mut().flatten();
        for version in versions.filter(|version| version.id == request.id.0) {
            version.completed = Some(step);
            version.durable |= request.durable && request.operation == Operation::Write;
        }
    }

    /// Returns whether a sector may have this value after a cut: no durable version was submitted after its completion.
    fn allows(&self, sector: usize, value: u64) -> bool {
        let versions = &self.sectors[sector];
        versions.iter().filter(|version| version.value == value).any(|version| {
            let superseded = |other: &Version| {
                other.durable && version.completed.is_some_and(|completed| completed < other.submitted)
            };
            !versions.iter().any(superseded)
        })
    }
}

struct Run {
    device: Backed<Drive>,
    model: Model,
    random: Random,
    /// Whether the host requests durability, and cuts are frequent. Without either, the undo log grows long.
    careful: bool,
    next: u64,
    /// Number of acknowledged sectors that cuts have lost.
    lost: u64,
}

impl Run {
    fn submit(&mut self) {
        let r = &mut self.random;
        let id = self.next;
        self.next += 1;
        let length = 1 + r.below(24);
        // Half of them in a small area, so that pages are overwritten often.
        let area = if r.chance(0.5) { 48 } else { SECTORS };
        let offset = r.below(area - length) * SECTOR;
        let kind = if self.careful { r.below(40) } else { 7 };
        let (request, value) = match kind {
            0 => (Request::flush(id), 0),
            1 | 2 => (Request::trim(id, offset, length * SECTOR), 0),
            3..=6 => (Request::write(id, offset, length * SECTOR).durable(), id),
            _ => (Request::write(id, offset, length * SECTOR), id),
        };
        let handles = self.device.info().placement_handles;
        let has_handle = request.operation == Operation::Write && handles > 1;
        let request = match has_handle {
            true => request.placed(PlacementHandle(r.below(handles.into()) as u16)),
            false => request,
        };
        let bytes: Vec<u8> = (0..request.length_bytes / 8).flat_map(|_| value.to_le_bytes()).collect();
        let accepted = match request.operation {
            Operation::Write => {
                self.device.submit_with(request, Buffer::from_slice(&bytes)).map_err(|(error, _)| error)
            }
            _ => self.device.submit(request),
        };
        accepted.unwrap();
        self.model.submitted(request, value);
    }

    fn reap(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.device.reap(until, &mut out);
        for completion in &out {
            self.model.completed(completion);
            self.device.take_buffer(completion.id);
        }
    }

    fn cut(&mut self) {
        self.device.cut_power().expect("a simulated drive can be cut off");
        assert_eq!(self.device.at_risk(), Some(vec![]), "nothing is left to lose");
        let mut out = Vec::new();
        while out.len() < self.model.in_flight.len() {
            self.device.reap(Instant::FAR, &mut out);
        }
        assert!(out.iter().all(|completion| completion.outcome == Err(Failure::DeviceLost)));
        let found = self.read_all();
        for (sector, &value) in found.iter().enumerate() {
            let versions = &self.model.sectors[sector];
            assert!(self.model.allows(sector, value), "sector {sector} has {value}, of {versions:?}");
            let newest = versions.iter().rfind(|version| version.completed.is_some());
            self.lost += u64::from(newest.is_some_and(|newest| newest.value != value));
        }
        // The content after a cut is on flash.
        self.model = Model::new();
        for (versions, value) in self.model.sectors.iter_mut().zip(found) {
            versions[0].value = value;
        }
    }

    fn read_all(&mut self) -> Vec<u64> {
        let id = u64::MAX;
        let read = Request::read(id, 0, SECTORS * SECTOR);
        let buffer = Buffer::zeroed(read.length_bytes as usize);
        self.device.submit_with(read, buffer).map_err(|(error, _)| error).unwrap();
        let mut out = Vec::new();
        while out.is_empty() {
            self.device.reap(Instant::FAR, &mut out);
        }
        let buffer = self.device.take_buffer(RequestId(id)).expect("its bytes come back");
        let sectors = buffer.as_slice().chunks(SECTOR as usize);
        sectors.map(|sector| u64::from_le_bytes(sector[..8].try_into().unwrap())).collect()
    }
}

/// Runs a random workload with cuts over a drive with these settings, and returns the number of acknowledged sectors
/// lost.
fn lost(settings: &[(&str, &str)], seed: u64) -> u64 {
    let drive = drives::small(&[&[("buffer.size", "64KiB")], settings].concat(), seed);
    let mut run = Run {
        device: Backed::new(drive),
        model: Model::new(),
        random: Seed(seed).derive("power cuts").source(),
        careful: seed.is_multiple_of(2),
        next: 1,
        lost: 0,
    };
    for _ in 0..1200 {
        run.submit();
        while run.model.in_flight.len() >= 8 {
            run.reap(Instant::FAR);
        }
        if run.random.chance(0.1) {
            let until = run.device.now() + Duration::from_us(run.random.below(3000));
            run.reap(until);
        }
        if run.random.chance(if run.careful { 0.02 } else { 0.002 }) {
            run.cut();
        }
    }
    run.cut();
    run.lost
}

#[test]
fn cut_loses_no_durable_write() {
    for policy in flashlane_policy::buffer::REGISTRY {
        for placement in ["above", "below"] {
            for way in [
                ("buffer.high_watermark", "80%"),
                ("buffer.batch_pages_per_package", "2"),
                ("buffer.idle_drain", "100us"),
            ] {
                let settings = [("buffer.policy", policy.name), ("buffer.placement", placement), way];
                let lost: u64 = (0..4).map(|seed| lost(&settings, seed)).sum();
                assert!(lost > 0, "cuts lose data of a volatile buffer: {settings:?}");
            }
        }
    }
}

#[test]
fn cut_of_a_drive_with_handles_loses_no_durable_write() {
    let handles = [
        // Room for the handles' blocks.
        ("flash.blocks", "40"),
        ("cleaning.separate", "true"),
        ("compat.disksim.pool", "plane"),
        ("placement.handles", "4"),
    ];
    for policy in flashlane_policy::buffer::REGISTRY {
        for isolation in ["initial", "persistent"] {
            for way in [("buffer.placement", "below"), ("buffer.batch_pages_per_package", "2")] {
                let own = [("buffer.policy", policy.name), ("placement.isolation", isolation), way];
                let lost: u64 = (0..4).map(|seed| lost(&[&handles[..], &own].concat(), seed)).sum();
                assert!(lost > 0, "cuts lose data of a volatile buffer: {own:?}");
            }
        }
    }
}

#[test]
fn drive_without_a_buffer_loses_nothing() {
    let text = profile::load("msr-32g", &[("capacity".into(), "16MiB".into())]).unwrap();
    assert!(text.buffer.is_none());
    let mut device = Backed::new(Drive::new(&text, Seed(1)));
    let bytes = Buffer::from_slice(&[7; 4096]);
    device.submit_with(Request::write(0, 0, 4096), bytes).map_err(|(error, _)| error).unwrap();
    device.reap(Instant::FAR, &mut Vec::new());
    assert_eq!((device.at_risk(), device.cut_power()), (Some(vec![]), Some(vec![])));
    assert_eq!(
        flashlane_device::NullDevice::new(1 << 20).cut_power(),
        None,
        "not every device supports power cuts"
    );
}
