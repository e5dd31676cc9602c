//! Preconditioning on a scripted device.

use crate::tests::Scripted;
use crate::{Doubt, Interruption, Run, RunOptions, run};
use flashlane_base::Operation;
use flashlane_device::Request;
use flashlane_result::run::RunResult;
use flashlane_workload::{Precondition, Workload};
use std::ops::ControlFlow;

fn preconditioned(device: &mut Scripted, text: &str) -> Run {
    device.info.capacity_bytes = 64 << 20;
    let workload = Workload::parse(text).unwrap_or_else(|error| panic!("{error}"));
    run(device, &workload, RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn preconditioning_fills_twice_then_runs_own_writes() {
    let mut device = Scripted::new(8, 1, 10);
    let result =
        preconditioned(&mut device, "random-write,size=8k,area=32MiB,requests=10,precondition=steady");
    let done = result.precondition.as_ref().expect("it was requested");
    assert_eq!(done.sequential_bytes, 128 << 20);
    assert!(done.is_steady() && done.rounds.len() == 5, "every round is alike: {done:?}");
    assert_eq!(done.written_bytes, 5 * (16 << 20));
    let (fill, rest) = device.log.split_at(1024);
    let order = fill.iter().zip(0..).all(|(request, nth)| request.offset_bytes == nth % 512 * (128 << 10));
    assert!(order && fill.iter().all(|request| request.operation == Operation::Write));
    assert_eq!(rest.len(), 5 * 2048 + 10);
    assert!(rest.iter().all(|request| request.length_bytes == 8192 && request.offset_bytes < 32 << 20));
    assert_eq!(result.requests, 10);
    assert_eq!(result.counters.get("requests_taken"), Some(10), "only measured requests count");
    let row = RunResult::from(&result).precondition.expect("it was requested");
    assert!(row.steady && row.rounds_iops.len() == 5);
}

#[test]
fn read_workload_is_preconditioned_with_random_writes() {
    let mut device = Scripted::new(8, 8, 10);
    let result = preconditioned(&mut device, "random-read,requests=10,precondition=steady,think=1ms");
    let writes = device.log.iter().filter(|request| request.operation == Operation::Write).count();
    assert_eq!(writes, 1024 + 5 * 4096);
    assert!(result.precondition.is_some_and(|done| done.is_steady()));
}

#[test]
fn rounds_flush_as_often_as_the_workload() {
    let mut device = Scripted::new(8, 1, 10);
    let result =
        preconditioned(&mut device, "random-write,size=8k,fsync=4,requests=10,precondition=steady,think=1ms");
    let done = result.precondition.as_ref().expect("it was requested");
    assert!(done.is_steady() && done.rounds.len() == 5, "every round is alike: {done:?}");
    assert_eq!(done.written_bytes, 5 * (16 << 20), "flushes write nothing");
    let rounds = &device.log[1024..];
    let flushes = |requests: &[Request]| {
        requests.iter().filter(|request| request.operation == Operation::Flush).count()
    };
    assert_eq!(flushes(&device.log[..1024]), 0, "the workload's jobs do not fill the device");
    assert_eq!(flushes(&rounds[..5 * (2048 + 512)]), 5 * 512);
}

#[test]
fn unsteady_device_is_reported() {
    // A round of 512 writes makes it 5% slower, five rounds 20% and more.
    let mut device = Scripted::new(8, 1, 10).slowing(1.0001);
    let result = preconditioned(&mut device, "random-write,size=32k,requests=10,precondition=steady");
    let done = result.precondition.as_ref().expect("it was requested");
    assert_eq!((done.rounds.len(), done.is_steady()), (25, false), "{:?}", done.window);
    let doubt = result.doubts().into_iter().find(|doubt| matches!(doubt, Doubt::NotSteady { .. }));
    assert!(matches!(doubt, Some(Doubt::NotSteady { rounds: 25, slope, .. }) if slope < -0.1), "{doubt:?}");
}

#[test]
fn mixed_preconditioning_writes_its_volume_in_all_sizes() {
    let mut device = Scripted::new(8, 8, 10);
    let result = preconditioned(&mut device, "random-read,requests=10,precondition=mixed:32MiB");
    let (writes, reads): (Vec<&Request>, Vec<_>) =
        device.log.iter().partition(|request| request.operation == Operation::Write);
    let written_bytes: u64 = writes.iter().map(|request| request.length_bytes).sum();
    assert!((32 << 20..(32 << 20) + (256 << 10)).contains(&written_bytes), "{written_bytes}");
    for size in Precondition::MIXED_SIZES {
        let share = writes.iter().filter(|request| request.length_bytes == size).count() * 100 / writes.len();
        assert!((15..=35).contains(&share), "{share}% of {size} B");
    }
    assert!(writes.iter().all(|request| request.offset_bytes.is_multiple_of(request.length_bytes)));
    assert!(writes.iter().any(|request| request.offset_bytes >= 48 << 20));
    assert_eq!((reads.len(), result.requests), (10, 10));
    let done = result.precondition.as_ref().expect("it was requested");
    assert_eq!((done.sequential_bytes, done.written_bytes), (0, written_bytes));
    assert!(!result.doubts().iter().any(|doubt| matches!(doubt, Doubt::NotSteady { .. })));
    assert!(!result.was_written, "a part of the device may still be unwritten");
}

#[test]
fn mixed_requests_are_multiples_of_the_write_unit() {
    let mut device = Scripted::new(8, 8, 10);
    device.info.write_unit_bytes = 48 << 10;
    preconditioned(&mut device, "random-write,size=48KiB,requests=1,precondition=mixed:1MiB");
    assert!(device.log.iter().all(|request| request.length_bytes == 48 << 10), "no other size is possible");
    let mut device = Scripted::new(8, 8, 10);
    device.info.write_unit_bytes = 16 << 10;
    preconditioned(&mut device, "random-write,size=16KiB,requests=1,precondition=mixed:4MiB");
    assert!(device.log.iter().all(|request| request.length_bytes.is_multiple_of(16 << 10)));
    assert!(device.log.iter().any(|request| request.length_bytes == 64 << 10));
}

#[test]
fn watch_stops_mixed_preconditioning() {
    let mut device = Scripted::new(8, 8, 10);
    let workload = Workload::parse("random-write,precondition=mixed:1GiB").unwrap();
    let mut watch = |progress: &crate::Progress| {
        assert!(progress.preconditions);
        ControlFlow::Break(())
    };
    let options = RunOptions { watch: Some(&mut watch), ..RunOptions::default() };
    let result = run(&mut device, &workload, options).unwrap();
    assert_eq!((result.requests, result.partial), (0, Some(Interruption::Stopped)));
    assert!(device.log.len() < 10_000, "{}", device.log.len());
}

#[test]
fn watch_stops_preconditioning() {
    let mut device = Scripted::new(8, 8, 10);
    device.info.capacity_bytes = 4 << 30;
    let workload = Workload::parse("random-write,precondition=steady").unwrap();
    let mut seen = false;
    let mut watch = |progress: &crate::Progress| {
        seen |= progress.preconditions;
        ControlFlow::Break(())
    };
    let options = RunOptions { watch: Some(&mut watch), ..RunOptions::default() };
    let result = run(&mut device, &workload, options).unwrap();
    assert!(seen);
    assert_eq!((result.requests, result.partial), (0, Some(Interruption::Stopped)));
    assert!(result.doubts().iter().any(|doubt| matches!(doubt, Doubt::Partial(_))));
}
