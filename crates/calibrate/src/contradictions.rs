//! Measurements that cannot all hold.

use crate::measurement::{Measurement, Quantity};
use flashlane_base::units::exact_bytes;

/// Most relative difference of two numbers of the same.
const AGREE: f64 = 0.1;

/// Returns the measurements that contradict each other, each in a sentence: two values of one number, percentiles out
/// of order, a percentile that its share of requests would take above the mean, and a mean and a rate that cannot both
/// hold with as many requests in flight (Little's law).
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
                (Quantity::Mean, Quantity::Percentile(percent)) => {
                    found.extend(tail(row, other, percent));
                }
                (Quantity::Percentile(percent), Quantity::Mean) => {
                    found.extend(tail(other, row, percent));
                }
                (Quantity::Mean, Quantity::Rate) => found.extend(little(row, other)),
                (Quantity::Rate, Quantity::Mean) => found.extend(little(other, row)),
                _ => {}
            }
        }
    }
    found
}

/// Compares a mean with the part of it that the requests beyond a percentile make up.
fn tail(mean: &Measurement, percentile: &Measurement, percent: f64) -> Option<String> {
    let least = percentile.value * (1.0 - percent / 100.0);
    (least > mean.value * (1.0 + AGREE)).then(|| {
        format!(
            "{} and {} cannot both be: the requests beyond the percentile alone make the mean {} times as long",
            mean.name(),
            percentile.name(),
            round_to_two(least / mean.value)
        )
    })
}

/// Formats a ratio with two significant digits.
fn round_to_two(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
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
