//! The laws of erase units that are zones.

use super::law::Law;
use super::watched::Watched;
use flashlane_device::{Device, Lane, Operation, Request, Rule, SubmitError, UnitState, Zone, ZoneState};

pub(super) const LAWS: &[(&str, Law)] = &[
    ("appends lie one behind the other, and each reports where", Law::Alone(appends_report_their_place)),
    ("zones are opened, closed and finished", Law::Alone(states_change_as_asked)),
];

/// A zone to be tested: its lane, index, start and capacity.
#[derive(Clone, Copy)]
struct Tested {
    lane: Lane,
    index: u64,
    start: u64,
    capacity: u64,
}

impl Tested {
    fn append(self, bytes: u64) -> Request {
        Request::append(0, self.start, bytes).on(self.lane)
    }

    fn of(self, operation: Operation) -> Request {
        Request { operation, ..Request::read(0, self.start, self.capacity) }.on(self.lane)
    }
}

/// The first usable zone of the last lane; `None` where there are no zones, or they cannot be written.
fn tested(subject: &Watched<Box<dyn Device>>) -> Option<Tested> {
    let p = subject.info();
    let lane = Lane(p.lanes - 1);
    if p.zones.is_none() {
        let reports = subject.zone(lane, 0).is_some();
        subject.require(!reports, || "it reports zones that its info does not have".into());
    }
    if p.zones.is_none() || p.read_only || subject.may_fail() {
        return None;
    }
    let (start, capacity) = (subject.base(lane), p.erase_unit_bytes);
    Some(Tested { lane, index: start / capacity, start, capacity })
}

fn appends_report_their_place(mut subject: Watched<Box<dyn Device>>) {
    let Some(zone) = tested(&subject) else { return };
    subject.complete(zone.of(Operation::Erase));
    let unit = subject.info().write_unit_bytes;
    let count = subject.info().depth.min(4).min((zone.capacity / unit) as u32 / 2);
    let ids: Vec<_> = (0..count).filter_map(|_| subject.must_submit(zone.append(unit))).collect();
    let mut places = Vec::new();
    while places.len() < ids.len() {
        for done in subject.reap(flashlane_base::Instant::FAR) {
            let place = subject.appended_at(done.id);
            subject.require(place.is_some(), || format!("it does not report where {done:?} lies"));
            places.extend(place);
        }
    }
    places.sort_unstable();
    let expected: Vec<_> = (0..u64::from(count)).map(|nth| (zone.lane, zone.start + nth * unit)).collect();
    subject.require(places == expected, || format!("appends lie at {places:?}, not at {expected:?}"));
    let written_bytes = u64::from(count) * unit;
    state_is(&subject, zone, ZoneState::ImplicitlyOpen, written_bytes);
    subject.complete(Request::read(0, zone.start, written_bytes).on(zone.lane));
    // A write goes on behind them.
    if written_bytes < zone.capacity {
        subject.complete(Request::write(0, zone.start + written_bytes, unit).on(zone.lane));
        let beside = Request { offset_bytes: zone.start + unit, ..zone.append(unit) };
        refused(&mut subject, beside, Rule::NotAtZoneStart { beyond_bytes: unit });
        let left_bytes = zone.capacity - written_bytes - unit;
        if left_bytes < zone.capacity - unit {
            refused(&mut subject, zone.append(left_bytes + unit), Rule::NoRoom { left_bytes });
        }
    }
}

fn states_change_as_asked(mut subject: Watched<Box<dyn Device>>) {
    let Some(zone) = tested(&subject) else { return };
    let unit = subject.info().write_unit_bytes;
    subject.complete(zone.of(Operation::Erase));
    state_is(&subject, zone, ZoneState::Empty, 0);
    refused(&mut subject, zone.of(Operation::Close), Rule::ZoneState { state: ZoneState::Empty });
    subject.complete(zone.of(Operation::Open));
    state_is(&subject, zone, ZoneState::ExplicitlyOpen, 0);
    subject.complete(zone.append(unit));
    state_is(
        &subject,
        zone,
        if unit == zone.capacity { ZoneState::Full } else { ZoneState::ExplicitlyOpen },
        unit,
    );
    if unit < zone.capacity {
        subject.complete(zone.of(Operation::Close));
        state_is(&subject, zone, ZoneState::Closed, unit);
        subject.complete(zone.append(unit));
        let state = if 2 * unit == zone.capacity { ZoneState::Full } else { ZoneState::ImplicitlyOpen };
        state_is(&subject, zone, state, 2 * unit);
    }
    subject.must_submit(zone.of(Operation::Finish));
    if subject.in_flight() > 0 {
        refused(&mut subject, zone.of(Operation::Erase), Rule::Busy { operation: Operation::Finish });
    }
    subject.drain();
    state_is(&subject, zone, ZoneState::Full, zone.capacity);
    let full = subject.unit(zone.lane, zone.index).map(|unit| unit.state);
    subject.require(full == Some(UnitState::Written { bytes: zone.capacity }), || {
        format!("a finished zone is {full:?}")
    });
    refused(&mut subject, zone.append(unit), Rule::NoRoom { left_bytes: 0 });
    refused(&mut subject, zone.of(Operation::Open), Rule::ZoneState { state: ZoneState::Full });
    let read_unit = subject.info().read_unit_bytes;
    subject.complete(Request::read(0, zone.start + zone.capacity - read_unit, read_unit).on(zone.lane));
    subject.complete(zone.of(Operation::Erase));
    state_is(&subject, zone, ZoneState::Empty, 0);
}

#[track_caller]
fn state_is(subject: &Watched<Box<dyn Device>>, zone: Tested, state: ZoneState, write_pointer_bytes: u64) {
    let seen = subject.zone(zone.lane, zone.index);
    let expected = Zone { state, write_pointer_bytes };
    subject.require(seen == Some(expected), || format!("the zone should be {expected:?} and is {seen:?}"));
}

#[track_caller]
fn refused(subject: &mut Watched<Box<dyn Device>>, request: Request, expected: Rule) {
    let answer = subject.submit(request);
    let is_expected = matches!(answer, Err(SubmitError::Rule { rule, .. }) if rule == expected);
    subject
        .require(is_expected, || format!("{request:?} should be refused as '{expected}', it is {answer:?}"));
}
