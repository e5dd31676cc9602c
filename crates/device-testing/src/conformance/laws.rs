//! The laws of completion, time and depth.

use super::law::Law;
use super::watched::Watched;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Counters, Device, Lane, Operation, Request, SubmitError};

pub(super) const LAWS: &[(&str, Law)] = &[
    ("the info of a device is usable", Law::Alone(the_info_is_usable)),
    ("each accepted request completes exactly once", Law::Alone(each_request_completes_once)),
    ("every lane can be used", Law::Alone(every_lane_works)),
    ("reap returns by its deadline", Law::Alone(reap_returns_by_its_deadline)),
    ("no request completes before the next event", Law::Alone(nothing_completes_before_the_next_event)),
    ("reap returns at once when nothing is in flight", Law::Alone(an_idle_reap_returns_at_once)),
    ("no more than the depth is in flight, and Full passes", Law::Alone(full_passes)),
    ("a flush completes after the writes before it", Law::Alone(a_flush_follows_writes)),
    ("a trim is accepted or refused as unsupported", Law::Alone(a_trim_is_accepted_or_unsupported)),
    ("energy that is counted has a curve of the same sum", Law::Alone(energy_has_a_curve)),
];

/// Devices with a deeper queue than this are not filled.
const DEEPEST: u32 = 4096;

fn the_info_is_usable(subject: Watched<Box<dyn Device>>) {
    let p = subject.info().clone();
    let units = [p.read_unit_bytes, p.write_unit_bytes];
    let sound = p.depth > 0
        && p.lanes > 0
        && p.capacity_bytes > 0
        && units.iter().all(|&unit| unit > 0 && p.capacity_bytes.is_multiple_of(unit))
        && p.write_unit_bytes.is_multiple_of(p.read_unit_bytes)
        && p.erase_unit_bytes.is_multiple_of(p.write_unit_bytes);
    subject.require(sound, || format!("{p:?}"));
}

fn each_request_completes_once(mut subject: Watched<Box<dyn Device>>) {
    subject.prepare(Lane(0));
    let a_read = subject.a_read(Lane(0));
    let before = subject.log.len();
    let mut accepted = 0;
    for _ in 0..100 {
        match subject.submit(a_read) {
            Ok(_) => accepted += 1,
            Err(SubmitError::DeviceLost) if subject.may_fail() => break,
            Err(SubmitError::Full { .. }) => {
                subject.reap(Instant::FAR);
            }
            Err(error) => subject.require(false, || format!("{a_read:?} was refused: {error}")),
        }
    }
    subject.drain();
    let completed = subject.log.len() - before;
    subject.require(completed == accepted, || format!("{completed} of {accepted} completed"));
}

fn energy_has_a_curve(mut subject: Watched<Box<dyn Device>>) {
    subject.prepare(Lane(0));
    subject.drain();
    let counted_pj = subject.counters().get(Counters::ENERGY).map(|nj| u128::from(nj) * 1_000);
    let curve = subject.power_curve();
    let sum_pj = curve.map(|curve| curve.energy_pj.iter().map(|&pj| u128::from(pj)).sum::<u128>());
    // Each counter of a use of energy is rounded to nanojoules.
    let agree = match (counted_pj, sum_pj) {
        (Some(counted), Some(sum)) => counted.abs_diff(sum) <= 100_000,
        (counted, sum) => counted.is_none() && sum.is_none(),
    };
    subject.require(agree, || format!("{counted_pj:?} pJ counted, {sum_pj:?} pJ in the curve"));
}

fn nothing_completes_before_the_next_event(mut subject: Watched<Box<dyn Device>>) {
    subject.prepare(Lane(0));
    let a_read = subject.a_read(Lane(0));
    for _ in 0..8.min(subject.info().depth) {
        match subject.submit(a_read) {
            Ok(_) => {}
            Err(SubmitError::DeviceLost) if subject.may_fail() => break,
            Err(error) => subject.require(false, || format!("{a_read:?} was refused: {error}")),
        }
    }
    while subject.in_flight() > 0 {
        let Some(next) = subject.next_event() else { return subject.drain() };
        let now = subject.now();
        subject.require(now <= next, || format!("the next event is at {next:?}, and it is {now:?}"));
        subject.require(next < Instant::FAR, || "requests are in flight, and no event follows".into());
        if now < next {
            let before = subject.log.len();
            subject.reap(Instant::from_ns(next.as_ns() - 1));
            let (now, early) = (subject.now(), subject.log.len() - before);
            let is_kept = early == 0 && now < next;
            subject.require(is_kept, || format!("{early} requests completed before {next:?}; it is {now:?}"));
        }
        subject.reap(next);
        let now = subject.now();
        subject.require(now == next, || format!("reap until {next:?} returned at {now:?}"));
    }
}

fn every_lane_works(mut subject: Watched<Box<dyn Device>>) {
    let lanes = subject.info().lanes;
    for lane in [0, lanes / 2, lanes - 1].map(Lane) {
        subject.prepare(lane);
        let a_read = subject.a_read(lane);
        subject.complete(a_read);
    }
}

fn reap_returns_by_its_deadline(mut subject: Watched<Box<dyn Device>>) {
    // `Watched::reap` checks that a reap without completions reached its deadline.
    let simulated = subject.info().simulated;
    subject.prepare(Lane(0));
    let a_read = subject.a_read(Lane(0));
    for wait in [0, 1, 1_000, 100_000].map(Duration::from_ns) {
        let until = subject.now() + wait;
        subject.reap(until);
        let now = subject.now();
        subject.require(!simulated || now == until, || {
            format!("idle until {until:?}, the clock stands at {now:?}")
        });
        if subject.must_submit(a_read).is_none() {
            return;
        }
        let until = subject.now() + wait;
        for completion in subject.reap(until) {
            subject.require(!simulated || completion.completed <= until, || {
                format!("{completion:?} came for a reap until {until:?}")
            });
        }
        let now = subject.now();
        subject.require(!simulated || now <= until, || {
            format!("a reap until {until:?} left the clock at {now:?}")
        });
        subject.drain();
    }
}

fn an_idle_reap_returns_at_once(mut subject: Watched<Box<dyn Device>>) {
    for _ in 0..2 {
        let before = subject.now();
        subject.reap(Instant::FAR);
        let (now, simulated) = (subject.now(), subject.info().simulated);
        subject.require(!simulated || now == before, || format!("it waited from {before:?} to {now:?}"));
        // A deadline in the past is valid too.
        subject.reap(Instant::ZERO);
        subject.prepare(Lane(0));
        let a_read = subject.a_read(Lane(0));
        subject.complete(a_read);
    }
}

fn full_passes(mut subject: Watched<Box<dyn Device>>) {
    let depth = subject.info().depth;
    subject.prepare(Lane(0));
    let a_read = subject.a_read(Lane(0));
    for _ in 0..depth.min(DEEPEST) {
        if subject.must_submit(a_read).is_none() {
            return subject.drain();
        }
    }
    if depth <= DEEPEST {
        let answer = subject.submit(a_read);
        let device_lost = subject.may_fail() && answer == Err(SubmitError::DeviceLost);
        subject.require(device_lost || answer == Err(SubmitError::Full { depth }), || {
            format!("at a depth of {depth} one more gave {answer:?}")
        });
    }
    let reaped = subject.reap(Instant::FAR).len();
    for _ in 0..reaped {
        subject.must_submit(a_read);
    }
    subject.drain();
}

fn a_flush_follows_writes(mut subject: Watched<Box<dyn Device>>) {
    let unit = subject.info().write_unit_bytes;
    if !subject.info().read_only {
        subject.prepare(Lane(0));
        if subject.info().erase_unit_bytes == 0 {
            for durable in [false, true] {
                subject.complete(Request { durable, ..Request::write(0, 0, unit) });
            }
        }
    }
    let written = subject.log.last().map(|write| write.completed);
    for _ in 0..2 {
        subject.complete(Request::flush(0));
    }
    let flushed = subject.log.last().map(|flush| flush.completed);
    subject.require(flushed >= written, || format!("writes ended at {written:?}, the flush at {flushed:?}"));
}

fn a_trim_is_accepted_or_unsupported(mut subject: Watched<Box<dyn Device>>) {
    subject.prepare(Lane(0));
    let (unit, operation) = (subject.info().write_unit_bytes, Operation::Trim);
    let answer = subject.submit(Request::trim(0, 0, unit));
    let lawful = match answer {
        Ok(_) => !subject.info().read_only,
        Err(SubmitError::ReadOnly { operation: o }) => subject.info().read_only && o == operation,
        Err(SubmitError::Unsupported { operation: o }) => o == operation,
        Err(SubmitError::DeviceLost) => subject.may_fail(),
        Err(_) => false,
    };
    subject.require(lawful, || format!("the answer is {answer:?}"));
    subject.drain();
}
