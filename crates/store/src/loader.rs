//! Stores many pairs with many writes in flight, for programs that load data.
//!
//! Writes in flight have no order among them, so a key that is in flight is not written again before it has completed:
//! of several pairs with one key the last one counts. [`Loader::stored`] counts the pairs from the first one on of
//! which none is missing, so that after a power cut a program goes on from a number that it has reported.
//!
//! Invariants: pair `n` is counted by `stored`, in `ahead`, in flight, or counted by `failed`; `ahead` has no number up
//! to `stored`.

use crate::error::{StoreError, WriteError, WriteFailure};
use crate::log::Durability;
use crate::operation::{Batch, Finished, Outcome, Ticket};
use crate::store::Store;
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Most writes in flight: enough for groups of the log that take as long as the device's flush.
const IN_FLIGHT: usize = 4096;

/// Longest wait of a call that waits for all.
const LONGEST: Duration = Duration::from_s(1);

/// Loads pairs into a store.
pub struct Loader<'a, D: DataDevice, L: DataDevice> {
    store: &'a mut Store<D, L>,
    durability: Durability,
    /// Numbers and keys of the writes in flight.
    in_flight: BTreeMap<Ticket, (u64, Vec<u8>)>,
    keys: BTreeSet<Vec<u8>>,
    /// Pairs that were taken.
    taken: u64,
    stored: u64,
    /// Numbers of stored pairs behind one that is not.
    ahead: BTreeSet<u64>,
    /// Pairs whose write failed.
    failed: u64,
    /// Those of them that may be stored all the same.
    unknown: u64,
    /// Nothing has been in flight since the last refusal.
    is_idle: bool,
    finished: Vec<Finished>,
}

impl<'a, D: DataDevice, L: DataDevice> Loader<'a, D, L> {
    /// Begins to load. Pairs count as stored once they are as safe as `durability` says.
    pub fn new(store: &'a mut Store<D, L>, durability: Durability) -> Self {
        Self {
            store,
            durability,
            in_flight: BTreeMap::new(),
            keys: BTreeSet::new(),
            taken: 0,
            stored: 0,
            ahead: BTreeSet::new(),
            failed: 0,
            unknown: 0,
            is_idle: false,
            finished: Vec::new(),
        }
    }

    /// Hands a pair over. Returns false where it was not taken since earlier ones have to complete, or merges to make
    /// room: [`wait`](Self::wait), then offer it again.
    ///
    /// # Errors
    /// [`StoreError::Write`]: this pair is refused, and others may be taken.
    pub fn offer(&mut self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        self.offer_until(key, value, None)
    }

    /// Hands a pair over as [`offer`](Self::offer), which expires at `expiry_ms`, in milliseconds of the calendar, if
    /// given.
    ///
    /// # Errors
    /// As of [`offer`](Self::offer).
    pub fn offer_until(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry_ms: Option<u64>,
    ) -> Result<bool, StoreError> {
        if self.in_flight.len() >= IN_FLIGHT || self.keys.contains(key) {
            return Ok(false);
        }
        let mut batch = Batch::default();
        match expiry_ms {
            None => batch.put(key, value),
            Some(expiry_ms) => batch.put_until(key, value, expiry_ms),
        };
        match self.store.write(batch, self.durability) {
            Ok(ticket) => {
                self.is_idle = false;
                self.taken += 1;
                self.in_flight.insert(ticket, (self.taken, key.to_vec()));
                self.keys.insert(key.to_vec());
                Ok(true)
            }
            // Merges may give space back, until nothing is in flight any more.
            Err(WriteError::Busy { .. } | WriteError::Full { .. }) if !self.is_idle => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the devices work until a write completes, for at most `longest`. Returns false where nothing is in flight.
    ///
    /// # Errors
    /// [`StoreError::WriteFailed`]: a pair that was taken is not stored. Others are still in flight.
    pub fn wait(&mut self, longest: Duration) -> Result<bool, StoreError> {
        self.is_idle = !self.store.step_for(longest);
        self.store.reap(Instant::ZERO, &mut self.finished);
        let mut outcome = Ok(!self.is_idle);
        for finished in self.finished.drain(..) {
            let (number, key) = self.in_flight.remove(&finished.ticket).expect("a write of the loader");
            self.keys.remove(&key);
            let Outcome::Write(result) = finished.outcome else { unreachable!("only writes are in flight") };
            match result {
                Ok(_) => drop(self.ahead.insert(number)),
                Err(error) => {
                    self.failed += 1;
                    self.unknown += u64::from(matches!(error, WriteFailure::Log(_)));
                    outcome = outcome.and(Err(error.into()));
                }
            }
        }
        while self.ahead.remove(&(self.stored + 1)) {
            self.stored += 1;
        }
        let others = (self.ahead.len() + self.in_flight.len()) as u64;
        debug_assert_eq!(self.stored + self.failed + others, self.taken);
        outcome
    }

    /// Returns the number of pairs that are stored, from the first one on without a gap.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Returns the number of all pairs that are stored, those behind a missing one too: at least those whose write has
    /// completed, and at most also those in flight and those whose log failed, which may be there when the store is
    /// opened.
    pub fn stored_in_all(&self) -> RangeInclusive<u64> {
        let least = self.stored + self.ahead.len() as u64;
        least..=least + self.unknown + self.in_flight.len() as u64
    }

    /// Returns whether pairs are in flight.
    pub fn is_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Returns whether every pair that was taken is stored.
    pub fn is_done(&self) -> bool {
        self.stored == self.taken
    }

    /// Waits until every pair that was taken is stored, and returns their number. On a full device it is lower: pairs
    /// may wait for room that nothing gives back.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn finish(mut self) -> Result<u64, StoreError> {
        while !self.is_done() && self.wait(LONGEST)? {}
        Ok(self.stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyValueStore, Slices, StoreOptions};
    use flashlane_base::Seed;
    use flashlane_device_testing::{MemoryDisk, MemoryLanes, cycle_power};
    use flashlane_layer::{Fault, Faults, Faulty, Rate};

    fn store(units: u64) -> Store<MemoryLanes, MemoryDisk> {
        let device = MemoryLanes::new(4, units, 8192, 512, Seed(1));
        let log = MemoryDisk::new(256 << 10, 512, Seed(1));
        Store::create(device, log, 1, Slices::even(4), StoreOptions::default()).expect("the devices suit")
    }

    fn load(
        loader: &mut Loader<'_, MemoryLanes, MemoryDisk>,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        while !loader.offer(key, value)? {
            loader.wait(LONGEST)?;
        }
        Ok(())
    }

    /// A value in pieces takes longer than the small one that follows it.
    #[test]
    fn last_pair_of_a_key_counts() {
        let mut store = store(64);
        let mut loader = Loader::new(&mut store, Durability::Device);
        for nth in 0..40_u8 {
            load(&mut loader, b"key", &vec![nth; if nth % 2 == 0 { 20_000 } else { 10 }]).unwrap();
        }
        assert_eq!(loader.finish(), Ok(40));
        assert_eq!(KeyValueStore::from(store).get(b"key"), Ok(Some(vec![39; 10])));
    }

    #[test]
    fn stored_pairs_survive_a_power_cut() {
        let mut store = store(64);
        let mut loader = Loader::new(&mut store, Durability::Device);
        for nth in 0..500_u32 {
            load(&mut loader, &nth.to_be_bytes(), &[7; 300]).unwrap();
        }
        while loader.stored() == 0 {
            loader.wait(LONGEST).unwrap();
        }
        let stored = loader.stored();
        assert!((1..=500).contains(&stored), "{stored} are stored");
        let (mut device, mut log) = (store.blocks().device().clone(), store.log_device().clone());
        cycle_power(&mut device);
        cycle_power(&mut log);
        let mut store = KeyValueStore::open(device, log).expect("the store is there");
        for nth in 0..stored as u32 {
            assert_eq!(store.get(&nth.to_be_bytes()), Ok(Some(vec![7; 300])), "pair {nth} of {stored}");
        }
    }

    /// A write that fails is counted, and those that complete beside it and behind it.
    #[test]
    fn stored_pairs_are_counted_beside_one_that_failed() {
        let mut failures = 0;
        for seed in 0..20 {
            let device = MemoryLanes::new(4, 64, 8192, 512, Seed(seed));
            let log = MemoryDisk::new(256 << 10, 512, Seed(seed));
            let store = Store::create(device, log, 1, Slices::even(4), StoreOptions::default());
            let (device, log) = store.expect("the devices suit").into_devices();
            let faults = Faults::default().with(Fault::WriteError, Rate::Share(0.6));
            let log = Faulty::over_data(log, faults, Seed(seed));
            let Ok(mut store) = Store::open(device, log, StoreOptions::default()) else { continue };
            let mut loader = Loader::new(&mut store, Durability::Device);
            let (mut offered, mut nth) = (0_u64, 0_u32);
            while nth < 200 && loader.failed == 0 {
                match loader.offer(&nth.to_be_bytes(), &[7; 300]) {
                    Ok(is_taken) => nth += u32::from(is_taken),
                    Err(_) => break,
                }
                offered = nth.into();
                let _ = loader.wait(Duration::ZERO);
            }
            while loader.is_in_flight() && loader.wait(LONGEST) != Ok(false) {}
            failures += loader.failed;
            let (first, all) = (loader.stored(), loader.stored_in_all());
            assert!(first <= *all.start() && *all.end() <= offered, "{first}, {all:?} of {offered}");
            let (device, log) = store.into_devices();
            let mut store = KeyValueStore::open(device, log.inner().clone()).expect("it is sound");
            let found = store.entries(b"", None, true).count() as u64;
            assert!(all.contains(&found), "{found} are found, and {all:?} stored, with seed {seed}");
        }
        assert!(failures > 0);
    }

    #[test]
    fn full_device_refuses_a_pair_and_keeps_the_others() {
        let mut store = store(16);
        let mut loader = Loader::new(&mut store, Durability::Device);
        let refused = (0..10_000_u32)
            .find_map(|nth| Some((nth, load(&mut loader, &nth.to_be_bytes(), &[7; 700]).err()?)));
        let (nth, error) = refused.expect("the device fills up");
        assert!(matches!(error, StoreError::Write(WriteError::Full { .. })), "{error}");
        assert_eq!(loader.finish(), Ok(u64::from(nth)));
        let free = store.status().blocks_free;
        assert!(free + 8 >= 24, "{free} of the 24 blocks are left that are kept for merges");
        let mut store = KeyValueStore::from(store);
        assert_eq!(store.entries(b"", None, true).count(), nth as usize);
    }
}
