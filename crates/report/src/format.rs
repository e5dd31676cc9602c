//! Formats names and numbers for readers.
//!
//! Names in a result have their unit as a suffix (`chunk_size_bytes`, `elapsed_s`), which determines the format of the
//! value.

use flashlane_base::Duration;
use flashlane_base::units::{format_bytes, format_rate};
use serde_json::Value;

/// Unit of a value, from the suffix of its name.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Bytes,
    BytesPerSecond,
    PerSecond,
    Nanoseconds,
    Seconds,
    Share,
    Plain,
}

// Longer suffixes first: `_bytes_per_s` also ends in `_s`.
const SUFFIXES: &[(&str, Unit)] = &[
    ("_bytes_per_s", Unit::BytesPerSecond),
    ("_bytes", Unit::Bytes),
    ("_per_s", Unit::PerSecond),
    ("_ns", Unit::Nanoseconds),
    ("_s", Unit::Seconds),
    ("_share", Unit::Share),
];

fn unit_of(name: &str) -> (&str, Unit) {
    SUFFIXES
        .iter()
        .find_map(|(suffix, unit)| name.strip_suffix(suffix).map(|rest| (rest, *unit)))
        .unwrap_or((name, Unit::Plain))
}

/// Names with an irregular spelling.
const SPELLINGS: &[(&str, &str)] = &[
    ("over_provisioning", "Over-provisioning"),
    ("cpu", "Processor time"),
    // Drained for the cause "full", as others for a flush; not pages that were full.
    ("buffer_pages_drained_full", "Buffer pages drained for room"),
];

/// Formats `chunk_size_bytes` as `Chunk size`; the unit is shown with the value.
pub(crate) fn plain_name(name: &str) -> String {
    let (stem, _) = unit_of(name);
    if let Some((_, spelling)) = SPELLINGS.iter().find(|(known, _)| *known == stem) {
        return (*spelling).to_owned();
    }
    let words: Vec<&str> = stem
        .split(['_', '-'])
        .map(|word| match word {
            "iops" => "IOPS",
            "lba" => "LBA",
            "ftl" => "FTL",
            "gc" => "GC",
            "ecc" => "ECC",
            "ncq" => "NCQ",
            "ios" => "I/Os",
            word => word,
        })
        .collect();
    capitalised(&words.join(" "))
}

/// Puts the first letter in upper case, except that of a percentile (`p99`) or of a key (`over_provisioning`).
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    if text.starts_with('p') && text[1..].starts_with(|second: char| second.is_ascii_digit()) {
        return text.to_owned();
    }
    // A key of a profile or of a workload is as it is entered.
    let word = text.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',', ':']);
    if word.contains(['_', '=', '.']) {
        return text.to_owned();
    }
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// Formats a value by the unit of its name; structures as compact JSON.
pub(crate) fn plain_value(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => with_unit(name, number.as_f64().unwrap_or(f64::NAN)),
        Value::Array(items) if items.iter().all(|i| !i.is_object() && !i.is_array()) => {
            items.iter().map(|i| plain_value(name, i)).collect::<Vec<_>>().join(", ")
        }
        structure => structure.to_string(),
    }
}

fn with_unit(name: &str, value: f64) -> String {
    let fits = (0.0..=u64::MAX as f64).contains(&value);
    match unit_of(name).1 {
        Unit::Bytes if fits => format_bytes(value.round() as u64),
        Unit::Bytes => format!("{} B", number(value)),
        Unit::BytesPerSecond => format_rate(value),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Nanoseconds => time_ns(value),
        Unit::Seconds => time_ns(value * 1e9),
        Unit::Share => percent(value),
        Unit::Plain => number(value),
    }
}

/// Formats a value for programs: text without quotes, others as JSON, null as empty.
pub(crate) fn exact(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats nanoseconds in a suitable unit; above a day in seconds. No time is known to less than a nanosecond.
pub(crate) fn time_ns(ns: f64) -> String {
    if ns > 0.0 && ns < 1.0 {
        "<1 ns".into()
    } else if ns == 0.0 || (1.0..8.64e13).contains(&ns) {
        Duration::from_ns(ns.round() as u64).to_string()
    } else {
        format!("{} s", number(ns / 1e9))
    }
}

/// Returns the printed form of a unit; results have `us` for programs.
pub(crate) fn unit(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

/// Formats a share between 0 and 1 in percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // Values near 0% or 100% are not rounded to them.
    if share < 1.0 && percent > 99.5 {
        format!("{:.1}%", percent.min(99.9))
    } else if share > 0.0 && percent < 0.5 {
        format!("{:.1}%", percent.max(0.1))
    } else {
        format!("{percent:.0}%")
    }
}

/// Formats a number with four significant digits and thousands separators.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    if value == value.trunc() || size >= 1000.0 {
        return thousands(value);
    }
    let before_point = if size < 1.0 { size.log10().floor() as i32 + 1 } else { size.log10() as i32 + 1 };
    let digits = (4 - before_point).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a whole number with thousands separators.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_not_capitalised() {
        for text in ["over_provisioning", "readahead.cache", "initial.state=full, once", "p99 latency"] {
            assert_eq!(capitalised(text), text);
        }
        assert_eq!(capitalised("write amplification."), "Write amplification.");
    }

    #[test]
    fn suffix_of_a_name_determines_the_format() {
        for (name, value, words, shown) in [
            ("chunk_size_bytes", json!(4096), "Chunk size", "4 KiB"),
            ("highest_bytes", json!(3_900_000_000_000_000_000_u64), "Highest", "3.38 EiB"),
            ("bandwidth_bytes_per_s", json!(145e6), "Bandwidth", "145.0 MB/s"),
            ("transactions_per_s", json!(1234.5), "Transactions", "1,234/s"),
            ("command_cost_ns", json!(6000), "Command cost", "6 µs"),
            ("wait_ns", json!(0.0335), "Wait", "<1 ns"),
            ("wait_ns", json!(0), "Wait", "0 ns"),
            ("elapsed_s", json!(30.5), "Elapsed", "30.5 s"),
            ("mapping_policy", json!("write-order"), "Mapping policy", "write-order"),
            ("interleaving_degree", json!(10), "Interleaving degree", "10"),
            ("iops", json!(89123.4), "IOPS", "89,123"),
            ("p50_ns", json!(6000), "p50", "6 µs"),
            ("read_ios", json!(5), "Read I/Os", "5"),
            ("present", json!(true), "Present", "yes"),
            ("queue_depths", json!([1, 8]), "Queue depths", "1, 8"),
            ("nothing", Value::Null, "Nothing", "–"),
        ] {
            assert_eq!(plain_name(name), words);
            assert_eq!(plain_value(name, &value), shown, "{name}");
        }
    }

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (21.3449, "21.34"),
            (0.001234, "0.001234"),
            (0.5, "0.5"),
            (9.99999, "10"),
            (225.5, "225.5"),
            (1234567.0, "1,234,567"),
            (-1234.5, "-1,234"),
            (-0.2, "-0.2"),
            (f64::NAN, "–"),
            (1e300, "1.000e300"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn only_one_is_a_hundred_percent() {
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.9999), "99.9%");
        assert_eq!(percent(0.98), "98%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.0001), "0.1%");
    }
}
