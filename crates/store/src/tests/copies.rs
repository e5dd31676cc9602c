//! Copies of the two devices from different moments: a pair that lost writes is refused.

use super::*;
use crate::OpenError;

/// Both devices after a power cut at one moment, and what the store held.
pub(super) struct Moment {
    pub(super) device: MemoryLanes,
    pub(super) log: MemoryDisk,
    pub(super) pairs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Moment {
    fn of(store: &TestStore, pairs: &BTreeMap<Vec<u8>, Vec<u8>>) -> Self {
        let (mut device, mut log) = (store.blocks().device().clone(), store.core.log().device().clone());
        cycle_power(&mut device);
        cycle_power(&mut log);
        Self { device, log, pairs: pairs.clone() }
    }
}

/// Opens the device of one moment with the log of another. Returns what the pair holds.
fn open_pair(device: &Moment, log: &Moment) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, OpenError> {
    let mut store = Store::open(device.device.clone(), log.log.clone(), options())?;
    Ok(all(&mut store, None, &mut Seed(1).source()))
}

/// Writes for a while. Returns moments between the writes.
pub(super) fn moments(seed: u64, slices: u32, writes: u64) -> Vec<Moment> {
    let mut random = Seed(seed).source();
    let mut store = create(4, 200, slices, seed);
    let mut pairs = BTreeMap::new();
    let mut moments = vec![Moment::of(&store, &pairs)];
    for _ in 0..writes {
        let (key, mut batch) = (key(&mut random, 200), Batch::default());
        if random.chance(0.3) {
            batch.delete(key.clone());
            pairs.remove(&key);
        } else {
            let value = value(&mut random);
            batch.put(key.clone(), value.clone());
            pairs.insert(key, value);
        }
        write(&mut store, batch).expect("there is room");
        for _ in 0..random.below(4) {
            store.step(Instant::FAR);
        }
        if random.chance(8.0 / writes as f64) {
            moments.push(Moment::of(&store, &pairs));
        }
    }
    moments.push(Moment::of(&store, &pairs));
    moments
}

#[test]
fn copies_of_different_moments_lose_no_write_unnoticed() {
    let (mut opened, mut device_older, mut log_older, mut piece_missing) = (0, 0, 0, 0);
    for seed in 0..24 {
        let moments = moments(seed, 1 + seed as u32 % 4, [60, 200, 600][seed as usize % 3]);
        for (d, device) in moments.iter().enumerate() {
            for (l, log) in moments.iter().enumerate() {
                match open_pair(device, log) {
                    Ok(found) => {
                        assert!(
                            found == log.pairs,
                            "seed {seed}: device {d} and log {l} open, and writes are missing"
                        );
                        opened += u32::from(d != l);
                    }
                    Err(OpenError::DeviceOlder { .. }) if d < l => device_older += 1,
                    Err(OpenError::LogOlder { .. }) if d > l => log_older += 1,
                    Err(OpenError::PieceMissing { .. }) if d != l => piece_missing += 1,
                    Err(error) => panic!("seed {seed}: device {d} and log {l}: {error}"),
                }
            }
        }
    }
    assert!(
        opened > 50 && device_older > 200 && log_older > 200 && piece_missing > 0,
        "{opened} pairs open, {device_older} devices and {log_older} logs are older, {piece_missing} lack a piece"
    );
}
