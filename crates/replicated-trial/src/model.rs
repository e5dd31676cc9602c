//! The model: the versions that each sector may have, and the requests in flight.

use crate::SECTOR;
use flashlane_device::{AtRisk, Buffer, Operation, Request, RequestId};
use std::collections::BTreeMap;
use std::ops::Range;

/// A version of a sector: the id of the write that made it, 0 for zeros.
#[derive(Clone, Copy, Debug)]
struct Version {
    value: u64,
    /// The request that made it; 0 for the content after a cut.
    id: u64,
    /// Whether a power cut must keep it.
    durable: bool,
    /// Number of the completed write, as in `AtRisk`.
    number: Option<u64>,
    /// Number of the event that completed it.
    completed: Option<u64>,
}

impl Version {
    /// The content after a cut, or at the beginning.
    fn kept(value: u64) -> Self {
        Self { value, id: 0, durable: true, number: None, completed: Some(0) }
    }
}

struct InFlight {
    request: Request,
    /// For a read, the values it returns.
    expected: Vec<u64>,
    submitted: u64,
}

/// The model.
pub(crate) struct Model {
    /// Versions of each sector, in the order of submission.
    sectors: Vec<Vec<Version>>,
    in_flight: BTreeMap<RequestId, InFlight>,
    next_number: u64,
    events: u64,
}

/// The bytes of a sector of the version `value`.
fn bytes_of(sector: u64, value: u64) -> [u8; SECTOR as usize] {
    let mut bytes = [0; SECTOR as usize];
    if value > 0 {
        bytes.fill((value ^ sector) as u8);
        bytes[..8].copy_from_slice(&value.to_le_bytes());
        bytes[8..16].copy_from_slice(&sector.to_le_bytes());
    }
    bytes
}

/// Fills a buffer with the version `value` of the sectors from `first` on.
pub(crate) fn fill(buffer: &mut Buffer, first: u64, value: u64) {
    for (sector, bytes) in (first..).zip(buffer.as_mut_slice().chunks_mut(SECTOR as usize)) {
        bytes.copy_from_slice(&bytes_of(sector, value));
    }
}

fn value_in(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("a sector is longer"))
}

fn sectors_of(offset_bytes: u64, length_bytes: u64) -> Range<usize> {
    (offset_bytes / SECTOR) as usize..((offset_bytes + length_bytes) / SECTOR) as usize
}

impl Model {
    pub fn new(sectors: u64) -> Self {
        let sectors = vec![vec![Version::kept(0)]; sectors as usize];
        Self { sectors, in_flight: BTreeMap::new(), next_number: 0, events: 0 }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether a request in flight is for some of the same bytes.
    pub fn conflicts(&self, request: &Request) -> bool {
        let sectors = |request: &Request| sectors_of(request.offset_bytes, request.length_bytes);
        let wanted = sectors(request);
        self.in_flight
            .values()
            .map(|in_flight| sectors(&in_flight.request))
            .any(|other| wanted.start < other.end && other.start < wanted.end)
    }

    /// The device was opened again, and numbers its writes from 0.
    pub fn renumber(&mut self) {
        self.next_number = 0;
        self.in_flight.clear();
    }

    pub fn submitted(&mut self, request: Request) {
        self.events += 1;
        let range = sectors_of(request.offset_bytes, request.length_bytes);
        let newest = |versions: &Vec<Version>| versions.last().expect("there is one").value;
        let mut expected = Vec::new();
        match request.operation {
            Operation::Read => expected = self.sectors[range].iter().map(newest).collect(),
            Operation::Write | Operation::Trim => {
                let id = request.id.0;
                let value = if request.operation == Operation::Write { id } else { 0 };
                let version = Version { value, id, durable: false, number: None, completed: None };
                self.sectors[range].iter_mut().for_each(|versions| versions.push(version));
            }
            _ => {}
        }
        let submitted = self.events;
        self.in_flight.insert(request.id, InFlight { request, expected, submitted });
    }

    /// A request has succeeded. Returns the number of sectors compared.
    pub fn completed(&mut self, id: RequestId, buffer: Option<&Buffer>) -> u64 {
        self.events += 1;
        let InFlight { request, expected, submitted } = self.in_flight.remove(&id).expect("it was in flight");
        let range = sectors_of(request.offset_bytes, request.length_bytes);
        match request.operation {
            Operation::Read => {
                let bytes = buffer.expect("a read brings its bytes").as_slice();
                for ((sector, expected), found) in range.zip(&expected).zip(bytes.chunks(SECTOR as usize)) {
                    let versions = &self.sectors[sector];
                    assert!(
                        found == bytes_of(sector as u64, *expected),
                        "{request:?}: sector {sector} holds {}, not {expected}: {versions:?}",
                        value_in(found)
                    );
                }
                return expected.len() as u64;
            }
            Operation::Flush => {
                for version in self.sectors.iter_mut().flatten() {
                    let before = version.completed.is_some_and(|completed| completed < submitted);
                    // A trim is a hint, which a power cut may undo.
                    version.durable |= before && version.number.is_some();
                }
            }
            Operation::Write | Operation::Trim => {
                let is_numbered = request.operation == Operation::Write && !request.durable;
                let number = is_numbered.then_some(self.next_number);
                self.next_number += u64::from(is_numbered);
                let versions = self.sectors[range].iter_mut().flatten();
                for version in versions.filter(|version| version.id == id.0) {
                    version.completed = Some(self.events);
                    version.number = number;
                    version.durable = request.durable;
                }
            }
            _ => unreachable!("there are no erase units"),
        }
        0
    }

    /// The power was cut, and these bytes are left. Returns the number of acknowledged versions that are lost.
    pub fn cut(&mut self, lost: &[AtRisk], found: &Buffer) -> u64 {
        let numbered = |request: &Request| request.operation == Operation::Write && !request.durable;
        let failed = self.in_flight.values().filter(|in_flight| numbered(&in_flight.request)).count();
        self.next_number += failed as u64;
        self.in_flight.clear();
        let mut first_write = vec![u64::MAX; self.sectors.len()];
        for risk in lost {
            for sector in sectors_of(risk.offset_bytes, risk.length_bytes) {
                first_write[sector] = first_write[sector].min(risk.first_write);
            }
        }
        let mut count = 0;
        for (sector, bytes) in found.as_slice().chunks(SECTOR as usize).enumerate() {
            let (versions, first_write) = (&self.sectors[sector], first_write[sector]);
            let seen = || {
                format!("sector {sector} holds {}: {versions:?}, lost from {first_write}", value_in(bytes))
            };
            let reported = |version: &Version| version.number.is_some_and(|number| number >= first_write);
            let wrong = versions.iter().any(|version| version.durable && reported(version));
            assert!(!wrong, "a flushed version is reported as lost: {}", seen());
            let is_kept = |version: &Version| {
                version.durable || version.number.is_some_and(|number| number < first_write)
            };
            let oldest = versions.iter().rposition(is_kept).expect("the first version is durable");
            let value = value_in(bytes);
            assert!(
                versions[oldest..].iter().any(|version| version.value == value),
                "an acknowledged version is lost: {}",
                seen()
            );
            assert!(bytes == bytes_of(sector as u64, value), "a version is torn: {}", seen());
            let newest = versions.iter().rfind(|version| version.number.is_some());
            count += u64::from(newest.is_some_and(|newest| newest.value != value));
            self.sectors[sector] = vec![Version::kept(value)];
        }
        count
    }
}
