//! The client of a run: issues its requests and records completions.

use crate::engine::{AfterFailure, Client, Task};
use crate::options::{Progress, RunOptions, Watch};
use crate::statistics::{BatchMeans, Sample, Samples, TimeParts};
use crate::terms::{Claim, Lag, Terms};
use flashlane_base::{Duration, Histogram, Instant, Operation};
use flashlane_device::{Completion, Counters, Device, DeviceInfo, Failure, Lane, Part, TimeSplit, UnitState};
use flashlane_workload::{Access, Generator, Job, Turns, Workload};

/// Histograms kept for each job: reads, writes, trims, flushes and appends.
pub(crate) const KINDS: usize = 5;

/// Returns the index of an operation's histogram among those of its job.
pub(crate) fn kind(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Flush => 3,
        Operation::Append => 4,
        _ => 2,
    }
}

pub(crate) struct Recorder<'a> {
    jobs: Vec<Source>,
    /// By job; used for [`Slot::special`] slots only.
    terms: Vec<Terms>,
    slots: Vec<Slot>,
    /// By slot; used for [`Slot::special`] slots only.
    claims: Vec<Claim>,
    /// Which job's access is next in the slots from `shared_from` on.
    turns: Option<Turns>,
    shared_from: u32,
    /// Bytes of the device's erase units; 0 where it has none.
    unit_bytes: u64,
    /// Requests still to be issued.
    left: u64,
    warmup_left: u64,
    time: Option<Duration>,
    confidence: Option<f64>,
    requests: Option<u64>,
    /// No request is issued from here on.
    deadline: Instant,
    ended: bool,
    watch: Option<Watch<'a>>,

    pub(crate) started: Instant,
    pub(crate) last: Instant,
    pub(crate) measured: u64,
    pub(crate) before: Counters,
    /// By job and kind; allocated on first use, because one takes a third of a megabyte.
    pub(crate) histograms: Vec<Option<Box<Histogram>>>,
    /// By job: latencies of reads whose data could not be corrected, likewise.
    pub(crate) unreadable: Vec<Option<Box<Histogram>>>,
    /// Whether such reads are counted; otherwise the first ends the run.
    counts_unreadable: bool,
    pub(crate) batches: BatchMeans,
    pub(crate) samples: Samples,
    /// By kind, where the device records where the time of requests goes.
    pub(crate) time_parts: Option<Box<[TimeParts; KINDS]>>,
}

/// Returns where the time of a completed request went since `due`: before its submission it waited in a queue. `None`
/// where the device does not record it.
#[inline]
pub(crate) fn time_split(device: &dyn Device, completion: &Completion, due: Instant) -> Option<TimeSplit> {
    let mut split = device.time_split(completion.id)?;
    split.add(Part::Queue, completion.submitted.since(due));
    Some(split)
}

#[derive(Clone, Copy)]
struct Slot {
    /// The job of its current or last access.
    job: u32,
    /// Whether its job has terms, or takes turns, or writes erase units.
    special: bool,
}

struct Source {
    generator: Generator,
    /// Ring of accesses generated ahead, for [`Device::prefetch`].
    ahead: [Access; AHEAD],
    turn: usize,
}

/// Accesses generated ahead: at 100 ns per simulated request enough to hide a memory access.
const AHEAD: usize = 4;

impl Source {
    fn new(mut generator: Generator) -> Self {
        let ahead = std::array::from_fn(|_| generator.access());
        Self { generator, ahead, turn: 0 }
    }

    #[inline]
    fn next(&mut self, device: &dyn Device) -> Access {
        let drawn = self.generator.access();
        device.prefetch(drawn.offset_bytes, drawn.length_bytes);
        let access = by_field(std::mem::replace(&mut self.ahead[self.turn], drawn));
        self.turn = (self.turn + 1) % AHEAD;
        access
    }
}

/// Copies an access without the padding behind its fields. Where two paths meet, the compiler keeps padding on the
/// stack in stores that overlap, and each load from there waits for both: 5 ns per request.
#[inline(always)]
fn by_field(access: Access) -> Access {
    let Access { operation, offset_bytes, length_bytes } = access;
    Access { operation, offset_bytes, length_bytes }
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(device: &dyn Device, workload: &Workload, options: RunOptions<'a>) -> Self {
        let info = device.info();
        let jobs = workload
            .jobs
            .iter()
            .map(|job| Source::new(Generator::new(job, info.capacity_bytes, workload.seed)));
        let (slots, shared_from) = slots(&workload.jobs, info);
        let mut terms: Vec<Terms> =
            workload.jobs.iter().map(|job| Terms::new(job, workload.seed, device.now())).collect();
        let claims = slots.iter().map(|slot| terms[slot.job as usize].claim()).collect();
        let mut recorder = Self {
            jobs: jobs.collect(),
            terms,
            slots,
            claims,
            turns: Turns::of(&workload.jobs),
            shared_from,
            unit_bytes: info.erase_unit_bytes,
            left: workload.stop.requests.map_or(u64::MAX, |n| n.saturating_add(workload.warmup_requests)),
            warmup_left: workload.warmup_requests,
            time: workload.stop.time,
            confidence: workload.stop.confidence,
            requests: workload.stop.requests,
            deadline: Instant::FAR,
            ended: false,
            watch: options.watch,
            started: device.now(),
            last: device.now(),
            measured: 0,
            before: device.counters(),
            histograms: vec![None; workload.jobs.len() * KINDS],
            unreadable: vec![None; workload.jobs.len()],
            // They are what the model of a drive was asked for. Data that are verified must be readable.
            counts_unreadable: info.simulated && !workload.verify,
            batches: BatchMeans::new(),
            samples: Samples::new(options.samples, workload.seed.derive("samples").source()),
            time_parts: options.time_splits.then(Box::default),
        };
        if recorder.warmup_left == 0 {
            recorder.start(device.now(), device);
        }
        recorder
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Begins measuring at `now`.
    fn start(&mut self, now: Instant, device: &dyn Device) {
        self.started = now;
        self.last = now;
        self.deadline = self.time.map_or(Instant::FAR, |time| now + time);
        self.before = device.counters();
    }

    /// Returns the next task of a special slot.
    #[inline(never)]
    fn next_special(&mut self, slot: u32, device: &dyn Device) -> Option<Task> {
        let job = self.slots[slot as usize].job;
        if self.terms[job as usize].takes_flush() {
            let flush = Access::flush();
            return Some(Task { queue: self.terms[job as usize].queue(), ..flush.into() });
        }
        if self.left == 0 || self.ended || !self.terms[job as usize].takes_access() {
            return None;
        }
        self.left -= 1;
        let job = match &mut self.turns {
            Some(turns) if slot >= self.shared_from => turns.job(),
            _ => job,
        };
        self.slots[slot as usize].job = job;
        let mut access = self.jobs[job as usize].next(device);
        let terms = &mut self.terms[job as usize];
        let (durable, due) = terms.issued(&access, &self.claims[slot as usize], device.now());
        let erases_first = self.begins_written_unit(&access, device);
        if access.operation == Operation::Append && self.unit_bytes > 0 {
            access.offset_bytes -= access.offset_bytes % self.unit_bytes;
        }
        let terms = &self.terms[job as usize];
        let (queue, handle) = (terms.queue(), terms.handle(&access));
        Some(Task { access, durable, queue, handle, due, erases_first })
    }

    /// Whether an access begins to write an erase unit from its start that is not erased: it is erased first, as fio
    /// resets a zone before it writes it again.
    fn begins_written_unit(&self, access: &Access, device: &dyn Device) -> bool {
        let changes = matches!(access.operation, Operation::Write | Operation::Append);
        let begins = self.unit_bytes > 0 && changes && access.offset_bytes.is_multiple_of(self.unit_bytes);
        begins && {
            let unit = device.unit(Lane(0), access.offset_bytes / self.unit_bytes);
            unit.is_some_and(|unit| !matches!(unit.state, UnitState::ERASED | UnitState::Bad))
        }
    }

    /// Handles the completion of a special slot.
    #[inline(never)]
    fn done_special(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        if access.operation == Operation::Flush {
            return self.flushed(slot, access, due, completion, device);
        }
        let job = self.slots[slot as usize].job;
        let pause = self.terms[job as usize].pause(&mut self.claims[slot as usize], completion.completed);
        self.accessed(job, access, due, completion, pause, device)
    }

    /// Counts a read whose data could not be corrected, apart from other accesses. Returns the pause, or `None` where
    /// the run ends before its end.
    #[cold]
    fn could_not_be_read(
        &mut self,
        slot: u32,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        let Slot { job, special } = self.slots[slot as usize];
        let completed = completion.completed;
        let pause = match special {
            true => self.terms[job as usize].pause(&mut self.claims[slot as usize], completed),
            false => Duration::ZERO,
        };
        if self.warmup_left > 0 {
            self.warmup_left -= 1;
            if self.warmup_left == 0 {
                self.start(completed, device);
            }
            return Some(pause);
        }
        self.last = self.last.max(completed);
        self.unreadable[job as usize].get_or_insert_with(Box::default).record(completed.since(due));
        (completed + pause < self.deadline).then_some(pause)
    }

    /// Handles the completion of a flush, which is counted apart from accesses.
    fn flushed(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        let (job, completed) = (self.slots[slot as usize].job, completion.completed);
        if self.warmup_left == 0 {
            self.last = self.last.max(completed);
            self.record(job, access, completed.since(due));
            self.offer(job, access, due, completion, device);
        }
        let pause = self.terms[job as usize].after_flush(&self.claims[slot as usize], completed);
        (completed + pause < self.deadline).then_some(pause)
    }

    /// Counts a completed access. Returns the pause, or `None` where the run ends before its end.
    #[inline]
    fn accessed(
        &mut self,
        job: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        pause: Duration,
        device: &dyn Device,
    ) -> Option<Duration> {
        let completed = completion.completed;
        if self.warmup_left > 0 {
            self.warmup_left -= 1;
            if self.warmup_left == 0 {
                self.start(completed, device);
            }
            return Some(pause);
        }
        let latency = completed.since(due);
        self.measured += 1;
        self.last = self.last.max(completed);
        self.record(job, access, latency);
        if self.batches.record(latency) {
            self.check_confidence();
        }
        self.offer(job, access, due, completion, device);
        (completed + pause < self.deadline).then_some(pause)
    }

    /// Records a latency in the histogram of its job and operation.
    #[inline]
    fn record(&mut self, job: u32, access: &Access, latency: Duration) {
        self.histograms[job as usize * KINDS + kind(access.operation)]
            .get_or_insert_with(Box::default)
            .record(latency);
    }

    /// Records where the time of a request went, if the device knows, and offers the request as a sample.
    #[inline]
    fn offer(
        &mut self,
        job: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) {
        let latency = completion.completed.since(due);
        let mut split = None;
        if let Some(parts) = &mut self.time_parts {
            split = time_split(device, completion, due);
            if let Some(split) = &split {
                parts[kind(access.operation)].record(latency, split);
            }
        }
        let started = self.started;
        self.samples.offer(|| Sample {
            submitted_ns: due.since(started).as_ns(),
            latency_ns: latency.as_ns(),
            offset_bytes: access.offset_bytes,
            job,
            operation: access.operation,
            split: split.map(Box::new),
        });
    }

    /// Returns how well each job kept its rate.
    pub(crate) fn lags(&self) -> Vec<Option<Lag>> {
        self.terms.iter().map(|terms| terms.lag(self.last)).collect()
    }

    /// Ends the run where the confidence interval is narrow enough; called for each full batch.
    #[cold]
    fn check_confidence(&mut self) {
        let (Some(wanted), Some(confidence)) = (self.confidence, self.batches.confidence()) else { return };
        self.ended |= !confidence.correlated && confidence.relative() <= wanted;
    }
}

/// Returns the slots of all jobs, then those of the stream that jobs share, and the index of the first of these.
///
/// A job with a rate gets no more slots than the device takes requests: its accesses wait for a slot anyway.
fn slots(jobs: &[Job], device: &DeviceInfo) -> (Vec<Slot>, u32) {
    let of = |(index, job): (u32, &Job)| {
        let depth = if job.rate.is_some() { job.depth.min(device.depth) } else { job.depth };
        let erases = device.erase_unit_bytes > 0 && job.mix.changes().is_some();
        vec![Slot { job: index, special: job.turns.is_some() || Terms::has(job) || erases }; depth as usize]
    };
    let own = (0..).zip(jobs).filter(|(_, job)| job.turns.is_none());
    let mut slots: Vec<Slot> = own.flat_map(of).collect();
    let shared_from = slots.len() as u32;
    slots.extend((0..).zip(jobs).find(|(_, job)| job.turns.is_some()).into_iter().flat_map(of));
    (slots, shared_from)
}

impl Client for Recorder<'_> {
    fn begins(&self, slot: u32) -> Option<Instant> {
        self.terms[self.slots[slot as usize].job as usize].begins(&self.claims[slot as usize])
    }

    fn is_over(&self, slot: u32, due: Instant) -> bool {
        let terms = &self.terms[self.slots[slot as usize].job as usize];
        let has_access = self.left > 0 && !self.ended && terms.has_access();
        due >= self.deadline || !has_access && !terms.is_flush_due()
    }

    #[inline]
    fn next(&mut self, slot: u32, device: &dyn Device) -> Option<Task> {
        let Slot { job, special } = self.slots[slot as usize];
        if special {
            // Copied by field, so that tasks of the other path stay in registers: the function called writes to memory.
            let Task { access, durable, queue, handle, due, erases_first } =
                self.next_special(slot, device)?;
            return Some(Task { access: by_field(access), durable, queue, handle, due, erases_first });
        }
        if self.left == 0 || self.ended {
            return None;
        }
        self.left -= 1;
        Some(self.jobs[job as usize].next(device).into())
    }

    #[inline]
    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        let Slot { job, special } = self.slots[slot as usize];
        if special {
            return self.done_special(slot, access, due, completion, device);
        }
        self.accessed(job, access, due, completion, Duration::ZERO, device)
    }

    fn failed(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> AfterFailure {
        let is_unreadable = completion.outcome == Err(Failure::Unreadable);
        if self.counts_unreadable && is_unreadable && access.operation == Operation::Read {
            return AfterFailure::Next(self.could_not_be_read(slot, due, completion, device));
        }
        AfterFailure::End
    }

    fn ends_by_time(&self) -> bool {
        self.requests.is_none()
    }

    fn stopped(&mut self) -> bool {
        let progress = Progress {
            requests: self.measured,
            requests_wanted: self.requests,
            elapsed: self.last.since(self.started),
            time_wanted: self.time,
            preconditions: false,
        };
        self.watch.as_mut().is_some_and(|watch| watch(&progress).is_break())
    }
}
