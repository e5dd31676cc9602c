//! fio's options and their translation.
//!
//! | fio | here |
//! | --- | --- |
//! | jobs | run together; a `stonewall` begins the next of [`FioFile::stages`], which run in turn |
//! | `randread` … | `permutation`: fio visits every block once before any again; with `norandommap` or a distribution `random` |
//! | `size` | the area, and without `time_based` the number of accesses, which move this number of bytes |
//! | `iodepth` with a synchronous engine | a depth of 1, as fio has it |

use super::ini::{self, Section, Setting};
use super::values::{self, Base, Size};
use crate::form::{FormError, Place};
use crate::{Arrivals, Distribution, Job, Mix, Pattern, Rate, Skew, Stop, Workload};
use flashlane_base::suggest::hint;
use flashlane_base::{Duration, Operation, Seed};

/// A fio job file, translated.
#[derive(Clone, Debug, PartialEq)]
pub struct FioFile {
    /// The stages in order, at least one; the jobs of a stage run concurrently.
    pub stages: Vec<Workload>,
    /// Options that were ignored since they do not change the measurement, each once.
    pub ignored: Vec<String>,
    /// The file or device of the jobs, where given; the same for all.
    pub filename: Option<String>,
}

/// Options that do not change the measurement.
const IGNORED: &[&str] = &[
    "group_reporting",
    "new_group",
    "thread",
    "description",
    "name",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_max_value",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_offset",
    "log_unix_epoch",
    "log_compression",
    "log_store_compressed",
    "log_entries",
    "per_job_logs",
    "bwavgtime",
    "iopsavgtime",
    "percentile_list",
    "lat_percentiles",
    "clat_percentiles",
    "slat_percentiles",
    "significant_figures",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw_measurement",
    "disable_bw",
    "gtod_reduce",
    "clocksource",
    "unified_rw_reporting",
    "unit_base",
    "randrepeat",
    "allrandrepeat",
    "random_generator",
    "invalidate",
    "create_on_open",
    "create_serialize",
    "create_fsync",
    "unlink",
    "fallocate",
    "refill_buffers",
    "scramble_buffers",
    "verify_fatal",
    "exitall_on_error",
    "continue_on_error",
    "stats",
    "allow_file_create",
    "allow_mounted_write",
    "group_id",
    "fadvise_hint",
    "norandommap",
];

/// Options with an equivalent; [`Draft::set`] reads them.
const KNOWN: &[&str] = &[
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "ba",
    "blockalign",
    "iodepth",
    "numjobs",
    "size",
    "io_size",
    "io_limit",
    "offset",
    "offset_increment",
    "runtime",
    "timeout",
    "time_based",
    "rwmixread",
    "rwmixwrite",
    "fsync",
    "fdatasync",
    "direct",
    "buffered",
    "ioengine",
    "filename",
    "thinktime",
    "thinktime_blocks",
    "rate_iops",
    "rate_process",
    "random_distribution",
    "norandommap",
    "randseed",
    "verify",
    "number_ios",
    "loops",
    "stonewall",
    "wait_for_previous",
    "kb_base",
    "fdp",
    "dataplacement",
    "fdp_pli",
    "plids",
];

/// Common options without an equivalent, and the reason.
const REFUSED: &[(&str, &str)] = &[
    ("ramp_time", "warm-up is a number of completions here: 'warmup' of a .toml job file"),
    ("startdelay", "all jobs of a stage begin together"),
    ("rate", "a rate is in accesses a second here: write rate_iops"),
    ("rate_min", "what a device reaches is in the result"),
    ("bssplit", "a job has one size here: write a job for each"),
    ("bsrange", "a job has one size here: write a job for each"),
    ("blocksize_range", "a job has one size here: write a job for each"),
    ("nrfiles", "DEVICE is one file or device"),
    ("directory", "DEVICE names the file"),
    ("filesize", "the length of the file is not changed; 'size' is the part that is visited"),
    ("end_fsync", "only 'fsync' is known, a flush after every N writes"),
    ("sync", "durable writes are 'fua' of a .toml job file"),
    ("iodepth_batch", "requests are submitted one by one"),
    ("iodepth_batch_submit", "requests are submitted one by one"),
    ("iodepth_low", "the depth is kept full"),
    (
        "fdp_pli_select",
        "a job has one placement handle here, and no choice among several: write a job for each",
    ),
    ("plid_select", "a job has one placement handle here, and no choice among several: write a job for each"),
    ("dp_scheme", "a job has one placement handle here: write a job for each"),
    ("read_iolog", "'flashlane replay' replays traces, those of fio too"),
];

const DEPTH_MAX: u64 = 1 << 16;
const JOBS_MAX: u64 = 1 << 10;

/// Options of one section.
#[derive(Clone, Default)]
struct Draft {
    rw: Option<(String, usize)>,
    size_bytes: Option<u64>,
    align_bytes: Option<u64>,
    depth: Option<u64>,
    numjobs: Option<u64>,
    size: Option<(Size, usize)>,
    io_size: Option<(Size, usize)>,
    offset: Option<(Size, usize)>,
    offset_increment: Option<(Size, usize)>,
    runtime: Option<Duration>,
    time_based: Option<(bool, usize)>,
    reads: Option<f64>,
    fsync: Option<u64>,
    synchronous: bool,
    filename: Option<(String, usize)>,
    think: Option<Duration>,
    burst: Option<u64>,
    rate: Option<f64>,
    arrivals: Arrivals,
    distribution: Option<Distribution>,
    norandommap: bool,
    seed: Option<u64>,
    verify: bool,
    number_ios: Option<u64>,
    loops: Option<u64>,
    stonewall: bool,
    places: Option<(bool, usize)>,
    placement: Option<(u16, usize)>,
}

impl FioFile {
    /// Reads a job file. `file` is its name in errors. `capacity_bytes` is the device's capacity, for percentages and
    /// for jobs without `size`, which reach to its end.
    ///
    /// # Errors
    /// [`FormError`] with the line, the option, the value given and the values allowed.
    pub fn parse(text: &str, file: &str, capacity_bytes: Option<u64>) -> Result<Self, FormError> {
        let error = |line, key: Option<&str>, reason| FormError {
            place: Place::File { file: file.into(), line },
            key: key.map(str::to_owned),
            reason,
        };
        let sections = ini::sections(text).map_err(|(line, reason)| error(line, None, reason))?;
        if sections.is_empty() {
            return Err(error(
                1,
                None,
                "no job is given: at least one section, as in [job], is needed".into(),
            ));
        }
        let mut read = Self { stages: Vec::new(), ignored: Vec::new(), filename: None };
        for section in &sections {
            let mut draft = Draft::default();
            let base = section.base().map_err(|(line, reason)| error(line, Some("kb_base"), reason))?;
            for setting in &section.options {
                let wrong =
                    |reason| error(setting.line, Some(setting.name), format!("{}: {reason}", setting.name));
                if IGNORED.contains(&setting.name) && setting.name != "norandommap" {
                    if !read.ignored.iter().any(|known| known == setting.name) {
                        read.ignored.push(setting.name.to_owned());
                    }
                } else {
                    draft.set(setting, base).map_err(wrong)?;
                }
            }
            read.add(section, draft, capacity_bytes).map_err(|(line, reason)| error(line, None, reason))?;
        }
        Ok(read)
    }

    /// Adds the jobs of a section to the last stage, or to a new one.
    fn add(&mut self, section: &Section<'_>, draft: Draft, capacity: Option<u64>) -> Result<(), ini::Wrong> {
        if let Some((given, line)) = &draft.filename {
            let first = self.filename.get_or_insert_with(|| given.clone());
            if first != given {
                let reason =
                    format!("filename: '{given}' here and '{first}' before; DEVICE is one file or device");
                return Err((*line, reason));
            }
        }
        let jobs = draft.jobs(section, capacity)?;
        let stop = Stop { time: draft.runtime, ..Stop::default() };
        let seed = Seed(draft.seed.unwrap_or(0));
        let workload = Workload { verify: draft.verify, ..Workload::new(jobs, stop).seed(seed) };
        let last = if draft.stonewall { None } else { self.stages.last_mut() };
        let Some(last) = last else {
            self.stages.push(workload);
            return Ok(());
        };
        for (option, is_same) in [
            ("runtime", last.stop == workload.stop),
            ("randseed", last.seed == workload.seed),
            ("verify", last.verify == workload.verify),
        ] {
            if !is_same {
                let reason = format!(
                    "job '{}' has another {option} than those before it, with which it runs together, or none: give it \
                     in [global], or put a stonewall before the job",
                    section.name
                );
                return Err((section.line, reason));
            }
        }
        let taken = |job: &Job| last.jobs.iter().any(|other| other.name == job.name);
        if let Some(job) = workload.jobs.iter().find(|job| taken(job)) {
            return Err((section.line, format!("job '{}' is there already: give it another name", job.name)));
        }
        last.jobs.extend(workload.jobs);
        Ok(())
    }
}

impl Section<'_> {
    fn base(&self) -> Result<Base, ini::Wrong> {
        let last = self.options.iter().rev().find(|setting| setting.name == "kb_base");
        match last.map(|setting| (setting.value, setting.line)) {
            None | Some(("1024", _)) => Ok(Base::Binary),
            Some(("1000", _)) => Ok(Base::Decimal),
            Some((given, line)) => Err((line, format!("kb_base: '{given}' is neither 1024 nor 1000"))),
        }
    }
}

/// Returns the value for reads, writes and trims, which must be the same.
fn single(value: &str) -> Result<&str, String> {
    let mut parts = value.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    if parts.all(|part| part == first) {
        Ok(first)
    } else {
        Err(format!("'{value}' gives reads and writes different values; a job has one here"))
    }
}

impl Draft {
    fn set(&mut self, setting: &Setting<'_>, base: Base) -> Result<(), String> {
        let Setting { name, value, line } = *setting;
        let on = || values::switch(value);
        let percent = || values::number(value, 100).map(|percent| percent as f64 / 100.0);
        match name {
            "rw" | "readwrite" => self.rw = Some((value.to_owned(), line)),
            "bs" | "blocksize" => self.size_bytes = Some(values::bytes(single(value)?, base)?),
            "ba" | "blockalign" => self.align_bytes = Some(values::bytes(single(value)?, base)?),
            "iodepth" => self.depth = Some(values::number(value, DEPTH_MAX)?),
            "numjobs" => self.numjobs = Some(values::number(value, JOBS_MAX)?),
            "size" => self.size = Some((values::size(value, base)?, line)),
            "io_size" | "io_limit" => self.io_size = Some((values::size(value, base)?, line)),
            "offset" => self.offset = Some((values::size(value, base)?, line)).filter(|_| value != "0"),
            "offset_increment" => self.offset_increment = Some((values::size(value, base)?, line)),
            "runtime" | "timeout" => self.runtime = Some(values::time(value, 1_000_000)?),
            "time_based" => self.time_based = Some((on()?, line)),
            "rwmixread" => self.reads = Some(percent()?),
            "rwmixwrite" => self.reads = Some(1.0 - percent()?),
            "fsync" | "fdatasync" => self.fsync = Some(values::number(value, u32::MAX.into())?),
            "direct" if on()? => {}
            "buffered" if !on()? => {}
            "direct" | "buffered" => {
                return Err(format!("'{value}': the page cache is not measured here; write direct=1"));
            }
            "ioengine" => match value {
                "libaio" | "io_uring" | "posixaio" | "windowsaio" => self.synchronous = false,
                "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => self.synchronous = true,
                _ => {
                    return Err(format!(
                        "'{value}' has no equivalent here; allowed: libaio, io_uring, posixaio, and sync, psync, vsync, \
                         pvsync, pvsync2 for a depth of 1"
                    ));
                }
            },
            "filename" => self.filename = Some((value.to_owned(), line)),
            "thinktime" => self.think = Some(values::time(value, 1)?),
            "thinktime_blocks" => self.burst = Some(values::number(value, u32::MAX.into())?),
            "rate_iops" => self.rate = Some(values::number(single(value)?, 1_000_000_000)? as f64),
            "rate_process" => {
                self.arrivals = match value {
                    "linear" => Arrivals::Constant,
                    "poisson" => Arrivals::Poisson,
                    _ => return Err(format!("'{value}' is neither linear nor poisson")),
                }
            }
            "random_distribution" => self.distribution = distribution(value)?,
            "norandommap" => self.norandommap = on()?,
            "randseed" => self.seed = Some(value.parse().map_err(|_| format!("'{value}' is not a seed"))?),
            "verify" => self.verify = !matches!(value, "0" | "none"),
            "number_ios" => self.number_ios = Some(values::number(value, u64::MAX)?),
            "loops" => self.loops = Some(values::number(value, 1 << 32)?.max(1)),
            "stonewall" | "wait_for_previous" => self.stonewall = on()?,
            "fdp" => self.places = Some((on()?, line)),
            "dataplacement" => {
                self.places = match value {
                    "none" => Some((false, line)),
                    // Streams are the older form of placement.
                    "fdp" | "streams" => Some((true, line)),
                    _ => {
                        return Err(format!("'{value}' has no equivalent here; allowed: none, fdp, streams"));
                    }
                }
            }
            "fdp_pli" | "plids" => self.placement = Some((placement(value)?, line)),
            "kb_base" => {}
            _ => return Err(refusal(name)),
        }
        Ok(())
    }

    /// Returns the jobs of a section, `numjobs` clones.
    fn jobs(&self, section: &Section<'_>, capacity: Option<u64>) -> Result<Vec<Job>, ini::Wrong> {
        let resolve = |(size, line): (Size, usize), of: Option<u64>| match size {
            Size::Bytes(bytes) => Ok(bytes),
            Size::Percent(percent) => of.map(|of| (of as f64 * percent / 100.0) as u64).ok_or((
                line,
                "a percentage needs a device whose size is known before it is opened".to_owned(),
            )),
        };
        let bytes = self.size_bytes.unwrap_or(4096);
        let wrong = |reason: String| Err((section.line, format!("job '{}': {reason}", section.name)));
        if bytes == 0 {
            return wrong("bs is 0: at least one byte".into());
        }
        let (pattern, mix) = self.pattern().map_err(|reason| {
            let line = self.rw.as_ref().map_or(section.line, |&(_, line)| line);
            (line, reason)
        })?;
        let whole = |size: u64| size / bytes * bytes;
        let offset = self.offset.map_or(Ok(0), |offset| resolve(offset, capacity))?;
        let step = self.offset_increment.map_or(Ok(0), |step| resolve(step, capacity))?;
        let left = capacity.map(|capacity| capacity.saturating_sub(offset));
        let area = self.size.map(|size| resolve(size, left)).transpose()?.map(whole);
        let moved = match self.io_size {
            Some(size) => Some(resolve(size, area.or(left))?),
            None => area.or(left),
        };
        let time_based = self.time_based.is_some_and(|(is, _)| is);
        if let Some((true, line)) = self.time_based
            && self.runtime.is_none()
        {
            return Err((line, "time_based: it needs a runtime".into()));
        }
        let accesses = self.accesses(moved, bytes).filter(|_| !time_based);
        if accesses.is_none() && self.runtime.is_none() {
            return wrong("it has no end: give size, number_ios or runtime".into());
        }
        if accesses == Some(0) || area == Some(0) {
            return wrong("its size is less than one block".into());
        }
        if self.rate.is_some() && self.think.is_some() {
            return wrong("rate_iops and thinktime both say when the next access comes; give one".into());
        }
        let writes = mix.changes() == Some(Operation::Write);
        let placement = self.placement_handle()?;
        let depth = if self.synchronous { 1 } else { self.depth.unwrap_or(1).max(1) };
        let job = Job {
            align_bytes: self.align_bytes.filter(|_| is_random(&pattern)),
            area_offset_bytes: offset,
            area_length_bytes: area.or(left.map(whole)),
            think: self.think.unwrap_or_default(),
            burst: self.burst.filter(|_| self.think.is_some()).unwrap_or(1).max(1) as u32,
            accesses,
            flush_every: self.fsync.filter(|&every| every > 0 && writes).map(|every| every as u32),
            rate: self
                .rate
                .filter(|&rate| rate > 0.0)
                .map(|per_second| Rate { per_second, arrivals: self.arrivals }),
            placement,
            ..Job::new(section.name, pattern, mix, bytes).depth(depth as u32)
        };
        Ok(self.clones(&job, step))
    }

    /// Returns the number of accesses of `bytes` bytes in which a job moves `moved` bytes, as often as its loops say;
    /// `None` where nothing limits it.
    fn accesses(&self, moved: Option<u64>, bytes: u64) -> Option<u64> {
        let accesses = moved.map(|moved| (moved / bytes).saturating_mul(self.loops.unwrap_or(1)));
        match (accesses, self.number_ios) {
            (Some(accesses), Some(most)) => Some(accesses.min(most)),
            (accesses, most) => accesses.or(most),
        }
    }

    /// Returns the placement handle of a job; 0 without data placement.
    fn placement_handle(&self) -> Result<u16, ini::Wrong> {
        match (self.places, self.placement) {
            (Some((true, line)), None) => {
                let reason = "data placement needs fdp_pli=N here, the placement handle of the job: without one fio takes \
                              all handles in turn";
                Err((line, reason.into()))
            }
            (Some((true, _)), Some((handle, _))) => Ok(handle),
            (None | Some((false, _)), Some((_, line))) => {
                Err((line, "fdp_pli: it has no effect without fdp=1 or dataplacement=fdp".into()))
            }
            (None | Some((false, _)), None) => Ok(0),
        }
    }

    /// Returns the clones of a job, each `step` bytes behind the one before.
    fn clones(&self, job: &Job, step: u64) -> Vec<Job> {
        let clones = self.numjobs.unwrap_or(1).max(1);
        let clone = |index: u64| Job {
            name: if clones == 1 { job.name.clone() } else { format!("{}-{}", job.name, index + 1) },
            area_offset_bytes: job.area_offset_bytes.saturating_add(step.saturating_mul(index)),
            ..job.clone()
        };
        (0..clones).map(clone).collect()
    }

    fn pattern(&self) -> Result<(Pattern, Mix), String> {
        let given = self.rw.as_ref().map_or("read", |(rw, _)| rw.as_str());
        let random = match self.distribution {
            Some(distribution) => Pattern::Skewed(Skew { distribution, scattered: distribution.scatters() }),
            None if self.norandommap => Pattern::Random,
            None => Pattern::Permutation,
        };
        let mixed = Mix { reads: self.reads.unwrap_or(0.5), ..Mix::WRITE };
        Ok(match given {
            "read" => (Pattern::Sequential, Mix::READ),
            "write" => (Pattern::Sequential, Mix::WRITE),
            "trim" => (Pattern::Sequential, Mix::TRIM),
            "randread" => (random, Mix::READ),
            "randwrite" => (random, Mix::WRITE),
            "randtrim" => (random, Mix::TRIM),
            "randrw" if mixed.reads >= 1.0 => (random, Mix::READ),
            "randrw" => (random, mixed),
            "rw" | "readwrite" => {
                return Err(format!(
                    "rw: '{given}' reads and writes sequentially from a position each, which has no equivalent here; \
                     write a job that reads and one that writes"
                ));
            }
            _ => {
                return Err(format!(
                    "rw: '{given}' has no equivalent here; allowed: read, write, trim, randread, randwrite, randtrim, \
                     randrw"
                ));
            }
        })
    }
}

fn is_random(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Random | Pattern::Skewed(_) | Pattern::Permutation)
}

/// fio's `fdp_pli`, a list of placement handles, of which a job has one here.
fn placement(value: &str) -> Result<u16, String> {
    value.trim().parse().map_err(|_| {
        format!(
            "'{value}': a job has one placement handle here, a number from 0: write a job for each of several"
        )
    })
}

/// fio's `random_distribution`; `None` for a uniform one.
pub(super) fn distribution(value: &str) -> Result<Option<Distribution>, String> {
    let wrong = || {
        format!(
            "'{value}' has no equivalent here; allowed: random, zipf:T, pareto:H, and zoned with two zones that are all \
             of the space and of the accesses, as in zoned:80/20:20/80"
        )
    };
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    let distribution = match kind {
        "random" => return Ok(None),
        "zipf" => Distribution::Zipf { exponent: rest.parse().map_err(|_| wrong())? },
        "pareto" => Distribution::Pareto { space: rest.parse().map_err(|_| wrong())? },
        "zoned" => {
            let zone = |text: &str| {
                let (accesses, space) = text.split_once('/')?;
                Some((accesses.parse::<u32>().ok()?, space.parse::<u32>().ok()?))
            };
            let zones: Option<Vec<(u32, u32)>> = rest.split(':').map(zone).collect();
            let Some([(a, s), (b, t)]) = zones.as_deref() else { return Err(wrong()) };
            if a.checked_add(*b) != Some(100) || s.checked_add(*t) != Some(100) {
                return Err(wrong());
            }
            Distribution::Hotspot { space: f64::from(*s) / 100.0, accesses: f64::from(*a) / 100.0 }
        }
        _ => return Err(wrong()),
    };
    match distribution.unfit() {
        Some(allowed) => Err(format!("'{value}' is not allowed: {allowed}")),
        None => Ok(Some(distribution)),
    }
}

/// Returns the reason for the refusal of an option.
fn refusal(name: &str) -> String {
    if let Some((_, reason)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return format!("this option has no equivalent here: {reason}");
    }
    let near = hint(name, KNOWN.iter().copied());
    format!("this option has no equivalent here{near}; allowed: {}", KNOWN.join(", "))
}
