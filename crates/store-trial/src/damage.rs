//! Damage of stored blocks, and its end by a salvage, with power cuts meanwhile.
//!
//! Bytes of units are changed, and units filled or erased. A scrub finds that, a salvage gives it up. Then every key
//! that
//! is not stated to be lost has its value, the others fail until the loss is acknowledged; writes are taken, merges
//! complete, and nothing is damaged any more. The same holds where the power was cut during the salvage, and it was
//! begun again.

use crate::recorder::Recorder;
use crate::{Found, Trial, UNIT_BYTES, options};
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{DataDevice, Device, Lane, Request};
use flashlane_device_testing::{MemoryDisk, MemoryLanes, cycle_power};
use flashlane_store::{
    Batch, Durability, LostKeys, Outcome, Page, ReadFailure, Store, StoreOptions, WriteError,
};

/// What a damaged store should hold.
struct Expected {
    found: Found,
    now_ms: u64,
}

impl Trial {
    /// Damages blocks of a copy, and salvages it.
    pub(crate) fn damage(&mut self) {
        let (device, log) = (self.store.blocks().device().clone(), self.store.log_device().clone());
        let Some((mut copy, found)) = self.cut_devices(device, log) else { return };
        if self.random.chance(0.8) {
            copy.flush();
            copy.settle();
        }
        let blocks: Vec<_> = copy.blocks().list().map(|info| info.address).collect();
        if blocks.is_empty() {
            return;
        }
        let (mut device, log) = copy.into_devices();
        for _ in 0..1 + self.random.below(2) {
            let address = blocks[self.random.below(blocks.len() as u64) as usize];
            damage_unit(&mut device, Lane(address.lane), address.unit.into(), &mut self.random);
        }
        let expected = Expected { found, now_ms: self.model.now_ms };
        let (options, random) = (self.salvage_options(), Seed(self.random.bits()).source());
        let (device, log) = Recorder::share(device, log, random);
        let mut store = Store::open(device, log, options).unwrap_or_else(|error| panic!("damaged: {error}"));
        self.tally.damaged += 1;
        if !self.salvage(&mut store, &expected) {
            return;
        }
        let has_lost = store.loss().is_some();
        let moments = store.blocks().device().take_moments();
        let (device, log) = store.blocks().device().copies();
        self.go_on(device, log, &expected);
        for (mut device, mut log) in moments {
            cycle_power(&mut device);
            cycle_power(&mut log);
            self.tally.cuts += 1;
            let mut store = Store::open(device, log, self.salvage_options())
                .unwrap_or_else(|error| panic!("after a cut of a salvage: {error}"));
            let is_damaged = self.salvage(&mut store, &expected);
            let is_known = is_damaged || store.loss().is_some();
            assert!(is_known || !has_lost, "a salvage that was cut is forgotten");
            let (device, log) = store.into_devices();
            self.go_on(device, log, &expected);
        }
    }

    fn salvage_options(&mut self) -> StoreOptions {
        StoreOptions { without_damaged_blocks: true, ..options(&mut self.random) }
    }

    /// Salvages a store, if it is damaged, and checks what is left. Returns whether it was.
    fn salvage<D: DataDevice, L: DataDevice>(
        &mut self,
        store: &mut Store<D, L>,
        expected: &Expected,
    ) -> bool {
        store.set_time(expected.now_ms);
        let damage = store.scrub();
        store.salvage(&damage).unwrap_or_else(|error| panic!("{damage:?} is not salvaged: {error}"));
        let loss = store.loss();
        assert!(
            loss.as_ref().is_none_or(|loss| !loss.is_open()),
            "after a salvage of {damage:?} the loss is {loss:?}"
        );
        let lost = loss.and_then(|loss| loss.stated);
        // Pieces of values that were replaced are no loss.
        assert!(lost.is_some() || damage.lost.is_empty(), "{damage:?} is not stated");
        check(store, expected, lost.as_ref());
        self.tally.salvages += u64::from(!damage.is_none());
        !damage.is_none()
    }

    /// Opens a salvaged store as any other, writes, and acknowledges the loss.
    fn go_on(&mut self, device: MemoryLanes, log: MemoryDisk, expected: &Expected) {
        let mut store = Store::open(device, log, options(&mut self.random))
            .unwrap_or_else(|error| panic!("after a salvage: {error}"));
        store.set_time(expected.now_ms);
        let lost = store.loss().and_then(|loss| loss.stated);
        check(&mut store, expected, lost.as_ref());
        let written = self.write_some(&mut store);
        store.flush();
        store.settle();
        let merging = store.status().slices.iter().filter(|slice| slice.is_merging).count();
        assert_eq!(merging, 0, "a settled store merges");
        let left = store.scrub();
        assert!(left.is_none() || store.status().blocks_free < 8, "{left:?} is left after merges");
        for key in &written {
            assert_eq!(
                get(&mut store, key),
                Ok(Some(b"new".to_vec())),
                "{key:?} was written after a salvage"
            );
        }
        store.acknowledge_loss().unwrap_or_else(|error| panic!("the loss is not acknowledged: {error}"));
        store.close().unwrap_or_else(|failure| panic!("the log is sound: {failure}"));
        let (device, log) = store.into_devices();
        let mut store = Store::open(device, log, options(&mut self.random))
            .unwrap_or_else(|error| panic!("after the loss was acknowledged: {error}"));
        store.set_time(expected.now_ms);
        assert_eq!(store.loss(), None, "the loss is acknowledged");
        for key in expected.found.keys() {
            let answer = get(&mut store, key);
            assert!(!matches!(answer, Err(ReadFailure::MayBeLost(_))), "{key:?} is {answer:?}");
        }
        store.settle();
    }

    /// Stores a value under some keys. Returns those that were stored.
    fn write_some(&mut self, store: &mut Store<MemoryLanes, MemoryDisk>) -> Vec<Vec<u8>> {
        let mut written = Vec::new();
        for _ in 0..20 {
            let slice = self.random.below(self.model.slices.len() as u64) as usize;
            let (key, mut batch) = (self.key(slice), Batch::default());
            batch.put(key.clone(), b"new".to_vec());
            match store.write(batch, Durability::Device) {
                Ok(ticket) => {
                    let outcome = store.wait(ticket).expect("a write completes").outcome;
                    assert!(matches!(outcome, Outcome::Write(Ok(_))), "{outcome:?}");
                    written.push(key);
                }
                Err(WriteError::Full { .. } | WriteError::Busy { .. }) => drop(store.step(Instant::FAR)),
                Err(error) => panic!("a salvaged store refuses a write: {error}"),
            }
        }
        written
    }
}

/// Changes a byte of a unit, fills its end or all of it, or erases it.
fn damage_unit(device: &mut MemoryLanes, lane: Lane, unit: u64, random: &mut Random) {
    let from = (unit * UNIT_BYTES) as usize;
    let bytes = &mut device.lane_mut(lane)[from..from + UNIT_BYTES as usize];
    match random.below(8) {
        0..4 => bytes[random.below(UNIT_BYTES) as usize] ^= 1 << random.below(8),
        4 => bytes[2048..3000].fill(0x5a),
        5 => bytes.fill(0x5a),
        6 => bytes[512..].fill(0x5a),
        _ => {
            device
                .submit(Request::erase(1 << 60, unit * UNIT_BYTES, UNIT_BYTES).on(lane))
                .expect("the unit can be erased");
            let mut out = Vec::new();
            while out.is_empty() {
                device.reap(Instant::FAR, &mut out);
            }
        }
    }
}

fn get<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, ReadFailure> {
    let ticket = store.get(key, None);
    match store.wait(ticket).expect("a get completes").outcome {
        Outcome::Get(result) => result.map(|value| value.map(|value| value.bytes)),
        other => panic!("a get ends as {other:?}"),
    }
}

/// Checks that each key has its value, or is stated to be lost.
fn check<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    expected: &Expected,
    lost: Option<&LostKeys>,
) {
    let is_in_range = |key: &[u8]| {
        let ranges = lost.into_iter().flat_map(|lost| &lost.ranges);
        ranges.into_iter().any(|range| *range.keys.from <= *key && *key < *range.keys.to)
    };
    let is_unknown = lost.is_some_and(|lost| lost.blocks > 0);
    for (key, value) in &expected.found {
        let answer = get(store, key);
        let may_differ = match &answer {
            Ok(_) => is_unknown,
            Err(ReadFailure::MayBeLost(_)) => is_unknown || is_in_range(key),
            Err(_) => false,
        };
        assert!(
            answer.as_ref().is_ok_and(|found| found.as_ref() == Some(value)) || may_differ,
            "{key:?} of {} bytes is {answer:?}, and {lost:?} is lost",
            value.len()
        );
    }
    for key in scan(store) {
        let is_known = expected.found.contains_key(&key);
        assert!(is_known || is_unknown || is_in_range(&key), "{key:?} was deleted, and {lost:?} is lost");
    }
}

/// Returns the keys of a store: a scan meets nothing that it cannot read.
fn scan<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>) -> Vec<Vec<u8>> {
    let (mut keys, mut next) = (Vec::new(), Some(Vec::new()));
    while let Some(start) = next {
        let ticket = store.scan(&start, None, 64, u64::MAX, None);
        let Outcome::Scan(result) = store.wait(ticket).expect("a scan completes").outcome else {
            panic!("a scan ends as one")
        };
        let page: Page = result.unwrap_or_else(|failure| panic!("after a salvage: {failure}"));
        keys.extend(page.items.into_iter().map(|item| item.key));
        next = page.next;
    }
    keys
}
