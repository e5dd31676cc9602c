//! The laws of media with erase units.

use super::law::Law;
use super::watched::Watched;
use flashlane_base::Instant;
use flashlane_device::{Device, Lane, Operation, Request, Rule, SubmitError, UnitState};

pub(super) const LAWS: &[(&str, Law)] =
    &[("an erase unit is erased as a whole, then written once and in order", Law::Alone(the_rules_are_kept))];

fn the_rules_are_kept(mut subject: Watched<Box<dyn Device>>) {
    let p = subject.info().clone();
    if p.erase_unit_bytes == 0 {
        let none = subject.unit(Lane(0), 0).is_none();
        return subject.require(none, || "it reports erase units and has no erase".into());
    }
    let units = p.capacity_bytes / p.erase_unit_bytes;
    let beyond = [(Lane(0), units), (Lane(p.lanes), 0), (Lane(0), u64::MAX), (Lane(u32::MAX), 0)];
    let none_beyond = beyond.iter().all(|&(lane, index)| subject.unit(lane, index).is_none());
    subject.require(none_beyond, || "it reports units that it does not have".into());
    if p.read_only || subject.may_fail() {
        return;
    }
    for lane in [0, p.lanes - 1].map(Lane) {
        let base = subject.base(lane);
        let index = base / p.erase_unit_bytes;
        let write = |at| Request::write(0, base + at, p.write_unit_bytes).on(lane);
        let read = |at| Request::read(0, base + at, p.read_unit_bytes).on(lane);
        let erase = Request::erase(0, base, p.erase_unit_bytes).on(lane);
        subject.complete(erase);
        let erases = subject.unit(lane, index).and_then(|unit| unit.erases);
        state_is(&subject, lane, index, UnitState::ERASED);
        refused(&mut subject, read(0), Rule::NotWritten { written_bytes: 0 });
        if units > index + 1 {
            let across = Request::erase(0, base, 2 * p.erase_unit_bytes).on(lane);
            refused(&mut subject, across, Rule::AcrossUnits { unit_bytes: p.erase_unit_bytes });
        }
        let mut written_bytes = 0;
        while written_bytes < p.erase_unit_bytes.min(4 * p.write_unit_bytes) {
            if written_bytes + p.write_unit_bytes < p.erase_unit_bytes {
                let ahead = write(written_bytes + p.write_unit_bytes);
                refused(&mut subject, ahead, Rule::OutOfOrder { expected_bytes: written_bytes });
            }
            // During the write the unit accepts no other change.
            subject.must_submit(write(written_bytes));
            if subject.in_flight() > 0 {
                refused(&mut subject, erase, Rule::Busy { operation: Operation::Write });
                refused(&mut subject, read(written_bytes), Rule::NotWritten { written_bytes });
            }
            subject.drain();
            written_bytes += p.write_unit_bytes;
            state_is(&subject, lane, index, UnitState::Written { bytes: written_bytes });
            refused(&mut subject, write(0), Rule::NotErased { written_bytes });
            subject.complete(read(written_bytes - p.read_unit_bytes));
        }
        subject.must_submit(read(0));
        refused(&mut subject, erase, Rule::Busy { operation: Operation::Read });
        subject.drain();
        subject.must_submit(erase);
        refused(&mut subject, read(0), Rule::Busy { operation: Operation::Erase });
        refused(&mut subject, write(0), Rule::Busy { operation: Operation::Erase });
        subject.drain();
        state_is(&subject, lane, index, UnitState::ERASED);
        let counted = subject.unit(lane, index).and_then(|unit| unit.erases);
        subject.require(counted == erases.map(|erases| erases + 1), || {
            format!("{erases:?} erases, and after one more {counted:?}")
        });
    }
    subject.reap(Instant::ZERO);
}

#[track_caller]
fn state_is(subject: &Watched<Box<dyn Device>>, lane: Lane, index: u64, expected: UnitState) {
    let seen = subject.unit(lane, index);
    subject.require(seen.is_some_and(|unit| unit.state == expected), || {
        format!("unit {index} of {lane:?} should be {expected:?} and is {seen:?}")
    });
}

#[track_caller]
fn refused(subject: &mut Watched<Box<dyn Device>>, request: Request, expected: Rule) {
    let answer = subject.submit(request);
    let as_expected = matches!(answer, Err(SubmitError::Rule { rule, operation, lane, offset_bytes, .. })
        if rule == expected && (operation, lane, offset_bytes) == (request.operation, request.lane, request.offset_bytes));
    subject
        .require(as_expected, || format!("{request:?} should be refused as '{expected}', it is {answer:?}"));
}
