//! Records: keys and values of numbers.
//!
//! The key of a record is `user` and the hash of its number, so that records inserted one after the other lie apart. A
//! value begins with the number of its record; the rest does not compress.

use flashlane_base::{Random, Seed};
use flashlane_store::Slices;

/// Bytes of random data of which values take a part.
const POOL_BYTES: usize = 1 << 20;
/// Bytes of the number at the beginning of a value.
pub const NUMBER_BYTES: usize = 8;

/// Hashes a number as YCSB does: FNV-1a over its bytes from the lowest on, as a number without its sign.
pub fn hash(mut number: u64) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for _ in 0..8 {
        hash = (hash ^ (number & 0xff)).wrapping_mul(0x0100_0000_01b3);
        number >>= 8;
    }
    (hash as i64).unsigned_abs()
}

/// Returns the key of a record.
pub fn key(number: u64) -> Vec<u8> {
    format!("user{}", hash(number)).into_bytes()
}

/// Parts the keys of records about evenly into `count` slices: hashes are even up to 2^63, and nine of ten have as many
/// digits as that.
///
/// # Panics
/// If `count` is 0.
pub fn slices(count: u32) -> Slices {
    assert!(count > 0, "a store has a slice");
    let bound = |nth: u32| format!("user{:019}", (u64::from(nth) << 32) / u64::from(count) * (1 << 31));
    let bytes = |nth: u32| if nth == 0 { Vec::new() } else { bound(nth).into_bytes() };
    Slices { bounds: (0..count).map(bytes).collect() }
}

/// Makes values.
pub struct Values {
    pool: Vec<u8>,
    bytes: usize,
    random: Random,
}

impl Values {
    /// Values have `bytes` bytes, at least [`NUMBER_BYTES`].
    pub fn new(bytes: usize, seed: Seed) -> Self {
        assert!(bytes >= NUMBER_BYTES, "a value has room for its number");
        let mut random = seed.derive("values").source();
        let words = POOL_BYTES.max(2 * bytes).div_ceil(8);
        let pool = (0..words).flat_map(|_| random.bits().to_le_bytes()).collect();
        Self { pool, bytes, random }
    }

    /// Returns a new value of a record.
    pub fn value(&mut self, number: u64) -> Vec<u8> {
        let rest = self.bytes - NUMBER_BYTES;
        let at = self.random.below((self.pool.len() - rest) as u64) as usize;
        [&number.to_le_bytes()[..], &self.pool[at..at + rest]].concat()
    }

    /// Returns whether a value is one of a record.
    pub fn is_of(&self, number: u64, value: &[u8]) -> bool {
        value.len() == self.bytes && value.starts_with(&number.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YCSB's `Utils.fnvhash64`, worked out with Python.
    #[test]
    fn hashes_are_those_of_ycsb() {
        assert_eq!(key(0), b"user6284781860667377211");
        assert_eq!(key(1), b"user8517097267634966620");
    }

    #[test]
    fn slices_take_similar_parts_of_the_records() {
        let bounds = slices(4).bounds;
        let mut counts = [0_u64; 4];
        for number in 0..10_000 {
            let key = key(number);
            counts[bounds.iter().filter(|bound| **bound <= key).count() - 1] += 1;
        }
        assert!(counts.iter().all(|count| (1500..3500).contains(count)), "{counts:?}");
    }

    #[test]
    fn value_is_known_by_its_record() {
        let mut values = Values::new(100, Seed(1));
        let value = values.value(7);
        assert!(values.is_of(7, &value) && !values.is_of(8, &value) && !values.is_of(7, &value[..99]));
        assert_ne!(value, values.value(7), "each is new");
    }
}
