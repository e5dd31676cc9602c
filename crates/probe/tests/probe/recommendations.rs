//! What is recommended says what it was measured on, and is not said of what was not.

use crate::{drive, options};
use flashlane_base::{Duration, Seed};
use flashlane_measure::{Options as RunOptions, run};
use flashlane_probe::{Effort, Feature, Medium, Options, ProbeResult, Recommendation, Status, probe};
use flashlane_workload::Workload;

fn probed(profile: &str, state: &str, options: Options<'_>) -> ProbeResult {
    let result = probe(&mut drive(profile, &[("initial.state", state)]), options).unwrap();
    assert_eq!(result.partial, None);
    result
}

/// What a run of the recommendation's own line measures, on a new drive.
fn measured(profile: &str, state: &str, point: &Recommendation) -> f64 {
    let mut drive = drive(profile, &[("initial.state", state)]);
    let workload = Workload::parse(&point.workload).unwrap();
    run(&mut drive, &workload, RunOptions::default()).unwrap().bandwidth_bytes_per_s()
}

fn holds(profile: &str, state: &str, point: &Recommendation) {
    let (said, measured) = (point.bandwidth_bytes_per_s, measured(profile, state, point));
    assert!((said / measured - 1.0).abs() < 0.1, "{said} against {measured}: {point:?}");
}

#[test]
fn recommended_lines_measure_what_is_recommended() {
    for state in ["full", "fragmented"] {
        let result = probed("ssd-m", state, options(Effort::Quick, 1));
        for load in ["random_read", "scan", "random_write"] {
            holds("ssd-m", state, &result.recommendation[load]);
            assert!(result.recommendation[load].p50_ns <= result.recommendation[load].p99_ns);
        }
    }
}

#[test]
fn scans_are_not_measured_in_the_readahead_cache() {
    let settings = [
        ("initial.state", "full"),
        ("readahead.cache", "64MiB"),
        ("readahead.window", "1MiB"),
        ("link.bandwidth", "3GB/s"),
    ];
    let point =
        &probe(&mut drive("ssd-s", &settings), options(Effort::Quick, 1)).unwrap().recommendation["scan"];
    let workload = Workload::parse(&point.workload).unwrap();
    let measured = run(&mut drive("ssd-s", &settings), &workload, RunOptions::default()).unwrap();
    let ratio = point.bandwidth_bytes_per_s / measured.bandwidth_bytes_per_s();
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}: {point:?}");
}

#[test]
fn write_rates_tell_spare_space_from_cleaning() {
    let fresh = probed("ssd-m", "fresh", options(Effort::Quick, 1));
    let fresh = fresh.recommendation["random_write"].writes.as_ref().unwrap();
    assert_eq!((fresh.cleaning, fresh.buffer_bytes.is_some()), (Some(false), true));
    assert!(fresh.written_bytes > 2 * fresh.buffer_bytes.unwrap());
    let worn = probed("ssd-m", "fragmented", options(Effort::Normal, 1));
    let point = &worn.recommendation["random_write"];
    let writes = point.writes.as_ref().unwrap();
    assert!(writes.cleaning == Some(true) && writes.steady && writes.write_amplification.unwrap() > 5.0);
    assert!(writes.burst.as_ref().unwrap().bandwidth_bytes_per_s > 5.0 * point.bandwidth_bytes_per_s);
}

/// A drive that is probed is written at the same places again and again, which leaves blocks stale that cost nothing to
/// clean: until they are used up it looks as if it cleaned nothing.
#[test]
fn writes_are_measured_once_the_probes_stale_blocks_are_used_up() {
    let settings = [
        ("flash.channels", "2"),
        ("flash.blocks", "128"),
        ("flash.pages", "192"),
        ("capacity", "5500MiB"),
        ("buffer.size", "1MiB"),
        ("initial.state", "fragmented"),
    ];
    let result = probe(&mut drive("nvme-tlc", &settings), options(Effort::Quick, 1)).unwrap();
    let point = &result.recommendation["random_write"];
    let writes = point.writes.as_ref().unwrap();
    assert!(writes.steady && writes.cleaning == Some(true), "{point:?}");
    assert!(writes.stale_bytes > 0 && writes.written_bytes > writes.stale_bytes, "{point:?}");
    let workload = Workload::parse(&point.workload).unwrap();
    let run = run(&mut drive("nvme-tlc", &settings), &workload, RunOptions::default()).unwrap();
    let ratio = point.bandwidth_bytes_per_s / run.bandwidth_bytes_per_s();
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}: {point:?}");
    let p99 = point.p99_ns / run.latencies().latency().p99;
    assert!((0.8..1.25).contains(&p99), "{p99}: {point:?}");
}

/// A drive that cleans takes no more of many writes in flight than of one, which is done twenty times sooner.
#[test]
fn writes_are_no_deeper_than_a_worn_drive_rewards() {
    // The smaller drive is worn when the point is chosen, the larger one only after it was measured at length.
    for settings in
        [[("capacity", "10GB"), ("flash.blocks", "1024")], [("capacity", "20GB"), ("flash.blocks", "2048")]]
    {
        let settings = [&settings[..], &[("initial.state", "full")]].concat();
        let result = probe(&mut drive("ssd-m", &settings), options(Effort::Quick, 0)).unwrap();
        let point = &result.recommendation["random_write"];
        assert_eq!((point.request_bytes, point.queue_depth), (4096, 1), "{point:?}");
        assert!(point.p99_ns < 20e6, "{point:?}");
    }
}

#[test]
fn never_written_space_is_not_recommended() {
    let read_only = || Options { may_write: false, ..options(Effort::Quick, 1) };
    let result = probed("ssd-s", "fresh", read_only());
    assert!(result.warnings.iter().any(|warning| warning.code == "not-written"), "{:?}", result.warnings);
    assert!(result.recommendation.is_empty() && result.headline.is_empty() && result.advice.is_empty());
    assert!(result.findings.values().all(|finding| finding.status == Status::NotDetermined));
    let result = probed("ssd-s", "full", read_only());
    assert!(!result.warnings.iter().any(|warning| warning.code == "not-written"));
    assert_eq!(result.recommendation.len(), 2);
}

#[test]
fn files_are_said_to_show_the_host() {
    let profile = [("mapping.allocation", "random"), ("initial.state", "full")];
    let file = Options { medium: Medium::File, ..options(Effort::Quick, 1) };
    let mut device = drive("ssd-s", &profile);
    // Nothing that would show structure.
    device = {
        drop(device);
        drive("ssd-s", &[("flash.read", "1ns"), ("flash.bus", "100GB/s")])
    };
    let result = probe(&mut device, file).unwrap();
    assert_eq!(result.finding(Feature::RoundTrip).unwrap().status, Status::NotDetermined);
    if result.finding(Feature::ChunkSize).unwrap().status != Status::Found {
        assert!(result.advice[0].text.starts_with("No flash structure is visible"), "{:?}", result.advice);
    }
}

#[test]
fn a_bound_on_latency_gives_the_deepest_that_meets_it() {
    let bounded = |us| Options {
        page_bytes: Some(8192),
        p99: Some(Duration::from_us(us)),
        ..options(Effort::Quick, 1)
    };
    let result = probed("ssd-s", "full", bounded(1000));
    let point = &result.recommendation["random_read"];
    assert_eq!((point.request_bytes, point.p99_bound_ns), (8192, Some(1e6)));
    assert!(point.p99_ns <= 1e6);
    // One more in flight is either too slow or no faster.
    let deeper = point
        .workload
        .replace(&format!("depth={}", point.queue_depth), &format!("depth={}", point.queue_depth * 2));
    let mut drive = drive("ssd-s", &[("initial.state", "full")]);
    let run = run(&mut drive, &Workload::parse(&deeper).unwrap(), RunOptions::default()).unwrap();
    let gain = run.bandwidth_bytes_per_s() / point.bandwidth_bytes_per_s;
    assert!(run.latencies().latency().p99 > 1e6 || gain < 1.05, "{gain}");
    let none = probed("ssd-s", "full", bounded(10));
    assert!(!none.recommendation.contains_key("random_read"));
    assert!(
        none.advice.iter().any(|advice| advice.text.contains("no number in flight keeps")),
        "{:?}",
        none.advice
    );
}

#[test]
fn the_seed_of_a_line_is_the_one_that_run_takes() {
    assert_eq!(Workload::parse("random-read").unwrap().seed, Seed(0));
}
