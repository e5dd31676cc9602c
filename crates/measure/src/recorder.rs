//! What a run notes of each completion.

use crate::engine::{Client, Task};
use crate::options::{Options, Progress, Watch};
use crate::statistics::{BatchMeans, Sample, Samples};
use flashlane_base::{Duration, Histogram, Instant, Operation};
use flashlane_device::{Completion, Counters, Device};
use flashlane_workload::{Access, Generator, Job, Turns, Workload};

/// Histograms kept for each job: reads, writes, and everything else (trims).
pub(crate) const KINDS: usize = 3;

/// The histogram of an operation among its job's.
pub(crate) fn kind(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        _ => 2,
    }
}

pub(crate) struct Recorder<'a> {
    jobs: Vec<Source>,
    slots: Vec<Slot>,
    /// Of the slots from `shared_from` on, the last ones: whose access is next.
    turns: Option<Turns>,
    shared_from: u32,
    /// Requests still to be issued.
    left: u64,
    warmup_left: u64,
    time: Option<Duration>,
    confidence: Option<f64>,
    requests: Option<u64>,
    /// Nothing is issued from here on.
    deadline: Instant,
    ended: bool,
    watch: Option<Watch<'a>>,

    pub(crate) started: Instant,
    pub(crate) last: Instant,
    pub(crate) measured: u64,
    pub(crate) before: Counters,
    /// By job and kind; made on first use, because one is a third of a megabyte.
    pub(crate) histograms: Vec<Option<Box<Histogram>>>,
    pub(crate) batches: BatchMeans,
    pub(crate) samples: Samples,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Whose access it has or had.
    job: u32,
    /// Accesses completed since the last pause, where there are pauses.
    since_pause: u32,
}

struct Source {
    generator: Generator,
    /// Accesses drawn before their turn, a ring, so that the device can be told what to expect.
    ahead: [Access; AHEAD],
    turn: usize,
    think: Duration,
    burst: u32,
}

/// Accesses drawn ahead: at 100 ns a simulated request enough to hide an access to memory.
const AHEAD: usize = 4;

impl Source {
    fn new(mut generator: Generator, job: &Job) -> Self {
        let ahead = std::array::from_fn(|_| generator.access());
        Self { generator, ahead, turn: 0, think: job.think, burst: job.burst }
    }

    #[inline]
    fn next<D: Device + ?Sized>(&mut self, device: &D) -> Access {
        let drawn = self.generator.access();
        device.expect(drawn.offset_bytes, drawn.length_bytes);
        let access = std::mem::replace(&mut self.ahead[self.turn], drawn);
        self.turn = (self.turn + 1) % AHEAD;
        access
    }
}

impl<'a> Recorder<'a> {
    pub(crate) fn new<D: Device + ?Sized>(device: &D, workload: &Workload, options: Options<'a>) -> Self {
        let capacity = device.profile().capacity_bytes;
        let jobs =
            workload.jobs.iter().map(|job| Source::new(Generator::new(job, capacity, workload.seed), job));
        let (slots, shared_from) = slots(&workload.jobs);
        let mut recorder = Self {
            jobs: jobs.collect(),
            slots,
            turns: Turns::of(&workload.jobs),
            shared_from,
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
            batches: BatchMeans::new(),
            samples: Samples::new(options.samples, workload.seed.derive("samples").source()),
        };
        if recorder.warmup_left == 0 {
            recorder.start(device.now(), device);
        }
        recorder
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Measuring begins.
    fn start<D: Device + ?Sized>(&mut self, now: Instant, device: &D) {
        self.started = now;
        self.last = now;
        self.deadline = self.time.map_or(Instant::FAR, |time| now + time);
        self.before = device.counters();
    }

    /// Hands a slot that jobs share to the job whose turn it is.
    #[inline(never)]
    fn take_turn(&mut self, slot: u32) {
        if let Some(turns) = &mut self.turns {
            self.slots[slot as usize].job = turns.job();
        }
    }

    /// How long the slot is to pause: each time, or at the end of a burst.
    #[inline]
    fn pause(&mut self, slot: u32, job: u32) -> Duration {
        let Source { think, burst, .. } = self.jobs[job as usize];
        if think.is_zero() {
            return think;
        }
        let slot = &mut self.slots[slot as usize];
        slot.since_pause += 1;
        if slot.since_pause < burst {
            return Duration::ZERO;
        }
        slot.since_pause = 0;
        think
    }

    /// A batch is full: narrow enough?
    #[cold]
    fn judge(&mut self) {
        let (Some(wanted), Some(confidence)) = (self.confidence, self.batches.confidence()) else { return };
        self.ended |= !confidence.correlated && confidence.relative() <= wanted;
    }
}

/// The slots of all jobs in their order, and behind them those of the stream that jobs share: from which one on.
fn slots(jobs: &[Job]) -> (Vec<Slot>, u32) {
    let of = |(index, job): (u32, &Job)| vec![Slot { job: index, since_pause: 0 }; job.depth as usize];
    let own = (0..).zip(jobs).filter(|(_, job)| job.turns.is_none());
    let mut slots: Vec<Slot> = own.flat_map(of).collect();
    let shared_from = slots.len() as u32;
    slots.extend((0..).zip(jobs).find(|(_, job)| job.turns.is_some()).into_iter().flat_map(of));
    (slots, shared_from)
}

impl<D: Device + ?Sized> Client<D> for Recorder<'_> {
    #[inline]
    fn next(&mut self, slot: u32, device: &D) -> Option<Task> {
        if self.left == 0 || self.ended {
            return None;
        }
        self.left -= 1;
        if slot >= self.shared_from {
            self.take_turn(slot);
        }
        Some(self.jobs[self.slots[slot as usize].job as usize].next(device).into())
    }

    #[inline]
    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &D,
    ) -> Option<Duration> {
        let job = self.slots[slot as usize].job;
        let think = self.pause(slot, job);
        if self.warmup_left > 0 {
            self.warmup_left -= 1;
            if self.warmup_left == 0 {
                self.start(completion.completed, device);
            }
            return Some(think);
        }
        let latency = completion.completed.since(due);
        self.measured += 1;
        self.last = self.last.max(completion.completed);
        self.histograms[job as usize * KINDS + kind(access.operation)]
            .get_or_insert_with(Box::default)
            .record(latency);
        if self.batches.record(latency) {
            self.judge();
        }
        let started = self.started;
        self.samples.offer(|| Sample {
            submitted_ns: due.since(started).as_ns(),
            latency_ns: latency.as_ns(),
            offset_bytes: access.offset_bytes,
            job,
            operation: access.operation,
        });
        if completion.completed + think >= self.deadline {
            return None;
        }
        Some(think)
    }

    fn stopped(&mut self) -> bool {
        let progress = Progress {
            requests: self.measured,
            requests_wanted: self.requests,
            elapsed: self.last.since(self.started),
            time_wanted: self.time,
        };
        self.watch.as_mut().is_some_and(|watch| watch(&progress).is_break())
    }
}
