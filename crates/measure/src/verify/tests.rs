//! Verified runs on a device that stores data and can lose it.

use crate::tests::Scripted;
use crate::{Interruption, MeasureError, Mismatch, Progress, Run, RunOptions, run, run_verified};
use flashlane_base::{Instant, Operation};
use flashlane_device::{Buffer, Completion, DataDevice, Device, DeviceInfo, Request, RequestId, SubmitError};
use flashlane_result::run::RunResult;
use flashlane_workload::Workload;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Data over a scripted device: writes take effect when they complete, and reads return the data of that time.
struct Bytes {
    inner: Scripted,
    bytes: Vec<u8>,
    in_flight: BTreeMap<u64, (Request, Buffer)>,
    returned: BTreeMap<u64, Buffer>,
    writes: u64,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// This write is lost.
    Loses(u64),
    /// This write and all later ones are lost.
    LosesFrom(u64),
    /// Only the first sector of this write is stored.
    Tears(u64),
    /// This write is also stored 1 MiB further on.
    Strays(u64),
}

impl Bytes {
    fn new(fault: Fault) -> Self {
        let mut inner = Scripted::new(8, 3, 10);
        inner.info.capacity_bytes = 4 << 20;
        Self {
            bytes: vec![0; 4 << 20],
            inner,
            in_flight: BTreeMap::new(),
            returned: BTreeMap::new(),
            writes: 0,
            fault,
        }
    }

    fn finish(&mut self, id: u64) {
        let Some((request, mut buffer)) = self.in_flight.remove(&id) else { return };
        let at = request.offset_bytes as usize;
        let span = at..at + buffer.len();
        if request.operation == Operation::Read {
            buffer.as_mut_slice().copy_from_slice(&self.bytes[span]);
        } else {
            self.writes += 1;
            match self.fault {
                Fault::Loses(nth) if nth == self.writes => {}
                Fault::LosesFrom(nth) if nth <= self.writes => {}
                Fault::Tears(nth) if nth == self.writes => {
                    self.bytes[at..at + 512].copy_from_slice(&buffer.as_slice()[..512]);
                }
                Fault::Strays(nth) if nth == self.writes => {
                    let other = (at + (1 << 20)) % (4 << 20);
                    self.bytes[other..other + buffer.len()].copy_from_slice(buffer.as_slice());
                    self.bytes[span].copy_from_slice(buffer.as_slice());
                }
                _ => self.bytes[span].copy_from_slice(buffer.as_slice()),
            }
        }
        self.returned.insert(id, buffer);
    }
}

impl Device for Bytes {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn now(&self) -> Instant {
        self.inner.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.inner.submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        self.inner.reap(until, out);
        for completion in &out[first..] {
            self.finish(completion.id.0);
        }
    }
}

impl DataDevice for Bytes {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if let Err(error) = self.inner.submit(request) {
            return Err((error, buffer));
        }
        self.in_flight.insert(request.id.0, (request, buffer));
        Ok(())
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.returned.remove(&id.0)
    }
}

fn verified(fault: Fault, text: &str) -> Run {
    let workload = Workload::parse(text).unwrap_or_else(|error| panic!("{error}"));
    run_verified(&mut Bytes::new(fault), &workload, RunOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn mismatch(run: &Run) -> Option<Mismatch> {
    run.verified.as_ref()?.first_mismatches.first().map(|misread| misread.mismatch)
}

/// Includes concurrent writes to the same unit, and jobs with different sizes and areas.
#[test]
fn correct_device_has_no_mismatches() {
    for text in [
        "sequential-write,size=64k,depth=4,requests=64,verify",
        "mixed,reads=50%,depth=8,requests=20k,area=64k,verify",
        "random-write,size=8k,align=4k,depth=8,area=128k,requests=5k,verify + random-read,size=4k,depth=3,area=256k",
        "random-write,size=512B,depth=4,area=64k,verify,requests=4k + random-write,size=4k,shift=512B,area=60k",
        "mixed,zipf=1.1,depth=8,requests=20k,verify",
        "ordered-write,stride=1536B,size=1k,depth=3,requests=9k,verify",
    ] {
        let run = verified(Fault::None, text);
        assert_eq!(run.partial, None, "{text}");
        let seen = run.verified.expect("it was requested");
        assert_eq!((seen.mismatches, seen.checked_nothing()), (0, false), "{text}");
        assert!(seen.read_back_bytes > 0, "{text}: {seen:?}");
        assert_eq!(
            seen.checked_bytes + seen.unchecked_bytes,
            run.jobs
                .iter()
                .filter_map(|job| { job.reads.as_ref().map(|reads| reads.len() * job.size_bytes) })
                .sum::<u64>(),
            "{text}"
        );
    }
    let run = verified(Fault::None, "sequential-write,size=64k,requests=64,verify");
    assert_eq!(run.verified.map(|seen| (seen.unit_bytes, seen.read_back_bytes)), Some((64 << 10, 4 << 20)));
}

#[test]
fn lost_torn_and_misplaced_writes_are_detected() {
    let twice = "sequential-write,size=64k,requests=128,verify";
    let lost = mismatch(&verified(Fault::Loses(100), twice));
    assert_eq!(lost, Some(Mismatch::Stale { found: 36, superseded_by: 100 }));
    assert_eq!(
        mismatch(&verified(Fault::Loses(10), "sequential-write,size=64k,requests=64,verify")),
        Some(Mismatch::Garbled)
    );
    assert_eq!(mismatch(&verified(Fault::Tears(100), twice)), Some(Mismatch::Garbled));
    let astray = verified(Fault::Strays(128), twice);
    let written_for_bytes = (4 << 20) - (64 << 10);
    assert_eq!(mismatch(&astray), Some(Mismatch::Misplaced { written_for_bytes }));
    let first = astray.verified.unwrap().first_mismatches[0];
    assert_eq!(first.offset_bytes, (1 << 20) - (64 << 10));
    assert_eq!(first.to_string(), "at offset 960 KiB: bytes that were written for offset 4032 KiB");
}

/// The run is not partial, and each unit is counted once.
#[test]
fn run_with_mismatches_continues_and_counts_them() {
    let early = verified(Fault::Loses(1), "mixed,reads=50%,area=4k,requests=1000,verify");
    assert_eq!((early.requests, early.partial), (1000, None));
    let seen = early.verified.as_ref().unwrap();
    assert_eq!(
        (seen.mismatches, seen.first_mismatches.len()),
        (1, 1),
        "found by reads until it is written again"
    );
    let every = verified(Fault::LosesFrom(11), "sequential-write,size=64k,requests=64,verify");
    let seen = every.verified.as_ref().unwrap();
    assert_eq!((seen.mismatches, seen.first_mismatches.len()), (54, 5));
    assert_eq!(seen.read_back_bytes, 4 << 20, "all of it is read back");
    let doubts = every.doubts();
    let text = doubts[0].to_string();
    assert!(text.starts_with("verification failed: 54 units of 64 KiB do not hold"), "{text}");
    assert!(text.contains("the first 5: at offset 640 KiB"), "{text}");
    let row = RunResult::from(&every).verified.unwrap();
    assert_eq!((row.mismatches, row.first_mismatches.len()), (54, 5));
}

#[test]
fn run_without_checked_data_has_that_doubt_first() {
    for (text, reason) in [
        ("random-read,requests=2000,verify", "the workload only reads"),
        ("random-write,requests=1,size=64k,verify", ""),
    ] {
        let doubts = verified(Fault::None, text).doubts();
        let first = doubts.first().map(ToString::to_string).unwrap_or_default();
        let checked_nothing = first.starts_with("verify checked nothing");
        assert_eq!(checked_nothing, !reason.is_empty(), "{text}: {first}");
        assert!(first.contains(reason), "{text}: {first}");
    }
}

#[test]
fn device_without_data_is_refused() {
    let workload = Workload::parse("random-write,verify").unwrap();
    let Err(MeasureError::Unfit { unfit, .. }) =
        run(&mut Scripted::new(1, 1, 1), &workload, RunOptions::default())
    else {
        panic!("a scripted device keeps no bytes")
    };
    assert!(unfit.field == "verify" && unfit.allowed.contains("backed("), "{unfit}");
    let trims = Workload::parse("random-trim,verify").unwrap();
    assert!(run_verified(&mut Bytes::new(Fault::None), &trims, RunOptions::default()).is_err());
}

#[test]
fn watch_stops_the_read_back() {
    let workload = Workload::parse("random-write,verify,size=4k,requests=2000").unwrap();
    // On a real device the watch is called after every completion: at the end of the last write, then during the
    // read-back.
    let mut device = Bytes::new(Fault::None);
    device.inner.info.simulated = false;
    let mut calls_at_end = 0;
    let mut watch = |progress: &Progress| {
        calls_at_end += u32::from(progress.requests == 2000);
        if calls_at_end < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = RunOptions { samples: 0, watch: Some(&mut watch), ..Default::default() };
    let run = run_verified(&mut device, &workload, options).unwrap();
    assert_eq!((run.partial, run.requests), (Some(Interruption::Stopped), 2000), "what was measured is kept");
}
