//! What every store is asked: keys, values, and the operations of each phase, the same for all.

use clap::ValueEnum;
use flashlane_base::Seed;
use serde::{Deserialize, Serialize};

/// Number of random bytes of which values are parts; they do not compress.
const POOL_BYTES: usize = 8 << 20;
/// Bytes at the beginning of a value that name its key.
const MARK_BYTES: usize = 8;

/// A part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// An empty store takes all keys in their order.
    LoadInOrder,
    /// An empty store takes all keys in random order.
    LoadAtRandom,
    /// Gets of keys that are there.
    ReadRandom,
    /// Gets of keys that are not.
    ReadMissing,
    /// Entries in order from random keys on.
    Scan,
    /// Puts of keys that are there.
    Overwrite,
    /// Gets and puts by halves.
    Mixed,
}

impl Phase {
    /// All phases, in their order: those behind `LoadAtRandom` work on what it stored.
    pub const ALL: [Self; 7] = [
        Self::LoadInOrder,
        Self::LoadAtRandom,
        Self::ReadRandom,
        Self::ReadMissing,
        Self::Scan,
        Self::Overwrite,
        Self::Mixed,
    ];

    /// Returns whether it begins with an empty store.
    pub fn is_load(self) -> bool {
        matches!(self, Self::LoadInOrder | Self::LoadAtRandom)
    }

    /// Returns whether it writes.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::ReadRandom | Self::ReadMissing | Self::Scan)
    }
}

/// An operation on a key, which is a number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Stores the key's value.
    Put(u64),
    /// Gets a key that is there.
    Get(u64),
    /// Gets a key that is not, next to the one with this number.
    Miss(u64),
    /// Reads entries from a key on.
    Scan(u64),
}

impl Operation {
    /// Returns the number of its key.
    pub fn number(self) -> u64 {
        let (Self::Put(number) | Self::Get(number) | Self::Miss(number) | Self::Scan(number)) = self;
        number
    }
}

/// The data, and how it is accessed.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Keys of the store.
    pub keys: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Entries of a scan.
    pub scan_entries: usize,
    order: Vec<u32>,
    pool: Vec<u8>,
}

impl Workload {
    /// Values of `value_bytes`, together at most `bytes` and `keys_max` of them.
    pub fn new(value_bytes: usize, bytes: u64, keys_max: u64) -> Self {
        let keys = (bytes / value_bytes as u64).clamp(16, keys_max);
        let mut random = Seed(1).derive("order").source();
        let mut order: Vec<u32> = (0..keys as u32).collect();
        for nth in (1..order.len()).rev() {
            order.swap(nth, random.below(nth as u64 + 1) as usize);
        }
        let mut random = Seed(1).derive("values").source();
        let pool = (0..POOL_BYTES / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes()).collect();
        let scan_entries = if value_bytes <= 1024 { 100 } else { 16 };
        Self { keys, value_bytes, scan_entries, order, pool }
    }

    /// Bytes of a key with its value.
    pub fn entry_bytes(&self) -> u64 {
        16 + self.value_bytes as u64
    }

    /// Returns the number of operations of a phase.
    pub fn operations(&self, phase: Phase) -> u64 {
        match phase {
            Phase::LoadInOrder | Phase::LoadAtRandom | Phase::Overwrite => self.keys,
            Phase::ReadRandom | Phase::ReadMissing | Phase::Mixed => (self.keys / 2).max(8),
            Phase::Scan => (self.keys / 2 / self.scan_entries as u64).max(8),
        }
    }

    /// Returns the `nth` operation of a phase.
    pub fn operation(&self, phase: Phase, nth: u64) -> Operation {
        // Of another order than the load, so that a phase does not repeat the history of what it reads.
        let other = u64::from(self.order[((nth * 7 + 3) % self.keys) as usize]);
        let drawn = mix(nth ^ (phase as u64) << 56) % self.keys;
        match phase {
            Phase::LoadInOrder => Operation::Put(nth),
            Phase::LoadAtRandom => Operation::Put(self.order[nth as usize].into()),
            Phase::ReadRandom => Operation::Get(other),
            Phase::ReadMissing => Operation::Miss(drawn),
            Phase::Scan => Operation::Scan(drawn),
            Phase::Overwrite => Operation::Put(drawn),
            Phase::Mixed if nth % 2 == 0 => Operation::Get(drawn),
            Phase::Mixed => Operation::Put(drawn),
        }
    }

    /// Returns the key with this number: numbers in order are keys in order, spread evenly over all there are.
    pub fn key(&self, number: u64) -> [u8; 16] {
        self.key_at(number * (u64::MAX / self.keys), number)
    }

    /// Returns a key that no put stores, next to the one with this number.
    pub fn missing_key(&self, number: u64) -> [u8; 16] {
        self.key_at(number * (u64::MAX / self.keys) + 1, number)
    }

    fn key_at(&self, place: u64, number: u64) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&place.to_be_bytes());
        key[8..].copy_from_slice(&mix(number).to_be_bytes());
        key
    }

    /// Writes the value of a key into `value`.
    pub fn value(&self, number: u64, value: &mut Vec<u8>) {
        value.clear();
        value.extend_from_slice(&number.to_le_bytes());
        let rest = self.value_bytes - MARK_BYTES;
        let start = mix(number) as usize % (POOL_BYTES - rest);
        value.extend_from_slice(&self.pool[start..start + rest]);
    }

    /// Returns whether this is the value of a key.
    pub fn is_value(&self, number: u64, value: &[u8]) -> bool {
        value.len() == self.value_bytes && value[..MARK_BYTES] == number.to_le_bytes()
    }
}

/// SplitMix64's finalizer (Steele, Lea and Flood, 2014).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
