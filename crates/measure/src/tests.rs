//! The loop against scripted devices with known results.

use crate::{Doubt, Interruption, JobRun, MeasureError, Progress, Run, RunOptions, closed_loop, run};
use flashlane_base::{Duration, Instant, Operation};
use flashlane_device::{Completion, Counters, Device, DeviceInfo, Failure, NullDevice, Request, SubmitError};
use flashlane_result::run::RunResult;
use flashlane_workload::{Access, Arrivals, Job, Mix, Pattern, Stop, Workload};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// A device with `servers` independent servers that take `service` per request; it can fail in scripted ways.
pub(crate) struct Scripted {
    pub(crate) info: DeviceInfo,
    now: Instant,
    service: Duration,
    /// Factor by which each request takes longer than the one before.
    slows: f64,
    free: Vec<Instant>,
    in_flight: Vec<Completion>,
    pub(crate) log: Vec<Request>,
    /// Submission time of each request.
    pub(crate) times: Vec<Instant>,
    pub(crate) most_in_flight: usize,
    /// The first request that breaks.
    breaks_at: usize,
    how: Break,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Break {
    Never,
    Fails,
    /// Refuses requests and completes none.
    Vanishes,
    /// Accepts requests and completes none.
    Hangs,
}

impl Scripted {
    pub(crate) fn new(depth: u32, servers: usize, service_us: u64) -> Self {
        let info = DeviceInfo { depth, simulated: true, ..DeviceInfo::new("scripted", 1 << 30, 512) };
        Self {
            info,
            now: Instant::ZERO,
            service: Duration::from_us(service_us),
            slows: 1.0,
            free: vec![Instant::ZERO; servers],
            in_flight: Vec::new(),
            log: Vec::new(),
            times: Vec::new(),
            most_in_flight: 0,
            breaks_at: usize::MAX,
            how: Break::Never,
        }
    }

    pub(crate) fn breaking(self, at: usize, how: Break) -> Self {
        Self { breaks_at: at, how, ..self }
    }

    pub(crate) fn slowing(self, factor: f64) -> Self {
        Self { slows: factor, ..self }
    }

    fn broken(&self) -> bool {
        self.log.len() > self.breaks_at
    }
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        if self.in_flight.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        assert!(self.in_flight.iter().all(|c| c.id != request.id), "an id is used twice at a time");
        if self.how == Break::Vanishes && self.log.len() >= self.breaks_at {
            self.log.push(request);
            return Err(SubmitError::DeviceLost);
        }
        self.log.push(request);
        self.times.push(self.now);
        let server = self.free.iter_mut().min().expect("there are servers");
        let service = self.service.as_ns() as f64 * self.slows.powi(self.log.len() as i32);
        let completed = (*server).max(self.now) + Duration::from_ns(service as u64);
        *server = completed;
        let fails = self.how == Break::Fails && self.log.len() > self.breaks_at;
        let outcome = if fails { Err(Failure::Unreadable) } else { Ok(()) };
        self.in_flight.push(Completion { id: request.id, submitted: self.now, completed, outcome });
        self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.broken() && matches!(self.how, Break::Vanishes | Break::Hangs) {
            return;
        }
        self.in_flight.sort_by_key(|c| (c.completed, c.id));
        match self.in_flight.first() {
            Some(first) if first.completed <= until => {
                self.now = self.now.max(first.completed);
                out.push(self.in_flight.remove(0));
            }
            _ if until != Instant::FAR => self.now = self.now.max(until),
            _ => {}
        }
    }

    fn counters(&self) -> Counters {
        Counters(vec![("requests_taken", self.log.len() as u64)])
    }
}

fn random_read(depth: u32) -> Job {
    Job::new("test", Pattern::Random, Mix::READ, 4096).depth(depth)
}

fn measure(device: &mut Scripted, workload: &Workload) -> Run {
    run(device, workload, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn throughput_and_latency_match_the_script() {
    let mut device = Scripted::new(32, 4, 100);
    let result = measure(&mut device, &Workload::single(random_read(8), 4000));
    assert_eq!((result.requests, device.log.len()), (4000, 4000));
    assert_eq!(result.elapsed, Duration::from_us(100 * 4000 / 4));
    assert_eq!(result.iops(), 40_000.0);
    assert_eq!(result.bandwidth_bytes_per_s(), 40_000.0 * 4096.0);
    // Eight in flight at four servers: each waits one service time, the first four do not.
    assert_eq!(result.latencies().latency().p50, 200_000.0);
    assert_eq!(result.latencies().latency().min, 100_000.0);
    assert_eq!(result.samples.len(), 4000);
    assert_eq!(result.counters.get("requests_taken"), Some(4000));
    assert_eq!(device.most_in_flight, 8);
    assert_eq!(result.doubts(), []);
}

#[test]
fn latency_includes_the_wait_for_a_full_device() {
    let mut device = Scripted::new(4, 4, 100);
    let result = measure(&mut device, &Workload::single(random_read(8), 4000));
    assert_eq!(device.most_in_flight, 4);
    assert_eq!(result.requests, 4000);
    assert_eq!(result.iops(), 40_000.0);
    assert_eq!(result.latencies().latency().p50, 200_000.0, "as on a device that queues by itself");
    assert!(matches!(result.doubts()[..], [Doubt::DeviceFull { depth: 4, waited }] if waited > 3000));
}

#[test]
fn always_full_device_ends_the_run() {
    let mut device = Scripted::new(0, 4, 100);
    let result = measure(&mut device, &Workload::single(random_read(8), 10));
    assert!(matches!(result.partial, Some(Interruption::Refused { error: SubmitError::Full { .. }, .. })));
}

#[test]
fn failure_of_a_real_device_ends_the_run_and_keeps_its_results() {
    let mut device = Scripted::new(32, 4, 100).breaking(1000, Break::Fails);
    device.info.simulated = false;
    let result = measure(&mut device, &Workload::single(random_read(8), 4000));
    assert!(matches!(result.partial, Some(Interruption::Failed { failure: Failure::Unreadable, .. })));
    // The device broke with the 1001st request; by the time its failure is seen, seven more are in flight.
    assert_eq!(result.requests, 1000);
    assert_eq!(result.failed, 8);
    assert_eq!(device.in_flight.len(), 0, "requests in flight are drained");
    let result = RunResult::from(&result);
    assert!(result.partial.is_some_and(|reason| reason.contains("uncorrectable")));
    assert_eq!(result.warnings[0].code.name(), "partial");
}

#[test]
fn unreadable_reads_of_a_simulated_device_are_counted_apart() {
    for job in [random_read(8), random_read(8).rate(20_000.0, Arrivals::Constant)] {
        let mut device = Scripted::new(32, 4, 100).breaking(1000, Break::Fails);
        let result = measure(&mut device, &Workload::single(job, 4000));
        assert_eq!((result.partial, result.failed), (None, 0));
        assert_eq!((result.requests, result.unreadable().len()), (1000, 3000));
        assert_eq!(result.latencies().len(), 1000);
        assert!(result.doubts().contains(&Doubt::Unreadable { reads: 3000, of: 4000 }));
        let result = RunResult::from(&result);
        let [failure] = &result.failures[..] else { panic!("{:?}", result.failures) };
        assert_eq!((&*failure.operation, &*failure.cause, failure.requests), ("read", "uncorrectable", 3000));
        assert!(failure.latency_ns.min >= 100_000.0);
    }
    // Without a read that succeeds there is nothing to report.
    let mut device = Scripted::new(32, 4, 100).breaking(0, Break::Fails);
    let result = measure(&mut device, &Workload::single(random_read(8), 40));
    assert_eq!((result.partial, result.requests), (Some(Interruption::NothingRead { reads: 40 }), 0));
    // Other failures end the run, as those of writes.
    let mut device = Scripted::new(32, 4, 100).breaking(1000, Break::Fails);
    let job = Job::new("test", Pattern::Random, Mix::WRITE, 4096).depth(8);
    let result = measure(&mut device, &Workload::single(job, 4000));
    assert!(matches!(result.partial, Some(Interruption::Failed { .. })));
    assert!(RunResult::from(&result).failures.is_empty());
}

#[test]
fn lost_or_hung_device_ends_the_run() {
    let mut lost = Scripted::new(32, 4, 100).breaking(1000, Break::Vanishes);
    let result = measure(&mut lost, &Workload::single(random_read(8), 4000));
    assert!(matches!(result.partial, Some(Interruption::Refused { error: SubmitError::DeviceLost, .. })));
    assert_eq!((result.requests, result.failed), (993, 7));
    let mut hung = Scripted::new(32, 4, 100).breaking(1000, Break::Hangs);
    let result = measure(&mut hung, &Workload::single(random_read(8), 4000));
    assert_eq!(result.partial, Some(Interruption::Stalled { in_flight: 8 }));
    assert_eq!(result.requests, 993);
    let mut hung = Scripted::new(32, 4, 100).breaking(10, Break::Hangs);
    let mut seen = 0;
    let error = closed_loop(&mut hung, (0..100).map(|i| Access::read(i * 512, 512)), 4, |_, _| seen += 1);
    assert_eq!(error, Err(MeasureError::Interrupted(Interruption::Stalled { in_flight: 4 })));
    assert_eq!(seen, 7);
}

#[test]
fn watch_sees_progress_and_stops_the_run() {
    let mut device = Scripted::new(32, 4, 100);
    device.info.simulated = false;
    let mut last = Progress::default();
    let mut watch = |progress: &Progress| {
        assert!(progress.requests >= last.requests);
        last = *progress;
        if progress.requests >= 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = RunOptions { samples: 10, watch: Some(&mut watch), ..Default::default() };
    let result = run(&mut device, &Workload::single(random_read(8), 4000), options).unwrap();
    assert_eq!(result.partial, Some(Interruption::Stopped));
    assert_eq!(result.requests, 58, "fifty, and the eight then in flight");
    assert!((5..=10).contains(&result.samples.len()), "{}", result.samples.len());
    assert_eq!(last.share(), Some(50.0 / 4000.0));
}

#[test]
fn watch_is_called_in_proportion_to_work() {
    let calls = |size_bytes, requests| {
        let mut calls = 0;
        let mut watch = |_: &Progress| {
            calls += 1;
            ControlFlow::Continue(())
        };
        let job = Job::new("a", Pattern::Random, Mix::READ, size_bytes).depth(8);
        let options = RunOptions { samples: 0, watch: Some(&mut watch), ..Default::default() };
        run(&mut Scripted::new(32, 4, 100), &Workload::single(job, requests), options).unwrap();
        calls
    };
    let often = [calls(4096, 4096), calls(1 << 20, 160), calls(512 << 20, 16)];
    assert!(often[0] >= 4 && often[1] >= 8 && often[2] >= 4, "{often:?}");
}

#[test]
fn stop_does_not_drain_a_simulated_device() {
    let mut stop = |_: &Progress| ControlFlow::Break(());
    let job = Job::new("a", Pattern::Random, Mix::READ, 512 << 20).depth(8);
    let options = RunOptions { samples: 0, watch: Some(&mut stop), ..Default::default() };
    let result = run(&mut Scripted::new(32, 1, 100), &Workload::single(job, 100), options).unwrap();
    assert_eq!((result.partial, result.requests, result.failed), (Some(Interruption::Stopped), 1, 0));
}

#[test]
fn warm_up_is_not_counted() {
    let mut device = Scripted::new(32, 4, 100);
    let workload = Workload::single(random_read(4), 400).warmup(400);
    let result = measure(&mut device, &workload);
    assert_eq!((result.requests, device.log.len()), (400, 800));
    // Measuring begins with the 400th completion; the other three servers finish at the same moment.
    assert_eq!(result.elapsed, Duration::from_us(100 * 100));
    assert_eq!(result.latencies().latency().max, 100_000.0);
    assert!(result.counters.get("requests_taken") < Some(405));
}

#[test]
fn run_stops_by_time() {
    let mut device = Scripted::new(32, 4, 100);
    let workload = Workload::new(vec![random_read(4)], Stop::at(Duration::from_ms(10)));
    let result = measure(&mut device, &workload);
    assert_eq!(result.elapsed, Duration::from_ms(10));
    assert_eq!(result.requests, 400);
}

#[test]
fn run_with_a_rate_ends_with_its_last_request() {
    let slow = random_read(256).rate(10.0, Arrivals::Constant);
    let by_time = Workload::new(vec![slow.clone()], Stop::at(Duration::from_s(1)));
    let by_count = Workload::single(slow.clone(), 10);
    let of_job = Workload::new(vec![slow.clone().accesses(10)], Stop::at(Duration::from_s(100)));
    let flushed = Workload::single(random_read(1).think(Duration::from_ms(100)), 10);
    for workload in [by_time, by_count, of_job, flushed] {
        let mut device = Scripted::new(1024, 4, 100);
        let result = measure(&mut device, &workload);
        assert_eq!(result.requests, 10, "{workload:?}");
        let end = Instant::ZERO + result.elapsed;
        assert!(result.elapsed < Duration::from_ms(902), "{:?} of {workload:?}", result.elapsed);
        assert_eq!(device.now(), end, "the device idles after {workload:?}");
    }
    let beside = Workload::new(
        vec![slow, Job::new("fast", Pattern::Random, Mix::READ, 4096).depth(4)],
        Stop::at(Duration::from_s(1)),
    );
    let result = measure(&mut Scripted::new(1024, 5, 100), &beside);
    assert!(result.elapsed < Duration::from_ms(1001), "{:?}", result.elapsed);
    assert_eq!([0, 1].map(|job| result.jobs[job].requests()), [10, 40_000]);
}

#[test]
fn think_time_leaves_the_device_idle() {
    let mut device = Scripted::new(32, 4, 100);
    let job = random_read(1).think(Duration::from_us(300));
    let result = measure(&mut device, &Workload::single(job.clone(), 100));
    assert_eq!(result.elapsed, Duration::from_us(99 * 400 + 100));
    assert_eq!(result.latencies().latency().max, 100_000.0);
    let by_time = Workload::new(vec![job], Stop::at(Duration::from_us(1000)));
    let result = measure(&mut Scripted::new(32, 4, 100), &by_time);
    assert_eq!(result.requests, 3, "submitted at 0, 400 and 800 us");
}

#[test]
fn each_slot_counts_its_own_burst() {
    let mut device = Scripted::new(32, 4, 100);
    let job = random_read(2).think(Duration::from_us(1000)).burst(3);
    let result = measure(&mut device, &Workload::single(job, 8));
    let times: Vec<u64> = device.times.iter().map(|time| time.as_ns() / 1000).collect();
    assert_eq!(times, [0, 0, 100, 100, 200, 200, 1300, 1300]);
    assert_eq!(result.latencies().latency().max, 100_000.0, "a pause is not latency");
}

#[test]
fn jobs_with_turns_share_one_stream() {
    let mut device = Scripted::new(32, 4, 100);
    let sequential =
        |name: &str, mix, from| Job::new(name, Pattern::Sequential, mix, 4096).area(from, 1 << 20);
    let jobs = vec![
        sequential("reads", Mix::READ, 0).turns(3),
        sequential("apart", Mix::TRIM, 2 << 20).think(Duration::from_s(1)),
        sequential("writes", Mix::WRITE, 1 << 20).turns(1),
    ];
    let workload = Workload::new(jobs, Stop::after(11));
    assert_eq!(workload.depth(), 2);
    let result = measure(&mut device, &workload);
    assert_eq!(device.most_in_flight, 2);
    let stream: Vec<_> = device.log.iter().filter(|r| r.operation != Operation::Trim).collect();
    let places: Vec<u64> = stream.iter().map(|request| request.offset_bytes / 4096).collect();
    assert_eq!(places, [0, 1, 2, 256, 3, 4, 5, 257, 6, 7], "each continues where it was");
    assert!(stream.iter().all(|r| (r.operation == Operation::Write) == (r.offset_bytes >= 1 << 20)));
    assert_eq!(result.jobs.iter().map(JobRun::requests).collect::<Vec<_>>(), [8, 1, 2]);
}

#[test]
fn results_are_separate_by_job_and_operation() {
    let mut device = Scripted::new(64, 4, 100);
    let jobs = vec![
        Job { name: "reads".into(), ..random_read(6) },
        Job { mix: Mix { reads: 0.5, ..Mix::TRIM }, name: "both".into(), ..random_read(2) },
    ];
    let result = measure(&mut device, &Workload::new(jobs, Stop::after(8000)));
    assert_eq!(result.jobs[0].requests(), 6000);
    assert_eq!(result.jobs[1].requests(), 2000);
    let trims = result.operations().iter().find(|(name, _)| *name == "trim").map_or(0, |(_, h)| h.len());
    assert!((900..1100).contains(&trims), "{trims}");
    assert_eq!(result.bytes(), (8000 - trims) * 4096, "a trim transfers no data");
    assert_eq!(result.jobs[0].writes.as_deref().map(|h| h.len()), None);
}

#[test]
fn unfit_workload_submits_no_request() {
    let mut device = Scripted::new(32, 4, 100);
    device.info.read_only = true;
    let writes = Job::new("writes", Pattern::Sequential, Mix::WRITE, 4096);
    let error = run(&mut device, &Workload::single(writes, 10), RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("reading only"), "{error}");
    assert!(device.log.is_empty());
}

#[test]
fn narrow_interval_ends_the_run() {
    let mut device = Scripted::new(32, 4, 100);
    let stop = Stop { confidence: Some(0.01), ..Stop::after(100_000) };
    let result = measure(&mut device, &Workload::new(vec![random_read(4)], stop));
    // Constant latencies: the first interval, after 32 batches of 16, is narrow enough.
    assert!((512..=516).contains(&result.requests), "{}", result.requests);
    assert_eq!(result.partial, None);
}

#[test]
fn same_seed_gives_same_requests() {
    let log = |seed| {
        let mut device = Scripted::new(32, 4, 100);
        let workload = Workload::parse(&format!("mixed,depth=8,requests=500,seed={seed}")).unwrap();
        measure(&mut device, &workload);
        device.log
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
}

#[test]
fn result_json_has_all_fields_and_finite_numbers() {
    let workload = Workload::parse("mixed,requests=3,depth=3").unwrap();
    let result = run(&mut NullDevice::new(1 << 20), &workload, RunOptions::default()).unwrap();
    let json = serde_json::to_string(&RunResult::from(&result)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "flashlane.run/1");
    assert_eq!(value["requests"], 3);
    for path in ["/elapsed_s", "/iops", "/bandwidth_bytes_per_s", "/latency_ns/p999", "/latency_ns/stddev"] {
        assert!(value.pointer(path).is_some_and(|v| v.is_number()), "{path}: {json}");
    }
    assert!(value["device"]["counters"].as_object().unwrap().contains_key("write_amplification"));
    assert!(value["partial"].is_null());
    assert_eq!(value["warnings"][0]["code"], "too-few-requests");
    assert_eq!(serde_json::from_str::<RunResult>(&json).unwrap(), RunResult::from(&result));
}

#[test]
fn figures_cover_all_requests_in_few_points() {
    let mut device = Scripted::new(32, 4, 100);
    let result = measure(&mut device, &Workload::single(random_read(8), 20_000));
    let [distribution, over_time] = &crate::figures::of(&result)[..] else { panic!("two figures") };
    let percent: f64 = distribution.series[0].points.iter().map(|p| p.1).sum();
    assert!((percent - 100.0).abs() < 1e-9, "{percent}");
    assert!(over_time.series.iter().all(|s| !s.points.is_empty() && s.points.len() <= 2_001));
}

proptest! {
    /// Each access starts when the one before ends, and after a burst later by the pause.
    #[test]
    fn bursts_are_separated_by_the_pause(n in 1..60_u64, think_us in 0..500_u64, burst in 1..12_u32) {
        let mut device = Scripted::new(32, 4, 100);
        let job = random_read(1).think(Duration::from_us(think_us)).burst(burst);
        measure(&mut device, &Workload::single(job, n));
        let expected: Vec<Instant> = (0..n)
            .map(|i| Instant::ZERO + Duration::from_us(i * 100 + i / u64::from(burst) * think_us))
            .collect();
        prop_assert_eq!(&device.times, &expected);
    }

    /// At any depths, every access of a list is driven once, in order, within the depth.
    #[test]
    fn closed_loop_drives_each_access_once_in_order(
        n in 0..200_u64, depth in 1..20_u32, device_depth in 1..20_u32, servers in 1..6_usize,
    ) {
        let mut device = Scripted::new(device_depth, servers, 10);
        let accesses: Vec<_> = (0..n).map(|i| Access::read(i * 512, 512)).collect();
        let mut seen = Vec::new();
        let elapsed = closed_loop(&mut device, accesses.iter().copied(), depth, |access, completion| {
            assert!(completion.latency() >= Duration::from_us(10));
            seen.push(access.offset_bytes);
        });
        let parallel = u64::from(depth.min(device_depth)).min(servers as u64);
        prop_assert_eq!(elapsed, Ok(Duration::from_us(10) * n.div_ceil(parallel)));
        let submitted: Vec<_> = device.log.iter().map(|r| r.offset_bytes).collect();
        prop_assert_eq!(&submitted, &accesses.iter().map(|a| a.offset_bytes).collect::<Vec<_>>());
        seen.sort_unstable();
        prop_assert_eq!(seen, submitted);
        prop_assert!(device.most_in_flight <= depth.min(device_depth) as usize);
    }
}

#[test]
fn run_that_only_time_ends_needs_a_clock_that_moves() {
    let timed = |service_us, stop| {
        let mut device = Scripted::new(32, 4, service_us);
        measure(&mut device, &Workload { stop, ..Workload::single(random_read(8), 1) })
    };
    let time = Stop { requests: None, time: Some(Duration::from_ms(1)), confidence: None };
    assert_eq!(timed(0, time).partial, Some(Interruption::TimeStands));
    assert_eq!(timed(1, time).partial, None);
    // A number of requests has an end.
    assert_eq!(timed(0, Stop::after(5_000_000)).partial, None);
}
