//! Measurements from fio's JSON (`fio --output-format=json`): rate, mean and percentiles of each job that reads or
//! writes.

use crate::measurement::{Measurement, Quantity, ReadError};
use flashlane_base::units::parse_bytes;
use flashlane_workload::Workload;
use serde_json::Value;

/// The percentiles that are taken: fio's names, and their percentages.
const PERCENTILES: [(&str, f64); 4] =
    [("50.000000", 50.0), ("99.000000", 99.0), ("99.900000", 99.9), ("99.990000", 99.99)];

/// Options that change what a job measures, and have no counterpart here.
const NOT_PREDICTED: [&str; 5] = ["rate", "rate_iops", "thinktime", "bsrange", "bssplit"];

pub(crate) fn read(json: &Value) -> Result<Vec<Measurement>, ReadError> {
    let jobs = json.get("jobs").and_then(Value::as_array).ok_or_else(|| {
        ReadError::new(
            "the file",
            Some("jobs"),
            "it is missing; allowed: fio's JSON, or a probe's result.json",
        )
    })?;
    refuse_concurrent(jobs)?;
    let mut rows = Vec::new();
    for (number, job) in (1..).zip(jobs) {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        let place = format!("job {number} ({name})");
        let option = |key: &str| {
            let of = |options: &Value| options.get(key).and_then(Value::as_str).map(str::to_owned);
            job.get("job options").and_then(of).or_else(|| json.get("global options").and_then(of))
        };
        let refuse = |field: &str, reason: String| ReadError::new(&*place, Some(field), reason);
        if let Some(key) = NOT_PREDICTED.into_iter().find(|key| option(key).is_some()) {
            return Err(refuse(key, "it cannot be predicted; allowed: jobs without it".into()));
        }
        let rw = option("rw").or_else(|| option("readwrite")).unwrap_or_else(|| "read".into());
        let workload = workload(&rw, option, refuse)?;
        let side = job.get(if rw.ends_with("read") { "read" } else { "write" });
        let side = side.ok_or_else(|| refuse("read", "fio measured nothing of this kind".into()))?;
        let number = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|value| *value > 0.0);
        let mut push = |quantity: Quantity, value: Option<f64>| {
            if let Some(value) = value {
                let (workload, place) = (workload.clone(), place.clone());
                rows.push(Measurement { workload, quantity, value, place, source: "fio".into() });
            }
        };
        push(Quantity::Rate, number(side.get("iops")));
        push(Quantity::Mean, number(side.pointer("/lat_ns/mean")).or(number(side.pointer("/clat_ns/mean"))));
        for (key, percent) in PERCENTILES {
            let of = |kind: &str| number(side.get(kind).and_then(|kind| kind.get("percentile")?.get(key)));
            push(Quantity::Percentile(percent), of("lat_ns").or(of("clat_ns")));
        }
    }
    Ok(rows)
}

/// Returns the workload of a job that reads or writes as `rw` says.
fn workload(
    rw: &str,
    option: impl Fn(&str) -> Option<String>,
    refuse: impl Fn(&str, String) -> ReadError,
) -> Result<Workload, ReadError> {
    let pattern = match rw {
        "randread" => "random-read",
        "read" => "sequential-read",
        "randwrite" => "random-write",
        "write" => "sequential-write",
        other => {
            let allowed = "randread, read, randwrite or write, one a job";
            return Err(refuse("rw", format!("'{other}' cannot be predicted; allowed: {allowed}")));
        }
    };
    // fio counts in units of 1024, and a number without a unit in bytes.
    let size = option("bs").or_else(|| option("blocksize")).unwrap_or_else(|| "4k".into());
    let size = match size.parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => parse_bytes(&size).map_err(|error| refuse("bs", error.to_string()))?,
    };
    let depth: u32 = option("iodepth").map_or(Ok(1), |depth| depth.parse()).map_err(|_| {
        refuse("iodepth", "it is no number; allowed: the number of requests in flight".into())
    })?;
    let jobs: u32 = option("numjobs").map_or(Ok(1), |jobs| jobs.parse()).unwrap_or(1);
    Workload::parse(&format!("{pattern},size={size}B,depth={}", depth * jobs.max(1)))
        .map_err(|error| refuse("bs", error.to_string()))
}

/// Refuses jobs that ran at the same time, as each of them measured the others too. fio gives those one group; it is
/// the same for the copies of a job (`numjobs`) that are not reported together.
fn refuse_concurrent(jobs: &[Value]) -> Result<(), ReadError> {
    let group = |job: &Value| job.get("groupid").and_then(Value::as_u64);
    for (at, job) in jobs.iter().enumerate() {
        let other = jobs[..at].iter().position(|other| group(job).is_some() && group(other) == group(job));
        if let Some(other) = other {
            let reason = format!(
                "jobs {} and {} ran at the same time; allowed: 'stonewall' between jobs, and 'group_reporting' with 'numjobs'",
                other + 1,
                at + 1
            );
            return Err(ReadError::new(format!("job {}", at + 1), Some("groupid"), reason));
        }
    }
    Ok(())
}
