//! Decimal numbers with nine places, so that the steps of a range are exact: 0.1 + 0.2 is 0.3.

use std::fmt;

/// Decimal places.
const PLACES: usize = 9;
const ONE: i128 = 1_000_000_000;

/// A non-negative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decimal(i128);

impl Decimal {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(ONE);

    /// Parses digits with at most one point, as in `1_024` or `0.5`; `None` for other text, and beyond nine places.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', "");
        let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + part.len() == 0 || !digits(whole) || !digits(part) || part.len() > PLACES {
            return None;
        }
        // No quantity is larger than a 64-bit number: 27 digits leave room to multiply.
        if whole.trim_start_matches('0').len() > 18 {
            return None;
        }
        let whole: i128 = format!("0{whole}").parse().ok()?;
        let part: i128 = format!("{part:0<PLACES$}").parse().ok()?;
        Some(Self(whole * ONE + part))
    }

    pub fn whole(number: u64) -> Self {
        Self(i128::from(number) * ONE)
    }

    /// Adds; `None` on overflow.
    pub fn plus(self, other: Self) -> Option<Self> {
        Some(Self(self.0.checked_add(other.0)?))
    }

    /// Multiplies, rounded to the ninth place; `None` on overflow.
    pub fn times(self, other: Self) -> Option<Self> {
        Some(Self((self.0.checked_mul(other.0)? + ONE / 2) / ONE))
    }

    /// Returns the number of `unit`, where that is whole.
    pub fn in_whole(self, unit: Self) -> Option<Self> {
        (unit.0 > 0 && self.0 % unit.0 == 0).then(|| Self(self.0 / unit.0 * ONE))
    }

    /// Returns the number of `unit`, rounded to the ninth place.
    pub fn over(self, unit: Self) -> Option<Self> {
        Some(Self((self.0.checked_mul(ONE)? + unit.0 / 2) / unit.0))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:0PLACES$}", self.0 / ONE, self.0 % ONE);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_trip_and_other_text_is_refused() {
        for (text, written) in [("0", "0"), ("1_024", "1024"), ("0.50", "0.5"), (".25", "0.25"), ("7.", "7")]
        {
            assert_eq!(Decimal::parse(text).map(|number| number.to_string()).as_deref(), Some(written));
        }
        for bad in ["", ".", "-1", "1e3", "1.2.3", "0.0000000001", "1234567890123456789", "٣"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn tenths_add_up_exactly() {
        let tenth = Decimal::parse("0.1").unwrap();
        let sum = tenth.plus(tenth).and_then(|sum| sum.plus(tenth)).unwrap();
        assert_eq!(sum, Decimal::parse("0.3").unwrap());
        assert_eq!(sum.times(Decimal::whole(10)), Some(Decimal::whole(3)));
        assert_eq!(Decimal::whole(1536).in_whole(Decimal::whole(1024)), None);
        assert_eq!(Decimal::whole(1536).over(Decimal::whole(1024)), Decimal::parse("1.5"));
    }
}
