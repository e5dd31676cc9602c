//! Workloads written back: the one-line form where it can say all, else one line a job.

use super::draft::kind_name;
use crate::{Job, Pattern, Workload};
use flashlane_base::Duration;
use flashlane_base::units::parse_share;
use std::fmt;

impl fmt::Display for Workload {
    /// For jobs that differ in their areas at most, what [`Workload::parse`] reads back as the same, names aside; other jobs
    /// stand side by side, joined by ` + `.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match like_jobs(&self.jobs) {
            Some(shared) => {
                write!(f, "{},jobs={}", self.jobs[0], self.jobs.len())?;
                f.write_str(if shared { ",shared" } else { "" })?;
            }
            None => {
                for (i, job) in self.jobs.iter().enumerate() {
                    write!(f, "{}{job}", if i > 0 { " + " } else { "" })?;
                }
            }
        }
        let stop = &self.stop;
        stop.requests.map_or(Ok(()), |n| write!(f, ",requests={n}"))?;
        stop.time.map_or(Ok(()), |t| write!(f, ",time={}", time(t)))?;
        stop.confidence.map_or(Ok(()), |s| write!(f, ",confidence={}", percent(s)))?;
        if self.warmup_requests > 0 {
            write!(f, ",warmup={}", self.warmup_requests)?;
        }
        write!(f, ",seed={}", self.seed.0)
    }
}

impl fmt::Display for Job {
    /// The job's part of the one-line form. A list of offsets has none and shows as `list-…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&kind_name(&self.pattern, self.mix))?;
        write!(f, ",size={},depth={}", size(self.size_bytes), self.depth)?;
        if self.mix.changes().is_some() && self.mix.reads > 0.0 {
            write!(f, ",reads={}", percent(self.mix.reads))?;
        }
        match self.pattern {
            Pattern::Ordered { step_bytes } => self.fmt_step(step_bytes, f)?,
            Pattern::Partitioned { partitions } => write!(f, ",partitions={partitions}")?,
            _ => {}
        }
        self.align_bytes.map_or(Ok(()), |bytes| write!(f, ",align={}", size(bytes)))?;
        if self.area_offset_bytes > 0 {
            write!(f, ",offset={}", size(self.area_offset_bytes))?;
        }
        self.area_length_bytes.map_or(Ok(()), |bytes| write!(f, ",area={}", size(bytes)))?;
        if self.shift_bytes > 0 {
            write!(f, ",shift={}", size(self.shift_bytes))?;
        }
        if !self.think.is_zero() || self.burst != 1 {
            write!(f, ",think={}", time(self.think))?;
        }
        if self.burst != 1 {
            write!(f, ",burst={}", self.burst)?;
        }
        self.turns.map_or(Ok(()), |turns| write!(f, ",turns={turns}"))
    }
}

impl Job {
    /// In accesses where it is whole ones, else as a size.
    fn fmt_step(&self, step_bytes: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if step_bytes < 0 { "-" } else { "" };
        let step = step_bytes.unsigned_abs();
        if step.is_multiple_of(self.size_bytes) {
            write!(f, ",incr={sign}{}", step / self.size_bytes)
        } else {
            write!(f, ",stride={sign}{}", size(step))
        }
    }
}

/// Whether all jobs (more than one) are alike: with a shared area (true) or neighbouring ones (false).
fn like_jobs(jobs: &[Job]) -> Option<bool> {
    let [first, second, ..] = jobs else { return None };
    let shared = first.area_offset_bytes == second.area_offset_bytes;
    let step = if shared { 0 } else { first.area_length_bytes? };
    let mut expected = first.clone();
    jobs.iter()
        .all(|job| {
            expected.name.clone_from(&job.name);
            let alike = *job == expected;
            expected.area_offset_bytes = expected.area_offset_bytes.saturating_add(step);
            alike
        })
        .then_some(shared)
}

/// Exactly, in the largest unit that divides it.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let whole = |&&(shift, _): &&(u32, &str)| bytes.trailing_zeros().min(63) >= shift;
    let (shift, unit) = units.iter().find(whole).expect("a byte divides everything");
    format!("{}{unit}", bytes >> shift)
}

fn time(time: Duration) -> String {
    let ns = time.as_ns();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (scale, unit) =
        units.iter().find(|(scale, _)| ns.is_multiple_of(*scale)).expect("a nanosecond divides everything");
    format!("{}{unit}", ns / scale)
}

/// The shortest decimal that reads back as the same share.
fn percent(share: f64) -> String {
    (0..17)
        .map(|digits| format!("{:.digits$}%", share * 100.0))
        .find(|text| parse_share(text) == Ok(share))
        .unwrap_or_else(|| format!("{}%", share * 100.0))
}
