//! The probe's hands: requests made of a device in patterns, and how long they took.

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Completion, Device, Operation, Request, RequestId, SubmitError};
use flashlane_measure::{Interruption, MeasureError, Options as RunOptions, Run, closed_loop};
use flashlane_workload::{Access, Workload};
use std::ops::ControlFlow;

/// A device under experiment.
pub struct Rig<'a> {
    device: &'a mut dyn Device,
    random: Random,
    stop: &'a mut dyn FnMut() -> bool,
    requests: u64,
    /// After so many requests it is asked again whether to stop.
    ask_at: u64,
    out: Vec<Completion>,
}

/// Requests between two questions whether to stop.
const ASK_EVERY: u64 = 256;

impl<'a> Rig<'a> {
    /// Takes a device; `stop` is asked now and then whether to give up.
    pub fn new(device: &'a mut dyn Device, seed: Seed, stop: &'a mut dyn FnMut() -> bool) -> Self {
        Self { device, random: seed.derive("probe").source(), stop, requests: 0, ask_at: 0, out: Vec::new() }
    }

    /// The device.
    pub fn device(&self) -> &dyn Device {
        self.device
    }

    /// The probe's random source.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Requests made so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Smallest read.
    pub fn sector_bytes(&self) -> u64 {
        self.device.profile().read_unit_bytes.max(512)
    }

    /// Requests in flight that the device takes, 64 at most.
    pub fn depth(&self) -> u32 {
        self.device.profile().depth.min(64)
    }

    /// Makes requests at one moment and waits for all; the time until the last was done.
    ///
    /// # Errors
    /// [`Interruption`] where one is refused or fails, or the probe is asked to stop.
    pub fn burst(&mut self, accesses: &[Access]) -> Result<Duration, Interruption> {
        self.go_on()?;
        let start = self.device.now();
        for (id, access) in accesses.iter().enumerate() {
            self.submit(id as u64, access)?;
        }
        self.wait(accesses)?;
        let last = self.out.iter().map(|completion| completion.completed).max();
        Ok(last.unwrap_or(start).since(start))
    }

    /// The latency of one request.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn one(&mut self, access: Access) -> Result<Duration, Interruption> {
        self.burst(&[access])
    }

    /// The latency of a write that is complete only on flash.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn durable_write(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<Duration, Interruption> {
        self.go_on()?;
        let start = self.device.now();
        let access = Access::write(offset_bytes, length_bytes);
        let request = Request::write(0, offset_bytes, length_bytes).durable();
        self.device.submit(request).map_err(|error| Interruption::Refused { access, error })?;
        self.requests += 1;
        self.wait(&[access])?;
        Ok(self.out[0].completed.since(start))
    }

    /// Keeps `depth` requests in flight until `accesses` end; the time it took.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn stream(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
    ) -> Result<Duration, Interruption> {
        self.stream_each(accesses, depth, |_, _| {})
    }

    /// Like [`Rig::stream`], with every completion shown to `each`.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn stream_each(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
        mut each: impl FnMut(&Access, &Completion),
    ) -> Result<Duration, Interruption> {
        let (mut asked, mut stopped) = (0, false);
        let accesses = accesses.take_while(|_| {
            stopped = stopped || (asked % ASK_EVERY == 0 && (self.stop)());
            asked += 1;
            !stopped
        });
        let mut count = 0;
        let done = closed_loop(self.device, accesses, depth, |access, completion| {
            count += 1;
            each(access, completion);
        });
        self.requests += count;
        let took = done.map_err(loop_error)?;
        if stopped { Err(Interruption::Stopped) } else { Ok(took) }
    }

    /// Runs a workload of several jobs.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn run(&mut self, workload: &Workload) -> Result<Run, Interruption> {
        let mut watch =
            |_: &_| if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let options = RunOptions { samples: 0, watch: Some(&mut watch) };
        let run = flashlane_measure::run(self.device, workload, options);
        let run = run.map_err(loop_error)?;
        self.requests += run.requests;
        run.partial.map_or(Ok(()), Err)?;
        Ok(run)
    }

    /// Writes an area once, in order, in requests of `request_bytes`, and waits until it is on flash.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn fill(&mut self, offset: u64, length: u64, request_bytes: u64) -> Result<(), Interruption> {
        let accesses =
            (0..length / request_bytes).map(|i| Access::write(offset + i * request_bytes, request_bytes));
        self.stream(accesses, 1)?;
        self.settle()
    }

    /// Has buffered writes put on flash, and gives the drive time for what it does on its own.
    ///
    /// # Errors
    /// As [`Rig::burst`].
    pub fn settle(&mut self) -> Result<(), Interruption> {
        let access = Access { operation: Operation::Flush, offset_bytes: 0, length_bytes: 0 };
        match self.device.submit(Request::flush(0)) {
            Ok(()) => {
                self.requests += 1;
                self.wait(&[access])?;
            }
            Err(SubmitError::Unsupported { .. } | SubmitError::ReadOnly { .. }) => {}
            Err(error) => return Err(Interruption::Refused { access, error }),
        }
        // chen11 (section 3.2) pauses five seconds; waiting costs nothing in virtual time only.
        let pause =
            if self.device.profile().simulated { Duration::from_s(5) } else { Duration::from_ms(200) };
        self.pause(pause);
        Ok(())
    }

    /// Lets time pass with nothing in flight.
    pub fn pause(&mut self, time: Duration) {
        let until = self.device.now() + time;
        while self.device.now() < until {
            self.out.clear();
            self.device.reap(until, &mut self.out);
        }
    }

    /// Asks now and then whether to stop.
    fn go_on(&mut self) -> Result<(), Interruption> {
        if self.requests < self.ask_at {
            return Ok(());
        }
        self.ask_at = self.requests + ASK_EVERY;
        if (self.stop)() { Err(Interruption::Stopped) } else { Ok(()) }
    }

    fn submit(&mut self, id: u64, access: &Access) -> Result<(), Interruption> {
        let (offset, length) = (access.offset_bytes, access.length_bytes);
        let request = match access.operation {
            Operation::Write => Request::write(id, offset, length),
            Operation::Trim => Request::trim(id, offset, length),
            _ => Request::read(id, offset, length),
        };
        self.requests += 1;
        let request = Request { id: RequestId(id), ..request };
        self.device.submit(request).map_err(|error| Interruption::Refused { access: *access, error })
    }

    /// Waits for all of the requests in flight, which are numbered as in `accesses`.
    fn wait(&mut self, accesses: &[Access]) -> Result<(), Interruption> {
        self.out.clear();
        while self.out.len() < accesses.len() {
            let before = self.out.len();
            self.device.reap(Instant::FAR, &mut self.out);
            if self.out.len() == before {
                return Err(Interruption::Stalled { in_flight: (accesses.len() - before) as u64 });
            }
        }
        for completion in &self.out {
            if let Err(failure) = completion.outcome {
                return Err(Interruption::Failed { access: accesses[completion.id.0 as usize], failure });
            }
        }
        Ok(())
    }
}

fn loop_error(error: MeasureError) -> Interruption {
    match error {
        MeasureError::Interrupted(interruption) => interruption,
        MeasureError::Unfit { unfit, .. } => {
            unreachable!("the probe's own workload fits the device: {unfit}")
        }
    }
}
