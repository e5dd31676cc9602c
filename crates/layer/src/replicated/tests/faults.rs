//! Random requests over a device that is late and fails, compared with a plain array.

use super::*;
use flashlane_device::Operation;

const UNIT: u64 = 512;

/// The value of a unit, or `None` where a failure left it open.
type Known = Option<u8>;

struct Run {
    layer: Replicated<Bytes<Faulty<Backed<NullDevice>>>>,
    units: Vec<Known>,
    in_flight: BTreeMap<RequestId, (Request, u8)>,
    homes_lost: u64,
    /// Units compared, and requests that failed.
    compared: u64,
    failed: u64,
}

impl Run {
    fn units_of(request: &Request) -> std::ops::Range<usize> {
        (request.offset_bytes / UNIT) as usize
            ..((request.offset_bytes + request.length_bytes) / UNIT) as usize
    }

    fn submit(&mut self, request: Request) {
        let overlaps = |other: &Request| {
            let (a, b) = (Self::units_of(other), Self::units_of(&request));
            a.start < b.end && b.start < a.end
        };
        while self.in_flight.len() >= 12 || self.in_flight.values().any(|(other, _)| overlaps(other)) {
            self.reap();
        }
        let value = request.id.0 as u8;
        let bytes = match request.operation {
            Operation::Write => vec![value; request.length_bytes as usize],
            _ => vec![0xa5; request.length_bytes as usize],
        };
        let accepted = match request.operation {
            Operation::Read | Operation::Write => {
                self.layer.submit_with(request, Buffer::from_slice(&bytes)).map_err(|(error, _)| error)
            }
            _ => self.layer.submit(request),
        };
        accepted.unwrap_or_else(|error| panic!("{request:?}: {error}"));
        self.in_flight.insert(request.id, (request, value));
    }

    fn reap(&mut self) {
        let mut out = Vec::new();
        self.layer.reap(Instant::FAR, &mut out);
        let homes_lost = self.layer.counters().get("home_writes_lost").unwrap_or(0);
        if homes_lost > std::mem::replace(&mut self.homes_lost, homes_lost) {
            self.units.fill(None);
        }
        for completion in out {
            let (request, value) = self.in_flight.remove(&completion.id).expect("it was submitted");
            let buffer = self.layer.take_buffer(request.id);
            let units = Self::units_of(&request);
            self.failed += u64::from(completion.outcome.is_err());
            match (request.operation, completion.outcome) {
                (Operation::Read, Ok(())) => {
                    let buffer = buffer.expect("a read brings its bytes");
                    for (unit, bytes) in units.zip(buffer.as_slice().chunks(UNIT as usize)) {
                        let Some(known) = self.units[unit] else { continue };
                        assert!(
                            bytes.iter().all(|&byte| byte == known),
                            "unit {unit}: {}, not {known}",
                            bytes[0]
                        );
                        self.compared += 1;
                    }
                }
                (Operation::Write, Ok(())) => self.units[units].fill(Some(value)),
                (Operation::Trim, Ok(())) => self.units[units].fill(Some(0)),
                (Operation::Write | Operation::Trim, Err(_)) => self.units[units].fill(None),
                _ => {}
            }
        }
    }
}

#[test]
fn faults_below_never_return_other_bytes() {
    let mut compared = 0;
    for seed in 0..20 {
        let faults = Faults::default().with(Fault::ReadError, Rate::Share(0.05));
        let faults = faults.with(Fault::WriteError, Rate::Share(if seed % 4 == 0 { 0.3 } else { 0.05 }));
        let faults = faults.with(Fault::Delay, Rate::Share(0.3)).late_by(Duration::from_ns(100));
        let settings = Settings { delay: Some(Duration::from_ns(20)), copies: Some(3), ..eager() };
        let mut run = Run {
            layer: over_data(Faulty::over_data(backed(), faults, Seed(seed)), settings),
            units: vec![Some(0); (64 * 4096 / UNIT) as usize],
            in_flight: BTreeMap::new(),
            homes_lost: 0,
            compared: 0,
            failed: 0,
        };
        let mut random = Seed(seed).derive("requests").source();
        for id in 1..3000 {
            let (unit, most) = if random.chance(0.7) { (4096, 2) } else { (UNIT, 12) };
            let count = 1 + random.below(most);
            let offset = random.below(64 * 4096 / unit - count) * unit;
            run.submit(match random.below(100) {
                0..2 => Request::flush(id),
                2..5 => Request::trim(id, offset, count * unit),
                5..10 => Request::write(id, offset, count * unit).durable(),
                10..55 => Request::write(id, offset, count * unit),
                _ => Request::read(id, offset, count * unit),
            });
        }
        while !run.in_flight.is_empty() {
            run.reap();
        }
        let count = |name| run.layer.counters().get(name).unwrap_or(0);
        assert!(run.failed > 50 && count("writes_answered_by_copies") > 50, "seed {seed}");
        assert!(count("copies_failed") > 10 && count("accesses_of_replicated_pages") > 100, "seed {seed}");
        compared += run.compared;
    }
    assert!(compared > 10_000, "{compared}");
}
