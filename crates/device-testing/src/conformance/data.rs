//! The laws of devices that store data.

use super::watched::Watched;
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{Buffer, DataDevice, DeviceInfo, Lane, Operation, Request, RequestId, SubmitError};
use std::collections::BTreeMap;
use std::ops::Range;

type DataLaw = fn(Watched<Box<dyn DataDevice>>);

pub(super) const LAWS: &[(&str, DataLaw)] = &[
    ("reads return what was last written", reads_return_what_was_written),
    ("a refused request gives its bytes back", refusals_give_bytes_back),
];

/// Number of random operations on the area.
const STEPS: usize = 300;
/// Bytes of a lane that are tested, rounded to the device's units.
const AREA_BYTES: u64 = 256 << 10;

fn refusals_give_bytes_back(mut subject: Watched<Box<dyn DataDevice>>) {
    // `Watched::submit_with` compares the bytes.
    for (request, _) in super::refusals::unlawful(subject.info()) {
        let length = request.length_bytes.min(64 << 10) as usize;
        let answer = subject.submit_with(request, Buffer::from_slice(&vec![0xa5; length]));
        subject.require(answer.is_err(), || format!("{request:?} was accepted"));
    }
}

fn reads_return_what_was_written(mut subject: Watched<Box<dyn DataDevice>>) {
    let mut model = Model::new(subject.info());
    for _ in 0..STEPS {
        model.step(&mut subject);
    }
    model.reap_down_to(&mut subject, Instant::FAR, 0);
    model.read_everything(&mut subject);
}

/// The expected content of a read unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Unknown: not yet written by this test, or erased.
    Nothing,
    /// As in the model.
    Written,
    /// Zeros, or still as in the model.
    Trimmed,
}

struct InFlight {
    request: Request,
    bytes: Option<Vec<u8>>,
}

/// The model: the bytes at the start of a few lanes.
struct Model {
    random: Random,
    area_bytes: u64,
    read_unit_bytes: u64,
    bytes: Vec<Vec<u8>>,
    known: Vec<Vec<Known>>,
    in_flight: BTreeMap<RequestId, InFlight>,
}

impl Model {
    fn new(p: &DeviceInfo) -> Self {
        let step = p.erase_unit_bytes.max(p.write_unit_bytes);
        let area_bytes = (AREA_BYTES / step).max(2) * step;
        let area_bytes = area_bytes.min(p.capacity_bytes / step * step);
        let lanes = p.lanes.min(3) as usize;
        Self {
            random: Seed(1).derive("conformance data").source(),
            area_bytes,
            read_unit_bytes: p.read_unit_bytes,
            bytes: vec![vec![0; area_bytes as usize]; lanes],
            known: vec![vec![Known::Nothing; (area_bytes / p.read_unit_bytes) as usize]; lanes],
            in_flight: BTreeMap::new(),
        }
    }

    fn units(&self, request: &Request) -> Range<usize> {
        let first = request.offset_bytes / self.read_unit_bytes;
        first as usize..(first + request.length_bytes / self.read_unit_bytes) as usize
    }

    fn span(request: &Request) -> Range<usize> {
        request.offset_bytes as usize..(request.offset_bytes + request.length_bytes) as usize
    }

    /// Submits one random request that overlaps none in flight, and waits for some completions.
    fn step(&mut self, subject: &mut Watched<Box<dyn DataDevice>>) {
        let request = self.request(subject.info());
        let overlaps = |other: &Request| {
            let (a, b) = (Self::span(other), Self::span(&request));
            other.lane == request.lane && a.start < b.end && b.start < a.end
        };
        if self.in_flight.values().any(|other| overlaps(&other.request)) {
            return self.reap_down_to(subject, Instant::FAR, 0);
        }
        self.submit(subject, request);
        let deepest = self.random.below(u64::from(subject.info().depth.min(16))) as usize;
        let until = if self.random.chance(0.5) { subject.now() } else { Instant::FAR };
        self.reap_down_to(subject, until, deepest);
    }

    fn submit(&mut self, subject: &mut Watched<Box<dyn DataDevice>>, request: Request) {
        let length = request.length_bytes as usize;
        let (answer, bytes) = match request.operation {
            Operation::Write | Operation::Append => {
                let bytes: Vec<u8> = (0..length).map(|_| self.random.bits() as u8).collect();
                (subject.submit_with(request, Buffer::from_slice(&bytes)), Some(bytes))
            }
            // The buffer of a read begins with bytes that must be overwritten.
            Operation::Read => (subject.submit_with(request, Buffer::from_slice(&vec![0xa5; length])), None),
            _ => (subject.submit(request), None),
        };
        match answer {
            Ok(id) => drop(self.in_flight.insert(id, InFlight { request, bytes })),
            Err(SubmitError::Rule { .. } | SubmitError::Full { .. }) => {}
            Err(SubmitError::Unsupported { operation: Operation::Trim }) => {}
            Err(error) => subject.require(false, || format!("{request:?} was refused: {error}")),
        }
    }

    /// Reaps until at most `deepest` requests are in flight; the first reap ends at `until`.
    fn reap_down_to(
        &mut self,
        subject: &mut Watched<Box<dyn DataDevice>>,
        mut until: Instant,
        deepest: usize,
    ) {
        loop {
            for completion in subject.reap(until) {
                let ended = self.in_flight.remove(&completion.id).expect("Watched checks ids");
                self.apply(subject, completion.id, ended);
            }
            if self.in_flight.len() <= deepest {
                return;
            }
            until = Instant::FAR;
        }
    }

    fn apply(&mut self, subject: &mut Watched<Box<dyn DataDevice>>, id: RequestId, ended: InFlight) {
        let InFlight { mut request, bytes } = ended;
        if request.operation == Operation::Append {
            let (lane, offset_bytes) =
                subject.appended_at(id).unwrap_or((request.lane, request.offset_bytes));
            request = Request { lane, offset_bytes, ..request };
        }
        let (lane, span, units) = (request.lane.0 as usize, Self::span(&request), self.units(&request));
        match request.operation {
            Operation::Write | Operation::Append => {
                let bytes = bytes.expect("a write has bytes");
                let given_back = subject.take(id, request.length_bytes);
                subject.require(given_back == bytes, || "a write came back with other bytes".into());
                self.bytes[lane][span].copy_from_slice(&bytes);
                self.known[lane][units].fill(Known::Written);
            }
            Operation::Read => {
                let found = subject.take(id, request.length_bytes);
                for (unit, found) in units.zip(found.chunks(self.read_unit_bytes as usize)) {
                    self.compare(subject, request.lane, unit, found);
                }
            }
            // A unit with unknown content stays unknown when it is trimmed.
            Operation::Trim => {
                for known in &mut self.known[lane][units] {
                    if *known == Known::Written {
                        *known = Known::Trimmed;
                    }
                }
            }
            Operation::Erase => self.known[lane][units].fill(Known::Nothing),
            // What a finish leaves of the zone reads as zeros, or as it was; nothing is known of it.
            Operation::Flush | Operation::Open | Operation::Close | Operation::Finish => {}
        }
    }

    fn compare(&self, subject: &Watched<Box<dyn DataDevice>>, lane: Lane, unit: usize, found: &[u8]) {
        let length = self.read_unit_bytes as usize;
        let written = &self.bytes[lane.0 as usize][unit * length..][..length];
        let right = match self.known[lane.0 as usize][unit] {
            Known::Nothing => true,
            Known::Written => found == written,
            Known::Trimmed => found == written || found.iter().all(|&b| b == 0),
        };
        subject.require(right, || {
            let at = found.iter().zip(written).position(|(a, b)| a != b).unwrap_or(0);
            format!("lane {}, byte {} is not what was written last", lane.0, unit * length + at)
        });
    }

    fn request(&mut self, p: &DeviceInfo) -> Request {
        let lane = Lane(self.random.below(self.bytes.len() as u64) as u32);
        let operation = match self.random.below(100) {
            _ if p.read_only => Operation::Read,
            0 => return Request::flush(0),
            1..8 => Operation::Trim,
            8..18 if p.erase_unit_bytes > 0 => Operation::Erase,
            18..60 => Operation::Write,
            60..70 if p.zones.is_some() => Operation::Append,
            _ => Operation::Read,
        };
        let unit = match operation {
            Operation::Erase => p.erase_unit_bytes,
            Operation::Write | Operation::Append => p.write_unit_bytes,
            _ => p.read_unit_bytes,
        };
        let units = self.area_bytes / unit;
        let count = 1 + self.random.below(units.min(8));
        if operation == Operation::Append {
            let zone = self.random.below(self.area_bytes / p.erase_unit_bytes);
            return Request::append(0, zone * p.erase_unit_bytes, count * unit).on(lane);
        }
        let first = self.random.below(units - count + 1);
        Request { operation, ..Request::read(0, first * unit, count * unit) }.on(lane)
    }

    /// Reads the whole area, a write unit at a time.
    fn read_everything(&mut self, subject: &mut Watched<Box<dyn DataDevice>>) {
        let unit = subject.info().write_unit_bytes;
        for lane in 0..self.bytes.len() as u32 {
            for first in 0..self.area_bytes / unit {
                self.submit(subject, Request::read(0, first * unit, unit).on(Lane(lane)));
                self.reap_down_to(subject, Instant::FAR, 0);
            }
        }
    }
}
