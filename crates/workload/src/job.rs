//! Workloads and jobs as plain data.

use crate::Pattern;
use flashlane_base::{Duration, Operation, Seed};

/// Jobs that run side by side on one device, and when to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The jobs; at least one, each with a name of its own.
    pub jobs: Vec<Job>,
    /// When to stop.
    pub stop: Stop,
    /// Completions, over all jobs, that are ignored before measuring begins.
    pub warmup_requests: u64,
    /// The root of all randomness in the workload.
    pub seed: Seed,
    /// What is written to the device before anything is measured.
    pub precondition: Option<Precondition>,
    /// Whether writes carry a header that reads check. Requires a device that keeps bytes.
    pub verify: bool,
}

/// What is written to a device so that it is measured in the state that long use leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Twice the capacity sequentially, then the workload's own writes at random until five rounds in a row meet
    /// SNIA's rule for a steady state.
    Steady,
}

/// When the accesses of a job arrive, whether or not earlier ones have completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Accesses a second of device time, above 0.
    pub per_second: f64,
    /// How they are spread.
    pub arrivals: Arrivals,
}

/// How the arrivals of a rate are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Equally far apart.
    #[default]
    Constant,
    /// A Poisson process: exponentially distributed distances, as from many independent clients.
    Poisson,
}

/// When a run stops: at whichever of these comes first, or when all jobs have ended. At least one is given, unless every
/// job has an end of its own ([`Job::accesses`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stop {
    /// After this many measured requests, over all jobs.
    pub requests: Option<u64>,
    /// After this much device time since measuring began.
    pub time: Option<Duration>,
    /// When the 95% confidence interval of the mean latency is within this share of the mean, to each side
    /// (0.01 for ±1%).
    pub confidence: Option<f64>,
}

/// One stream of accesses, `depth` of them in flight at a time; or a part of one ([`Job::turns`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What results call it; also names its random source.
    pub name: String,
    /// The order of its offsets.
    pub pattern: Pattern,
    /// Which operations, in what proportion.
    pub mix: Mix,
    /// Bytes an access.
    pub size_bytes: u64,
    /// Accesses in flight at a time, at least 1. All draw from the one stream, so a sequential job of depth 4 reads
    /// four neighbours at a time.
    pub depth: u32,
    /// First byte of the part of the device that the job keeps to.
    pub area_offset_bytes: u64,
    /// Length of that part; `None`: to the device's end.
    pub area_length_bytes: Option<u64>,
    /// Every access starts this far behind the place that its pattern gives it, and the last one so ends as far
    /// behind the area's end; at most the size. uFLIP's `IOShift`.
    pub shift_bytes: u64,
    /// Random and permuted accesses start on multiples of this from the area's start; `None`: of their size.
    pub align_bytes: Option<u64>,
    /// Pause between a completion and the next access in its place.
    pub think: Duration,
    /// The pause comes only after every so many accesses, at least 1; each of those in flight counts its own.
    pub burst: u32,
    /// Jobs that have this take turns in one stream, in their order: so many accesses of this one, then the next job's,
    /// and around, each going on where it was. Their depth, pause and burst are the stream's, so they are the same
    /// in all. `None`: a stream of its own.
    pub turns: Option<u32>,
    /// The job ends after this many accesses of its own; `None`: with the run.
    pub accesses: Option<u64>,
    /// Writes complete when their bytes are on flash (force unit access).
    pub durable: bool,
    /// A flush follows every so many writes, at least 1. It is one more request of the stream: where the depth is above
    /// 1 it does not wait for writes in flight, and makes those durable that have completed.
    pub flush_every: Option<u32>,
    /// Accesses arrive at this rate, at most `depth` of them in flight, and latency counts from the arrival. `None`:
    /// the next one starts when one completes.
    pub rate: Option<Rate>,
}

/// A mix of two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Share of reads, 0 to 1.
    pub reads: f64,
    /// What the others are.
    pub others: Operation,
}

impl Mix {
    /// Reads only.
    pub const READ: Self = Self { reads: 1.0, others: Operation::Read };
    /// Writes only.
    pub const WRITE: Self = Self { reads: 0.0, others: Operation::Write };
    /// Trims only.
    pub const TRIM: Self = Self { reads: 0.0, others: Operation::Trim };

    /// Whether any access is a read.
    pub fn has_reads(&self) -> bool {
        self.reads > 0.0 || self.others == Operation::Read
    }

    /// The operation of the accesses that are not reads, where there are any.
    pub fn changes(&self) -> Option<Operation> {
        (self.reads < 1.0 && self.others != Operation::Read).then_some(self.others)
    }
}

impl Job {
    /// A job of depth 1 over the whole device, without pauses.
    pub fn new(name: impl Into<String>, pattern: Pattern, mix: Mix, size_bytes: u64) -> Self {
        Self {
            name: name.into(),
            pattern,
            mix,
            size_bytes,
            depth: 1,
            area_offset_bytes: 0,
            area_length_bytes: None,
            shift_bytes: 0,
            align_bytes: None,
            think: Duration::ZERO,
            burst: 1,
            turns: None,
            accesses: None,
            durable: false,
            flush_every: None,
            rate: None,
        }
    }

    /// The same job with `depth` accesses in flight.
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// The same job on `length_bytes` from `offset_bytes`.
    pub fn area(self, offset_bytes: u64, length_bytes: u64) -> Self {
        Self { area_offset_bytes: offset_bytes, area_length_bytes: Some(length_bytes), ..self }
    }

    /// The same job, accesses starting on multiples of `align_bytes` from the area's start.
    pub fn align(self, align_bytes: u64) -> Self {
        Self { align_bytes: Some(align_bytes), ..self }
    }

    /// The same job, every access `shift_bytes` behind its place.
    pub fn shift(self, shift_bytes: u64) -> Self {
        Self { shift_bytes, ..self }
    }

    /// The same job with a pause after each completion.
    pub fn think(self, think: Duration) -> Self {
        Self { think, ..self }
    }

    /// The same job, its pause only after every `burst` accesses.
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// The same job, taking turns of `turns` accesses with the others that do.
    pub fn turns(self, turns: u32) -> Self {
        Self { turns: Some(turns), ..self }
    }

    /// The same job, ending after `accesses` of its own.
    pub fn accesses(self, accesses: u64) -> Self {
        Self { accesses: Some(accesses), ..self }
    }

    /// The same job, its writes durable when they complete.
    pub fn durable(self) -> Self {
        Self { durable: true, ..self }
    }

    /// The same job, a flush after every `writes`.
    pub fn flush_every(self, writes: u32) -> Self {
        Self { flush_every: Some(writes), ..self }
    }

    /// The same job, its accesses arriving `per_second`.
    pub fn rate(self, per_second: f64, arrivals: Arrivals) -> Self {
        Self { rate: Some(Rate { per_second, arrivals }), ..self }
    }

    /// Length in bytes of the part of a device of `capacity_bytes` that the job keeps to, before its shift.
    pub fn area_length_bytes(&self, capacity_bytes: u64) -> u64 {
        let after = self.area_offset_bytes.saturating_add(self.shift_bytes);
        self.area_length_bytes.unwrap_or(capacity_bytes.saturating_sub(after))
    }
}

impl Workload {
    /// One job that stops after `requests`, seeded with 0.
    pub fn single(job: Job, requests: u64) -> Self {
        Self::new(vec![job], Stop::after(requests))
    }

    /// Jobs and when to stop; no warm-up, seeded with 0.
    pub fn new(jobs: Vec<Job>, stop: Stop) -> Self {
        Self { jobs, stop, warmup_requests: 0, seed: Seed(0), precondition: None, verify: false }
    }

    /// The same workload under another seed.
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// The same workload, the first `requests` completions ignored.
    pub fn warmup(self, requests: u64) -> Self {
        Self { warmup_requests: requests, ..self }
    }

    /// Whether its accesses, or when they arrive, depend on the seed. What is not known to be without randomness counts as random.
    pub fn is_random(&self) -> bool {
        let is_random = |job: &Job| {
            let has_place = matches!(
                job.pattern,
                Pattern::Sequential
                    | Pattern::Ordered { .. }
                    | Pattern::Partitioned { .. }
                    | Pattern::List(_)
            );
            let is_mixed = job.mix.reads > 0.0 && job.mix.reads < 1.0;
            let is_poisson = job.rate.is_some_and(|rate| rate.arrivals == Arrivals::Poisson);
            !has_place || is_mixed || is_poisson
        };
        self.jobs.iter().any(is_random)
    }

    /// Accesses in flight at a time, over all streams: jobs that take turns have one between them.
    pub fn depth(&self) -> u64 {
        let own = self.jobs.iter().filter(|job| job.turns.is_none());
        let streams = own.chain(self.jobs.iter().find(|job| job.turns.is_some()));
        streams.map(|job| u64::from(job.depth)).sum()
    }

    /// Whether anything changes what the device holds.
    pub fn changes(&self) -> bool {
        self.precondition.is_some() || self.jobs.iter().any(|job| job.mix.changes().is_some())
    }
}

impl Stop {
    /// Stop after `requests`.
    pub fn after(requests: u64) -> Self {
        Self { requests: Some(requests), ..Self::default() }
    }

    /// Stop after `time`.
    pub fn at(time: Duration) -> Self {
        Self { time: Some(time), ..Self::default() }
    }
}
