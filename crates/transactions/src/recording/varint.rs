//! Numbers in as few bytes as they need: seven bits a byte, the lowest first, the high bit set in all but the last
//! (LEB128). Differences are folded so that small negative ones are short too (zigzag).

/// Most bytes of a number.
pub(super) const BYTES_MOST: usize = 10;

/// Appends a number.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the front of `bytes`; `None` where they end within it, or it has more than 64 bits.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    let mut value = 0;
    for (nth, &byte) in bytes.iter().take(BYTES_MOST).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if nth == BYTES_MOST - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * nth);
        if byte < 0x80 {
            *bytes = &bytes[nth + 1..];
            return Some(value);
        }
    }
    None
}

/// Folds a difference.
#[inline]
pub(super) const fn fold(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// Unfolds a difference.
#[inline]
pub(super) const fn unfold(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_their_bytes() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn cut_and_overlong_numbers_are_refused() {
        for bytes in
            [&[][..], &[0x80], &[255; 9], &[255, 255, 255, 255, 255, 255, 255, 255, 255, 2], &[0x80; 11]]
        {
            assert_eq!(take(&mut &bytes[..]), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(value: u64, difference: i64, rest: Vec<u8>) {
            let mut out = Vec::new();
            put(&mut out, value);
            out.extend(&rest);
            let mut bytes = &out[..];
            prop_assert_eq!(take(&mut bytes), Some(value));
            prop_assert_eq!(bytes, &rest[..]);
            prop_assert_eq!(unfold(fold(difference)), difference);
        }
    }
}
