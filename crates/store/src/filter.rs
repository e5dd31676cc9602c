//! Filters of patches: a blocked Bloom filter, which says of a key that a patch does not hold it, or may.
//!
//! After Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (JEA 14, 2009, section 3): all
//! bits of a key lie in one block of 512 bits, so that a query touches one cache line. At [`BITS_PER_KEY`] bits a key
//! and [`PROBES`] probes about 1% of absent keys pass; an unblocked filter of that size lets 0.9% pass.
//!
//! Keys with large values are few, and a read in vain costs much where many runs may hold a key. So a filter has at
//! least a 4096th of the bytes of the device's block: for values of 16 KiB 32 bits a key, of which one in 20,000 absent
//! keys passes.
//!
//! The hash is part of the format on the device: it MUST NOT change within a version.

/// Bits of a filter for each key.
pub(crate) const BITS_PER_KEY: u64 = 10;
/// Bits that a key sets.
const PROBES: u32 = 6;
/// Words of a block.
const BLOCK_WORDS: usize = 8;

/// A filter has at least the bytes of a device's block over this.
const LEAST_SHARE: u64 = 4096;

/// A filter over the keys of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    words: Box<[u64]>,
}

/// Returns the bytes of a filter over `keys` keys in a block of the device of `block_bytes`.
pub(crate) fn filter_bytes(keys: u64, block_bytes: u64) -> u64 {
    blocks(keys, block_bytes) * BLOCK_WORDS as u64 * 8
}

/// Returns its blocks.
fn blocks(keys: u64, block_bytes: u64) -> u64 {
    let least = block_bytes / LEAST_SHARE / (BLOCK_WORDS as u64 * 8);
    (keys * BITS_PER_KEY).div_ceil(BLOCK_WORDS as u64 * 64).max(least)
}

impl Filter {
    /// Builds the filter over keys with these hashes, for a block of the device of `block_bytes`.
    pub(crate) fn new(hashes: &[u64], block_bytes: u64) -> Self {
        let blocks = blocks(hashes.len() as u64, block_bytes) as usize;
        let mut words = vec![0_u64; blocks * BLOCK_WORDS].into_boxed_slice();
        for &hash in hashes {
            let (block, bits) = place(hash, words.len() / BLOCK_WORDS);
            bits.for_each(|bit| words[block * BLOCK_WORDS + bit / 64] |= 1 << (bit % 64));
        }
        Self { words }
    }

    /// Returns whether the key with this hash may be among those of the filter.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let (block, mut bits) = place(hash, self.words.len() / BLOCK_WORDS);
        bits.all(|bit| self.words[block * BLOCK_WORDS + bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Bytes in memory and on the device.
    pub(crate) fn len_bytes(&self) -> usize {
        self.words.len() * 8
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    /// Returns `None` where the length is no filter's.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let is_whole = bytes.len().is_multiple_of(BLOCK_WORDS * 8);
        is_whole.then(|| Self { words: bytes.chunks_exact(8).map(word).collect() })
    }
}

/// Returns the block of a hash and the bits of the key in it.
fn place(hash: u64, blocks: usize) -> (usize, impl Iterator<Item = usize>) {
    let block = ((u128::from(hash) * blocks as u128) >> 64) as usize;
    // The block is chosen by the high bits, the bits within by a product that mixes the low ones upwards.
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (block, (0..PROBES).map(move |probe| (mixed >> (64 - 9 * (probe + 1)) & 511) as usize))
}

/// Hashes a key: eight bytes at a time through a 128-bit product, as wyhash does.
pub(crate) fn hash_key(key: &[u8]) -> u64 {
    const SECRET: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product ^ (product >> 64)) as u64
    };
    let mut hash = fold(key.len() as u64 ^ SECRET[0], SECRET[1]);
    let step = |hash: u64, piece: u64| fold(hash ^ piece ^ SECRET[0], SECRET[1] ^ hash.rotate_left(32));
    let (pieces, rest) = key.as_chunks();
    for piece in pieces {
        hash = step(hash, u64::from_le_bytes(*piece));
    }
    // Zeros fill up the last piece.
    if !rest.is_empty() {
        hash = step(hash, rest.iter().rfold(0, |piece, &byte| piece << 8 | u64::from(byte)));
    }
    fold(hash ^ SECRET[1], SECRET[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    fn passing(keys: u64, key: impl Fn(u64) -> Vec<u8>) -> f64 {
        let hashes: Vec<u64> = (0..keys).map(|nth| hash_key(&key(nth))).collect();
        let filter = Filter::new(&hashes, 8 << 20);
        assert!(hashes.iter().all(|&hash| filter.may_hold(hash)), "a key of the filter is denied");
        assert_eq!(filter.len_bytes() as u64, filter_bytes(keys, 8 << 20));
        let absent = keys..keys + 200_000;
        absent.clone().filter(|&nth| filter.may_hold(hash_key(&key(nth)))).count() as f64
            / absent.count() as f64
    }

    #[test]
    fn filter_passes_one_absent_key_in_a_hundred() {
        type KeyOf = Box<dyn Fn(u64) -> Vec<u8>>;
        let seed = Seed(3);
        let shapes: [(&str, KeyOf); 4] = [
            ("numbers", Box::new(|nth| nth.to_be_bytes().to_vec())),
            ("text", Box::new(|nth| format!("user{nth:012}").into_bytes())),
            ("long", Box::new(|nth| format!("{}{nth}", "x".repeat(200)).into_bytes())),
            ("random", Box::new(move |nth| seed.derive_nth("key", nth).0.to_le_bytes().repeat(2))),
        ];
        for (name, key) in shapes {
            let share = passing(8000, &key);
            assert!(share < 0.014, "{name}: {:.2}% of absent keys pass", share * 100.0);
            let share = passing(500, &key);
            assert!(share < 0.0005, "{name}, large values: {:.3}% of absent keys pass", share * 100.0);
        }
    }

    #[test]
    fn hash_is_that_of_the_format() {
        let hashes = [&b""[..], b"a", b"a\0", b"12345678", b"123456789"].map(hash_key);
        assert_eq!(hashes, GOLDEN);
    }

    const GOLDEN: [u64; 5] = [
        15_558_508_194_007_070_862,
        10_047_329_888_948_223_560,
        11_524_837_771_038_765_254,
        5_760_502_096_328_128_168,
        6_953_836_449_897_054_279,
    ];

    #[test]
    fn empty_filter_holds_nothing_and_decodes() {
        let filter = Filter::new(&[], 2048);
        assert!(!filter.may_hold(hash_key(b"a")));
        let mut bytes = Vec::new();
        Filter::new(&[1, 2, 3], 2048).encode(&mut bytes);
        assert_eq!(Filter::decode(&bytes), Some(Filter::new(&[1, 2, 3], 2048)));
        assert_eq!((Filter::decode(&[]), Filter::decode(&bytes[1..])), (Some(filter), None));
    }
}
