//! Numbers with a fraction, for INCRBYFLOAT and HINCRBYFLOAT.
//!
//! Redis adds them with 80 bits and prints 17 digits behind the point, so that 0.1 and 0.2 are 0.3. Here numbers are
//! added as decimals up to this number of digits, and with 64 bits where one is too large for that.

/// Digits behind the point.
const DIGITS: usize = 17;
const ONE: i128 = 10_i128.pow(DIGITS as u32);

/// Parses a number as Redis does, but for hexadecimal ones.
pub fn parse(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!number.is_nan()).then_some(number)
}

/// Returns the sum of two numbers that can be [parsed](parse), without an exponent and without zeros at the end; `None`
/// where it is not finite.
pub fn sum(a: &[u8], b: &[u8]) -> Option<String> {
    let sum = decimal(a).zip(decimal(b)).and_then(|(a, b)| a.checked_add(b));
    match sum {
        Some(sum) => Some(print(sum)),
        None => {
            let sum = parse(a)? + parse(b)?;
            // Without the sign of a zero.
            sum.is_finite().then(|| format!("{}", sum + 0.0))
        }
    }
}

/// Returns a number in units of its last digit.
fn decimal(text: &[u8]) -> Option<i128> {
    let number = parse(text).filter(|number| number.is_finite())?;
    let given = std::str::from_utf8(text).ok()?;
    let has_exponent = given.contains(['e', 'E']);
    let plain = if has_exponent { format!("{number}") } else { given.to_owned() };
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.len() > DIGITS {
        return None;
    }
    let read = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i128>().ok() };
    let fraction = read(&format!("{fraction:0<DIGITS$}"))?;
    let whole = read(whole)?.checked_mul(ONE)?;
    Some(sign * whole.checked_add(fraction)?)
}

fn print(number: i128) -> String {
    let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
    let (whole, fraction) = (size / ONE.unsigned_abs(), size % ONE.unsigned_abs());
    let fraction = format!("{fraction:0DIGITS$}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_redis() {
        for (a, b, expected) in [
            ("0.1", "0.2", Some("0.3")),
            ("10.50", "0.1", Some("10.6")),
            ("5.0e3", "2.0e2", Some("5200")),
            ("-0.5", "0.5", Some("0")),
            ("-1.25", "-0.5", Some("-1.75")),
            ("3", "0", Some("3")),
            (".5", "1.", Some("1.5")),
            ("9223372036854775807", "100", Some("9223372036854775907")),
            ("1e300", "1", Some(&*format!("1{}", "0".repeat(300)))),
            ("1e308", "1e308", None),
            ("inf", "1", None),
        ] {
            let sum = sum(a.as_bytes(), b.as_bytes());
            assert_eq!(sum.as_deref(), expected, "{a} + {b}");
        }
        for wrong in ["", "x", "1 ", " 1", "nan", "1.5.5", "0x10"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
