//! Distinguishes what is left of a record from other data that has replaced it.
//!
//! A record may be written anew only where no other data is lost. Its place holds *remains* where each sector, the
//! smallest length that devices write atomically, is as expected, or empty: zeros (never written, or discarded), or
//! ones (erased). Over all sectors, one byte may be wrong, as on a damaged medium; zeros in place of bytes are no data.
//! Two wrong bytes are other data. Superblocks of lanes and blocks and the header of a store's log use this rule; the
//! log's pages and marks, whose content is not known beforehand, allow one wrong byte likewise, but no ones.

/// Smallest length that devices write atomically.
pub const SECTOR_BYTES: usize = 512;

/// Number of bytes of a record that may be wrong.
pub const WRONG_BYTES_MAX: usize = 1;

/// Counts the bytes that are neither as expected nor zero.
pub fn wrong_bytes(found: &[u8], expected: &[u8]) -> usize {
    found.iter().zip(expected).filter(|&(&found, &expected)| found != expected && found != 0).count()
}

/// Returns whether the place of a record holds remains of it. Both begin where a sector does, and have the same length.
pub fn is_remains(found: &[u8], expected: &[u8]) -> bool {
    let is_erased = |sector: &[u8]| sector.iter().all(|&byte| byte == 0xff);
    let sectors = found.chunks(SECTOR_BYTES).zip(expected.chunks(SECTOR_BYTES));
    let wrong =
        sectors.filter(|(found, _)| !is_erased(found)).map(|(found, expected)| wrong_bytes(found, expected));
    wrong.sum::<usize>() <= WRONG_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_byte_is_damage_and_two_are_other_data() {
        let expected: Vec<u8> = (0..1200_u32).map(|nth| 1 + (nth % 200) as u8).collect();
        for (at, bytes, is_damage) in [
            (0, &b""[..], true),
            (700, b"\xfe", true),
            (511, b"\xfe\xfe", false),
            (300, &[0; 600], true),
            (512, &[0xff; 512], true),
            (512, &[0xff; 511], false),
        ] {
            let mut found = expected.clone();
            found[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(is_remains(&found, &expected), is_damage, "{} bytes at {at}", bytes.len());
        }
        let mut apart = expected.clone();
        (apart[3], apart[1199]) = (0xfe, 0xfe);
        assert!(!is_remains(&apart, &expected));
    }
}
