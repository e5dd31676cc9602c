//! When the entries of a patch expire: enough to know how much of it merges would drop at any time.
//!
//! A patch names the times by which eighths of its expiring entries have expired. Policies count what has expired as
//! tombstones, so that a patch that consists of such entries is rewritten or merged without a write to its keys.

use crate::bytes::{Reader, put_varint};

/// Times that a patch names at most.
const TIMES_MAX: usize = 8;
/// Times that are kept while a patch is built.
const SAMPLES_MAX: usize = 1024;

/// When entries of a patch expire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expiring {
    /// Entries that expire.
    entries: u64,
    /// By the *n*-th of *m* times *n/m* of them have expired, in milliseconds of the calendar.
    times_ms: Vec<u64>,
}

impl Expiring {
    /// Returns whether no entry expires.
    pub(crate) fn is_empty(&self) -> bool {
        self.times_ms.is_empty()
    }

    /// Returns about how many entries have expired.
    pub(crate) fn expired(&self, now_ms: u64) -> u64 {
        let passed = self.times_ms.partition_point(|time| *time <= now_ms) as u128;
        (u128::from(self.entries) * passed / (self.times_ms.len() as u128).max(1)) as u64
    }

    /// Returns the next time behind `now_ms` at which that number changes.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.times_ms.get(self.times_ms.partition_point(|time| *time <= now_ms)).copied()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.entries);
        put_varint(out, self.times_ms.len() as u64);
        self.times_ms.iter().for_each(|time| put_varint(out, *time));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (entries, count) = (reader.varint()?, reader.varint()?);
        let times_ms: Vec<u64> =
            (0..count.min(TIMES_MAX as u64 + 1)).map(|_| reader.varint()).collect::<Option<_>>()?;
        let is_sound = times_ms.len() as u64 == count && count > 0 && times_ms.is_sorted();
        is_sound.then_some(Self { entries, times_ms })
    }
}

/// Gathers the times of a patch that is built.
#[derive(Clone, Debug)]
pub(crate) struct ExpiryTimes {
    entries: u64,
    /// Those of every `stride`-th entry.
    samples: Vec<u64>,
    stride: u64,
}

impl Default for ExpiryTimes {
    fn default() -> Self {
        Self { entries: 0, samples: Vec::new(), stride: 1 }
    }
}

impl ExpiryTimes {
    /// Adds an entry; one with 0 does not expire.
    pub(crate) fn add(&mut self, expiry_ms: u64) {
        if expiry_ms == 0 {
            return;
        }
        if self.entries.is_multiple_of(self.stride) {
            if self.samples.len() == SAMPLES_MAX {
                let mut nth = 0;
                self.samples.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
                self.stride *= 2;
            }
            self.samples.push(expiry_ms);
        }
        self.entries += 1;
    }

    pub(crate) fn finish(mut self) -> Expiring {
        self.samples.sort_unstable();
        let count = self.samples.len().min(TIMES_MAX);
        let times_ms = (1..=count).map(|nth| self.samples[nth * self.samples.len() / count - 1]).collect();
        Expiring { entries: self.entries, times_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_entries_are_counted_by_eighths() {
        for count in [1_u64, 3, 8, 100, 50_000] {
            let mut times = ExpiryTimes::default();
            // In no order, beside others that do not expire.
            (0..count).for_each(|nth| times.add(1000 + nth * 7919 % count));
            times.add(0);
            let expiring = times.finish();
            let mut bytes = Vec::new();
            expiring.encode(&mut bytes);
            assert_eq!(Expiring::decode(&mut Reader::new(&bytes)), Some(expiring.clone()));
            for nth in [0, count / 3, count / 2, count] {
                let (expired, true_count) = (expiring.expired(999 + nth), nth);
                assert!(
                    expired <= true_count + count / 50
                        && expired + count.div_ceil(8) + count / 50 >= true_count,
                    "of {count} entries {true_count} have expired, not {expired}"
                );
            }
            assert_eq!(expiring.expired(1000 + count), count);
            assert_eq!(expiring.next_ms(u64::MAX), None);
        }
        assert!(ExpiryTimes::default().finish().is_empty());
        assert_eq!(Expiring::decode(&mut Reader::new(&[5, 200])), None, "a false count takes no memory");
    }
}
