//! Converts runs to results, `flashlane.run/1`, with helpers shared with replays.

use crate::energy::energy_row;
use crate::rate::per_second;
use crate::statistics::{Band, Confidence};
use crate::{Doubt, JobRun, Preconditioned, Run, Verified, figures};
use flashlane_base::{Duration, Histogram};
use flashlane_device::{Counters, DeviceInfo, Part};
use flashlane_result::Warning;
use flashlane_result::run::{
    ConfidenceRow, CounterRow, DeviceRow, FailureRow, JobRow, OperationRow, PreconditionRow, RUN_SCHEMA,
    RunResult, VerifiedRow,
};
use flashlane_result::time_split::{BandRow, PartsRow, TimeSplitRow};
use std::collections::BTreeMap;

impl From<&Preconditioned> for PreconditionRow {
    fn from(done: &Preconditioned) -> Self {
        Self {
            sequential_bytes: done.sequential_bytes,
            written_bytes: done.written_bytes,
            rounds_iops: done.rounds.clone(),
            steady: done.is_steady(),
            excursion: done.window.map(|window| window.excursion),
            slope: done.window.map(|window| window.slope),
        }
    }
}

impl From<&Verified> for VerifiedRow {
    fn from(verified: &Verified) -> Self {
        Self {
            unit_bytes: verified.unit_bytes,
            checked_bytes: verified.checked_bytes,
            unchecked_bytes: verified.unchecked_bytes,
            read_back_bytes: verified.read_back_bytes,
            mismatches: verified.mismatches,
            first_mismatches: verified.first_mismatches.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&Doubt> for Warning {
    fn from(doubt: &Doubt) -> Self {
        Self::new(doubt.code(), doubt.to_string())
    }
}

/// Converts a device and its counters.
pub fn device_row(info: &DeviceInfo, counters: &Counters) -> DeviceRow {
    DeviceRow {
        name: info.name.clone(),
        capacity_bytes: info.capacity_bytes,
        over_provisioning_share: info.over_provisioning.map(|flash| flash.share),
        read_unit_bytes: info.read_unit_bytes,
        write_unit_bytes: info.write_unit_bytes,
        depth: info.depth,
        simulated: info.simulated,
        counters: CounterRow {
            write_amplification: counters.write_amplification(),
            counts: counters.0.iter().map(|&(name, count)| (name.to_owned(), count)).collect(),
        },
    }
}

impl From<Confidence> for ConfidenceRow {
    fn from(confidence: Confidence) -> Self {
        let Confidence { half_width_ns, batches, .. } = confidence;
        Self { level: 0.95, half_width_ns, batches }
    }
}

impl From<&Run> for RunResult {
    fn from(run: &Run) -> Self {
        Self {
            schema: RUN_SCHEMA.into(),
            device: device_row(&run.info, &run.counters),
            workload: run.workload.to_string(),
            seed: run.workload.seed.0,
            requests: run.requests,
            elapsed_s: run.elapsed.as_s_f64(),
            iops: run.iops(),
            bandwidth_bytes_per_s: run.bandwidth_bytes_per_s(),
            latency_ns: run.latencies().latency(),
            confidence: run.confidence.map(ConfidenceRow::from),
            operations: operations(
                run.operations().iter().map(|(name, latencies)| (*name, latencies)),
                run.elapsed,
            ),
            failures: failures(&run.unreadable()),
            time_split: time_split(&run.time_split),
            energy: energy_row(&run.counters, run.power.as_ref(), (run.requests, run.bytes()), run.elapsed),
            jobs: run
                .jobs
                .iter()
                .zip(&run.workload.jobs)
                .map(|(job, workload)| job_row(run, job, workload))
                .collect(),
            fairness: None,
            offered_iops: run.jobs.iter().map(|job| Some(job.lag?.offered_per_s)).sum(),
            precondition: run.precondition.as_ref().map(PreconditionRow::from),
            verified: run.verified.as_ref().map(VerifiedRow::from),
            harness_ns_per_request: None,
            warnings: run.doubts().iter().map(Warning::from).collect(),
            partial: run.partial.map(|reason| reason.to_string()),
            figures: figures::of(run),
            machine: None,
        }
    }
}

/// Returns the reads that failed.
fn failures(unreadable: &Histogram) -> Vec<FailureRow> {
    let row = || FailureRow {
        operation: "read".into(),
        cause: "uncorrectable".into(),
        requests: unreadable.len(),
        latency_ns: unreadable.latency(),
    };
    (!unreadable.is_empty()).then(row).into_iter().collect()
}

/// Returns the results by operation over `elapsed`.
pub fn operations<'a>(
    latencies: impl Iterator<Item = (&'a str, &'a Histogram)>,
    elapsed: Duration,
) -> BTreeMap<String, OperationRow> {
    let row = |(name, histogram): (&str, &Histogram)| {
        let requests = histogram.len();
        let iops = per_second(requests, elapsed);
        (name.to_owned(), OperationRow { requests, iops, latency_ns: histogram.latency() })
    };
    latencies.map(row).collect()
}

/// Converts where the time of requests went.
pub(crate) fn time_split(operations: &[(&str, Vec<Band>)]) -> Vec<TimeSplitRow> {
    let row = |(operation, bands): &(&str, Vec<Band>)| TimeSplitRow {
        operation: (*operation).to_owned(),
        bands: bands.iter().map(band_row).collect(),
    };
    operations.iter().map(row).collect()
}

fn band_row(band: &Band) -> BandRow {
    let mean = |time: Duration| time.as_ns() as f64 / band.requests.max(1) as f64;
    BandRow {
        band: match band.around {
            None => "all".into(),
            // 0.5, 0.99 and 0.999 are p50, p99 and p999.
            Some(q) => format!("p{:0<2}", &q.to_string()[2..]),
        },
        requests: band.requests,
        mean_ns: mean(band.sum.total()),
        parts_ns: PartsRow::new(Part::ALL.map(|part| mean(band.sum.of(part)))),
    }
}

fn job_row(run: &Run, job: &JobRun, workload: &flashlane_workload::Job) -> JobRow {
    JobRow {
        name: job.name.clone(),
        workload: workload.to_string(),
        requests: job.requests(),
        iops: run.per_second(job.requests()),
        bandwidth_bytes_per_s: run.per_second(job.bytes()),
        latency_ns: job.latencies().latency(),
        offered_iops: job.lag.map(|lag| lag.offered_per_s),
        lag_ns: job.lag.map(|lag| lag.last.as_ns()),
        alone: None,
    }
}
