//! `--alone`: each job of a run by itself, on a drive of its own, and how much slower it is beside the others.
//!
//! The slowdown is the mean latency in the run over that alone, and fairness the least slowdown over the greatest, as
//! of Tavakkol et al., "FLIN: Enabling Fairness and Enhancing Performance in Modern NVMe Solid State Drives" (ISCA
//! 2018, section 6).

use super::measure;
use crate::failure::Failure;
use crate::options::SafetyOptions;
use anyhow::anyhow;
use flashlane_measure::Progress;
use flashlane_open::Target;
use flashlane_result::run::{AloneRow, RunResult};
use flashlane_workload::{Stop, Workload};
use std::ops::ControlFlow;

/// Refuses what cannot be measured job by job.
pub(super) fn check(target: &Target, stages: &[Workload]) -> Result<(), Failure> {
    let refused = |reason: &str| Err(Failure::unusable(anyhow!("--alone {reason}")));
    let [workload] = stages else {
        return refused("compares the jobs of one run; the job file has several, one after the other");
    };
    if !target.is_simulated() {
        return refused("needs a simulated drive, which begins anew for each job");
    }
    if workload.jobs.len() < 2 {
        return refused("compares jobs with each other; join two or more by '+'");
    }
    if workload.jobs.iter().any(|job| job.turns.is_some()) {
        return refused("does not suit jobs with 'turns', which are one stream");
    }
    Ok(())
}

/// Measures every job of `workload` alone, for as many requests as it had in the run, and adds what that gives to
/// `result`. Requires: [`check`] has passed.
pub(super) fn add(
    target: &Target,
    workload: &Workload,
    safety: &SafetyOptions,
    result: &mut RunResult,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(), Failure> {
    for (job, row) in workload.jobs.iter().zip(&mut result.jobs) {
        if row.requests == 0 {
            continue;
        }
        let mut single = Workload { jobs: vec![job.clone()], ..workload.clone() };
        single.stop = Stop::after(row.requests);
        single.warmup_requests = workload.warmup_requests * row.requests / result.requests.max(1);
        let mut measured = measure(target, &[single], safety, 0, watch)?;
        let (_, alone) = measured.swap_remove(0);
        if let Some(reason) = &alone.partial {
            let message = format!("{target}: {reason}, while job '{}' was measured alone", row.name);
            return Err(Failure::failed(anyhow!(message)));
        }
        row.alone = Some(AloneRow {
            iops: alone.iops,
            mean_ns: alone.latency_ns.mean,
            p99_ns: alone.latency_ns.p99,
            slowdown: row.latency_ns.mean / alone.latency_ns.mean,
        });
    }
    let slowdowns: Option<Vec<f64>> =
        result.jobs.iter().map(|row| row.alone.map(|alone| alone.slowdown)).collect();
    result.fairness = slowdowns.map(|all| {
        let (least, greatest) = all.iter().fold((f64::INFINITY, 0.0_f64), |(least, greatest), &slowdown| {
            (least.min(slowdown), greatest.max(slowdown))
        });
        least / greatest
    });
    Ok(())
}
