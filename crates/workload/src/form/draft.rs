//! Builds jobs from the given keys.

use super::error::{Fault, unknown};
use crate::pattern::{NAMED, Named, Parameters};
use crate::{Arrivals, Distribution, Job, Mix, Pattern, Precondition, Rate, Skew, Stop, Workload};
use flashlane_base::{Duration, Operation, Seed};

/// The keys given for one job, or for the run.
#[derive(Clone, Default)]
pub(super) struct Draft {
    pub(super) size_bytes: Option<u64>,
    pub(super) depth: Option<u64>,
    pub(super) jobs: Option<u64>,
    pub(super) shared: Option<bool>,
    pub(super) area_bytes: Option<u64>,
    pub(super) offset_bytes: Option<u64>,
    pub(super) shift_bytes: Option<u64>,
    pub(super) incr: Option<i64>,
    pub(super) stride_bytes: Option<i64>,
    pub(super) partitions: Option<u64>,
    pub(super) align_bytes: Option<u64>,
    pub(super) think: Option<Duration>,
    pub(super) burst: Option<u64>,
    pub(super) turns: Option<u64>,
    pub(super) reads: Option<f64>,
    pub(super) zipf: Option<f64>,
    pub(super) pareto: Option<f64>,
    pub(super) hotspot: Option<(f64, f64)>,
    pub(super) scatter: Option<bool>,
    pub(super) rate: Option<f64>,
    pub(super) arrivals: Option<Arrivals>,
    pub(super) fsync: Option<u64>,
    pub(super) fua: Option<bool>,
    pub(super) accesses: Option<u64>,
    pub(super) queue: Option<Numbered>,
    pub(super) placement: Option<Numbered>,
    pub(super) requests: Option<u64>,
    pub(super) time: Option<Duration>,
    pub(super) confidence: Option<f64>,
    pub(super) warmup: Option<u64>,
    pub(super) seed: Option<Seed>,
    pub(super) precondition: Option<Option<Precondition>>,
    pub(super) verify: Option<bool>,
}

/// The submission queue or placement handle of a job.
#[derive(Clone, Copy)]
pub(super) enum Numbered {
    /// This one.
    Number(u16),
    /// Of equal jobs the i-th has the i-th one.
    Each,
}

impl Numbered {
    /// Returns the number of the job that is the `index`-th of its equal ones.
    fn of_job(given: Option<Self>, index: u64) -> u16 {
        match given {
            // There are at most 1024 equal jobs.
            Some(Self::Each) => index as u16,
            Some(Self::Number(number)) => number,
            None => 0,
        }
    }
}

/// A pattern and an operation by their joint name: `random-read`, `mixed`.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pattern: &'static Named,
    mix: Mix,
}

/// The operations that follow a pattern's name.
const OPERATIONS: [(&str, Mix); 4] =
    [("read", Mix::READ), ("write", Mix::WRITE), ("trim", Mix::TRIM), ("append", Mix::APPEND)];
/// Random reads and writes, with this default share of reads.
const MIXED: &str = "mixed";
const MIXED_READS: f64 = 0.7;

/// Default number of requests of a run without a stop condition.
const REQUESTS_DEFAULT: u64 = 100_000;
/// Maximum number with only a confidence interval, which an unsteady device may never reach.
const REQUESTS_FOR_CONFIDENCE: u64 = 10_000_000;

/// Default depth with a rate: enough to keep any drive busy, and few enough for any drive.
const DEPTH_AT_RATE: u64 = 256;

impl Kind {
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        if name == MIXED {
            let pattern = NAMED.iter().find(|p| p.name == "random").expect("random is registered");
            return Ok(Self { pattern, mix: Mix { reads: MIXED_READS, ..Mix::WRITE } });
        }
        let found = name.rsplit_once('-').and_then(|(pattern, operation)| {
            let pattern = NAMED.iter().find(|p| p.name == pattern)?;
            let &(_, mix) = OPERATIONS.iter().find(|(name, _)| *name == operation)?;
            Some(Self { pattern, mix })
        });
        found.ok_or_else(|| {
            let names = NAMED.iter().flat_map(|p| OPERATIONS.map(|(o, _)| format!("{}-{o}", p.name)));
            let names: Vec<String> = names.chain([MIXED.to_owned()]).collect();
            unknown("pattern", name, names.iter().map(String::as_str))
        })
    }
}

/// Returns the name of a pattern with its operations, which [`Kind::parse`] reads. Equal jobs have equal names in every
/// written form, because a job's random numbers are derived from its name.
pub(super) fn kind_name(pattern: &Pattern, mix: Mix) -> String {
    match mix.changes() {
        Some(Operation::Write)
            if mix.reads > 0.0 && matches!(pattern, Pattern::Random | Pattern::Skewed(_)) =>
        {
            MIXED.to_owned()
        }
        changes => format!("{}-{}", pattern.name(), changes.unwrap_or(Operation::Read)),
    }
}

impl Draft {
    /// Returns the jobs of the keys, named `name` (by default, after their kind), or `name-1`, `name-2` … where there
    /// are several.
    pub(super) fn jobs(&self, kind: Kind, name: Option<&str>) -> Result<Vec<Job>, Fault> {
        self.check_keys(kind)?;
        let (jobs, shared) = (self.jobs.unwrap_or(1), self.shared.unwrap_or(false));
        if shared && jobs == 1 {
            return Err(Fault::new(
                "shared",
                "'shared' says that several jobs use one area; it needs jobs=N",
            ));
        }
        for (key, given) in [("queue", self.queue), ("placement", self.placement)] {
            if matches!(given, Some(Numbered::Each)) && jobs == 1 {
                let reason = format!("'{key}=each' gives each of several jobs its own; it needs jobs=N");
                return Err(Fault::new(key, reason));
            }
        }
        if jobs > 1 && !shared && self.area_bytes.is_none() {
            let reason = format!(
                "{jobs} jobs need area=SIZE, the i-th job keeping to the i-th area, or the word 'shared'"
            );
            return Err(Fault::new("jobs", reason));
        }
        let parameters =
            Parameters { step_bytes: self.step_bytes()?, partitions: self.partitions, skew: self.skew()? };
        let pattern = (kind.pattern.make)(&parameters).map_err(|reason| Fault::new("", reason))?;
        let mix = match self.reads.unwrap_or(kind.mix.reads) {
            1.0 => Mix::READ,
            reads => Mix { reads, ..kind.mix },
        };
        let called = kind_name(&pattern, mix);
        let name = name.unwrap_or(&called);
        (0..jobs).map(|index| self.job(&pattern, mix, name, index)).collect()
    }

    fn job(&self, pattern: &Pattern, mix: Mix, name: &str, index: u64) -> Result<Job, Fault> {
        let several = self.jobs.unwrap_or(1) > 1;
        let own_area = several && !self.shared.unwrap_or(false);
        let step = if own_area { self.area_bytes.unwrap_or_default() } else { 0 };
        let offset = self.offset_bytes.unwrap_or_default();
        let offset = step.checked_mul(index).and_then(|bytes| bytes.checked_add(offset));
        Ok(Job {
            name: if several { format!("{name}-{}", index + 1) } else { name.to_owned() },
            pattern: pattern.clone(),
            mix,
            size_bytes: self.size_bytes(),
            // The keys' bounds fit the types.
            depth: self.depth.unwrap_or(if self.rate.is_some() { DEPTH_AT_RATE } else { 1 }) as u32,
            area_offset_bytes: offset.ok_or_else(|| {
                Fault::new("area", format!("the area of job {} lies beyond 2^64 bytes", index + 1))
            })?,
            area_length_bytes: self.area_bytes,
            shift_bytes: self.shift_bytes.unwrap_or_default(),
            align_bytes: self.align_bytes,
            think: self.think.unwrap_or_default(),
            burst: self.burst.unwrap_or(1) as u32,
            turns: self.turns.map(|turns| turns as u32),
            accesses: self.accesses,
            durable: self.fua.unwrap_or(false),
            flush_every: self.fsync.map(|writes| writes as u32),
            rate: self
                .rate
                .map(|per_second| Rate { per_second, arrivals: self.arrivals.unwrap_or_default() }),
            queue: Numbered::of_job(self.queue, index),
            placement: Numbered::of_job(self.placement, index),
        })
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes.unwrap_or(4096)
    }

    /// Returns the distribution of a random pattern, if given.
    fn skew(&self) -> Result<Option<Skew>, Fault> {
        let given = [
            self.zipf.map(|exponent| Distribution::Zipf { exponent }),
            self.pareto.map(|space| Distribution::Pareto { space }),
            self.hotspot.map(|(space, accesses)| Distribution::Hotspot { space, accesses }),
        ];
        let mut given = given.into_iter().flatten();
        let Some(distribution) = given.next() else {
            return match self.scatter {
                Some(_) => Err(Fault::new("scatter", "'scatter' needs zipf, pareto or hotspot")),
                None => Ok(None),
            };
        };
        if let Some(other) = given.next() {
            let reason = format!(
                "'{}' and '{}' are two distributions; a job has one",
                distribution.key(),
                other.key()
            );
            return Err(Fault::new(other.key(), reason));
        }
        Ok(Some(Skew { distribution, scattered: self.scatter.unwrap_or(distribution.scatters()) }))
    }

    /// Returns an ordered pattern's step, given in accesses or bytes.
    fn step_bytes(&self) -> Result<Option<i64>, Fault> {
        match (self.incr, self.stride_bytes) {
            (Some(_), Some(_)) => {
                let reason = "'incr' and 'stride' both say how far the next access is, in accesses and as a size; \
                              give one";
                Err(Fault::new("stride", reason))
            }
            (Some(incr), None) => {
                let step = i64::try_from(i128::from(incr) * i128::from(self.size_bytes()));
                let beyond =
                    |_| Fault::new("incr", format!("a step of {incr} accesses goes beyond 2^63 bytes"));
                step.map(Some).map_err(beyond)
            }
            (None, stride) => Ok(stride),
        }
    }

    /// Checks keys that apply to some patterns only, or need another key.
    fn check_keys(&self, kind: Kind) -> Result<(), Fault> {
        let given = [
            ("incr", self.incr.is_some()),
            ("stride", self.stride_bytes.is_some()),
            ("partitions", self.partitions.is_some()),
            ("align", self.align_bytes.is_some()),
            ("zipf", self.zipf.is_some()),
            ("pareto", self.pareto.is_some()),
            ("hotspot", self.hotspot.is_some()),
            ("scatter", self.scatter.is_some()),
        ];
        for (key, is_given) in given {
            let has = kind.pattern.keys.contains(&key);
            if is_given && !has {
                let of = NAMED.iter().filter(|p| p.keys.contains(&key)).map(|p| p.name);
                let of = of.collect::<Vec<_>>().join(", ");
                let reason =
                    format!("'{key}' has no meaning for pattern '{}'; it is for: {of}", kind.pattern.name);
                return Err(Fault::new(key, reason));
            }
        }
        if self.burst.is_some() && self.think.is_none() {
            return Err(Fault::new("burst", "'burst' says how often there is a pause; it needs think=TIME"));
        }
        if self.arrivals.is_some() && self.rate.is_none() {
            return Err(Fault::new("arrivals", "'arrivals' says how a rate is spread; it needs rate=N/s"));
        }
        if self.rate.is_some() && self.think.is_some() {
            let reason = "'rate' and 'think' both say when the next access comes; give one";
            return Err(Fault::new("think", reason));
        }
        for (key, is_given) in [
            ("rate", self.rate.is_some()),
            ("fsync", self.fsync.is_some()),
            ("accesses", self.accesses.is_some()),
        ] {
            if is_given && self.turns.is_some() {
                let reason = format!("'{key}' is for jobs with a stream of their own, which 'turns' shares");
                return Err(Fault::new(key, reason));
            }
        }
        for (key, is_given) in [("fsync", self.fsync.is_some()), ("fua", self.fua == Some(true))] {
            if is_given && kind.mix.changes() != Some(Operation::Write) {
                return Err(Fault::new(key, format!("'{key}' is for jobs that write")));
            }
        }
        if self.reads.is_some() && kind.mix.changes().is_none() {
            let reason = "a pattern of reads has nothing to mix with; name the other operation, as in \
                          'random-write,reads=70%'";
            return Err(Fault::new("reads", reason));
        }
        Ok(())
    }

    /// Returns the workload of `jobs` with the run keys.
    pub(super) fn workload(&self, jobs: Vec<Job>) -> Workload {
        let mut stop = Stop { requests: self.requests, time: self.time, confidence: self.confidence };
        let all_jobs_end = jobs.iter().all(|job| job.accesses.is_some());
        if stop.requests.is_none() && stop.time.is_none() && !all_jobs_end {
            let only_confidence = stop.confidence.is_some();
            stop.requests = Some(if only_confidence { REQUESTS_FOR_CONFIDENCE } else { REQUESTS_DEFAULT });
        }
        let workload = Workload::new(jobs, stop);
        let workload = workload.warmup(self.warmup.unwrap_or(0)).seed(self.seed.unwrap_or_default());
        let (precondition, verify) = (self.precondition.flatten(), self.verify.unwrap_or(false));
        Workload { precondition, verify, ..workload }
    }
}
