//! Runs one replay and returns its result.

use super::plan::ReplayPlan;
use super::recording::{Buffered, Requests, TraceNotes, check_stop};
use crate::device::{self as devices, OpenRequest, OpenedForCommand};
use crate::failure::Failure;
use crate::harness;
use crate::options::SafetyOptions;
use crate::progress::ShareWatch;
use flashlane_host::DEPTH_MAX;
use flashlane_measure::{Pace, Progress, Replay, RunOptions, replay};
use flashlane_open::{AccessMode, Target};
use flashlane_result::replay::ReplayResult;
use flashlane_trace::Record;

impl ReplayPlan {
    /// Opens the device for the replay of a trace that needs `access`.
    pub(super) fn open(
        &self,
        target: &Target,
        safety: &SafetyOptions,
        access: AccessMode,
    ) -> Result<OpenedForCommand, Failure> {
        let needed = match self.options.pace {
            Pace::Closed { depth } => depth,
            // The trace sets the requests in flight: as many as a device takes.
            Pace::Open { .. } | Pace::Think { .. } => DEPTH_MAX,
        };
        let depth = Some(needed.into());
        devices::open(target, &OpenRequest { depth, ..OpenRequest::new(safety, access, self.options.seed) })
    }

    /// Replays `requests`. The result has at most `samples` single requests.
    pub(super) fn measure(
        &self,
        opened: OpenedForCommand,
        requests: Requests<'_>,
        samples: usize,
        watch: ShareWatch<'_>,
    ) -> Result<(Replay, ReplayResult), Failure> {
        let ((replay, mut result), notes) = match requests {
            Requests::Buffered(Buffered { records, notes }) => {
                let share = |replayed: u64| Some(replayed as f64 / records.len().max(1) as f64);
                (self.replayed(opened, records.iter().copied(), &share, samples, watch)?, notes.clone())
            }
            Requests::Opened(mut trace, None) => {
                let progress = trace.progress();
                let share = |_| progress.share();
                (self.replayed(opened, trace.by_ref(), &share, samples, watch)?, TraceNotes::of(*trace, None))
            }
            Requests::Opened(mut trace, Some(devices)) => {
                let progress = trace.progress();
                let share = |_| progress.share();
                let records = trace.by_ref().map(|record| devices.place(record));
                (
                    self.replayed(opened, records, &share, samples, watch)?,
                    TraceNotes::of(*trace, Some(&devices)),
                )
            }
        };
        notes.add_to(&mut result);
        Ok((replay, result))
    }

    /// Replays `records`; `share` returns the share of them read, given the number of measured requests.
    fn replayed(
        &self,
        mut opened: OpenedForCommand,
        records: impl Iterator<Item = Record>,
        share: &dyn Fn(u64) -> Option<f64>,
        samples: usize,
        watch: ShareWatch<'_>,
    ) -> Result<(Replay, ReplayResult), Failure> {
        let mut watch = |progress: &Progress| {
            let of_limit = self.limit.map(|limit| progress.requests as f64 / limit.max(1) as f64);
            let share = [of_limit, share(progress.requests)].into_iter().flatten().reduce(f64::max);
            watch(share.map(|share| share.min(1.0)))
        };
        let options = RunOptions { samples, watch: Some(&mut watch), time_splits: samples > 0 };
        let mut plan = self.options;
        if let (Pace::Closed { depth }, None) = (&mut plan.pace, self.depth) {
            // More would only wait for room in the device queue.
            *depth = (*depth).min(opened.device.info().depth);
        }
        let replay = match replay(&mut *opened.device, records.take(self.max_requests()), &plan, options) {
            Ok(replay) => replay,
            // After Ctrl-C the trace ends early, and this error is a consequence.
            Err(error) => return check_stop().and(Err(Failure::unusable(error))),
        };
        let mut result = ReplayResult::from(&replay);
        result.warnings.extend(opened.warnings);
        if !replay.info.simulated {
            result.harness_ns_per_request = Some(harness::ns_per_request(32));
        }
        Ok((replay, result))
    }
}
