//! Encoding of records, and the information that a format cannot hold.

use crate::Record;
use flashlane_base::Operation;
use std::fmt;

/// Information of a record that a format cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The request: the format has no such operation.
    Operation(Operation),
    /// The request: the format counts sectors of 512 bytes, and it is not made of whole ones.
    Unaligned,
    /// Digits of its time beyond the format's resolution.
    Time,
    /// Its time before the trace's first request, at which the format's clock begins.
    Before,
    /// Its duration, or digits of it.
    Took,
    /// Its durability.
    Durable,
}

impl Loss {
    /// Returns whether the whole request is left out.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Operation(_) | Self::Unaligned)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(operation) => write!(f, "left out: the format has no {operation}"),
            Self::Unaligned => f.write_str("left out: not of whole sectors of 512 bytes"),
            Self::Time => f.write_str("with the time rounded down to the format's step"),
            Self::Before => f.write_str("earlier than the first request, written at its time"),
            Self::Took => f.write_str("with the response time lost or rounded down"),
            Self::Durable => f.write_str("no longer marked as durable"),
        }
    }
}

/// The encoder of a format.
pub(crate) trait Encode: Send {
    /// Appends the record's line, or returns why it cannot be written.
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss>;
}

/// Appends a whole number.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends nanoseconds as a decimal in units of 10^`exponent` ns, with all decimal places.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, ns: u64, exponent: u32) {
    let unit = 10_u64.pow(exponent);
    number(out, ns / unit);
    out.push(b'.');
    let mut rest = ns % unit;
    let start = out.len();
    out.resize(start + exponent as usize, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Returns a record's address and length in sectors of 512 bytes.
#[inline]
pub(crate) fn sectors(record: &Record) -> Result<(u64, u64), Loss> {
    if !(record.offset_bytes | record.length_bytes).is_multiple_of(512) {
        return Err(Loss::Unaligned);
    }
    Ok((record.offset_bytes / 512, record.length_bytes / 512))
}
