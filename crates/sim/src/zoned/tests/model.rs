//! A plain model of zones: what a drive says of random requests, and of its zones after each, must be what the model
//! says.

use super::*;
use flashlane_base::Random;

const UNIT: u64 = 512;
const CAPACITY: u64 = 96 << 10;

/// A zone of the model: its state, write pointer, and the number of its implicit open.
#[derive(Clone, Copy)]
struct Plain {
    state: ZoneState,
    pointer: u64,
    opened: u64,
}

/// The model: zones by number, as they are seen without lanes.
struct Model {
    zones: Vec<Plain>,
    most_open: usize,
    most_active: usize,
    clock: u64,
}

impl Model {
    fn new(most_open: usize, most_active: usize) -> Self {
        let empty = Plain { state: ZoneState::Empty, pointer: 0, opened: 0 };
        Self { zones: vec![empty; 16], most_open, most_active, clock: 0 }
    }

    fn count(&self, holds: fn(ZoneState) -> bool) -> usize {
        self.zones.iter().filter(|zone| holds(zone.state)).count()
    }

    /// Opens a zone. Returns the refusal, and changes nothing then.
    fn open(&mut self, at: usize, state: ZoneState) -> Option<Rule> {
        let before = self.zones[at].state;
        if before.is_open() {
            if state == ZoneState::ExplicitlyOpen {
                self.zones[at].state = state;
            }
            return None;
        }
        if before == ZoneState::Empty && self.count(ZoneState::is_active) == self.most_active {
            return Some(Rule::TooManyActive { most: self.most_active as u32 });
        }
        if self.count(ZoneState::is_open) == self.most_open {
            let implicit =
                self.zones.iter().enumerate().filter(|(_, zone)| zone.state == ZoneState::ImplicitlyOpen);
            match implicit.min_by_key(|(_, zone)| zone.opened).map(|(at, _)| at) {
                Some(oldest) => self.zones[oldest].state = ZoneState::Closed,
                None => return Some(Rule::TooManyOpen { most: self.most_open as u32, waits: false }),
            }
        }
        self.clock += 1;
        self.zones[at] = Plain { state, opened: self.clock, ..self.zones[at] };
        None
    }

    /// What a drive with nothing in flight says of a request, which is done then.
    fn apply(&mut self, request: &Request) -> Option<Rule> {
        let at = (request.offset_bytes / CAPACITY) as usize;
        let (from, length) = (request.offset_bytes % CAPACITY, request.length_bytes);
        let Plain { state, pointer, .. } = self.zones[at];
        let full_or_open = |refusal| if state == ZoneState::Full { Some(refusal) } else { None };
        let refusal = match request.operation {
            _ if from + length > CAPACITY => Some(Rule::AcrossUnits { unit_bytes: CAPACITY }),
            Operation::Read if from + length > pointer => Some(Rule::NotWritten { written_bytes: pointer }),
            Operation::Write if from < pointer => Some(Rule::NotErased { written_bytes: pointer }),
            Operation::Write if from > pointer => Some(Rule::OutOfOrder { expected_bytes: pointer }),
            Operation::Append if length > CAPACITY - pointer => {
                Some(Rule::NoRoom { left_bytes: CAPACITY - pointer })
            }
            Operation::Write | Operation::Append => self.open(at, ZoneState::ImplicitlyOpen),
            Operation::Open => {
                full_or_open(Rule::ZoneState { state }).or_else(|| self.open(at, ZoneState::ExplicitlyOpen))
            }
            Operation::Close if !state.is_active() => Some(Rule::ZoneState { state }),
            _ => None,
        };
        if refusal.is_some() {
            return refusal;
        }
        let zone = &mut self.zones[at];
        match request.operation {
            Operation::Write | Operation::Append => {
                zone.pointer += length;
                if zone.pointer == CAPACITY {
                    zone.state = ZoneState::Full;
                }
            }
            Operation::Close => zone.state = ZoneState::Closed,
            Operation::Finish => (zone.state, zone.pointer) = (ZoneState::Full, CAPACITY),
            Operation::Erase => (zone.state, zone.pointer) = (ZoneState::Empty, 0),
            _ => {}
        }
        None
    }

    /// A request of which about half are refused.
    fn request(&self, random: &mut Random, id: u64) -> Request {
        let at = random.below(16);
        let (zone, pointer) = (at * CAPACITY, self.zones[at as usize].pointer);
        let length = match random.below(8) {
            0 => CAPACITY,
            1 => CAPACITY - pointer.min(CAPACITY - UNIT),
            _ => (1 + random.below(80)) * UNIT,
        };
        // At the very end of the drive there is no next zone to reach into.
        let within = |offset: u64| offset.min(16 * CAPACITY - length);
        match random.below(20) {
            0..4 => Request::read(id, within(zone + random.below(190) * UNIT), length),
            4..8 => Request::write(id, within(zone + pointer), length),
            8 => Request::write(id, within(zone + random.below(190) * UNIT), length),
            9..13 => Request::append(id, zone, length),
            13 | 14 => Request::open(id, zone, CAPACITY),
            15 => Request::close(id, zone, CAPACITY),
            16 => Request::finish(id, zone, CAPACITY),
            _ => Request::erase(id, zone, CAPACITY),
        }
    }
}

#[test]
fn zones_do_what_the_model_does() {
    for (seed, open, active) in [(1, "3", "5"), (2, "1", "1"), (3, "2", "9"), (4, "16", "16")] {
        let settings = [("zones.max_open", open), ("zones.max_active", active)];
        let mut drive = Interleaved::new(tiny(&settings));
        let mut model = Model::new(open.parse().unwrap(), active.parse().unwrap());
        let mut random = Seed(seed).derive("zones").source();
        let (mut refused, mut out) = (0, Vec::new());
        for id in 0..1500 {
            let request = model.request(&mut random, id);
            let pointer = model.zones[(request.offset_bytes / CAPACITY) as usize].pointer;
            let expected = model.apply(&request);
            match drive.submit(request) {
                Ok(()) => assert_eq!(expected, None, "{request:?} was accepted"),
                Err(SubmitError::Rule { rule, .. }) => {
                    assert_eq!(Some(rule), expected, "{request:?} was refused")
                }
                Err(error) => panic!("{request:?}: {error}"),
            }
            refused += u64::from(expected.is_some());
            out.clear();
            if expected.is_none() {
                drive.reap(Instant::FAR, &mut out);
                assert_eq!(out[0].outcome, Ok(()), "{request:?}");
                let is_append = request.operation == Operation::Append;
                let place = is_append.then_some((Lane(0), request.offset_bytes + pointer));
                assert_eq!(drive.appended_at(out[0].id), place);
            }
            for (index, zone) in (0..).zip(&model.zones) {
                let seen = drive.zone(Lane(0), index);
                let expected = Zone { state: zone.state, write_pointer_bytes: zone.pointer };
                assert_eq!(seen, Some(expected), "zone {index} after {request:?}");
            }
        }
        assert!((200..1400).contains(&refused), "{refused} requests were refused");
    }
}
