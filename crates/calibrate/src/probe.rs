//! Measurements from a probe's result: the workloads that it recommends, with their rates and latencies.

use crate::measurement::{Measurement, Quantity, ReadError};
use flashlane_result::probe::{PROBE_SCHEMA, ProbeResult};
use flashlane_workload::Workload;
use serde_json::Value;

pub(crate) fn read(json: &Value) -> Result<Vec<Measurement>, ReadError> {
    let schema = json.get("schema").and_then(Value::as_str).unwrap_or_default();
    if schema != PROBE_SCHEMA {
        let reason = format!(
            "it is a result '{schema}'; allowed: a probe's result.json ('{PROBE_SCHEMA}'), or fio's JSON"
        );
        return Err(ReadError::new("the file", Some("schema"), reason));
    }
    let probe: ProbeResult = flashlane_result::read(json)
        .map_err(|error| ReadError::new("the file", None, format!("it is no probe's result: {error}")))?;
    let mut rows = Vec::new();
    for (name, recommendation) in &probe.recommendation {
        let rate = &recommendation.rate;
        let place = format!("recommendation {name}");
        let workload = Workload::parse(&rate.workload)
            .map_err(|error| ReadError::new(&*place, Some("workload"), error.to_string()))?;
        for (quantity, value) in [
            (Quantity::Rate, rate.iops),
            (Quantity::Percentile(50.0), rate.p50_ns),
            (Quantity::Percentile(99.0), rate.p99_ns),
        ] {
            let (workload, place) = (workload.clone(), place.clone());
            rows.push(Measurement { workload, quantity, value, place, source: "probe".into() });
        }
    }
    Ok(rows)
}
