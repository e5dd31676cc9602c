//! Workloads and jobs as plain data.

use crate::{Access, Pattern};
use flashlane_base::{Duration, Operation, Random, Seed};

/// Jobs that run concurrently on one device, and the stop condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The jobs; at least one, with unique names.
    pub jobs: Vec<Job>,
    /// The stop condition.
    pub stop: Stop,
    /// Completions, over all jobs, that are ignored before measuring begins.
    pub warmup_requests: u64,
    /// The root of all randomness in the workload.
    pub seed: Seed,
    /// Writes to the device before the measurement.
    pub precondition: Option<Precondition>,
    /// Whether writes carry a header that reads check. Requires a device that stores data.
    pub verify: bool,
}

/// Writes that bring a device into the state of long use before the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Twice the capacity sequentially, then the workload's own writes at random until five rounds in a row meet
    /// SNIA's rule for a steady state.
    Steady,
    /// Writes at random over the whole device, in requests whose sizes are drawn from [`Precondition::MIXED_SIZES`].
    /// A drive that was only ever written in requests of one size fills its planes in step, and each request then waits
    /// for the GC of all of them at once. Smaller requests end that for good.
    Mixed {
        /// The volume, above 0; rounded up to whole requests.
        bytes: u64,
    },
}

impl Precondition {
    /// Sizes of mixed requests, as far as they are multiples of the device's write unit.
    pub const MIXED_SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];

    /// Returns mixed writes of `bytes` in all, rounded up to whole requests, to a device of `capacity_bytes` that
    /// writes multiples of `unit_bytes`. Requires: `unit_bytes` is above 0 and at most `capacity_bytes`.
    pub fn mixed(
        bytes: u64,
        capacity_bytes: u64,
        unit_bytes: u64,
        mut random: Random,
    ) -> impl Iterator<Item = Access> {
        let fits = |size: &u64| size.is_multiple_of(unit_bytes) && *size <= capacity_bytes;
        let mut sizes: Vec<u64> = Self::MIXED_SIZES.into_iter().filter(fits).collect();
        if sizes.is_empty() {
            sizes.push(unit_bytes);
        }
        let mut left = bytes;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let size = sizes[random.below(sizes.len() as u64) as usize];
            left = left.saturating_sub(size);
            Some(Access::write(random.below(capacity_bytes / size) * size, size))
        })
    }
}

/// The rate at which accesses of a job arrive, independent of completions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Accesses per second of device time, above 0.
    pub per_second: f64,
    /// Distribution over time.
    pub arrivals: Arrivals,
}

/// Distribution of arrivals over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// At constant distances.
    #[default]
    Constant,
    /// A Poisson process: exponentially distributed distances, as from many independent clients.
    Poisson,
}

/// The stop condition of a run: the first of these to be met, or the end of all jobs. At least one is required, unless
/// every job ends by itself ([`Job::accesses`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stop {
    /// After this many measured requests, over all jobs.
    pub requests: Option<u64>,
    /// After this much device time since measuring began.
    pub time: Option<Duration>,
    /// When half the 95% confidence interval of the mean latency is within this share of the mean (0.01 for ±1%).
    pub confidence: Option<f64>,
}

/// One stream of accesses, `depth` of them in flight at a time; or a part of one ([`Job::turns`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name in results; its random numbers are derived from it.
    pub name: String,
    /// The order of its offsets.
    pub pattern: Pattern,
    /// Operations and their proportion.
    pub mix: Mix,
    /// Bytes per access.
    pub size_bytes: u64,
    /// Accesses in flight, at least 1. All come from the one stream, so a sequential job of depth 4 reads four
    /// consecutive places at a time.
    pub depth: u32,
    /// First byte of the part of the device that the job accesses.
    pub area_offset_bytes: u64,
    /// Length of that part; `None` for the rest of the device.
    pub area_length_bytes: Option<u64>,
    /// Added to the offset of every access, so that the last one may end this much after the area's end; at most the
    /// size. uFLIP's `IOShift`.
    pub shift_bytes: u64,
    /// Random and permuted accesses start on multiples of this from the area's start; `None` for their size.
    pub align_bytes: Option<u64>,
    /// Pause between a completion and the next access in its place.
    pub think: Duration,
    /// Accesses between two pauses, at least 1, counted for each one in flight.
    pub burst: u32,
    /// Jobs with `turns` share one stream and alternate in their order: this number of accesses of one job, then the
    /// next job's, and around; each continues where it was. Depth, pause and burst belong to the stream and MUST be the
    /// same in all. `None` for a separate stream.
    pub turns: Option<u32>,
    /// The job ends after this number of accesses; `None` to end with the run.
    pub accesses: Option<u64>,
    /// Writes complete when their bytes are on flash (force unit access).
    pub durable: bool,
    /// Writes between two flushes, at least 1. A flush is a request of the stream: at a depth above 1 it does not wait
    /// for writes in flight, and makes completed ones durable.
    pub flush_every: Option<u32>,
    /// Accesses arrive at this rate, with at most `depth` in flight, and latency counts from the arrival. `None` to
    /// start the next one when one completes.
    pub rate: Option<Rate>,
    /// Number of the device's submission queue in which its requests wait; 0 on devices with one.
    pub queue: u16,
    /// Placement handle of its writes; 0 on devices without placement.
    pub placement: u16,
}

/// A mix of two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Share of reads, 0 to 1.
    pub reads: f64,
    /// Operation of the other accesses.
    pub others: Operation,
}

impl Mix {
    /// Reads only.
    pub const READ: Self = Self { reads: 1.0, others: Operation::Read };
    /// Writes only.
    pub const WRITE: Self = Self { reads: 0.0, others: Operation::Write };
    /// Trims only.
    pub const TRIM: Self = Self { reads: 0.0, others: Operation::Trim };
    /// Appends only.
    pub const APPEND: Self = Self { reads: 0.0, others: Operation::Append };

    /// Returns whether any access is a read.
    pub fn has_reads(&self) -> bool {
        self.reads > 0.0 || self.others == Operation::Read
    }

    /// Returns the operation of the accesses that are not reads, if any.
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
            queue: 0,
            placement: 0,
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

    /// The same job with accesses on multiples of `align_bytes` from the area's start.
    pub fn align(self, align_bytes: u64) -> Self {
        Self { align_bytes: Some(align_bytes), ..self }
    }

    /// The same job with offsets increased by `shift_bytes`.
    pub fn shift(self, shift_bytes: u64) -> Self {
        Self { shift_bytes, ..self }
    }

    /// The same job with a pause after each completion.
    pub fn think(self, think: Duration) -> Self {
        Self { think, ..self }
    }

    /// The same job with a pause only after every `burst` accesses.
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// The same job with turns of `turns` accesses in a shared stream.
    pub fn turns(self, turns: u32) -> Self {
        Self { turns: Some(turns), ..self }
    }

    /// The same job with an end after `accesses`.
    pub fn accesses(self, accesses: u64) -> Self {
        Self { accesses: Some(accesses), ..self }
    }

    /// The same job with durable writes.
    pub fn durable(self) -> Self {
        Self { durable: true, ..self }
    }

    /// The same job with a flush after every `writes` writes.
    pub fn flush_every(self, writes: u32) -> Self {
        Self { flush_every: Some(writes), ..self }
    }

    /// The same job with accesses that arrive `per_second`.
    pub fn rate(self, per_second: f64, arrivals: Arrivals) -> Self {
        Self { rate: Some(Rate { per_second, arrivals }), ..self }
    }

    /// The same job in another submission queue.
    pub fn queue(self, queue: u16) -> Self {
        Self { queue, ..self }
    }

    /// The same job with another placement handle for its writes.
    pub fn placement(self, placement: u16) -> Self {
        Self { placement, ..self }
    }

    /// Returns the length of the part of a device of `capacity_bytes` that the job accesses, before its shift.
    pub fn area_length_bytes(&self, capacity_bytes: u64) -> u64 {
        let after = self.area_offset_bytes.saturating_add(self.shift_bytes);
        self.area_length_bytes.unwrap_or(capacity_bytes.saturating_sub(after))
    }
}

impl Workload {
    /// Creates a workload of one job that stops after `requests`, with seed 0.
    pub fn single(job: Job, requests: u64) -> Self {
        Self::new(vec![job], Stop::after(requests))
    }

    /// Creates a workload without warm-up, with seed 0.
    pub fn new(jobs: Vec<Job>, stop: Stop) -> Self {
        Self { jobs, stop, warmup_requests: 0, seed: Seed(0), precondition: None, verify: false }
    }

    /// The same workload with another seed.
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// The same workload with the first `requests` completions ignored.
    pub fn warmup(self, requests: u64) -> Self {
        Self { warmup_requests: requests, ..self }
    }

    /// Returns whether its accesses or arrivals depend on the seed. New patterns count as random by default.
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

    /// Returns the accesses in flight over all streams; jobs with turns share one stream.
    pub fn depth(&self) -> u64 {
        let own = self.jobs.iter().filter(|job| job.turns.is_none());
        let streams = own.chain(self.jobs.iter().find(|job| job.turns.is_some()));
        streams.map(|job| u64::from(job.depth)).sum()
    }

    /// Returns whether it changes data on the device.
    pub fn changes(&self) -> bool {
        self.precondition.is_some() || self.jobs.iter().any(|job| job.mix.changes().is_some())
    }
}

impl Stop {
    /// Stops after `requests`.
    pub fn after(requests: u64) -> Self {
        Self { requests: Some(requests), ..Self::default() }
    }

    /// Stops after `time`.
    pub fn at(time: Duration) -> Self {
        Self { time: Some(time), ..Self::default() }
    }
}
