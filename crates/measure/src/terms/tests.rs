//! Rates, flushes, durable writes and access limits of jobs, against the log of a scripted device.

use crate::doubt::{Load, about_flash};
use crate::tests::Scripted;
use crate::{Doubt, Run, RunOptions, run};
use flashlane_base::{Duration, Instant, Operation};
use flashlane_device::{Counters, Device, DeviceInfo};
use flashlane_result::run::RunResult;
use flashlane_workload::Workload;

fn measure(device: &mut Scripted, text: &str) -> Run {
    let workload = Workload::parse(text).unwrap_or_else(|error| panic!("{error}"));
    run(device, &workload, RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn constant_arrivals_are_evenly_spaced() {
    let mut device = Scripted::new(8, 8, 10);
    let result = measure(&mut device, "random-read,rate=1000/s,requests=50");
    let expected: Vec<Instant> = (0..50).map(|nth| Instant::ZERO + Duration::from_us(1000 * nth)).collect();
    assert_eq!(device.times, expected);
    assert_eq!(result.latencies().latency().max, 10_000.0);
    assert!(!result.doubts().iter().any(|doubt| matches!(doubt, Doubt::RateNotKept { .. })));
    assert_eq!(device.most_in_flight, 1);
}

#[test]
fn poisson_arrivals_have_their_mean_and_spread() {
    let mut device = Scripted::new(32, 32, 1);
    measure(&mut device, "random-read,rate=100k/s,arrivals=poisson,requests=20k");
    let gaps: Vec<f64> = device.times.windows(2).map(|two| two[1].since(two[0]).as_us_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // The deviation of exponential gaps equals their mean; its error over 20,000 is below 1%.
    assert!((mean - 10.0).abs() < 0.3, "{mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance}");
}

/// One server, 100 us each, and an access every 50 us: the n-th waits for the n before it.
#[test]
fn latency_counts_from_the_arrival() {
    for depth in [1, 4, 64] {
        let mut device = Scripted::new(4, 1, 100);
        let result = measure(&mut device, &format!("random-read,rate=20k/s,depth={depth},requests=100"));
        let latencies: Vec<u64> = result.samples.iter().map(|sample| sample.latency_ns).collect();
        let expected: Vec<u64> = (0..100).map(|nth| 100_000 * (nth + 1) - 50_000 * nth).collect();
        assert_eq!(latencies, expected, "depth {depth}");
        assert!(device.most_in_flight <= depth);
        let doubt = result.doubts().into_iter().find(|doubt| matches!(doubt, Doubt::RateNotKept { .. }));
        let Some(Doubt::RateNotKept { offered_per_s, achieved_per_s, .. }) = doubt else {
            panic!("depth {depth}: {:?}", result.doubts());
        };
        assert_eq!((offered_per_s, achieved_per_s), (20_000.0, 10_000.0));
        assert_eq!(result.waited, 0, "a request that waits for a slot was not refused by the device");
        let row = RunResult::from(&result);
        assert_eq!((row.offered_iops, row.jobs[0].offered_iops), (Some(20_000.0), Some(20_000.0)));
    }
}

/// The first accesses measured arrived during the warm-up, so that both rates count from there.
#[test]
fn rate_comparison_includes_the_warm_up() {
    let mut device = Scripted::new(4, 1, 100);
    let result = measure(&mut device, "random-read,rate=20k/s,depth=4,warmup=50,requests=50");
    let lag = result.jobs[0].lag.expect("a rate");
    assert_eq!((lag.offered_per_s, lag.achieved_per_s), (20_000.0, 10_000.0));
}

#[test]
fn nothing_cleaned_suggests_a_remedy() {
    let said =
        |was_written| Doubt::NothingCleaned { was_written, is_recorded: false, written_pages: 9 }.to_string();
    assert!(said(false).contains("initial.state=full"), "{}", said(false));
    assert!(!said(true).contains("initial.state") && said(true).contains("too few"), "{}", said(true));
    let counters = Counters(
        ["host_pages_written", "pages_moved_by_cleaning", "blocks_erased"]
            .map(|n| (n, u64::from(n.starts_with("host"))))
            .to_vec(),
    );
    for begins_written in [false, true] {
        let info = DeviceInfo { begins_written, ..Scripted::new(1, 1, 1).info().clone() };
        let expected =
            Doubt::NothingCleaned { was_written: begins_written, is_recorded: false, written_pages: 1 };
        assert_eq!(about_flash(&info, &counters, Load::Made { after_writes: false }), [expected]);
    }
}

#[test]
fn jobs_with_and_without_a_rate_run_concurrently() {
    let mut device = Scripted::new(16, 16, 100);
    let result = measure(&mut device, "random-read,rate=1000/s,time=1s + random-write,depth=2");
    assert_eq!(result.jobs[0].requests(), 1000);
    assert_eq!(result.jobs[1].requests(), 20_000);
    assert_eq!(RunResult::from(&result).offered_iops, None, "one job has no rate");
}

#[test]
fn flush_follows_each_group_of_writes() {
    let mut device = Scripted::new(4, 1, 10);
    let result = measure(&mut device, "sequential-write,fsync=3,requests=9");
    let flushes: Vec<bool> = device.log.iter().map(|request| request.operation == Operation::Flush).collect();
    let group = [false, false, false, true];
    assert_eq!(flushes, [group, group, group].concat());
    assert_eq!(result.requests, 9, "flushes are no accesses");
    let operations: Vec<_> = result.operations().into_iter().map(|(name, all)| (name, all.len())).collect();
    assert_eq!(operations, [("write", 9), ("flush", 3)]);
    assert_eq!(result.latencies().len(), 9);
    assert_eq!(result.elapsed, Duration::from_us(120), "the last flush is part of the time");
}

#[test]
fn flushes_count_the_writes_of_a_mix_and_of_all_slots() {
    let mut device = Scripted::new(8, 8, 10);
    measure(&mut device, "mixed,reads=50%,fsync=5,depth=8,requests=4k");
    let mut writes = 0;
    let mut flushes = 0;
    for request in &device.log {
        match request.operation {
            Operation::Write => writes += 1,
            Operation::Flush => {
                assert_eq!(writes % 5, 0);
                flushes += 1;
            }
            _ => {}
        }
    }
    assert_eq!(flushes, writes / 5);
    assert!((1_800..2_200).contains(&writes), "{writes}");
}

#[test]
fn flush_at_a_rate_takes_no_arrival() {
    let mut device = Scripted::new(8, 8, 10);
    let result = measure(&mut device, "random-write,rate=1000/s,fsync=1,requests=20");
    let writes = device.log.iter().zip(&device.times);
    let writes = writes.filter(|(request, _)| request.operation == Operation::Write).map(|(_, at)| *at);
    let late: Vec<Duration> =
        (0..).zip(writes).map(|(nth, at)| at.since(Instant::ZERO + Duration::from_ms(nth))).collect();
    assert_eq!(late.len(), 20);
    assert!(late.iter().all(|late| *late <= Duration::from_us(10)), "{late:?}");
    assert_eq!(result.jobs[0].flushes.as_ref().map(|flushes| flushes.len()), Some(20));
}

#[test]
fn fua_makes_only_writes_durable() {
    let mut device = Scripted::new(8, 8, 10);
    measure(&mut device, "mixed,fua,requests=1k");
    for request in &device.log {
        assert_eq!(request.durable, request.operation == Operation::Write);
    }
}

#[test]
fn each_job_ends_after_its_own_accesses() {
    let mut device = Scripted::new(8, 8, 10);
    let result = measure(&mut device, "random-read,accesses=7,depth=3 + random-write,accesses=1000");
    assert_eq!(result.jobs.iter().map(crate::JobRun::requests).collect::<Vec<_>>(), [7, 1000]);
    assert_eq!(result.partial, None);
}

/// A job without terms issues the same requests at the same times beside a job with terms.
#[test]
fn think_time_pauses_after_each_burst() {
    let mut device = Scripted::new(8, 8, 10);
    measure(&mut device, "random-read,think=90us,burst=2,requests=6");
    let times: Vec<u64> = device.times.iter().map(|at| at.as_ns() / 1000).collect();
    assert_eq!(times, [0, 10, 110, 120, 220, 230]);
}
