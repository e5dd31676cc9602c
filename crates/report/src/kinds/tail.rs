//! Hides percentiles with too few requests beyond them; JSON includes them.

use super::scalar;
use crate::document::{Fact, Table};
use crate::format::{exact, plain_value, time_ns};
use flashlane_base::{BEYOND, Latency, requests_needed};

/// Returns the fewest requests for which the percentile of this field is shown; 0 for other fields.
fn needed(key: &str) -> u64 {
    match key.strip_suffix("_ns").unwrap_or(key) {
        "p90" => requests_needed(0.9),
        "p99" => requests_needed(0.99),
        "p999" => requests_needed(0.999),
        "p9999" => requests_needed(0.9999),
        _ => 0,
    }
}

/// Returns the statistic of this field; `None` for a percentile with too few requests beyond it.
pub(super) fn shown<T>(key: &str, value: T, requests: u64) -> Option<T> {
    (requests >= needed(key)).then_some(value)
}

/// Returns why the percentile of this field is not shown; empty where it is.
pub(super) fn why_not(key: &str, requests: u64) -> String {
    let needed = needed(key);
    if requests >= needed {
        return String::new();
    }
    format!("shown from {} requests on, where {BEYOND} lie beyond it", plain_value("", &needed.into()))
}

/// Returns the 99th percentile as a fact.
pub(super) fn p99_fact(label: &str, latency: &Latency, requests: u64) -> Fact {
    let p99 = shown("p99", latency.p99, requests);
    let hidden = || format!("– ({})", why_not("p99", requests));
    Fact::exact(label, p99.map_or_else(hidden, time_ns), exact(&scalar(p99)))
}

/// Adds a note to the first row with too few requests for a p99, with their number: others may be stated near by.
/// `requests` are those of the rows.
pub(super) fn with_reason(mut table: Table, requests: impl Iterator<Item = u64>) -> Table {
    let rows =
        table.rows.iter_mut().zip(requests).map(|(row, requests)| (row, requests, why_not("p99", requests)));
    if let Some((row, requests, why_not)) = rows.into_iter().find(|(.., why_not)| !why_not.is_empty())
        && row.note.is_empty()
    {
        row.note = format!("p99 is {why_not}; here it would be of {}", plain_value("", &requests.into()));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_shown_once_ten_requests_lie_beyond_it() {
        for (key, needed) in
            [("mean", 0), ("p50", 0), ("p90", 100), ("p99_ns", 1000), ("p999", 10_000), ("p9999", 100_000)]
        {
            assert_eq!(shown(key, 1.0, needed), Some(1.0), "{key}");
            assert_eq!(needed > 0, needed > 0 && shown(key, 1.0, needed - 1).is_none(), "{key}");
        }
        assert_eq!(why_not("p999", 9999), "shown from 10,000 requests on, where 10 lie beyond it");
    }
}
