//! Measurements that cannot all hold.

use crate::measurement::{Measurement, Quantity};
use flashlane_base::units::exact_bytes;

/// Most relative difference of two numbers of the same.
const AGREE: f64 = 0.1;

/// Returns the measurements that contradict each other, each in a sentence: two values of one number, percentiles out
/// of order, and a mean and a rate that cannot both hold with as many requests in flight (Little's law).
pub(crate) fn contradictions(rows: &[Measurement]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for other in rows[at + 1..].iter().filter(|other| other.workload == row.workload) {
            let (low, high) = (row.value.min(other.value), row.value.max(other.value));
            let pair = || format!("{} and {}", row.name(), other.name());
            match (row.quantity, other.quantity) {
                (one, two) if one == two && high > low * (1.0 + AGREE) => {
                    found.push(format!("{} differ by {:.0}%", pair(), 100.0 * (high / low - 1.0)));
                }
                (Quantity::Percentile(one), Quantity::Percentile(two))
                    if (one < two) != (row.value <= other.value) && one != two =>
                {
                    found.push(format!("{} are out of order", pair()));
                }
                (Quantity::Mean, Quantity::Rate) => found.extend(little(row, other)),
                (Quantity::Rate, Quantity::Mean) => found.extend(little(other, row)),
                _ => {}
            }
        }
    }
    found
}

/// Compares a mean and a rate with the requests in flight.
fn little(mean: &Measurement, rate: &Measurement) -> Option<String> {
    let [job] = &mean.workload.jobs[..] else { return None };
    if job.rate.is_some() || !job.think.is_zero() {
        return None;
    }
    let in_flight = mean.value / 1e9 * rate.value;
    let ratio = in_flight / f64::from(job.depth);
    (!(1.0 / (1.0 + AGREE)..=1.0 + AGREE).contains(&ratio)).then(|| {
        format!(
            "{} and {} need {in_flight:.1} requests of {} in flight, and the workload has {}",
            mean.name(),
            rate.name(),
            exact_bytes(job.size_bytes),
            job.depth
        )
    })
}
