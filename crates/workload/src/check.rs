//! The check of a workload against the limits of a device.

use crate::{Job, Pattern, Precondition, Workload};
use flashlane_base::Operation;
use flashlane_base::units::exact_bytes;
use std::collections::BTreeSet;

/// Limits of a device that a workload must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Reads (and trims) start and end on multiples of this.
    pub read_unit_bytes: u64,
    /// Writes start and end on multiples of this.
    pub write_unit_bytes: u64,
    /// Whether only reads are allowed.
    pub read_only: bool,
    /// Whether writes must be in order within erase units.
    pub erase_units: bool,
    /// Whether erase units are zones, which take appends.
    pub zones: bool,
    /// Whether written data can be read back.
    pub keeps_bytes: bool,
    /// Submission queues, at least 1.
    pub queues: u32,
    /// Placement handles, at least 1.
    pub placement_handles: u32,
}

impl Limits {
    /// Limits of a device of `capacity_bytes` that takes reads and writes of any sector and stores no data.
    pub fn of(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            read_unit_bytes: 512,
            write_unit_bytes: 512,
            read_only: false,
            erase_units: false,
            zones: false,
            keeps_bytes: false,
            queues: 1,
            placement_handles: 1,
        }
    }
}

/// A workload does not fit a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{field} is {given}; allowed: {allowed}", job.as_ref().map(|j| format!("job '{j}': ")).unwrap_or_default())]
pub struct Unfit {
    /// The job at fault, if any.
    pub job: Option<String>,
    /// The field, by its key in the written forms.
    pub field: &'static str,
    /// Its value.
    pub given: String,
    /// The values allowed.
    pub allowed: String,
}

/// Maximum number of requests in flight over all jobs, so that a typing error does not exhaust memory.
const MOST_IN_FLIGHT: u64 = 1 << 20;

/// Returns the size in powers of 1024 that a size in powers of 1000 was probably meant to be: 4 KiB for 4 KB.
fn binary(bytes: u64) -> Option<u64> {
    let power = (1..=4).rev().find(|&power| bytes > 0 && bytes.is_multiple_of(1000_u64.pow(power)))?;
    (bytes / 1000_u64.pow(power)).checked_mul(1 << (10 * power))
}

impl Workload {
    /// Checks every job against a device.
    ///
    /// A depth above the device's is not an error: the driving loop delays requests and counts the wait.
    ///
    /// # Errors
    /// The first field that does not fit, with the values allowed.
    pub fn check(&self, limits: &Limits) -> Result<(), Unfit> {
        let whole =
            |field, given: String, allowed: &str| Unfit { job: None, field, given, allowed: allowed.into() };
        if self.jobs.is_empty() {
            return Err(whole("job", "missing".into(), "at least one job"));
        }
        let stop = &self.stop;
        let all_jobs_end = self.jobs.iter().all(|job| job.accesses.is_some());
        if stop.requests.is_none() && stop.time.is_none() && stop.confidence.is_none() && !all_jobs_end {
            return Err(whole("stop", "missing".into(), "requests, time or confidence"));
        }
        if stop.requests == Some(0) {
            return Err(whole("requests", "0".into(), "at least 1"));
        }
        if stop.time.is_some_and(|t| t.is_zero()) {
            return Err(whole("time", "0".into(), "above 0"));
        }
        if let Some(share) = stop.confidence.filter(|&s| !(s > 0.0 && s < 1.0)) {
            return Err(whole("confidence", format!("{}%", share * 100.0), "above 0% and below 100%"));
        }
        if let Some(precondition) = self.precondition {
            let refused = |allowed: &str| Err(whole("precondition", precondition.to_string(), allowed));
            if limits.read_only {
                return refused("none, since the device is open for reading only");
            }
            if limits.erase_units {
                return refused("none on a device with erase units, which are written in order");
            }
            if precondition == (Precondition::Mixed { bytes: 0 }) {
                return refused("a volume above 0");
            }
        }
        if self.verify && !limits.keeps_bytes {
            let allowed = "only over a device that keeps bytes; backed(DEVICE) keeps them in memory";
            return Err(whole("verify", "true".into(), allowed));
        }
        let mut names = BTreeSet::new();
        for job in &self.jobs {
            job.check(limits)?;
            if !names.insert(&job.name) {
                return Err(whole("name", format!("'{}' twice", job.name), "names that differ"));
            }
        }
        self.check_turns()?;
        self.check_warmup()?;
        if self.depth() > MOST_IN_FLIGHT {
            let allowed = format!("at most {MOST_IN_FLIGHT} requests in flight over all jobs");
            return Err(whole("depth", self.depth().to_string(), &allowed));
        }
        Ok(())
    }
}

impl Workload {
    /// Checks that jobs that all end by themselves leave something to measure behind the warm-up.
    fn check_warmup(&self) -> Result<(), Unfit> {
        let all = self.jobs.iter().try_fold(0_u64, |sum, job| Some(sum.saturating_add(job.accesses?)));
        match all {
            Some(all) if all <= self.warmup_requests => Err(Unfit {
                job: None,
                field: "warmup",
                given: self.warmup_requests.to_string(),
                allowed: format!("fewer than the {all} accesses after which all jobs have ended"),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that jobs with turns are at least two, with equal settings of their shared stream.
    fn check_turns(&self) -> Result<(), Unfit> {
        let taking: Vec<&Job> = self.jobs.iter().filter(|job| job.turns.is_some()).collect();
        let Some(first) = taking.first() else { return Ok(()) };
        let unfit = |job: &Job, field, given: String, allowed: String| {
            Err(Unfit { job: Some(job.name.clone()), field, given, allowed })
        };
        if taking.len() == 1 {
            let allowed = "two jobs or more that take turns with each other";
            return unfit(first, "turns", "given to this job only".into(), allowed.into());
        }
        for job in &taking {
            let as_first =
                |value: String| format!("{value}, as '{}' has, with which it takes turns", first.name);
            if job.turns == Some(0) {
                return unfit(job, "turns", "0".into(), "at least 1".into());
            }
            if job.depth != first.depth {
                return unfit(job, "depth", job.depth.to_string(), as_first(first.depth.to_string()));
            }
            if job.think != first.think {
                return unfit(job, "think", job.think.to_string(), as_first(first.think.to_string()));
            }
            for (field, is_given) in [
                ("rate", job.rate.is_some()),
                ("fsync", job.flush_every.is_some()),
                ("accesses", job.accesses.is_some()),
            ] {
                if is_given {
                    let allowed = "none for jobs that take turns in one stream";
                    return unfit(job, field, "given".into(), allowed.into());
                }
            }
            if job.burst != first.burst {
                return unfit(job, "burst", job.burst.to_string(), as_first(first.burst.to_string()));
            }
        }
        Ok(())
    }
}

impl Job {
    fn check(&self, limits: &Limits) -> Result<(), Unfit> {
        self.check_operations(limits)?;
        self.check_counts(limits)?;
        let area = self.check_area(limits)?;
        self.check_pattern(limits, area)
    }

    fn unfit(&self, field: &'static str, given: impl Into<String>, allowed: impl Into<String>) -> Unfit {
        Unfit { job: Some(self.name.clone()), field, given: given.into(), allowed: allowed.into() }
    }

    fn check_operations(&self, limits: &Limits) -> Result<(), Unfit> {
        if let Some(operation) = self.mix.changes().filter(|_| limits.read_only) {
            let allowed = "only reads, since the device is open for reading only";
            return Err(self.unfit("operation", operation.to_string(), allowed));
        }
        if self.mix.changes() == Some(Operation::Append) && !limits.zones {
            let allowed =
                "read, write or trim on this device; one with zones takes appends, like sim:zn540-1tb";
            return Err(self.unfit("operation", "append", allowed));
        }
        if !(0.0..=1.0).contains(&self.mix.reads) {
            return Err(self.unfit("reads", format!("{}%", self.mix.reads * 100.0), "0% to 100%"));
        }
        Ok(())
    }

    /// Checks how many requests are made, how fast and in which queue.
    fn check_counts(&self, limits: &Limits) -> Result<(), Unfit> {
        for (field, count) in [
            ("depth", Some(u64::from(self.depth))),
            ("burst", Some(u64::from(self.burst))),
            ("fsync", self.flush_every.map(u64::from)),
            ("accesses", self.accesses),
        ] {
            if count == Some(0) {
                return Err(self.unfit(field, "0", "at least 1"));
            }
        }
        if let Some(rate) = self.rate {
            if !(rate.per_second.is_finite() && rate.per_second > 0.0) {
                return Err(self.unfit("rate", format!("{}/s", rate.per_second), "above 0/s"));
            }
            if !self.think.is_zero() {
                return Err(self.unfit("think", self.think.to_string(), "none for a job with a rate"));
            }
        }
        if u32::from(self.queue) >= limits.queues {
            let allowed = match limits.queues {
                1 => "0: the device has one queue".into(),
                queues => format!("0 to {}, the device's queues", queues - 1),
            };
            return Err(self.unfit("queue", self.queue.to_string(), allowed));
        }
        if u32::from(self.placement) >= limits.placement_handles {
            let allowed = match limits.placement_handles {
                1 => "0: the device has no placement handles".into(),
                handles => format!("0 to {}, the device's placement handles", handles - 1),
            };
            return Err(self.unfit("placement", self.placement.to_string(), allowed));
        }
        Ok(())
    }

    /// Checks the size, and that the area lies on the device; returns the area's length.
    fn check_area(&self, limits: &Limits) -> Result<u64, Unfit> {
        if self.size_bytes == 0 {
            return Err(self.unfit("size", "0 B", "at least one unit of the device"));
        }
        self.check_units(limits, "size", self.size_bytes)?;
        self.check_units(limits, "offset", self.area_offset_bytes)?;
        let area = self.area_length_bytes(limits.capacity_bytes);
        if self.shift_bytes > self.size_bytes {
            let allowed = format!("at most the size of {}", exact_bytes(self.size_bytes));
            return Err(self.unfit("shift", exact_bytes(self.shift_bytes), allowed));
        }
        self.check_units(limits, "shift", self.shift_bytes)?;
        if self.area_offset_bytes >= limits.capacity_bytes {
            let allowed = format!("offsets within the device's {}", exact_bytes(limits.capacity_bytes));
            return Err(self.unfit("offset", exact_bytes(self.area_offset_bytes), allowed));
        }
        if self.area_length_bytes.is_none() && area < self.size_bytes {
            let from = match limits.capacity_bytes - area {
                0 => String::new(),
                before => format!(" from {} to its end", exact_bytes(before)),
            };
            let allowed = format!("at most the device's {}{from}", exact_bytes(area));
            return Err(self.unfit("size", exact_bytes(self.size_bytes), allowed));
        }
        let start = self.area_offset_bytes.checked_add(self.shift_bytes);
        let end = start.and_then(|start| start.checked_add(area));
        if end.is_none_or(|end| end > limits.capacity_bytes) {
            let shift = match self.shift_bytes {
                0 => String::new(),
                shift => format!(", shifted by {}", exact_bytes(shift)),
            };
            let given = format!("{} from {}{shift}", exact_bytes(area), exact_bytes(self.area_offset_bytes));
            let allowed = format!("an end within the device's {}", exact_bytes(limits.capacity_bytes));
            return Err(self.unfit("area", given, allowed));
        }
        if area < self.size_bytes {
            let allowed = format!("room for one access of {}", exact_bytes(self.size_bytes));
            return Err(self.unfit("area", exact_bytes(area), allowed));
        }
        Ok(area)
    }

    /// Checks the alignment, and the pattern in an area of this length.
    fn check_pattern(&self, limits: &Limits, area: u64) -> Result<(), Unfit> {
        if let Some(align) = self.align_bytes {
            if align == 0 {
                let least = exact_bytes(self.unit_bytes(limits).max(1));
                return Err(self.unfit("align", "0 B", format!("at least {least}")));
            }
            self.check_units(limits, "align", align)?;
        }
        match &self.pattern {
            Pattern::Sequential | Pattern::Random | Pattern::Permutation => Ok(()),
            Pattern::Skewed(skew) => {
                let Some(allowed) = skew.distribution.unfit() else { return Ok(()) };
                let (key, text) = (skew.distribution.key(), skew.to_string());
                let given = text.split(',').next().unwrap_or_default();
                Err(self.unfit(key, given.trim_start_matches(key).trim_start_matches('='), allowed))
            }
            Pattern::Ordered { step_bytes } => {
                let step = step_bytes.unsigned_abs();
                // A step of whole accesses was probably given as `incr`.
                let field = if step.is_multiple_of(self.size_bytes) { "incr" } else { "stride" };
                self.check_units(limits, field, step)?;
                if step > area {
                    let given = format!("a step of {}", exact_bytes(step));
                    let allowed = format!("at most the area of {}", exact_bytes(area));
                    return Err(self.unfit(field, given, allowed));
                }
                Ok(())
            }
            Pattern::Partitioned { partitions } => {
                let most = area / self.size_bytes;
                if !(1..=most).contains(partitions) {
                    let allowed = format!("1 to {most}, one access of {} each", exact_bytes(self.size_bytes));
                    return Err(self.unfit("partitions", partitions.to_string(), allowed));
                }
                Ok(())
            }
            Pattern::List(offsets) if offsets.is_empty() => {
                Err(self.unfit("list", "empty", "at least one offset"))
            }
            Pattern::List(offsets) => {
                let last = area - self.size_bytes;
                offsets.iter().try_for_each(|&offset| {
                    self.check_units(limits, "list", offset)?;
                    if offset > last {
                        let allowed = format!("offsets of at most {} in this area", exact_bytes(last));
                        return Err(self.unfit("list", exact_bytes(offset), allowed));
                    }
                    Ok(())
                })
            }
        }
    }

    /// Checks that a number of bytes is whole units of the device.
    fn check_units(&self, limits: &Limits, field: &'static str, bytes: u64) -> Result<(), Unfit> {
        let unit = self.unit_bytes(limits).max(1);
        if bytes.is_multiple_of(unit) {
            return Ok(());
        }
        let near = binary(bytes)
            .filter(|near| near.is_multiple_of(unit))
            .map(|near| format!(" (did you mean {}? KB, MB and GB are powers of 1000)", exact_bytes(near)));
        let allowed = format!("multiples of {}{}", exact_bytes(unit), near.unwrap_or_default());
        Err(self.unfit(field, exact_bytes(bytes), allowed))
    }

    /// The unit of all operations of the job.
    fn unit_bytes(&self, limits: &Limits) -> u64 {
        let (read, write) = (limits.read_unit_bytes, limits.write_unit_bytes);
        match (self.mix.has_reads(), self.mix.changes()) {
            // One unit divides the other, so the larger one is their least common multiple.
            (true, Some(Operation::Write | Operation::Append)) => read.max(write),
            (false, Some(Operation::Write | Operation::Append)) => write,
            _ => read,
        }
    }
}
