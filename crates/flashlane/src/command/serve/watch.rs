//! What is printed and recorded while a device is served.

use super::live::Live;
use super::recording::Recording;
use super::{DeviceOptions, twin};
use crate::failure::Failure;
use crate::output::{add_machine, print, write_files};
use flashlane_base::Seed;
use flashlane_device::DataDevice;
use flashlane_open::Target;
use flashlane_report::Report;
use flashlane_result::run::RunResult;
use flashlane_serve::{Replied, Served};

pub struct Watch {
    slowdown: Option<u32>,
    /// From [`begin`](Self::begin) on.
    live: Option<Live>,
    recording: Option<Recording>,
    /// The requests are repeated in virtual time.
    has_twin: bool,
    /// A result is kept.
    keeps: bool,
    failed: Option<Failure>,
}

impl Watch {
    /// `slowdown` is that of a simulated drive.
    pub fn new(slowdown: Option<u32>, recording: Option<Recording>, options: &DeviceOptions) -> Self {
        let has_twin = !options.no_twin && slowdown.is_some();
        Self { slowdown, live: None, recording, has_twin, keeps: options.out.is_some(), failed: None }
    }

    pub fn slowdown(&self) -> Option<u32> {
        self.slowdown
    }

    pub fn begin<D: DataDevice>(&mut self, served: &mut Served<D>) {
        if self.recording.is_some() {
            served.keep_asked();
        }
        if self.has_twin {
            served.keep_replied(twin::REQUESTS_MAX);
        }
        self.live = Some(Live::new(served, self.slowdown, self.keeps));
    }

    /// Prints and records. Returns whether to serve on.
    pub fn go_on<D: DataDevice>(&mut self, served: &mut Served<D>) -> bool {
        if let Err(error) = self.tick(served) {
            self.failed = Some(error);
        }
        self.failed.is_none() && !flashlane_host::interrupted()
    }

    fn tick<D: DataDevice>(&mut self, served: &mut Served<D>) -> Result<(), Failure> {
        if let Some(live) = &mut self.live {
            live.tick(served)?;
            if flashlane_host::report_requested() {
                print(&live.snapshot(served))?;
            }
        }
        match &mut self.recording {
            Some(recording) => recording.tick(served),
            None => Ok(()),
        }
    }

    /// Returns why it ended, if that was an error.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Prints the summary, which begins with to whom the device was served, and ends the trace. Then returns the
    /// result, if one is kept.
    pub fn end<D: DataDevice>(
        self,
        served: &mut Served<D>,
        whom: &str,
        seed: Seed,
    ) -> Result<Option<RunResult>, Failure> {
        let live = self.live.expect("it has begun");
        print(&live.summary(served, whom))?;
        if let Some(mut recording) = self.recording {
            recording.tick(served)?;
            recording.end()?;
        }
        Ok(self.keeps.then(|| live.result(served, whom, seed.0)))
    }
}

/// Prints what the same requests take in virtual time, and writes the result into the directory of `--out`.
pub fn conclude(
    target: &Target,
    options: &DeviceOptions,
    replied: Vec<Replied>,
    kept: Option<RunResult>,
) -> Result<(), Failure> {
    // The result first, since the twin takes long.
    if let Some(mut result) = kept {
        add_machine(&mut result, target);
        write_files(&options.results(), &Report::of(&result), None)?;
    }
    print(&twin::text(target, options, replied)?)
}
