//! fio's notation of values: sizes in powers of 1024 with one letter, times in seconds or microseconds.

use flashlane_base::Duration;

/// The meaning of `k`: `kb_base` of the job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// `k` and `kb` are 1024, `kib` is 1000: fio's default, the reverse of the usual meaning.
    Binary,
    /// `k` and `kb` are 1000, `kib` is 1024.
    Decimal,
}

/// A size, or a share of the available bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    Bytes(u64),
    Percent(f64),
}

pub(super) fn size(text: &str, base: Base) -> Result<Size, String> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| format!("'{text}' is not a size"))?;
        let allowed = percent > 0.0 && percent <= 100.0;
        return if allowed { Ok(Size::Percent(percent)) } else { Err(format!("'{text}': above 0% to 100%")) };
    }
    bytes(text, base).map(Size::Bytes)
}

pub(super) fn bytes(text: &str, base: Base) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size as fio writes it, as in 4k, 128m or 1g");
    let lower = text.to_ascii_lowercase();
    let split = lower.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(lower.len());
    let number: f64 = lower[..split].parse().map_err(|_| wrong())?;
    let unit = lower[split..].trim();
    let (power, rest) = match unit.chars().next() {
        None => (0, ""),
        Some('b') => (0, unit),
        Some(letter) => (1 + "kmgtp".find(letter).ok_or_else(wrong)?, &unit[1..]),
    };
    let decimal = match rest {
        "" | "b" => base == Base::Decimal,
        "ib" if power > 0 => base == Base::Binary,
        _ => return Err(wrong()),
    };
    let product = number * if decimal { 1000_f64 } else { 1024_f64 }.powi(power as i32);
    if product.fract() != 0.0 || product > 9e18 {
        return Err(wrong());
    }
    Ok(product as u64)
}

/// A time without a unit is in `unit_us` microseconds.
pub(super) fn time(text: &str, unit_us: u64) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a time as fio writes it, as in 30, 30s, 5m or 100ms");
    let lower = text.to_ascii_lowercase();
    let split = lower.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(lower.len());
    let number: f64 = lower[..split].parse().map_err(|_| wrong())?;
    let us = match lower[split..].trim() {
        "" => unit_us as f64,
        "us" | "usec" => 1.0,
        "ms" | "msec" => 1e3,
        "s" | "sec" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        "d" => 86_400e6,
        _ => return Err(wrong()),
    };
    let ns = number * us * 1e3;
    if ns > 9e18 { Err(wrong()) } else { Ok(Duration::from_ns(ns as u64)) }
}

pub(super) fn number(text: &str, most: u64) -> Result<u64, String> {
    match bytes(text, Base::Decimal) {
        Ok(number) if number <= most => Ok(number),
        Ok(_) => Err(format!("'{text}' is too many: at most {most}")),
        Err(_) => Err(format!("'{text}' is not a number")),
    }
}

/// A switch: bare or 1, or 0.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("'{text}' is neither 0 nor 1")),
    }
}
