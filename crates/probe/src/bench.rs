//! A device under experiment: submits patterns of requests and measures their times.

use crate::changed::Changed;
use crate::error::EarlyEnd;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Completion, Device, Operation, Request, RequestId, SubmitError};
use flashlane_measure::{Interruption, MeasureError, Run, RunOptions, closed_loop};
use flashlane_workload::{Access, Mix, Workload};
use std::ops::ControlFlow;

/// One measurement: requests submitted together, or in a closed loop, and their total time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Index of the probe's stage among the result's stages.
    pub stage: u32,
    /// Start, in nanoseconds of the device's time.
    pub started_ns: u64,
    /// Time until its last completion, in nanoseconds.
    pub took_ns: u64,
    /// Number of requests.
    pub requests: u64,
    /// Operation of the first request.
    pub operation: Operation,
    /// Offset of the first request.
    pub offset_bytes: u64,
    /// Length of the first request.
    pub length_bytes: u64,
}

/// A device under experiment.
pub struct Bench<'a> {
    device: &'a mut dyn Device,
    random: Random,
    stop: &'a mut dyn FnMut() -> bool,
    requests: u64,
    changed: Changed,
    /// End of the stage's time, on a device whose time is real.
    deadline: Option<Instant>,
    /// Number of requests at which `stop` is called next.
    next_stop_check: u64,
    stage: u32,
    measurements: Vec<Measurement>,
    out: Vec<Completion>,
}

/// Maximum number of measurements kept.
const MEASUREMENTS_MAX: usize = 1 << 20;

/// Maximum number of requests in flight of an experiment.
const IN_FLIGHT_MAX: u32 = 64;

/// Requests between two calls of `stop`.
const STOP_CHECK_EVERY: u64 = 256;
/// Bytes of a trim, where more are trimmed.
const TRIM_BYTES: u64 = 64 << 20;

impl<'a> Bench<'a> {
    /// Takes a device; `stop` is called regularly and returns whether to end.
    pub fn new(device: &'a mut dyn Device, seed: Seed, stop: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            device,
            random: seed.derive("probe").source(),
            stop,
            requests: 0,
            changed: Changed::default(),
            deadline: None,
            next_stop_check: 0,
            stage: 0,
            measurements: Vec::new(),
            out: Vec::new(),
        }
    }

    /// The device under experiment.
    pub fn device(&self) -> &dyn Device {
        self.device
    }

    /// Replaces the device by another one, to which `changed` was written so far. Returns the former one, and what was
    /// written to it.
    pub(crate) fn replace_device(
        &mut self,
        device: &'a mut dyn Device,
        changed: Changed,
    ) -> (&'a mut dyn Device, Changed) {
        (std::mem::replace(&mut self.device, device), std::mem::replace(&mut self.changed, changed))
    }

    /// Source of the probe's random choices.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Writes and trims so far.
    pub(crate) fn changed(&self) -> Changed {
        self.changed
    }

    /// Begins the stage with this index. Where `time` is given and the device's time is real, experiments that take
    /// longer end with [`EarlyEnd::OutOfTime`].
    pub(crate) fn begin_stage(&mut self, stage: u32, time: Option<Duration>) {
        self.stage = stage;
        self.deadline = time.filter(|_| self.is_real()).map(|time| self.device.now() + time);
    }

    /// Returns whether the device's time is real.
    pub(crate) fn is_real(&self) -> bool {
        !self.device.info().simulated
    }

    /// Returns the measurements so far.
    pub(crate) fn take_measurements(&mut self) -> Vec<Measurement> {
        std::mem::take(&mut self.measurements)
    }

    fn record(&mut self, first: Option<Access>, requests: u64, started: Instant, took: Duration) {
        let Some(Access { operation, offset_bytes, length_bytes }) = first else { return };
        if self.measurements.len() < MEASUREMENTS_MAX {
            let (started_ns, took_ns, stage) = (started.as_ns(), took.as_ns(), self.stage);
            self.measurements.push(Measurement {
                stage,
                started_ns,
                took_ns,
                requests,
                operation,
                offset_bytes,
                length_bytes,
            });
        }
    }

    /// Size of the smallest read.
    pub fn sector_bytes(&self) -> u64 {
        self.device.info().read_unit_bytes.max(512)
    }

    /// Returns the unit of reads, or of writes.
    pub(crate) fn unit_bytes(&self, writes: bool) -> u64 {
        let info = self.device.info();
        if writes { info.write_unit_bytes.max(self.sector_bytes()) } else { self.sector_bytes() }
    }

    /// Returns the most requests that an experiment has in flight: the device's queue depth, at most 64.
    pub fn depth(&self) -> u32 {
        self.device.info().depth.min(IN_FLIGHT_MAX)
    }

    /// Submits requests at one time and waits for all. Returns the time until the last completion.
    ///
    /// # Errors
    /// [`EarlyEnd`] where one is refused or fails, or the probe is stopped.
    pub fn burst(&mut self, accesses: &[Access]) -> Result<Duration, EarlyEnd> {
        self.check_stop()?;
        let start = self.device.now();
        for (id, access) in accesses.iter().enumerate() {
            self.submit(id as u64, access)?;
        }
        self.wait(accesses)?;
        let last = self.out.iter().map(|completion| completion.completed).max();
        let took = last.unwrap_or(start).since(start);
        self.record(accesses.first().copied(), accesses.len() as u64, start, took);
        Ok(took)
    }

    /// Measures the latency of one request.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn one(&mut self, access: Access) -> Result<Duration, EarlyEnd> {
        self.burst(&[access])
    }

    /// Measures the latency of a durable write.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn durable_write(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<Duration, EarlyEnd> {
        self.check_stop()?;
        let start = self.device.now();
        let access = Access::write(offset_bytes, length_bytes);
        self.submit_durable(0, &access)?;
        self.wait(&[access])?;
        let took = self.out[0].completed.since(start);
        self.record(Some(access), 1, start, took);
        Ok(took)
    }

    /// Writes and waits until all is on flash: with durable writes at once, or with plain writes and a flush on a
    /// device that takes one request at a time. Returns the total time.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn write_to_flash(&mut self, writes: &[Access]) -> Result<Duration, EarlyEnd> {
        self.check_stop()?;
        let (start, is_at_once) = (self.device.now(), self.depth() as usize >= writes.len());
        for (id, write) in writes.iter().enumerate() {
            if is_at_once {
                self.submit_durable(id as u64, write)?;
            } else {
                self.submit(id as u64, write)?;
                self.wait(&[*write])?;
            }
        }
        if is_at_once {
            self.wait(writes)?;
        } else {
            self.flush()?;
        }
        let last = self.out.iter().map(|completion| completion.completed).max();
        let took = last.unwrap_or(start).since(start);
        self.record(writes.first().copied(), writes.len() as u64, start, took);
        Ok(took)
    }

    /// Returns how much later than the first the second of two writes of [`Bench::write_to_flash`] begins: not at all,
    /// or by the time of a plain write of this size at `place`, on a device that takes one request at a time.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn second_write_begins_late(
        &mut self,
        place: impl FnOnce() -> u64,
        length_bytes: u64,
    ) -> Result<Duration, EarlyEnd> {
        match self.depth() {
            1 => self.one(Access::write(place(), length_bytes)),
            _ => Ok(Duration::ZERO),
        }
    }

    /// Submits a durable write and, when it has been in flight for `after` or is done, a read. Returns the latency of
    /// the read when both are done.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn read_beside_write(
        &mut self,
        write: Access,
        after: Duration,
        read: Access,
    ) -> Result<Duration, EarlyEnd> {
        self.beside([write, read], after)
    }

    /// Submits a read and, when it has been in flight for `after` or is done, a durable write. Returns the latency of
    /// the read when both are done.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn write_beside_read(
        &mut self,
        read: Access,
        after: Duration,
        write: Access,
    ) -> Result<Duration, EarlyEnd> {
        self.beside([read, write], after)
    }

    /// Submits a durable write and, when it has been in flight for `after` or is done, reads, as many at once as the
    /// device takes. Returns the latency of the write when all are done.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn write_beside_reads(
        &mut self,
        write: Access,
        after: Duration,
        reads: &[Access],
    ) -> Result<Duration, EarlyEnd> {
        self.check_stop()?;
        let start = self.device.now();
        self.out.clear();
        self.submit_durable(0, &write)?;
        while self.device.now() < start + after && self.out.is_empty() {
            self.device.reap(start + after, &mut self.out);
        }
        let all: Vec<Access> = std::iter::once(write).chain(reads.iter().copied()).collect();
        for (id, read) in all.iter().enumerate().skip(1) {
            if id - self.out.len() >= self.depth() as usize {
                self.device.reap(Instant::FAR, &mut self.out);
            }
            self.submit(id as u64, read)?;
        }
        self.wait_for_rest(&all)?;
        let took = self.out.iter().find(|done| done.id.0 == 0).map(Completion::latency);
        self.record(Some(write), all.len() as u64, start, self.device.now().since(start));
        Ok(took.expect("all requests are done"))
    }

    /// Submits two requests, the second when the first has been in flight for `after` or is done; writes are durable.
    /// Returns the latency of the read.
    fn beside(&mut self, both: [Access; 2], after: Duration) -> Result<Duration, EarlyEnd> {
        self.check_stop()?;
        let start = self.device.now();
        self.out.clear();
        for (id, access) in both.iter().enumerate() {
            while id > 0 && self.device.now() < start + after && self.out.is_empty() {
                self.device.reap(start + after, &mut self.out);
            }
            match access.operation {
                Operation::Write => self.submit_durable(id as u64, access)?,
                _ => self.submit(id as u64, access)?,
            }
        }
        self.wait_for_rest(&both)?;
        let is_read = |done: &&Completion| both[done.id.0 as usize].operation == Operation::Read;
        let took = self.out.iter().find(is_read).map(Completion::latency);
        self.record(Some(both[0]), 2, start, self.device.now().since(start));
        Ok(took.expect("both requests are done, and one is a read"))
    }

    /// Keeps `depth` requests in flight until `accesses` end. Returns the total time.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn stream(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
    ) -> Result<Duration, EarlyEnd> {
        self.stream_each(accesses, depth, |_, _| {})
    }

    /// Like [`Bench::stream`]; calls `each` for every completion.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn stream_each(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
        mut each: impl FnMut(&Access, &Completion),
    ) -> Result<Duration, EarlyEnd> {
        self.stream_until(accesses, depth, None, &mut each)
    }

    /// Like [`Bench::stream_each`]; on a device whose time is real, submits no more requests after `time`, where given.
    pub(crate) fn stream_until(
        &mut self,
        accesses: impl Iterator<Item = Access>,
        depth: u32,
        time: Option<Duration>,
        each: &mut dyn FnMut(&Access, &Completion),
    ) -> Result<Duration, EarlyEnd> {
        let (mut count, mut first, start) = (0, None, self.device.now());
        let end = time.filter(|_| self.is_real()).map(|time| start + time);
        let (deadline, last) = (self.deadline, std::cell::Cell::new(start));
        let is_over = |end: Option<Instant>| end.is_some_and(|end| last.get() >= end);
        let (mut issued, mut stopped, mut out_of_time) = (0_u64, false, false);
        let accesses = accesses.take_while(|_| {
            stopped = stopped || (issued.is_multiple_of(STOP_CHECK_EVERY) && (self.stop)());
            out_of_time = is_over(deadline);
            issued += 1;
            !stopped && !out_of_time && !is_over(end)
        });
        let mut changed = Changed::default();
        let done = closed_loop(self.device, accesses, depth, |access, completion| {
            count += 1;
            last.set(completion.completed);
            changed.add(access.operation, 1, access.length_bytes);
            first.get_or_insert(*access);
            each(access, completion);
        });
        self.requests += count;
        self.changed.requests += changed.requests;
        self.changed.bytes += changed.bytes;
        let took = done.map_err(loop_error)?;
        self.record(first, count, start, took);
        match (stopped, out_of_time) {
            (true, _) => Err(Interruption::Stopped.into()),
            (false, true) => Err(EarlyEnd::OutOfTime),
            (false, false) => Ok(took),
        }
    }

    /// Runs a workload of several jobs.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn run(&mut self, workload: &Workload) -> Result<Run, EarlyEnd> {
        let mut watch =
            |_: &_| if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let options = RunOptions { samples: 0, watch: Some(&mut watch), ..Default::default() };
        let run = flashlane_measure::run(self.device, workload, options);
        let run = run.map_err(loop_error)?;
        self.requests += run.requests;
        for (job, done) in workload.jobs.iter().zip(&run.jobs) {
            let requests = done.writes.as_ref().map_or(0, |writes| writes.len())
                + if job.mix == Mix::WRITE { workload.warmup_requests } else { 0 };
            self.changed.add(Operation::Write, requests, requests * job.size_bytes);
        }
        run.partial.map_or(Ok(()), Err)?;
        Ok(run)
    }

    /// Writes an area once, in order, in requests of `request_bytes`, and flushes it.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn fill(&mut self, offset: u64, length: u64, request_bytes: u64) -> Result<(), EarlyEnd> {
        let accesses =
            (0..length / request_bytes).map(|i| Access::write(offset + i * request_bytes, request_bytes));
        self.stream(accesses, 1)?;
        self.flush_and_pause()
    }

    /// Like [`Bench::fill`], with each request on flash before the next, so that a write buffer changes no order.
    pub(crate) fn fill_durably(
        &mut self,
        offset: u64,
        length: u64,
        request_bytes: u64,
    ) -> Result<(), EarlyEnd> {
        for i in 0..length / request_bytes {
            self.durable_write(offset + i * request_bytes, request_bytes)?;
        }
        self.flush_and_pause()
    }

    /// Like [`Bench::fill`], but ends with the stage's time. Returns the bytes written.
    pub(crate) fn fill_in_time(
        &mut self,
        offset: u64,
        length: u64,
        request_bytes: u64,
    ) -> Result<u64, EarlyEnd> {
        let before = self.changed.bytes;
        match self.fill(offset, length, request_bytes) {
            Err(EarlyEnd::OutOfTime) => {
                self.flush_and_pause()?;
                Ok(self.changed.bytes - before)
            }
            done => done.map(|()| self.changed.bytes - before),
        }
    }

    /// Flushes buffered writes, and gives the drive idle time for background work.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub fn flush_and_pause(&mut self) -> Result<(), EarlyEnd> {
        self.flush()?;
        // chen11 (section 3.2) pauses five seconds, which costs nothing in virtual time.
        let pause = if self.device.info().simulated { Duration::from_s(5) } else { Duration::from_ms(200) };
        self.pause(pause);
        Ok(())
    }

    /// Flushes buffered writes, where the device can.
    pub(crate) fn flush(&mut self) -> Result<(), EarlyEnd> {
        let access = Access { operation: Operation::Flush, offset_bytes: 0, length_bytes: 0 };
        match self.device.submit(Request::flush(0)) {
            Ok(()) => {
                self.requests += 1;
                self.wait(&[access])?;
            }
            Err(SubmitError::Unsupported { .. } | SubmitError::ReadOnly { .. }) => {}
            Err(error) => return Err(Interruption::Refused { access, error }.into()),
        }
        Ok(())
    }

    /// Trims a range. Returns false on a device without trim.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn trim(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<bool, EarlyEnd> {
        match self.one(Access::trim(offset_bytes, length_bytes)) {
            Ok(_) => Ok(true),
            Err(EarlyEnd::Interrupted(Interruption::Refused {
                error: SubmitError::Unsupported { .. },
                ..
            })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Trims the beginning of the drive, a part at a time. Returns false on a device without trim.
    ///
    /// # Errors
    /// As [`Bench::burst`].
    pub(crate) fn trim_to(&mut self, end_bytes: u64) -> Result<bool, EarlyEnd> {
        self.trim_range(0, end_bytes)
    }

    /// Trims from one offset to another, a part at a time. Returns false on a device without trim.
    pub(crate) fn trim_range(&mut self, from_bytes: u64, end_bytes: u64) -> Result<bool, EarlyEnd> {
        for at in (from_bytes..end_bytes).step_by(TRIM_BYTES as usize) {
            if !self.trim(at, (end_bytes - at).min(TRIM_BYTES))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets time pass with nothing in flight.
    pub fn pause(&mut self, time: Duration) {
        let until = self.device.now() + time;
        while self.device.now() < until {
            self.out.clear();
            self.device.reap(until, &mut self.out);
        }
    }

    /// Returns an error where the probe is stopped or the stage's time has ended.
    fn check_stop(&mut self) -> Result<(), EarlyEnd> {
        if self.deadline.is_some_and(|deadline| self.device.now() >= deadline) {
            return Err(EarlyEnd::OutOfTime);
        }
        if self.requests < self.next_stop_check {
            return Ok(());
        }
        self.next_stop_check = self.requests + STOP_CHECK_EVERY;
        if (self.stop)() { Err(Interruption::Stopped.into()) } else { Ok(()) }
    }

    fn submit(&mut self, id: u64, access: &Access) -> Result<(), EarlyEnd> {
        let (offset, length) = (access.offset_bytes, access.length_bytes);
        let request = match access.operation {
            Operation::Write => Request::write(id, offset, length),
            Operation::Trim => Request::trim(id, offset, length),
            _ => Request::read(id, offset, length),
        };
        self.submit_request(id, access, request)
    }

    fn submit_durable(&mut self, id: u64, write: &Access) -> Result<(), EarlyEnd> {
        let request = Request::write(id, write.offset_bytes, write.length_bytes).durable();
        self.submit_request(id, write, request)
    }

    fn submit_request(&mut self, id: u64, access: &Access, request: Request) -> Result<(), EarlyEnd> {
        self.requests += 1;
        self.changed.add(access.operation, 1, access.length_bytes);
        let request = Request { id: RequestId(id), ..request };
        Ok(self.device.submit(request).map_err(|error| Interruption::Refused { access: *access, error })?)
    }

    /// Waits for all requests in flight, whose ids are their indices in `accesses`.
    fn wait(&mut self, accesses: &[Access]) -> Result<(), EarlyEnd> {
        self.out.clear();
        self.wait_for_rest(accesses)
    }

    /// Waits for all requests in flight, of which some may be done.
    fn wait_for_rest(&mut self, accesses: &[Access]) -> Result<(), EarlyEnd> {
        while self.out.len() < accesses.len() {
            let before = self.out.len();
            self.device.reap(Instant::FAR, &mut self.out);
            if self.out.len() == before {
                return Err(Interruption::Stalled { in_flight: (accesses.len() - before) as u64 }.into());
            }
        }
        for completion in &self.out {
            if let Err(failure) = completion.outcome {
                let access = accesses[completion.id.0 as usize];
                return Err(Interruption::Failed { access, failure }.into());
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
