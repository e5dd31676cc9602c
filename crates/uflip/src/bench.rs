//! A device under test: runs patterns and idles between them.

use crate::UflipError;
use crate::options::Progress;
use flashlane_base::{Duration, Operation};
use flashlane_device::{Device, DeviceInfo};
use flashlane_measure::{RunOptions, Watch, closed_loop, run};
use flashlane_workload::{Access, Workload};

/// A device under test.
pub(crate) struct Bench<'a> {
    device: &'a mut dyn Device,
    watch: Option<Watch<'a, Progress>>,
    progress: Progress,
    /// Planned I/Os, without those of steps from the journal.
    planned_ios: u64,
    /// I/Os done.
    pub(crate) ios: u64,
    /// Bytes written.
    pub(crate) written_bytes: u64,
}

/// Idle time on a real device between two calls of the watch.
const IDLE_PIECE: Duration = Duration::from_ms(100);
/// I/Os between two calls of the watch.
const WATCH_EVERY: u64 = 256;

impl<'a> Bench<'a> {
    pub(crate) fn new(device: &'a mut dyn Device, watch: Option<Watch<'a, Progress>>) -> Self {
        let progress = Progress::default();
        Self { device, watch, progress, planned_ios: 0, ios: 0, written_bytes: 0 }
    }

    pub(crate) fn device(&self) -> &dyn Device {
        self.device
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Begins a stage; `ios` of `planned_ios` are done, including steps from the journal.
    pub(crate) fn begin(
        &mut self,
        stage: impl Into<String>,
        ios: u64,
        planned_ios: u64,
    ) -> Result<(), UflipError> {
        self.progress.stage = stage.into();
        self.planned_ios = planned_ios.saturating_sub(ios.saturating_sub(self.ios));
        self.progress.share = self.share(0);
        self.check_stop()
    }

    /// Returns the share of all I/Os that is done after `ios` more.
    fn share(&self, ios: u64) -> f64 {
        ((self.ios + ios) as f64 / self.planned_ios.max(1) as f64).min(1.0)
    }

    fn check_stop(&mut self) -> Result<(), UflipError> {
        let stop = self.watch.as_mut().is_some_and(|watch| watch(&self.progress).is_break());
        if stop { Err(UflipError::Stopped) } else { Ok(()) }
    }

    /// Runs a workload. Returns the response times in nanoseconds, in order of completion, and the total time.
    pub(crate) fn run(&mut self, workload: &Workload) -> Result<(Vec<u64>, Duration), UflipError> {
        let (from, mut progress) = (self.share(0), self.progress.clone());
        let ios = workload.stop.requests.unwrap_or_default();
        let to = self.share(ios);
        let mut watch = self.watch.as_mut().map(|watch| {
            move |done: &flashlane_measure::Progress| {
                progress.share = from + (to - from) * done.share().unwrap_or_default();
                watch(&progress)
            }
        });
        let watch = watch.as_mut().map(|watch| watch as Watch<'_>);
        let options = RunOptions { samples: usize::MAX, watch, ..RunOptions::default() };
        let run = run(self.device, workload, options)?;
        if let Some(interruption) = run.partial {
            return Err(interruption.into());
        }
        self.ios += run.requests;
        self.written_bytes += run
            .jobs
            .iter()
            .map(|job| job.writes.as_ref().map_or(0, |writes| writes.len()) * job.size_bytes)
            .sum::<u64>();
        self.progress.share = self.share(0);
        Ok((run.samples.iter().map(|sample| sample.latency_ns).collect(), run.elapsed))
    }

    /// Submits these accesses at a depth of `depth` and passes each response time to `each`. Returns the total time.
    pub(crate) fn accesses(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
        mut each: impl FnMut(&Access, u64),
    ) -> Result<Duration, UflipError> {
        let (mut progress, done, planned) = (self.progress.clone(), self.ios, self.planned_ios.max(1));
        let watch = &mut self.watch;
        let (mut issued, mut stopped) = (0, false);
        let accesses = accesses.take_while(|_| {
            issued += 1;
            if issued % WATCH_EVERY == 0 {
                progress.share = ((done + issued) as f64 / planned as f64).min(1.0);
                stopped = watch.as_mut().is_some_and(|watch| watch(&progress).is_break());
            }
            !stopped
        });
        let (mut ios, mut written_bytes) = (0, 0);
        let took = closed_loop(self.device, accesses, depth, |access, completion| {
            ios += 1;
            if access.operation == Operation::Write {
                written_bytes += access.length_bytes;
            }
            each(access, completion.latency().as_ns());
        })?;
        self.ios += ios;
        self.written_bytes += written_bytes;
        self.progress.share = self.share(0);
        if stopped { Err(UflipError::Stopped) } else { Ok(took) }
    }

    /// Leaves the device idle for `time`.
    pub(crate) fn idle(&mut self, time: Duration) -> Result<(), UflipError> {
        let end = self.device.now() + time;
        let mut out = Vec::new();
        while self.device.now() < end {
            let piece = self.device.now() + IDLE_PIECE;
            self.device.reap(piece.min(end), &mut out);
            debug_assert!(out.is_empty(), "nothing is in flight between runs");
            self.check_stop()?;
        }
        Ok(())
    }
}
