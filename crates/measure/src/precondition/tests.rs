//! Preconditioning on a scripted device.

use crate::tests::Scripted;
use crate::{Doubt, Interruption, Options, Run, run};
use flashlane_base::Operation;
use flashlane_result::run::RunResult;
use flashlane_workload::Workload;
use std::ops::ControlFlow;

fn preconditioned(device: &mut Scripted, text: &str) -> Run {
    device.profile.capacity_bytes = 64 << 20;
    let workload = Workload::parse(text).unwrap_or_else(|error| panic!("{error}"));
    run(device, &workload, Options::default()).unwrap_or_else(|error| panic!("{error}"))
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
fn watch_stops_preconditioning() {
    let mut device = Scripted::new(8, 8, 10);
    device.profile.capacity_bytes = 4 << 30;
    let workload = Workload::parse("random-write,precondition=steady").unwrap();
    let mut seen = false;
    let mut watch = |progress: &crate::Progress| {
        seen |= progress.preconditions;
        ControlFlow::Break(())
    };
    let options = Options { watch: Some(&mut watch), ..Options::default() };
    let result = run(&mut device, &workload, options).unwrap();
    assert!(seen);
    assert_eq!((result.requests, result.partial), (0, Some(Interruption::Stopped)));
    assert!(result.doubts().iter().any(|doubt| matches!(doubt, Doubt::Partial(_))));
}
