//! Parses and formats sizes, times, rates, shares, powers and counts: `4k`, `1GiB`, `250us`, `40MB/s`, `15%`, `30mW`,
//! `1M`.
//!
//! A number without a unit is refused where a unit is required, with the value given and examples. `k`, `m`, `g`, `t`
//! and `KiB` … are powers of 1024 (as in fio and dd); `KB`, `MB`, `GB`, `TB` are powers of 1000 (as drives are sold).

use crate::time::Duration;
use std::fmt;

/// Error of an invalid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not {what}: {reason}; write it like {example}")]
pub struct UnitError {
    /// The text given.
    pub given: String,
    /// The quantity expected, with its article: `a size`.
    pub what: &'static str,
    /// Why it is invalid.
    pub reason: String,
    /// Valid examples.
    pub example: &'static str,
}

type Units = &'static [(&'static str, f64)];

const SIZES: Units = &[
    ("b", 1.0),
    ("k", 1024.0),
    ("m", 1048576.0),
    ("g", 1073741824.0),
    ("t", 1099511627776.0),
    ("kib", 1024.0),
    ("mib", 1048576.0),
    ("gib", 1073741824.0),
    ("tib", 1099511627776.0),
    ("pib", 1125899906842624.0),
    ("eib", 1152921504606846976.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("s", 512.0),
    ("sectors", 512.0),
];
const TIMES: Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
const RATES: Units = &[
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gb/s", 1e9),
    ("kib/s", 1024.0),
    ("mib/s", 1048576.0),
    ("gib/s", 1073741824.0),
];
const SHARES: Units = &[("%", 0.01)];
const POWERS: Units = &[("mw", 1.0), ("w", 1e3)];
const COUNTS: Units = &[("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9)];

/// A quantity's name, examples and units.
struct Kind {
    what: &'static str,
    example: &'static str,
    units: Units,
}

const SIZE: Kind = Kind { what: "a size", example: "'512B', '4k', '4KiB', '1GiB' or '32GB'", units: SIZES };
const TIME: Kind = Kind { what: "a time", example: "'25us', '1.5ms' or '30s'", units: TIMES };
const RATE: Kind = Kind { what: "a rate", example: "'40MB/s' or '3.5GB/s'", units: RATES };
const SHARE: Kind = Kind { what: "a share", example: "'15%'", units: SHARES };
const POWER: Kind = Kind { what: "a power", example: "'30mW' or '5.5W'", units: POWERS };
const COUNT: Kind = Kind { what: "a count", example: "'32', '100k' or '1M'", units: COUNTS };

/// The most of the smallest unit that a text may say: whole numbers below it fit into 63 bits.
const MOST: f64 = 9e18;

impl Kind {
    fn error(&self, given: &str, reason: impl fmt::Display) -> UnitError {
        UnitError { given: given.into(), what: self.what, reason: reason.to_string(), example: self.example }
    }

    /// Returns the number and the scale of its unit; the caller checks rounding and range.
    fn parse(&self, given: &str) -> Result<(f64, f64), UnitError> {
        let text = given.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
        let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
        if text.starts_with('-') {
            return Err(self.error(given, "it cannot be negative"));
        }
        if number.is_empty() {
            return Err(self.error(given, "it does not begin with a number"));
        }
        let value: f64 =
            number.parse().map_err(|_| self.error(given, format!("'{number}' is not a number")))?;
        let lower = unit.to_lowercase();
        match self.units.iter().find(|(name, _)| *name == lower) {
            Some((_, scale)) => Ok((value, *scale)),
            // Zero is the same in every unit.
            None if unit.is_empty() && value == 0.0 => Ok((0.0, 1.0)),
            None if unit.is_empty() => Err(self.error(given, "the unit is missing")),
            None => Err(self.error(given, format!("'{unit}' is no unit for it"))),
        }
    }

    /// Parses a whole number of the smallest unit.
    fn whole(&self, given: &str) -> Result<u64, UnitError> {
        let (value, scale) = self.parse(given)?;
        let product = value * scale;
        if product > MOST {
            return Err(
                self.error(given, "it is more than 9,000,000,000,000,000,000 of the smallest unit, the most")
            );
        }
        if (product - product.round()).abs() > 1e-6 * product.max(1.0) {
            return Err(self.error(given, "it is not a whole number of the smallest unit"));
        }
        Ok(product.round() as u64)
    }
}

/// A quantity that a number can measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes.
    Size,
    /// Nanoseconds.
    Time,
    /// Bytes per second.
    Rate,
    /// Share of a whole, written in percent.
    Share,
    /// Plain count.
    Count,
}

impl Quantity {
    /// All quantities. Where a unit is ambiguous (`s` is a second and a sector), the likelier quantity comes first.
    pub const ALL: [Self; 5] = [Self::Time, Self::Size, Self::Rate, Self::Share, Self::Count];

    fn kind(self) -> &'static Kind {
        match self {
            Self::Size => &SIZE,
            Self::Time => &TIME,
            Self::Rate => &RATE,
            Self::Share => &SHARE,
            Self::Count => &COUNT,
        }
    }

    /// Returns its name with its article: `a size`.
    pub fn what(self) -> &'static str {
        self.kind().what
    }

    /// Returns the scale of a `unit` in bytes, nanoseconds, bytes per second, wholes or items; `None` where it is not a
    /// unit of this quantity. The unit of a count may be empty.
    pub fn scale(self, unit: &str) -> Option<f64> {
        let unit = unit.to_lowercase();
        self.kind().units.iter().find(|(name, _)| *name == unit).map(|&(_, scale)| scale)
    }

    /// Parses a number in bytes, nanoseconds, bytes per second, wholes or items; not necessarily whole.
    ///
    /// # Errors
    /// [`UnitError`] where the unit is missing or unknown.
    pub fn parse(self, text: &str) -> Result<f64, UnitError> {
        self.kind().parse(text).map(|(value, scale)| value * scale)
    }
}

/// Parses a size in bytes: `512B`, `4k`, `4KiB`, `32GB`, `8 sectors`.
///
/// # Errors
/// [`UnitError`] where the unit is missing or unknown, or the size is not a whole number of bytes below 9e18.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    SIZE.whole(text)
}

/// Parses a time to whole nanoseconds: `25us`, `1.5ms`, `30s`.
///
/// # Errors
/// [`UnitError`] where the unit is missing or unknown, or the time is not a whole number of nanoseconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    TIME.whole(text).map(Duration::from_ns)
}

/// Parses a rate in bytes per second: `40MB/s`.
///
/// # Errors
/// [`UnitError`] where the unit is missing or unknown.
pub fn parse_rate(text: &str) -> Result<u64, UnitError> {
    RATE.whole(text)
}

/// Parses a share between 0 and 1, written in percent: `15%`.
///
/// # Errors
/// [`UnitError`] where the percent sign is missing or the share is outside 0..=100%.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let (value, _) = SHARE.parse(text)?;
    if value > 100.0 {
        return Err(SHARE.error(text, "it is over 100%"));
    }
    // Divided, not scaled by 0.01: then `70%` is the float nearest to 0.7.
    Ok(value / 100.0)
}

/// Parses a power to whole milliwatts: `30mW`, `5.5W`.
///
/// # Errors
/// [`UnitError`] where the unit is missing or unknown, or the power is not a whole number of milliwatts.
pub fn parse_power(text: &str) -> Result<u64, UnitError> {
    POWER.whole(text)
}

/// Parses a plain count: `32`, `100k`, `1M` (powers of 1000).
///
/// # Errors
/// [`UnitError`] where it is not a whole number.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    COUNT.whole(text)
}

/// Formats a size in powers of 1024, with up to two decimals: `4 KiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut exponent = 0;
    while exponent + 1 < UNITS.len() && bytes >= 1 << (10 * (exponent + 1)) {
        exponent += 1;
    }
    let value = bytes as f64 / (1_u64 << (10 * exponent)) as f64;
    let text = format!("{value:.2}");
    format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), UNITS[exponent])
}

/// Formats a size without rounding, in the largest power of 1024 that divides it: `1 MiB`, `1537 KiB`, `1000 B`; in
/// powers of 1000 where that takes more than five digits and these take fewer: `32 GB`. Used in refusals, so that the
/// value given is never shown rounded to an allowed one.
pub fn exact_bytes(bytes: u64) -> String {
    const DECIMAL: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let (binary, unit) = exact_binary(bytes);
    let power = (0..5).rev().find(|&power| bytes.is_multiple_of(1000_u64.pow(power))).unwrap_or(0);
    let decimal = bytes / 1000_u64.pow(power);
    if binary > 99_999 && decimal.to_string().len() < binary.to_string().len() {
        return format!("{decimal} {}", DECIMAL[power as usize]);
    }
    format!("{binary} {unit}")
}

/// Formats sizes that stand in one sentence, as a value and its bound, all in powers of 1024: without rounding where
/// that takes at most five digits for each; else rounded, as [`format_bytes`] does, unless two that differ would look
/// alike then.
pub fn bytes_together<const N: usize>(bytes: [u64; N]) -> [String; N] {
    let exact = bytes.map(exact_binary);
    if exact.iter().all(|(value, _)| *value <= 99_999) {
        return exact.map(|(value, unit)| format!("{value} {unit}"));
    }
    let rounded = bytes.map(format_bytes);
    let look_alike =
        |nth: usize| (0..nth).any(|other| bytes[nth] != bytes[other] && rounded[nth] == rounded[other]);
    if (0..N).any(look_alike) {
        return exact.map(|(value, unit)| format!("{value} {unit}"));
    }
    rounded
}

/// Formats the largest size that is allowed, in powers of 1024 and rounded down: what is shown is allowed too.
pub fn bytes_at_most(bytes: u64) -> String {
    let exponent = bytes.checked_ilog2().unwrap_or(0) / 10;
    // Two decimals.
    let hundredths = (u128::from(bytes) * 100) >> (10 * exponent);
    format_bytes(((hundredths << (10 * exponent)).div_ceil(100)) as u64)
}

/// Returns a size as a multiple of the largest power of 1024 that divides it, and that power's unit.
fn exact_binary(bytes: u64) -> (u64, &'static str) {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let exponent = if bytes == 0 { 0 } else { bytes.trailing_zeros() / 10 };
    (bytes >> (10 * exponent), UNITS[exponent as usize])
}

/// Formats a size for settings, without rounding, as [`exact_bytes`] does: `1MiB`, `1537KiB`. [`parse_bytes`] reads it
/// back, below 1 PiB.
pub fn typed_bytes(bytes: u64) -> String {
    exact_bytes(bytes).replace(' ', "")
}

/// Formats a duration for settings, without rounding, in the largest unit that divides it: `25us`, `1500us`, `30s`.
/// [`parse_duration`] reads it back.
pub fn typed_duration(time: Duration) -> String {
    let ns = time.as_ns();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (scale, unit) =
        units.iter().find(|(scale, _)| ns.is_multiple_of(*scale)).expect("a nanosecond divides everything");
    format!("{}{unit}", ns / scale)
}

/// Formats a rate in decimal megabytes or gigabytes per second, as in papers and data sheets.
pub fn format_rate(bytes_per_s: f64) -> String {
    if bytes_per_s >= 1e9 {
        format!("{:.2} GB/s", bytes_per_s / 1e9)
    } else {
        format!("{:.1} MB/s", bytes_per_s / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_sentence_have_units_of_one_family() {
        assert_eq!(bytes_together([100_000, 63 << 10]), ["97.66 KiB", "63 KiB"]);
        assert_eq!(bytes_together([1537 << 10, 1 << 20]), ["1537 KiB", "1 MiB"]);
        assert_eq!(bytes_together([(63 << 10) + 1, 63 << 10]), ["64513 B", "63 KiB"]);
        assert_eq!(bytes_together([(20 << 20) + 1, 20 << 20]), ["20971521 B", "20 MiB"]);
        assert_eq!(bytes_together([0, u64::MAX]), ["0 B", "16 EiB"]);
    }

    #[test]
    fn size_that_is_shown_as_allowed_is_allowed() {
        assert_eq!(
            [0, 1000, 1_032_151, 20 << 20].map(bytes_at_most),
            ["0 B", "1000 B", "1007.95 KiB", "20 MiB"]
        );
        assert_eq!([(1 << 20) - 1, u64::MAX].map(bytes_at_most), ["1023.99 KiB", "15.99 EiB"]);
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("4k", 4096),
            ("4 KiB", 4096),
            ("4KB", 4000),
            ("1GiB", 1 << 30),
            ("32GB", 32_000_000_000),
            ("512B", 512),
            ("1.5k", 1536),
            ("8 sectors", 4096),
            ("0", 0),
            ("1_024B", 1024),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn typed_duration_is_exact_and_read_back() {
        for (ns, text) in
            [(0, "0s"), (1, "1ns"), (250_000, "250us"), (1_500_000, "1500us"), (30_000_000_000, "30s")]
        {
            assert_eq!(typed_duration(Duration::from_ns(ns)), text);
            assert_eq!(parse_duration(text), Ok(Duration::from_ns(ns)));
        }
    }

    #[test]
    fn number_without_a_unit_is_refused_with_the_reason() {
        let error = parse_bytes("4096").unwrap_err().to_string();
        assert!(
            error.contains("'4096'") && error.contains("unit is missing") && error.contains("'4k'"),
            "{error}"
        );
        for bad in ["", "k", "-4k", "4 bananas", "1.2.3k", "0.3B", "99999999TiB", "4µ"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert!(parse_share("1.5").is_err());
        assert!(parse_share("101%").is_err());
        assert!(parse_count("1.5").is_err());
    }

    #[test]
    fn times_rates_shares_and_counts_are_parsed() {
        // The micro sign, and the Greek letter of some keyboards.
        for text in ["1500us", "1500\u{b5}s", "1500\u{3bc}s"] {
            assert_eq!(parse_duration(text), Ok(Duration::from_us(1500)));
        }
        assert_eq!(parse_duration("1.5ms"), Ok(Duration::from_us(1500)));
        assert_eq!(parse_rate("40MB/s"), Ok(40_000_000));
        assert_eq!(parse_share("15%"), Ok(0.15));
        assert_eq!(parse_count("1M"), Ok(1_000_000));
    }

    #[test]
    fn unit_has_a_scale_only_in_its_quantities() {
        let of =
            |unit: &str| Quantity::ALL.into_iter().filter(|q| q.scale(unit).is_some()).collect::<Vec<_>>();
        assert_eq!(of("MiB"), [Quantity::Size]);
        assert_eq!(of("s"), [Quantity::Time, Quantity::Size]);
        assert_eq!(of("k"), [Quantity::Size, Quantity::Count]);
        assert_eq!(of(""), [Quantity::Count]);
        assert_eq!(of("bananas"), []);
        assert_eq!(Quantity::Time.parse("1.5us"), Ok(1500.0));
        assert!(Quantity::Size.parse("4096").is_err());
    }

    #[test]
    fn exact_sizes_are_not_rounded() {
        for (bytes, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1000, "1000 B"),
            (1024, "1 KiB"),
            (1537 << 10, "1537 KiB"),
            ((20 << 20) - 1, "20971519 B"),
            (20 << 20, "20 MiB"),
            (32_000_000_000, "32 GB"),
            (1_000_000, "1 MB"),
            (40_001_000, "40001 KB"),
            (3 << 60, "3 EiB"),
            (u64::MAX, "18446744073709551615 B"),
        ] {
            assert_eq!(exact_bytes(bytes), text);
            if bytes < 1 << 50 {
                assert_eq!(parse_bytes(&typed_bytes(bytes)), Ok(bytes));
            }
        }
        for bytes in (0..63).flat_map(|shift| [(1_u64 << shift) - 1, 1 << shift, (1 << shift) | 1]) {
            let (number, unit) =
                exact_bytes(bytes).split_once(' ').map(|(n, u)| (n.to_owned(), u.to_owned())).unwrap();
            let scale = Quantity::Size.scale(&unit).unwrap() as u64;
            assert_eq!(number.parse::<u64>().unwrap() * scale, bytes, "exactly");
        }
    }

    #[test]
    fn formatted_sizes_are_read_back() {
        for bytes in [0, 1, 512, 4096, 1536, 1 << 30, 3 << 40, 5 << 50, 3 << 60] {
            assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
        }
    }
}
