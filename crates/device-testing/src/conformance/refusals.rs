//! The requests that a device must refuse, with which error, and that a refusal has no effect.

use super::law::{Law, Make};
use super::watched::{Health, Watched};
use flashlane_device::{Device, DeviceInfo, Lane, Operation, PlacementHandle, QueueId, Request, SubmitError};

pub(super) const LAWS: &[(&str, Law)] = &[
    ("a refusal names what was given and what is allowed", Law::Alone(refusals_name_what_was_given)),
    ("a refused request changes nothing", Law::Simulated(refusals_change_nothing)),
];

/// Requests that no device with this profile may accept, each with the expected refusal.
pub(super) fn unlawful(p: &DeviceInfo) -> Vec<(Request, SubmitError)> {
    let (unit, capacity) = (p.read_unit_bytes, p.capacity_bytes);
    let out_of_range = |offset_bytes, length_bytes| {
        let error = SubmitError::OutOfRange { offset_bytes, length_bytes, capacity_bytes: capacity };
        (Request::read(0, offset_bytes, length_bytes), error)
    };
    let misaligned = |offset_bytes, length_bytes| {
        let error = SubmitError::Misaligned { offset_bytes, length_bytes, unit_bytes: unit };
        (Request::read(0, offset_bytes, length_bytes), error)
    };
    let mut list = vec![
        out_of_range(capacity, unit),
        out_of_range(capacity - unit, 2 * unit),
        out_of_range(0, capacity + unit),
        out_of_range(0, 0),
        out_of_range(u64::MAX, unit),
        out_of_range(u64::MAX - unit + 1, unit),
        out_of_range(unit, u64::MAX),
        (
            Request::read(0, 0, unit).on(Lane(p.lanes)),
            SubmitError::NoSuchLane { lane: Lane(p.lanes), lanes: p.lanes },
        ),
        (
            Request::read(0, 0, unit).on(Lane(u32::MAX)),
            SubmitError::NoSuchLane { lane: Lane(u32::MAX), lanes: p.lanes },
        ),
        (
            Request::read(0, 0, unit).in_queue(QueueId(u16::MAX)),
            SubmitError::NoSuchQueue { queue: QueueId(u16::MAX), queues: p.queues },
        ),
        (
            Request::flush(0).in_queue(QueueId(p.queues as u16)),
            SubmitError::NoSuchQueue { queue: QueueId(p.queues as u16), queues: p.queues },
        ),
    ];
    for operation in [Operation::Read, Operation::Trim] {
        let handle = PlacementHandle(1);
        let request = Request { operation, ..Request::read(0, 0, unit) }.placed(handle);
        let handles = p.placement_handles;
        if !p.read_only || operation == Operation::Read {
            list.push((request, SubmitError::NoSuchHandle { operation, handle, handles }));
        }
    }
    if unit > 1 {
        list.push(misaligned(0, unit - 1));
        list.push(misaligned(1, unit - 1));
        if capacity > unit {
            list.push(misaligned(1, unit));
        }
    }
    let erase = Request { operation: Operation::Erase, ..Request::read(0, 0, unit) };
    if p.erase_unit_bytes == 0 {
        list.push((erase, SubmitError::Unsupported { operation: Operation::Erase }));
    } else if p.read_only {
        list.push((erase, SubmitError::ReadOnly { operation: Operation::Erase }));
    }
    if p.zones.is_none() {
        for operation in [Operation::Append, Operation::Open, Operation::Close, Operation::Finish] {
            let request = Request { operation, ..Request::read(0, 0, unit) };
            list.push((request, SubmitError::Unsupported { operation }));
        }
    }
    let write_unit = p.write_unit_bytes;
    let write = Request::write(0, 0, write_unit);
    if p.read_only {
        list.push((write, SubmitError::ReadOnly { operation: Operation::Write }));
    } else {
        let (operation, handles) = (Operation::Write, p.placement_handles);
        for handle in [PlacementHandle(handles as u16), PlacementHandle(u16::MAX)] {
            list.push((write.placed(handle), SubmitError::NoSuchHandle { operation, handle, handles }));
        }
        let beyond = Request::write(0, capacity, write_unit);
        let (offset_bytes, length_bytes) = (capacity, write_unit);
        list.push((beyond, SubmitError::OutOfRange { offset_bytes, length_bytes, capacity_bytes: capacity }));
        if write_unit > 1 {
            let error = SubmitError::Misaligned {
                offset_bytes: 0,
                length_bytes: write_unit - 1,
                unit_bytes: write_unit,
            };
            list.push((Request::write(0, 0, write_unit - 1), error));
        }
    }
    list
}

fn refusals_name_what_was_given(mut subject: Watched<Box<dyn Device>>) {
    let unlawful = unlawful(subject.info());
    for (request, expected) in unlawful {
        let answer = subject.submit(request);
        let device_lost = subject.may_fail() && answer == Err(SubmitError::DeviceLost);
        subject.require(device_lost || answer == Err(expected), || {
            format!("{request:?} should be refused with '{expected}', the answer is {answer:?}")
        });
        subject.require(!expected.to_string().is_empty(), || "the refusal has no text".into());
    }
    subject.drain();
    subject.require(subject.log.is_empty(), || "a refused request completed".into());
}

/// Two fresh drives get the same requests, one of them with refused ones in between: the completions are the same.
fn refusals_change_nothing(make: &mut Make<'_>, law: &'static str, health: Health) {
    let mut run = |disturbed: bool| {
        let mut subject = Watched::new(make(), law, health);
        subject.prepare(Lane(0));
        let a_read = subject.a_read(Lane(0));
        let unlawful = unlawful(subject.info());
        let mut times = Vec::new();
        for _ in 0..unlawful.len() {
            for (request, _) in unlawful.iter().filter(|_| disturbed) {
                let answer = subject.submit(*request);
                subject.require(answer.is_err(), || format!("{request:?} was accepted"));
            }
            subject.complete(a_read);
        }
        times.extend(subject.log.iter().map(|c| (c.submitted, c.completed, c.outcome)));
        (times, subject.counters(), subject.now())
    };
    let (undisturbed, disturbed) = (run(false), run(true));
    Watched::new(make(), law, health).require(undisturbed == disturbed, || {
        format!("undisturbed it gives {undisturbed:?}, with refused requests in between {disturbed:?}")
    });
}
