//! Parser of a line's fields in one pass over its bytes: whole numbers eight digits at a time, decimals without
//! floating point, without allocation.
//!
//! Fields are inlined into each format's loop (`inline(always)`): a call per field would cost a fifth of the time.
//!
//! A cursor is in a block of complete lines, so that every scan ends at a line's end at the latest; [`SLACK`] more
//! bytes follow the last line, so that eight bytes can be loaded from any place.

use crate::sink::{Given, Reason};

/// Bytes after the last line that can be loaded, with any content.
pub(crate) const SLACK: usize = 16;

/// Separator after the last required field: the end of the line, or a comma.
pub(crate) const END_OR_COMMA: u8 = 0;
/// Separator after the last required field: the end of the line, or blanks.
pub(crate) const END_OR_BLANK: u8 = 1;

const POWERS: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut i = 1;
    while i < 20 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

const WHOLE: &str = "a whole number below 2^64, without a sign";
const SMALL: &str = "a whole number below 2^32, without a sign";
const DECIMAL: &str = "a decimal without a sign or an exponent, below 584 years";
const WORD: &str = "a word";

/// A place in a block of lines.
pub(crate) struct Cursor<'a> {
    pub block: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn peek(&self) -> u8 {
        self.block[self.at]
    }

    #[inline]
    pub fn is_at_end(&self) -> bool {
        matches!(self.peek(), b'\n' | b'\r')
    }

    #[inline]
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
    }

    /// Goes to the next line's first byte; `\n`, `\r\n` and `\r` end a line.
    #[inline]
    pub fn next_line(&mut self) {
        let mut byte = self.peek();
        if byte != b'\n' && byte != b'\r' {
            let rest = &self.block[self.at..];
            self.at += memchr::memchr2(b'\n', b'\r', rest).expect("the block ends with a line's end");
            byte = self.peek();
        }
        self.at += 1;
        if byte == b'\r' && self.peek() == b'\n' {
            self.at += 1;
        }
    }

    /// Reads up to eight digits without moving: their value and number.
    #[inline]
    fn eight(&self) -> (u64, usize) {
        let bytes = self.block[self.at..self.at + 8].try_into().expect("eight bytes are eight");
        let raw = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
        // The highest bit of each byte that is not a digit; carries reach only bytes after the first of these.
        let other = (raw.wrapping_add(0x7676_7676_7676_7676) | raw) & 0x8080_8080_8080_8080;
        let digits = other.trailing_zeros() as usize / 8;
        if digits == 0 {
            return (0, 0);
        }
        // The first digits are the least significant bytes: shifting up puts zeros before them.
        let mut value = raw << (64 - 8 * digits);
        value = value.wrapping_mul(10).wrapping_add(value >> 8) & 0x00ff_00ff_00ff_00ff;
        value = value.wrapping_mul(100).wrapping_add(value >> 16) & 0x0000_ffff_0000_ffff;
        (value.wrapping_mul(10_000).wrapping_add(value >> 32) & 0xffff_ffff, digits)
    }

    /// Reads digits: their value and number; `None` where the value does not fit.
    #[inline(always)]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let (mut value, mut count) = self.eight();
        self.at += count;
        if count == 8 {
            let (next, more) = self.eight();
            value = value * POWERS[more] + next;
            count += more;
            self.at += more;
            if more == 8 {
                return self.many_digits(value);
            }
        }
        Some((value, count))
    }

    /// Reads the rest of a number after sixteen digits.
    fn many_digits(&mut self, mut value: u64) -> Option<(u64, usize)> {
        let mut count = 16;
        loop {
            let (next, more) = self.eight();
            value = value.checked_mul(POWERS[more])?.checked_add(next)?;
            count += more;
            self.at += more;
            if more < 8 {
                return Some((value, count));
            }
        }
    }

    /// Reads a whole number and the separator after it.
    #[inline(always)]
    pub fn number(&mut self, what: &'static str, separator: u8) -> Result<u64, Reason> {
        let from = self.at;
        match self.digits() {
            Some((value, 1..)) if self.take(separator) => Ok(value),
            Some((_, 1..)) => Err(self.stopped(from, what, WHOLE)),
            _ => Err(self.refusal(from, what, WHOLE)),
        }
    }

    /// Reads a whole number of at most 32 bits and the separator after it.
    #[inline(always)]
    pub fn small(&mut self, what: &'static str, separator: u8) -> Result<u32, Reason> {
        let from = self.at;
        match self.digits() {
            Some((value, 1..)) if value <= u64::from(u32::MAX) && self.take(separator) => Ok(value as u32),
            Some((value, 1..)) if value <= u64::from(u32::MAX) => Err(self.stopped(from, what, SMALL)),
            _ => Err(self.refusal(from, what, SMALL)),
        }
    }

    /// Reads a decimal in units of 10^`exponent` ns, and the separator after it; drops digits below a nanosecond.
    #[inline(always)]
    pub fn decimal_ns(&mut self, what: &'static str, exponent: usize, separator: u8) -> Result<u64, Reason> {
        let from = self.at;
        let whole = self.digits();
        let mut fraction = 0;
        let mut any = matches!(whole, Some((_, 1..)));
        if self.peek() == b'.' {
            self.at += 1;
            let (value, count) = self.eight();
            self.at += count;
            any |= count > 0;
            fraction = if count <= exponent {
                value * POWERS[exponent - count]
            } else {
                value / POWERS[count - exponent]
            };
            if count == 8 {
                let (value, count) = self.eight();
                self.at += count;
                if exponent > 8 {
                    fraction += value * POWERS[8] / POWERS[count] / POWERS[16 - exponent];
                }
                while self.peek().is_ascii_digit() {
                    self.at += 1;
                }
            }
        }
        let ns = whole
            .and_then(|(whole, _)| whole.checked_mul(POWERS[exponent]))
            .and_then(|ns| ns.checked_add(fraction));
        match ns {
            Some(ns) if any && self.take(separator) => Ok(ns),
            Some(_) if any => Err(self.stopped(from, what, DECIMAL)),
            _ => Err(self.refusal(from, what, DECIMAL)),
        }
    }

    /// Reads a field's bytes and the separator after it.
    #[inline(always)]
    pub fn word(&mut self, what: &'static str, separator: u8) -> Result<&'a [u8], Reason> {
        let from = self.at;
        while !matches!(self.peek(), b'\n' | b'\r' | b'\t' | b' ' | b',') {
            self.at += 1;
        }
        let to = self.at;
        if to == from {
            return Err(self.refusal(from, what, WORD));
        }
        if !self.take(separator) {
            return Err(self.stopped(from, what, WORD));
        }
        Ok(&self.block[from..to])
    }

    /// Reads a separator: a comma with blanks around it, blanks, or the line's end (`\n`), which is not consumed.
    #[inline]
    fn take(&mut self, separator: u8) -> bool {
        if self.peek() == separator {
            if separator == b'\n' {
                return true;
            }
            self.at += 1;
            if !matches!(self.peek(), b' ' | b'\t') {
                return true;
            }
            self.skip_blanks();
            return true;
        }
        self.take_slowly(separator)
    }

    #[cold]
    fn take_slowly(&mut self, separator: u8) -> bool {
        let from = self.at;
        self.skip_blanks();
        match separator {
            b' ' => self.at > from && !self.is_at_end(),
            b'\n' => self.is_at_end(),
            END_OR_BLANK => self.is_at_end() || self.at > from,
            END_OR_COMMA => self.is_at_end() || self.peek() == b',',
            other if self.peek() == other => {
                self.at += 1;
                self.skip_blanks();
                true
            }
            _ => false,
        }
    }

    /// Returns why the text after a valid field is wrong.
    #[cold]
    fn stopped(&mut self, from: usize, what: &'static str, allowed: &'static str) -> Reason {
        let field_end = self.field_end(from);
        if self.at < field_end {
            return self.refusal(from, what, allowed);
        }
        if self.is_at_end() {
            let given = Given::Bytes(self.at, self.at);
            return Reason { what: "the rest of the line", given, allowed: "all fields of the format" };
        }
        let given = Given::Bytes(self.at, self.line_end());
        Reason { what: "what follows in the line", given, allowed: "as the format has it" }
    }

    fn field_end(&self, from: usize) -> usize {
        let stop = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'\t' | b' ' | b',');
        from + self.block[from..].iter().position(stop).unwrap_or(0)
    }

    fn line_end(&self) -> usize {
        self.at + memchr::memchr2(b'\n', b'\r', &self.block[self.at..]).unwrap_or(0)
    }

    /// Returns a reason that shows the field from `from` on.
    #[cold]
    pub fn refusal(&self, from: usize, what: &'static str, allowed: &'static str) -> Reason {
        Reason { what, given: Given::Bytes(from, self.field_end(from)), allowed }
    }
}
