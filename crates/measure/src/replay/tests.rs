//! Replays against drives with known service times, and against a model.

mod doubts;

use super::*;
use crate::tests::Scripted;
use crate::{Doubt, Progress};
use flashlane_base::{Instant, Operation};
use flashlane_device::{Completion, Failure, NullDevice, Request, SubmitError};
use flashlane_result::replay::ReplayResult;
use flashlane_workload::Access;
use proptest::prelude::*;
use std::ops::ControlFlow;

const SECTOR: u64 = 512;

/// A read of one sector, `at_us` into the trace.
fn read(at_us: u64, sector: u64) -> Record {
    Record {
        at: Instant::from_ns(at_us * 1_000),
        took: None,
        device: 0,
        operation: Operation::Read,
        offset_bytes: sector * SECTOR,
        length_bytes: SECTOR,
        durable: false,
    }
}

fn took(record: Record, us: u64) -> Record {
    Record { took: Some(Duration::from_us(us)), ..record }
}

fn paced(pace: Pace) -> ReplayOptions {
    ReplayOptions { pace, ..ReplayOptions::default() }
}

fn replayed(device: &mut Scripted, records: Vec<Record>, how: &ReplayOptions) -> Replay {
    replay(device, records, how, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Latencies in microseconds, in the order of arrival.
fn latencies_us(replay: &Replay) -> Vec<u64> {
    replay.samples.iter().map(|sample| sample.latency_ns / 1_000).collect()
}

/// When requests were submitted, in microseconds, in their order.
fn submissions_us(device: &Scripted) -> Vec<u64> {
    device.times.iter().map(|time| time.as_ns() / 1_000).collect()
}

#[test]
fn open_loop_latency_counts_from_the_time_stamp() {
    // One server of 100 us, and room for two: the third request waits outside, and its wait counts.
    let mut device = Scripted::new(2, 1, 100);
    let records = vec![read(0, 0), read(10, 1), read(20, 2), read(30, 3), read(1000, 4)];
    let result = replayed(&mut device, records, &ReplayOptions::default());
    assert_eq!(latencies_us(&result), [100, 190, 280, 370, 100]);
    assert_eq!(submissions_us(&device), [0, 10, 100, 200, 1000]);
    assert_eq!(result.mean_latency_ns(), (100 + 190 + 280 + 370 + 100) as f64 * 1000.0 / 5.0);
    assert_eq!(result.device_latencies.mean_ns(), (100 + 190 + 200 + 200 + 100) as f64 * 1000.0 / 5.0);
    assert_eq!((result.requests, result.waited, device.most_in_flight), (5, 2, 2));
    assert_eq!(result.elapsed, Duration::from_us(1100));
    assert_eq!(result.counters.get("requests_taken"), Some(5));
    assert_eq!(result.lateness.map(|h| h.len()), None, "a simulated device has no lateness");
    let slowest: Vec<u64> = result.slowest.iter().map(|slow| slow.latency.as_ns() / 1_000).collect();
    assert_eq!(slowest, [370, 280, 190, 100, 100]);
    assert_eq!(result.slowest[0].arrived, Duration::from_us(30));
    assert_eq!(result.slowest[0].access, Access::read(3 * SECTOR, SECTOR));
}

#[test]
fn trace_starts_at_its_first_request_and_scales_by_speed() {
    for (speed, expected) in [(1.0, [0, 500, 2000]), (2.0, [0, 250, 1000]), (0.5, [0, 1000, 4000])] {
        let mut device = Scripted::new(8, 1, 100);
        let records = vec![read(7_000, 0), read(7_500, 1), read(9_000, 2)];
        let result = replayed(&mut device, records, &paced(Pace::Open { speed }));
        assert_eq!(submissions_us(&device), expected);
        assert_eq!(result.recorded_span, Duration::from_us(2000));
    }
}

#[test]
fn backward_time_stamps_are_clamped_and_counted() {
    let mut device = Scripted::new(8, 8, 100);
    let records = vec![read(50, 0), read(90, 1), read(60, 2), read(40, 3), read(95, 4)];
    let result = replayed(&mut device, records, &ReplayOptions::default());
    assert_eq!(submissions_us(&device), [0, 40, 40, 40, 45]);
    let order: Vec<u64> = device.log.iter().map(|request| request.offset_bytes / SECTOR).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
    assert_eq!(result.fitted.backwards, 2);
}

#[test]
fn closed_loop_keeps_its_depth_and_ignores_time_stamps() {
    let mut device = Scripted::new(32, 4, 100);
    let records: Vec<Record> = (0..400).map(|i| read((i * 7919) % 1000, i)).collect();
    let result = replayed(&mut device, records, &paced(Pace::Closed { depth: 8 }));
    assert_eq!((device.most_in_flight, result.requests), (8, 400));
    assert_eq!(result.elapsed, Duration::from_us(100 * 100));
    assert_eq!((result.fitted.backwards, result.waited), (0, 0));
    let order: Vec<u64> = device.log.iter().map(|request| request.offset_bytes / SECTOR).collect();
    assert_eq!(order, (0..400).collect::<Vec<_>>());
    // At a depth above the device's, the rest waits, and latency includes the wait.
    let mut device = Scripted::new(4, 4, 100);
    let records: Vec<Record> = (0..400).map(|i| read(0, i)).collect();
    let result = replayed(&mut device, records, &paced(Pace::Closed { depth: 8 }));
    assert_eq!(device.most_in_flight, 4);
    assert_eq!(result.latencies.all().latency().p50, 200_000.0);
    assert!(result.waited > 300);
}

#[test]
fn thinking_keeps_the_pause_after_the_last_completion() {
    // Recorded: 0 to 40; then, 10 after that, two at a time (50 to 80 and 50 to 100); then one 20 after the first of
    // these two.
    let records =
        || vec![took(read(0, 0), 40), took(read(50, 1), 30), took(read(50, 2), 50), took(read(100, 3), 9)];
    let mut device = Scripted::new(8, 8, 200);
    let result = replayed(&mut device, records(), &paced(Pace::Think { speed: 1.0 }));
    // Request 3 arrived at 100, when both had completed, the later of them at that time.
    assert_eq!(submissions_us(&device), [0, 210, 210, 410]);
    assert_eq!(latencies_us(&result), [200; 4]);
    assert_eq!((result.fitted.untimed, result.waited), (0, 0));
    assert_eq!(result.recorded.as_ref().map(|h| (h.len(), h.mean_ns())), Some((4, 32_250.0)));
    let mut device = Scripted::new(8, 8, 200);
    replayed(&mut device, records(), &paced(Pace::Think { speed: 2.0 }));
    assert_eq!(submissions_us(&device), [0, 205, 205, 405]);
}

#[test]
fn thinking_waits_for_the_recorded_predecessor() {
    // Request 2 arrived 5 after request 1 completed, while request 0 was still in flight; in the replay one server
    // takes them in order, so that 1 ends at 200.
    let records = vec![took(read(0, 0), 1000), took(read(10, 1), 20), took(read(35, 2), 10)];
    let mut device = Scripted::new(8, 1, 100);
    replayed(&mut device, records, &paced(Pace::Think { speed: 1.0 }));
    assert_eq!(submissions_us(&device), [0, 10, 205]);
}

#[test]
fn thinking_keeps_order_and_counts_from_possible_arrival() {
    // Request 3 arrived 5 after request 0 completed, and request 2 before that, 1 after request 1. In the replay
    // request 0 completes first: 5 after it, at 105, request 2 has not been issued.
    let records =
        vec![took(read(0, 0), 105), took(read(1, 1), 99), took(read(101, 2), 50), took(read(110, 3), 9)];
    let mut device = Scripted::new(8, 1, 100);
    let result = replayed(&mut device, records, &paced(Pace::Think { speed: 1.0 }));
    assert_eq!(submissions_us(&device), [0, 1, 201, 201]);
    assert_eq!(latencies_us(&result), [100, 199, 100, 200]);
}

#[test]
fn requests_without_durations_pause_for_the_whole_gap() {
    let mut device = Scripted::new(8, 8, 200);
    let records = vec![read(0, 0), read(30, 1), read(30, 2), read(100, 3)];
    let result = replayed(&mut device, records, &paced(Pace::Think { speed: 1.0 }));
    assert_eq!(submissions_us(&device), [0, 230, 430, 700]);
    assert_eq!((result.fitted.untimed, device.most_in_flight), (4, 1));
}

#[test]
fn every_operation_is_replayed_as_recorded() {
    use Operation::{Erase, Flush, Read, Trim, Write};
    let of = |operation, length_bytes, durable| Record { operation, length_bytes, durable, ..read(0, 8) };
    let records = vec![
        of(Write, 1024, true),
        of(Write, 512, false),
        of(Flush, 0, false),
        of(Trim, 512, true),
        of(Read, 0, false),
        of(Erase, 512, false),
        of(Read, 512, true),
    ];
    let mut device = Scripted::new(8, 1, 100);
    let result = replayed(&mut device, records, &ReplayOptions::default());
    let taken: Vec<_> = device.log.iter().map(|r| (r.operation, r.length_bytes, r.durable)).collect();
    let expected =
        [(Write, 1024, true), (Write, 512, false), (Flush, 0, false), (Trim, 512, false), (Read, 512, false)];
    assert_eq!(taken, expected);
    assert_eq!((result.fitted.zero_length, result.fitted.refused, result.bytes), (1, 1, 2048));
    assert_eq!(result.fitted.first_refused[0].number, 6);
    let of: Vec<_> = result.latencies.iter().map(|(operation, h)| (operation, h.len())).collect();
    assert_eq!(of, [(Read, 1), (Write, 2), (Trim, 1), (Flush, 1)]);
}

#[test]
fn unfit_requests_are_refused_folded_or_widened() {
    let capacity = 1 << 30;
    let at = |offset_bytes, length_bytes| Record { offset_bytes, length_bytes, ..read(0, 0) };
    let records = || {
        vec![
            at(capacity - 512, 512),
            at(capacity, 512),
            at(3 * capacity + 4096, 1024),
            at(capacity - 512, 1024),
            at(0, capacity + 512),
            at(u64::MAX, 1024),
            at(700, 100),
            at(1000, 100),
            at(capacity + 1000, 100),
        ]
    };
    let fitted_with = |beyond, unaligned| {
        let mut device = Scripted::new(32, 1, 1);
        let how = ReplayOptions { beyond, unaligned, ..ReplayOptions::default() };
        let fitted = replayed(&mut device, records(), &how).fitted;
        let taken: Vec<_> = device.log.iter().map(|r| (r.offset_bytes, r.length_bytes)).collect();
        (taken, fitted)
    };
    let (taken, fitted) = fitted_with(Beyond::Refuse, Unaligned::Widen);
    assert_eq!(taken, [(capacity - 512, 512), (512, 512), (512, 1024)]);
    assert_eq!((fitted.refused, fitted.widened, fitted.folded, fitted.records), (6, 2, 0, 9));
    let named: Vec<u64> = fitted.first_refused.iter().map(|refusal| refusal.number).collect();
    assert_eq!(named, [2, 3, 4, 5, 6]);
    let words = fitted.first_refused[0].to_string();
    assert!(words.starts_with("request 2, the read of 512 B at offset 1 GiB: "), "{words}");

    let (taken, fitted) = fitted_with(Beyond::Fold, Unaligned::Refuse);
    // A folded request that still exceeds the end is moved to end there.
    let last = (capacity - 1024, 1024);
    assert_eq!(taken, [(capacity - 512, 512), (0, 512), (4096, 1024), last, last]);
    assert_eq!((fitted.refused, fitted.widened, fitted.folded), (4, 0, 4));

    let (taken, fitted) = fitted_with(Beyond::Fold, Unaligned::Widen);
    assert_eq!(taken[4..], [last, (512, 512), (512, 1024), (512, 1024)]);
    assert_eq!((fitted.refused, fitted.widened, fitted.folded), (1, 3, 5));
}

proptest! {
    /// Folded requests keep their length and start at their offset modulo the capacity, or end at the capacity; other
    /// requests do not move.
    #[test]
    fn folded_request_keeps_its_length_within_the_device(
        asked in prop::collection::vec((0_u64..1 << 24, 1_u64..1 << 13), 1..40)
    ) {
        let capacity = 1_u64 << 30;
        // Around multiples of the capacity, where it matters.
        let asked: Vec<(u64, u64)> = asked
            .into_iter()
            .map(|(at, sectors)| ((at % 4 * capacity + at * 512).saturating_sub(1 << 22), sectors * 512))
            .collect();
        let records = asked.iter().map(|&(offset_bytes, length_bytes)| Record { offset_bytes, length_bytes, ..read(0, 0) });
        let mut device = Scripted::new(32, 1, 1);
        let how = ReplayOptions { beyond: Beyond::Fold, unaligned: Unaligned::Refuse, ..ReplayOptions::default() };
        let fitted = replayed(&mut device, records.collect(), &how).fitted;
        prop_assert_eq!(device.log.len(), asked.len());
        let mut folded = 0;
        for (taken, &(offset, length)) in device.log.iter().zip(&asked) {
            prop_assert_eq!(taken.length_bytes, length);
            let reaches_beyond = offset + length > capacity;
            folded += u64::from(reaches_beyond);
            let expected = match offset % capacity {
                _ if !reaches_beyond => offset,
                modulo if modulo + length > capacity => capacity - length,
                modulo => modulo,
            };
            prop_assert_eq!(taken.offset_bytes, expected);
        }
        prop_assert_eq!(fitted.folded, folded);
    }
}

#[test]
fn trace_without_replayable_requests_is_refused() {
    let mut device = Scripted::new(8, 1, 100);
    let error = replay(&mut device, [read(0, 1 << 40)], &ReplayOptions::default(), RunOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("of the 1 requests") && error.contains("do not lie within"), "{error}");
    let nothing = replay(&mut device, [], &ReplayOptions::default(), RunOptions::default()).unwrap_err();
    assert_eq!(nothing, ReplayError::Nothing { device: "scripted".into(), records: 0, first: None });
    for pace in [Pace::Open { speed: 0.0 }, Pace::Think { speed: f64::NAN }, Pace::Closed { depth: 0 }] {
        let error = replay(&mut device, [read(0, 0)], &paced(pace), RunOptions::default()).unwrap_err();
        assert!(matches!(error, ReplayError::Pace(_)), "{error}");
    }
    assert!(device.log.is_empty());
}

#[test]
fn request_beyond_the_clock_range_is_left_out() {
    let mut device = Scripted::new(8, 1, 100);
    let late = Record { at: Instant::from_ns(u64::MAX - 1), ..read(0, 1) };
    let result = replayed(&mut device, vec![read(0, 0), late], &ReplayOptions::default());
    assert_eq!((result.requests, result.fitted.refused), (1, 1));
    assert!(matches!(result.fitted.first_refused[0].reason, Unfitting::Late { .. }));
}

/// A real device that wakes its caller 7 us late, and has no trims.
struct Oversleeping(Scripted);

impl Device for Oversleeping {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        match request.operation {
            Operation::Trim => Err(SubmitError::Unsupported { operation: Operation::Trim }),
            _ => self.0.submit(request),
        }
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.0.reap(if until == Instant::FAR { until } else { until + Duration::from_us(7) }, out);
    }
}

impl Oversleeping {
    fn new(depth: u32, servers: usize, service_us: u64) -> Self {
        let mut inner = Scripted::new(depth, servers, service_us);
        inner.info.simulated = false;
        Self(inner)
    }
}

#[test]
fn lateness_is_measured_and_reported_on_real_devices() {
    let mut device = Oversleeping::new(1, 1, 20);
    // The third waits for the second and is submitted at its completion, so that it is not late.
    let records = [read(0, 0), read(1000, 1), read(1010, 2), read(2000, 3)];
    let result = replay(&mut device, records, &ReplayOptions::default(), RunOptions::default()).unwrap();
    assert_eq!(submissions_us(&device.0), [0, 1007, 1027, 2007]);
    assert_eq!(latencies_us(&result), [20, 27, 37, 27]);
    let lateness = result.lateness.as_ref().unwrap();
    assert_eq!((lateness.len(), lateness.mean_ns(), lateness.quantile_ns(0.5)), (4, 3500.0, 0.0));
    let late = result.doubts().into_iter().find(|doubt| matches!(doubt, Doubt::LateSubmission { .. }));
    let late = late.unwrap().to_string();
    assert!(late.contains("7 µs or more") && late.contains("p50 latency of 27 µs"), "{late}");
    let mut device = Oversleeping::new(1, 1, 20);
    let closed = paced(Pace::Closed { depth: 1 });
    let result = replay(&mut device, [read(0, 0), read(0, 1)], &closed, RunOptions::default()).unwrap();
    assert!(result.lateness.is_none(), "requests have no arrival time there");
}

#[test]
fn operation_the_device_refuses_is_left_out() {
    let trim = |at| Record { operation: Operation::Trim, ..read(at, 0) };
    for pace in [Pace::Open { speed: 1.0 }, Pace::Think { speed: 1.0 }, Pace::Closed { depth: 2 }] {
        let mut device = Oversleeping::new(1, 1, 20);
        let records = [read(0, 0), trim(5), read(10, 1), trim(500), trim(500), read(600, 2)];
        let result = replay(&mut device, records, &paced(pace), RunOptions::default()).unwrap();
        assert_eq!((result.requests, result.fitted.refused, result.partial), (3, 3, None), "{pace:?}");
        assert_eq!(result.fitted.first_refused[0].number, 2);
    }
}

#[test]
fn watch_stops_a_replay_in_a_long_gap() {
    let mut device = Oversleeping::new(8, 1, 20);
    let mut asked = 0;
    let mut watch = |_: &Progress| {
        asked += 1;
        if asked < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = RunOptions { watch: Some(&mut watch), ..RunOptions::default() };
    let records = [read(0, 0), read(3_600_000_000, 1)];
    let result = replay(&mut device, records, &ReplayOptions::default(), options).unwrap();
    assert_eq!((result.requests, result.partial), (1, Some(Interruption::Stopped)));
    assert!(device.now() < Instant::from_ns(1_000_000_000), "{:?}", device.now());
}

#[test]
fn failing_device_keeps_earlier_results() {
    let mut device = Scripted::new(8, 1, 100).breaking(5, crate::tests::Break::Fails);
    let records: Vec<Record> = (0..100).map(|i| read(i * 1000, i)).collect();
    let result = replayed(&mut device, records, &ReplayOptions::default());
    assert_eq!((result.requests, result.failed), (5, 1));
    assert!(matches!(result.partial, Some(Interruption::Failed { failure: Failure::Unreadable, .. })));
    assert_eq!(ReplayResult::from(&result).warnings[0].code.name(), "partial");
}

#[test]
fn result_is_complete_and_survives_json() {
    let mut device = Scripted::new(2, 1, 100);
    let mut records: Vec<Record> = (0..5000).map(|i| took(read(i * 90, i), 50)).collect();
    records.push(Record { operation: Operation::Flush, length_bytes: 0, ..read(600_000, 0) });
    records.push(read(600_000, 7));
    records.push(Record { length_bytes: 0, ..read(600_000, 0) });
    records.push(read(599_000, 1 << 40));
    let replay = replayed(&mut device, records, &ReplayOptions::default());
    let result = ReplayResult::from(&replay);
    assert_eq!((result.schema.as_str(), result.pace.as_str()), ("flashlane.replay/1", "open"));
    assert_eq!((result.requests, result.fitted.records, result.fitted.left_out), (5001, 5004, 1));
    assert_eq!(result.recorded_latency_ns.unwrap().mean, 50_000.0);
    assert_eq!(result.operations.keys().collect::<Vec<_>>(), ["flush", "read"]);
    let slices = &result.over_time.slices;
    assert_eq!(slices.iter().map(|slice| slice.requests).sum::<u64>(), 5001);
    // 100 us each, without a pause, over the first half second.
    let slice_s = result.over_time.slice_s;
    assert_eq!(slice_s, 0.004);
    for slice in &slices[1..125] {
        assert_eq!((slice.requests, slice.iops, slice.bandwidth_bytes_per_s), (40, 1e4, 512e4), "{slice:?}");
        assert!(slice.p99_ns.unwrap() <= slice.max_ns.unwrap() && slice.mean_ns <= slice.max_ns);
    }
    assert_eq!((slices[130].requests, slices[130].mean_ns), (0, None), "nothing between the last two reads");
    let codes: Vec<&str> = result.warnings.iter().map(|warning| warning.code.name()).collect();
    // The queue grows for three quarters of the time and drains in the last one.
    assert_eq!(codes, ["overloaded", "left-out", "zero-length", "time-runs-backwards", "device-full"]);
    let ids: Vec<&str> = result.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["latency-over-time", "throughput-over-time", "latency-distribution"]);
    let json = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<ReplayResult>(&json).unwrap(), result);
}

/// Flushes are counted as in a run.
#[test]
fn flushes_are_counted_only_as_flushes() {
    let flush = |at| Record { operation: Operation::Flush, length_bytes: 0, ..read(at, 0) };
    let accesses: Vec<Record> = (0..600).map(|i| took(read(i * 1000, i), 50)).collect();
    let with: Vec<Record> =
        accesses.iter().flat_map(|&access| [access, flush(access.at.as_ns() / 1000 + 400)]).collect();
    let how = ReplayOptions::default();
    let [alone, both] = [accesses, with]
        .map(|records| ReplayResult::from(&replayed(&mut Scripted::new(2, 1, 100), records, &how)));
    assert_eq!(
        (both.requests, both.latency_ns, both.device_latency_ns),
        (600, alone.latency_ns, alone.device_latency_ns)
    );
    assert_eq!((both.recorded_latency_ns, both.confidence), (alone.recorded_latency_ns, alone.confidence));
    assert_eq!(both.operations["flush"].requests, 600);
    let in_slices =
        |result: &ReplayResult| result.over_time.slices.iter().map(|slice| slice.requests).sum::<u64>();
    assert_eq!(in_slices(&both), 600);
    let only = replayed(&mut Scripted::new(2, 1, 100), vec![flush(0), flush(10)], &how);
    assert_eq!((only.requests, only.flushes), (0, 2), "a trace may have nothing else");
}

#[test]
fn mostly_left_out_trace_is_the_first_doubt() {
    let first = |left_out: u64| {
        let place = |i| if i < left_out { 1 << 40 } else { i };
        let records = (0..2000).map(|i| read(i * 10, place(i))).collect();
        let result = replayed(&mut Scripted::new(1, 1, 100), records, &ReplayOptions::default());
        result.doubts().iter().map(|doubt| (doubt.code(), doubt.to_string())).collect::<Vec<_>>()
    };
    let mostly = first(1800);
    assert_eq!(mostly[0].0, "left-out");
    assert!(
        mostly[0].1.starts_with("1800 of 2000 requests of the trace (90%) were left out"),
        "{}",
        mostly[0].1
    );
    assert_eq!(mostly[1].0, "overloaded", "{mostly:?}");
    let few = first(3);
    assert!(few[0].0 != "left-out" && few.iter().any(|(code, _)| *code == "left-out"), "{few:?}");
}

#[test]
fn null_device_replays_without_waiting() {
    let mut device = NullDevice::new(1 << 30);
    let records = (0..10_000).map(|i| read(i, i));
    let result = replay(&mut device, records, &ReplayOptions::default(), RunOptions::default()).unwrap();
    assert_eq!((result.requests, result.waited), (10_000, 0));
    assert_eq!(result.latencies.all().latency().max, 1.0, "its clock moves by a nanosecond a request");
}

proptest! {
    /// One server, first come first served, with room for `depth`: requests are submitted in order, each when it has
    /// arrived and there is room.
    #[test]
    fn open_loop_is_a_first_come_first_served_queue(
        gaps in prop::collection::vec(0..300_u64, 1..200), depth in 1..8_u32, service in 1..200_u64,
    ) {
        let arrivals: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let records: Vec<Record> = arrivals.iter().zip(0..).map(|(&at, i)| read(at, i)).collect();
        let first = arrivals[0];
        let mut completed: Vec<u64> = Vec::new();
        let mut submitted = Vec::new();
        for (i, at) in arrivals.iter().map(|at| at - first).enumerate() {
            let room = i.checked_sub(depth as usize).map_or(0, |before| completed[before]);
            let start = at.max(room);
            submitted.push(start);
            completed.push(start.max(completed.last().copied().unwrap_or(0)) + service);
        }
        let mut device = Scripted::new(depth, 1, service);
        let result = replayed(&mut device, records.clone(), &ReplayOptions::default());
        prop_assert_eq!(submissions_us(&device), submitted.clone());
        let mut expected: Vec<u64> =
            completed.iter().zip(&arrivals).map(|(end, at)| end - (at - first)).collect();
        let sum: u64 = expected.iter().sum();
        prop_assert!((result.mean_latency_ns() - sum as f64 * 1e3 / expected.len() as f64).abs() < 1e-3);
        let mut got = latencies_us(&result);
        got.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(got, expected);
        let late = arrivals.iter().zip(&submitted).filter(|(at, submitted)| **submitted > *at - first).count();
        prop_assert_eq!(result.waited, late as u64);
        prop_assert!(device.most_in_flight <= depth as usize);
        // A second replay gives the same result.
        let again = replayed(&mut Scripted::new(depth, 1, service), records, &ReplayOptions::default());
        prop_assert_eq!(again.samples, result.samples);
    }

    /// At any pace and recording, each request is replayed once, in order.
    #[test]
    fn each_request_is_replayed_once_in_order(
        requests in prop::collection::vec((0..300_u64, prop::option::of(0..500_u64)), 1..100),
        pace in prop_oneof![
            Just(Pace::Open { speed: 3.0 }), Just(Pace::Think { speed: 0.7 }), Just(Pace::Closed { depth: 3 }),
        ],
        depth in 1..8_u32, servers in 1..4_usize,
    ) {
        let mut at = 0;
        let records: Vec<Record> = requests.iter().zip(0..).map(|(&(gap, lasted), i)| {
            at += gap;
            Record { took: lasted.map(Duration::from_us), ..read(at, i) }
        }).collect();
        let n = records.len() as u64;
        let mut device = Scripted::new(depth, servers, 90);
        let result = replayed(&mut device, records, &paced(pace));
        prop_assert_eq!(result.requests, n);
        let order: Vec<u64> = device.log.iter().map(|request| request.offset_bytes / SECTOR).collect();
        prop_assert_eq!(order, (0..n).collect::<Vec<_>>());
        prop_assert_eq!(result.latencies.all().len(), n);
        let slices = result.over_time.slices();
        let counted: u64 = slices.iter().filter_map(|s| s.latencies.as_ref()).map(|h| h.len()).sum();
        prop_assert_eq!(counted, n);
        prop_assert_eq!(slices.iter().map(|s| s.bytes).sum::<u64>(), n * SECTOR);
    }
}
