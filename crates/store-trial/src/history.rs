//! One history of operations, for stores of many shapes: what they answer must not depend on merge policy, blocks,
//! slices, memory or device, nor on the moments at which containers are flushed and the store is opened again.

use flashlane_base::{Instant, Random, Seed};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Durability, Item, Outcome, Snapshot, Store, StoreOptions, WriteError};

/// Most bytes of keys and values that a history leaves, with all that is not merged yet. A device of four times as many
/// takes it.
pub const HISTORY_BYTES_MAX: u64 = 2 << 20;

/// Keys that a history uses, so that most are overwritten.
const KEYS: u64 = 400;

/// What a store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A write is as safe as asked for.
    Written,
    /// The value of a get, and when it expires.
    Value(Option<(Vec<u8>, Option<u64>)>),
    /// Keys and values of a scan.
    Entries(Vec<(Vec<u8>, Vec<u8>, Option<u64>)>),
}

/// The numbers of a key have its first two bytes, which part slices, all over their range.
fn key(number: u64) -> Vec<u8> {
    let first = (number.wrapping_mul(0x9e37_79b9) >> 3) as u16;
    [&first.to_be_bytes()[..], &number.to_be_bytes()[6..], &vec![b'k'; (number % 5) as usize]].concat()
}

/// Runs the history of this seed on a store without keys, which is opened again now and then, each time with the next
/// of `options`. Returns its answers.
///
/// # Panics
/// Where an operation fails, or the device is full.
pub fn history<D: DataDevice, L: DataDevice>(
    seed: u64,
    steps: u64,
    mut store: Store<D, L>,
    options: &mut dyn FnMut() -> StoreOptions,
) -> Vec<Answer> {
    let mut random = Seed(seed).derive("history").source();
    let (mut answers, mut snapshots, mut now_ms) = (Vec::new(), Vec::<Snapshot>::new(), 1);
    store.set_time(now_ms);
    for _ in 0..steps {
        let number = random.below(KEYS);
        match random.below(100) {
            0..55 => {
                let batch = batch(&mut random, number, now_ms);
                let durability = [Durability::Memory, Durability::System, Durability::Device];
                write(&mut store, &batch, durability[random.below(3) as usize]);
                answers.push(Answer::Written);
            }
            55..80 => {
                let snapshot = random.pick(&snapshots);
                answers.push(Answer::Value(get(&mut store, &key(number), snapshot)));
            }
            80..86 => {
                let (start, items) = (key(number), 1 + random.below(60));
                let end = random.chance(0.5).then(|| key(random.below(KEYS)));
                let snapshot = random.pick(&snapshots);
                answers.push(scan(&mut store, &start, end.as_deref(), items, snapshot));
            }
            86..89 => snapshots.push(store.snapshot()),
            89..92 if !snapshots.is_empty() => {
                store.release(snapshots.remove(random.below(snapshots.len() as u64) as usize));
            }
            92..95 => {
                now_ms += random.below(200);
                store.set_time(now_ms);
            }
            95 => store.flush(),
            96 => {
                snapshots.drain(..).for_each(|snapshot| store.release(snapshot));
                let (device, log) = store.into_devices();
                store = Store::open(device, log, options()).unwrap_or_else(|error| panic!("{error}"));
                store.set_time(now_ms);
            }
            _ => drop(store.step(Instant::FAR)),
        }
    }
    snapshots.drain(..).for_each(|snapshot| store.release(snapshot));
    answers.push(scan(&mut store, &[], None, u64::MAX, None));
    answers
}

/// Chooses one of a few, or none, so that a history uses the same randomness whatever there is.
trait Pick {
    fn pick(&mut self, snapshots: &[Snapshot]) -> Option<Snapshot>;
}

impl Pick for Random {
    fn pick(&mut self, snapshots: &[Snapshot]) -> Option<Snapshot> {
        let nth = self.below(2 * (snapshots.len() as u64 + 1)) as usize;
        snapshots.get(nth).copied()
    }
}

/// Returns a batch of one key, or of several that share their first bytes: they lie in one slice of any store.
fn batch(random: &mut Random, number: u64, now_ms: u64) -> Batch {
    let mut batch = Batch::default();
    let count = if random.chance(0.8) { 1 } else { 2 + random.below(4) };
    for nth in 0..count {
        let own = match nth {
            0 => key(number),
            nth => [&key(number)[..], &[nth as u8]].concat(),
        };
        let length = match random.below(60) {
            // A batch fits into the least block.
            _ if count > 1 => random.below(300),
            0 => random.below(40_000),
            1..10 => random.below(2_000),
            10..15 => 0,
            _ => random.below(200),
        };
        let byte = random.bits() as u8;
        let value: Vec<u8> = (0..length).map(|at| byte.wrapping_add((at % 251) as u8)).collect();
        match random.below(10) {
            0..2 => batch.delete(own),
            2 => batch.put_until(own, value, now_ms + 1 + random.below(500)),
            _ => batch.put(own, value),
        };
    }
    batch
}

fn write<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, batch: &Batch, durability: Durability) {
    let ticket = loop {
        match store.write(batch.clone(), durability) {
            Ok(ticket) => break ticket,
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            Err(error) => panic!("a write is refused: {error}"),
        }
    };
    match store.wait(ticket).map(|finished| finished.outcome) {
        Some(Outcome::Write(Ok(_))) => {}
        other => panic!("a write ends as {other:?}"),
    }
}

fn get<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    key: &[u8],
    snapshot: Option<Snapshot>,
) -> Option<(Vec<u8>, Option<u64>)> {
    let ticket = store.get(key, snapshot);
    match store.wait(ticket).map(|finished| finished.outcome) {
        Some(Outcome::Get(Ok(value))) => value.map(|value| (value.bytes, value.expiry_ms)),
        other => panic!("a get ends as {other:?}"),
    }
}

/// Returns the first entries of a range. Where pages end, and which values a scan leaves to gets, is the store's
/// choice.
fn scan<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    start: &[u8],
    end: Option<&[u8]>,
    items: u64,
    snapshot: Option<Snapshot>,
) -> Answer {
    let ticket = store.scan(start, end, items, u64::MAX, snapshot);
    let page = match store.wait(ticket).map(|finished| finished.outcome) {
        Some(Outcome::Scan(Ok(page))) => page,
        other => panic!("a scan ends as {other:?}"),
    };
    let complete = |Item { key, value, expiry_ms, .. }| {
        let value = value.unwrap_or_else(|| get(store, &key, snapshot).expect("a scan has found it").0);
        (key, value, expiry_ms)
    };
    Answer::Entries(page.items.into_iter().map(complete).collect())
}
