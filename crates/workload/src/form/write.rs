//! Writes workloads in the one-line form.

use super::draft::kind_name;
use super::keys::JOBS_MAX;
use crate::{Arrivals, Distribution, Job, Pattern, Precondition, Skew, Workload};
use flashlane_base::units::{parse_share, typed_duration};
use std::fmt;

impl fmt::Display for Workload {
    /// Writes a line that [`Workload::parse`] reads as the same workload, except names and lists of offsets. Jobs that
    /// differ only in their areas are written once, with their number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut jobs = &self.jobs[..];
        while let Some(first) = jobs.first() {
            write!(f, "{first}")?;
            let (equal, shared) = equal_jobs(jobs);
            if equal > 1 {
                write!(f, ",jobs={equal}{}", if shared { ",shared" } else { "" })?;
            }
            jobs = &jobs[equal..];
            f.write_str(if jobs.is_empty() { "" } else { " + " })?;
        }
        let stop = &self.stop;
        stop.requests.map_or(Ok(()), |n| write!(f, ",requests={n}"))?;
        stop.time.map_or(Ok(()), |t| write!(f, ",time={}", typed_duration(t)))?;
        stop.confidence.map_or(Ok(()), |s| write!(f, ",confidence={}", percent(s)))?;
        if self.warmup_requests > 0 {
            write!(f, ",warmup={}", self.warmup_requests)?;
        }
        write!(f, ",seed={}", self.seed.0)?;
        self.precondition.map_or(Ok(()), |precondition| write!(f, ",precondition={precondition}"))?;
        f.write_str(if self.verify { ",verify" } else { "" })
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady => f.write_str("steady"),
            Self::Mixed { bytes } => write!(f, "mixed:{}", size(*bytes)),
        }
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
            Pattern::Skewed(skew) => write!(f, ",{skew}")?,
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
            write!(f, ",think={}", typed_duration(self.think))?;
        }
        if self.burst != 1 {
            write!(f, ",burst={}", self.burst)?;
        }
        self.turns.map_or(Ok(()), |turns| write!(f, ",turns={turns}"))?;
        if let Some(rate) = self.rate {
            write!(f, ",rate={}/s", rate.per_second)?;
            f.write_str(if rate.arrivals == Arrivals::Poisson { ",arrivals=poisson" } else { "" })?;
        }
        self.flush_every.map_or(Ok(()), |writes| write!(f, ",fsync={writes}"))?;
        f.write_str(if self.durable { ",fua" } else { "" })?;
        self.accesses.map_or(Ok(()), |accesses| write!(f, ",accesses={accesses}"))?;
        if self.queue > 0 {
            write!(f, ",queue={}", self.queue)?;
        }
        if self.placement > 0 { write!(f, ",placement={}", self.placement) } else { Ok(()) }
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.distribution.key();
        match self.distribution {
            Distribution::Zipf { exponent } => write!(f, "{key}={exponent}"),
            Distribution::Pareto { space } => write!(f, "{key}={}", percent(space)),
            Distribution::Hotspot { space, accesses } => {
                write!(f, "{key}={}:{}", percent(space), percent(accesses))
            }
        }?;
        let usual = self.scattered == self.distribution.scatters();
        if usual { Ok(()) } else { write!(f, ",scatter={}", self.scattered) }
    }
}

impl Job {
    /// Writes a step in accesses where it is a whole number of them, else as a size.
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

/// Returns the number of equal jobs at the start, and whether they share an area or have consecutive ones.
fn equal_jobs(jobs: &[Job]) -> (usize, bool) {
    let [first, second, ..] = jobs else { return (jobs.len(), false) };
    let shared = first.area_offset_bytes == second.area_offset_bytes;
    let step = match first.area_length_bytes {
        _ if shared => 0,
        Some(length_bytes) => length_bytes,
        None => return (1, false),
    };
    let mut expected = first.clone();
    let alike = jobs.iter().take(JOBS_MAX as usize).take_while(|job| {
        expected.name.clone_from(&job.name);
        let alike = **job == expected;
        expected.area_offset_bytes = expected.area_offset_bytes.saturating_add(step);
        alike
    });
    (alike.count(), shared)
}

/// Formats a size exactly, in the largest unit that divides it.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let whole = |&&(shift, _): &&(u32, &str)| bytes.trailing_zeros().min(63) >= shift;
    let (shift, unit) = units.iter().find(whole).expect("a byte divides everything");
    format!("{}{unit}", bytes >> shift)
}

/// Formats a share as the shortest decimal that is parsed as the same value.
fn percent(share: f64) -> String {
    (0..17)
        .map(|digits| format!("{:.digits$}%", share * 100.0))
        .find(|text| parse_share(text) == Ok(share))
        .unwrap_or_else(|| format!("{}%", share * 100.0))
}
