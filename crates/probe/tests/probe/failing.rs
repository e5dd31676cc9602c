//! Devices that fail or are lost, callers that stop, read-only probes: earlier findings are kept.

use crate::{drive, options};
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_layer::{Fault, Faults, Faulty, Rate};
use flashlane_probe::{Effort, Feature, Options, ProbeResult, Progress, Status, probe};
use std::ops::ControlFlow;

/// The result names every feature and can be serialized.
fn assert_partial(result: &ProbeResult) {
    assert!(result.partial.is_some());
    assert!(result.warnings.iter().any(|warning| warning.code.name() == "partial"));
    assert_eq!(result.findings.len(), Feature::ALL.len());
    serde_json::to_string(result).unwrap();
}

fn requests_of_a_whole_probe() -> u64 {
    probe(&mut drive("msr-32g", &[]), options(Effort::Quick, 1)).unwrap().requests
}

#[test]
fn lost_device_leaves_partial_result() {
    let all = requests_of_a_whole_probe();
    for count in (0..16).map(|i| i * all / 16).chain([1, 2]) {
        let faults = Faults::default().vanishing_after(count);
        let mut device = Faulty::new(drive("msr-32g", &[]), faults, Seed(1)).unwrap();
        assert_partial(&probe(&mut device, options(Effort::Quick, 1)).unwrap());
    }
}

#[test]
fn failed_request_leaves_partial_result() {
    for fault in [Fault::ReadError, Fault::WriteError] {
        for nth in [1, 2, 100, 500] {
            let faults = Faults::default().with(fault, Rate::Nth(nth));
            let mut device = Faulty::new(drive("msr-32g", &[]), faults, Seed(1)).unwrap();
            let result = probe(&mut device, options(Effort::Quick, 1)).unwrap();
            assert_partial(&result);
            let reason = result.partial.unwrap();
            assert!(reason.starts_with(&format!("{}: ", result.device.name)), "{reason}");
        }
    }
}

#[test]
fn delayed_requests_do_not_end_the_probe() {
    let faults = Faults::default().with(Fault::Delay, Rate::Share(0.01));
    let mut device = Faulty::new(drive("msr-32g", &[]), faults, Seed(1)).unwrap();
    let result = probe(&mut device, options(Effort::Quick, 1)).unwrap();
    assert_eq!(result.partial, None);
    assert!(matches!(result.finding(Feature::InterleavingDegree).unwrap().number(), None | Some(8)));
}

#[test]
fn probe_stops_at_any_stage() {
    let mut stages: Vec<&'static str> = Vec::new();
    let mut watch = |progress: &Progress| {
        if stages.last() != Some(&progress.stage) {
            stages.push(progress.stage);
        }
        ControlFlow::Continue(())
    };
    let whole = Options { watch: Some(&mut watch), ..options(Effort::Quick, 1) };
    probe(&mut drive("ssd-s", &[]), whole).unwrap();
    assert!(stages.len() > 8, "{stages:?}");
    for stage in stages {
        let mut watch = |progress: &Progress| match progress.stage == stage {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let stopped = Options { watch: Some(&mut watch), ..options(Effort::Quick, 1) };
        let result = probe(&mut drive("ssd-s", &[]), stopped).unwrap();
        assert_partial(&result);
        // Findings of earlier stages are kept.
        let chunk = result.finding(Feature::ChunkSize).unwrap();
        let is_later = result.stages.iter().any(|stage| stage == "interleaving");
        assert_eq!(chunk.status == Status::Found, is_later, "{stage}: {chunk:?}");
    }
}

#[test]
fn read_only_probe_writes_nothing() {
    let mut device = drive("ssd-s", &[("initial.state", "full")]);
    let written = |device: &dyn Device| device.counters().get("host_pages_written");
    let before = written(&device);
    let read_only = Options { may_write: false, ..options(Effort::Normal, 1) };
    let result = probe(&mut device, read_only).unwrap();
    assert_eq!(written(&device), before);
    assert!(result.device.read_only);
    assert_eq!(result.finding(Feature::ChunkSize).unwrap().number(), Some(4096));
    for feature in [Feature::MappingPolicy, Feature::WriteBuffer, Feature::LinkBandwidth] {
        assert_eq!(result.finding(feature).unwrap().status, Status::NotDetermined, "{feature}");
    }
}
