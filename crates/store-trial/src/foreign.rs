//! Data of other programs over a store on lanes and its log, between openings.
//!
//! Runs of bytes are written anywhere in both devices while the store is closed: over blocks, erased units, the lanes'
//! records, the superblocks, and the log's header and ring. In half of the trials units are striped over the lanes. The
//! store is then used as before, without consent to destroy data. Whatever it answers, no run changes, and no get
//! returns another value than the last one written: opening, a write or a read that needs what is overwritten fails.

use crate::{Tally, UNIT_BYTES, options};
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{DataDevice, Device};
use flashlane_device_testing::MemoryDisk;
use flashlane_layer::lanes::{Lanes, LanesError, Shape};
use flashlane_layer::striped::Settings;
use flashlane_layer::{Bytes, Striped};
use flashlane_store::{Batch, Durability, Outcome, Slices, Store, StoreOptions, WriteError};
use std::collections::BTreeMap;

/// Units of the lanes have room for the headers of blocks in 4 KiB sectors.
const LANE_UNIT_BYTES: u64 = 4 * UNIT_BYTES;
const SECTOR_BYTES: u64 = 512;
/// Shortest run: that many bytes in a record of the lanes are never taken for damage.
const RUN_BYTES_MIN: u64 = 16;

/// Text of fewer bytes in a sector of the log is not told from a torn page.
const TEXT_BYTES_MIN: usize = 32;

/// Bytes that are not the store's, by their offset in a device.
type Foreign = BTreeMap<usize, u8>;

/// Lanes with erase units of [`LANE_UNIT_BYTES`] on a disk.
trait OnDisk: DataDevice + Sized {
    /// Lanes of the disk on which each unit lies.
    const LANES_PER_UNIT: u32;

    fn format(disk: MemoryDisk, shape: Shape, seed: Seed) -> Result<Self, LanesError>;

    fn open(disk: MemoryDisk) -> Result<Self, LanesError>;

    fn into_disk(self) -> MemoryDisk;
}

impl OnDisk for Lanes<MemoryDisk> {
    const LANES_PER_UNIT: u32 = 1;

    fn format(disk: MemoryDisk, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        Self::format_checked(disk, shape, seed)
    }

    fn open(disk: MemoryDisk) -> Result<Self, LanesError> {
        Self::open_checked(disk)
    }

    fn into_disk(self) -> MemoryDisk {
        self.into_inner()
    }
}

type StripedLanes = Striped<Bytes<Lanes<MemoryDisk>>>;

fn striped(lanes: Lanes<MemoryDisk>) -> StripedLanes {
    let settings = Settings { lanes: StripedLanes::LANES_PER_UNIT, stripe_bytes: 2048 };
    Striped::new(Bytes(lanes), settings).unwrap_or_else(|error| panic!("{error}"))
}

impl OnDisk for StripedLanes {
    const LANES_PER_UNIT: u32 = 2;

    fn format(disk: MemoryDisk, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        Lanes::format_checked_parts(disk, shape, seed).map(striped)
    }

    fn open(disk: MemoryDisk) -> Result<Self, LanesError> {
        Lanes::open_checked_parts(disk).map(striped)
    }

    fn into_disk(self) -> MemoryDisk {
        self.into_inner().0.into_inner()
    }
}

struct Trial {
    random: Random,
    device: MemoryDisk,
    log: MemoryDisk,
    in_device: Foreign,
    in_log: Foreign,
    /// The values that a key may have: more than one after a write that failed.
    model: BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>,
    tally: Tally,
}

/// Runs a trial that follows from the seed.
pub(crate) fn trial_of_seed(seed: u64) -> Tally {
    if Seed(seed).derive("striped").source().chance(0.5) {
        trial_on::<StripedLanes>(seed)
    } else {
        trial_on::<Lanes<MemoryDisk>>(seed)
    }
}

fn trial_on<L: OnDisk>(seed: u64) -> Tally {
    let mut random = Seed(seed).derive("foreign data").source();
    let shape = Shape {
        lanes: (1 + random.below(4) as u32) * L::LANES_PER_UNIT,
        unit_bytes: LANE_UNIT_BYTES / u64::from(L::LANES_PER_UNIT),
        read_unit_bytes: SECTOR_BYTES,
        write_unit_bytes: 4096,
    };
    let units = 60 + random.below(40);
    let device = MemoryDisk::new(units * LANE_UNIT_BYTES, SECTOR_BYTES, Seed(seed)).shared_with_others();
    let log = MemoryDisk::new((40 + random.below(40)) * 4096, SECTOR_BYTES, Seed(seed)).shared_with_others();
    let lanes = L::format(device, shape, Seed(seed)).unwrap_or_else(|error| panic!("{error}"));
    let store = Store::create(lanes, log, u128::from(seed) + 1, Slices::even(1), own_options(&mut random));
    let store = store.unwrap_or_else(|error| panic!("sound devices take a store: {error}"));
    let (lanes, log) = store.into_devices();
    let mut trial = Trial {
        random,
        device: restarted(lanes.into_disk()),
        log: restarted(log),
        in_device: Foreign::new(),
        in_log: Foreign::new(),
        model: BTreeMap::new(),
        tally: Tally::default(),
    };
    trial.use_store::<L>(300);
    for _ in 0..4 {
        let runs = 1 + trial.random.below(3);
        (0..runs).for_each(|_| trial.overwrite());
        let writes = 20 + trial.random.below(200);
        trial.use_store::<L>(writes);
    }
    trial.tally
}

fn own_options(random: &mut Random) -> StoreOptions {
    let options = options(random);
    StoreOptions {
        memory_bytes: options.memory_bytes.max(12 * UNIT_BYTES) * LANE_UNIT_BYTES / UNIT_BYTES,
        without_damaged_blocks: random.chance(0.5),
        ..options
    }
}

impl Trial {
    /// Writes a run of bytes to one of the devices, as another program does.
    fn overwrite(&mut self) {
        let (disk, foreign) = match self.random.chance(0.8) {
            true => (&mut self.device, &mut self.in_device),
            false => (&mut self.log, &mut self.in_log),
        };
        let bytes = disk.bytes_mut();
        let length = (RUN_BYTES_MIN + self.random.below(6000)) as usize;
        // Records lie at both ends of a device, and the log's header and marks at its beginning.
        let end = bytes.len() - length;
        let from = match self.random.below(8) {
            0 | 1 => self.random.below(6 * 4096) as usize,
            2 => end - self.random.below(2 * 4096) as usize,
            _ => self.random.below(end as u64) as usize,
        };
        // Some runs are whole pages, as those of a file system.
        let from =
            if self.random.chance(0.5) { from / 4096 * 4096 } else { from / TEXT_BYTES_MIN * TEXT_BYTES_MIN };
        let length = length.next_multiple_of(TEXT_BYTES_MIN).min(bytes.len() - from);
        for (at, byte) in bytes.iter_mut().enumerate().skip(from).take(length) {
            *byte = b'a' + (at % 23) as u8;
            foreign.insert(at, *byte);
        }
        self.tally.foreign_runs += 1;
    }

    /// Opens the store, writes and reads some keys, and closes it.
    fn use_store<L: OnDisk>(&mut self, writes: u64) {
        let (device, log) = (self.device.clone(), self.log.clone());
        let lanes = match L::open(device) {
            Ok(lanes) => lanes,
            Err(error) => {
                return assert!(self.has_foreign(), "lanes without other data are not opened: {error}");
            }
        };
        let options = own_options(&mut self.random);
        let mut store = match Store::open(lanes, log, options) {
            Ok(store) => store,
            Err(error) => {
                assert!(self.has_foreign(), "a store without other data is not opened: {error}");
                return;
            }
        };
        for _ in 0..writes {
            let key = vec![b'k', self.random.below(120) as u8];
            if self.random.chance(0.3) {
                self.check_get(&mut store, &key);
            } else {
                self.write(&mut store, key);
            }
        }
        for key in 0..120 {
            self.check_get(&mut store, &[b'k', key]);
        }
        store.flush();
        store.settle();
        let closed = store.close();
        assert!(closed.is_ok() || self.has_foreign(), "{closed:?}");
        self.tally.add(&store.status().counters);
        let (lanes, log) = store.into_devices();
        (self.device, self.log) = (restarted(lanes.into_disk()), restarted(log));
        check_kept(&self.in_device, self.device.bytes_mut(), "the device");
        check_kept(&self.in_log, self.log.bytes_mut(), "the log");
    }

    fn has_foreign(&self) -> bool {
        !self.in_device.is_empty() || !self.in_log.is_empty()
    }

    fn write<L: OnDisk>(&mut self, store: &mut Store<L, MemoryDisk>, key: Vec<u8>) {
        let is_deleted = self.random.chance(0.2);
        let length = [100, 2000, 12_000][self.random.below(3) as usize];
        let length = self.random.below(length);
        let value = (!is_deleted).then(|| (0..length).map(|_| self.random.bits() as u8).collect::<Vec<_>>());
        let mut batch = Batch::default();
        match &value {
            Some(value) => batch.put(key.clone(), value.clone()),
            None => batch.delete(key.clone()),
        };
        let ticket = match store.write(batch, Durability::Device) {
            Ok(ticket) => ticket,
            Err(WriteError::Full { .. } | WriteError::Busy { .. }) => {
                store.step(Instant::FAR);
                return;
            }
            Err(error) => return assert!(self.has_foreign(), "a write is refused: {error}"),
        };
        let allowed = self.model.entry(key).or_insert_with(|| vec![None]);
        match store.wait(ticket).expect("a write completes").outcome {
            Outcome::Write(Ok(_)) => *allowed = vec![value],
            _ => allowed.push(value),
        }
    }

    /// A get returns the last value, or fails since other data is over what it needs.
    fn check_get<L: OnDisk>(&mut self, store: &mut Store<L, MemoryDisk>, key: &[u8]) {
        let ticket = store.get(key, None);
        let is_lost = store.loss().is_some();
        match store.wait(ticket).expect("a get completes").outcome {
            Outcome::Get(Ok(found)) => {
                let none = vec![None];
                let allowed = self.model.get(key).unwrap_or(&none);
                let found = found.map(|found| found.bytes);
                assert!(
                    allowed.contains(&found) || is_lost,
                    "{key:?} has {:?} bytes, and one of {:?} was written",
                    found.as_ref().map(Vec::len),
                    allowed.iter().map(|value| value.as_ref().map(Vec::len)).collect::<Vec<_>>()
                );
            }
            outcome => assert!(self.has_foreign(), "a get ends as {outcome:?}"),
        }
    }
}

/// Returns the disk as another process finds it, once what is in flight has ended.
fn restarted(mut disk: MemoryDisk) -> MemoryDisk {
    let mut out = Vec::new();
    loop {
        out.clear();
        disk.reap(Instant::FAR, &mut out);
        if out.is_empty() {
            break;
        }
    }
    let bytes = disk.bytes_mut();
    let mut restarted = MemoryDisk::new(bytes.len() as u64, SECTOR_BYTES, Seed(0)).shared_with_others();
    restarted.bytes_mut().copy_from_slice(bytes);
    restarted
}

fn check_kept(foreign: &Foreign, bytes: &[u8], of: &str) {
    let changed: Vec<usize> =
        foreign.iter().filter(|&(&at, byte)| bytes[at] != *byte).map(|(&at, _)| at).collect();
    assert!(
        changed.is_empty(),
        "{} bytes of other data in {of} are overwritten, from {:?} to {:?}",
        changed.len(),
        changed.first(),
        changed.last()
    );
}
