//! Clients of a store, as in section 3.3 of the SDF paper: random gets in batches, scans by several threads, and
//! writes, each slice with its own client. All of it is in virtual time, the same on every machine.
//!
//! The log is on a device that takes no time: the paper has it on another drive.

use flashlane_base::{Duration, Histogram, Instant, Latency, Random, Seed};
use flashlane_device::{DataDevice, NullDevice};
use flashlane_layer::Backed;
use flashlane_measure::Interruption;
use flashlane_store::{
    Batch, Counters, Durability, Outcome, Requirements, Slices, Store, StoreOptions, Ticket,
};
use std::collections::BTreeMap;

/// Called with the share of a measurement that is done; an error ends it.
pub type Advance<'a> = &'a mut dyn FnMut(f64) -> Result<(), Interruption>;

/// The device of the log.
pub type Log = Backed<NullDevice>;

/// Operations from one report of progress to the next.
const STEP: u64 = 64;
/// Bytes that a scanning thread requests before it waits.
const SCAN_BYTES: u64 = 1 << 20;
/// Sizes of the values of fig14, in bytes: from this one on, and as many above it.
const WRITE_BYTES: (u64, u64) = (100_000, 900_000);

/// When a client of gets submits the next ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetClient {
    /// It waits for all gets of a batch, as in the paper (section 3.3.1: a request of several sub-requests is
    /// synchronous).
    Batches,
    /// It submits a get for each that completes, so that as many stay in flight.
    Continuous,
}

/// Outcome of [`LoadedStore::gets`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gets {
    /// Bytes of values a second.
    pub bytes_per_s: f64,
    /// Reads of the device for each get.
    pub reads_per_get: f64,
}

/// Outcome of [`writes`].
#[derive(Clone, Debug)]
pub struct Writes {
    /// Time that was measured.
    pub elapsed: Duration,
    /// What happened in it.
    pub counters: Counters,
    /// From the time at which a client would write, to the completion: a wait for a busy store counts.
    pub latency: Latency,
}

impl Writes {
    /// Returns bytes a second of a count.
    pub fn rate(&self, of: impl Fn(&Counters) -> u64) -> f64 {
        of(&self.counters) as f64 / self.elapsed.as_s_f64()
    }

    /// Bytes a second that merges read from the device.
    pub fn read_rate(&self) -> f64 {
        self.rate(|counters| counters.merge_bytes_read)
    }

    /// Bytes a second that were written to the device, with containers and by merges.
    pub fn write_rate(&self) -> f64 {
        self.rate(|counters| counters.flush_bytes_written + counters.merge_bytes_written)
    }
}

/// Values of one size in each slice of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Number of values in a slice.
    pub count: u64,
    /// Size of each.
    pub bytes: u64,
}

/// A store whose slices each have the same values.
pub struct LoadedStore<D> {
    store: Store<D, Log>,
    slices: u32,
    /// Values of a slice, by size.
    values: Vec<Values>,
}

impl<D: DataDevice> LoadedStore<D> {
    /// Creates a store on `device` and writes `values` into each slice, in the order of their keys, one size after the
    /// other.
    ///
    /// # Errors
    /// What `advance` returns.
    ///
    /// # Panics
    /// Where the device cannot hold them.
    pub fn new(
        device: D,
        slices: u32,
        values: Vec<Values>,
        advance: Advance<'_>,
    ) -> Result<Self, Interruption> {
        let mut store = create(device, slices);
        for (nth, &Values { count, bytes }) in values.iter().enumerate() {
            let share = |of_size: f64| (nth as f64 + of_size) / values.len() as f64;
            let mut advance = |of_size: f64| advance(share(of_size));
            fill(&mut store, slices, (nth, count), &mut |_| bytes, &mut advance)?;
        }
        Ok(Self { store, slices, values })
    }

    /// Returns the fewest and the most blocks of a lane.
    pub fn blocks_of_lanes(&self) -> (u64, u64) {
        let lanes = self.store.blocks().status().lanes;
        let blocks = || lanes.iter().map(|lane| lane.blocks);
        (blocks().min().expect("a lane"), blocks().max().expect("a lane"))
    }

    /// Runs `rounds` times `batch` gets for each slice, of random keys among the values of the `size`th size.
    ///
    /// # Errors
    /// What `advance` returns.
    pub fn gets(
        &mut self,
        size: usize,
        client: GetClient,
        batch: u64,
        rounds: u64,
        advance: Advance<'_>,
    ) -> Result<Gets, Interruption> {
        let before = self.store.status().counters;
        let begun = self.store.now();
        let mut random = Seed(3).source();
        let mut waiting: BTreeMap<Ticket, usize> = BTreeMap::new();
        let mut left = vec![rounds * batch; self.slices as usize];
        let mut in_flight = vec![0; self.slices as usize];
        for slice in 0..self.slices as usize {
            self.submit(&mut waiting, &mut random, (slice, size), batch);
            left[slice] -= batch;
            in_flight[slice] = batch;
        }
        let (all, mut completed) = (rounds * batch * u64::from(self.slices), 0_u64);
        let mut out = Vec::new();
        while !waiting.is_empty() {
            self.store.reap(Instant::FAR, &mut out);
            for finished in out.drain(..) {
                let found = matches!(&finished.outcome, Outcome::Get(Ok(Some(value))) if value.bytes.len() as u64 == self.values[size].bytes);
                assert!(found, "a get of a key that is there: {:?}", finished.ticket);
                let slice = waiting.remove(&finished.ticket).expect("a get of this run");
                in_flight[slice] -= 1;
                let count = match client {
                    GetClient::Batches if in_flight[slice] > 0 => 0,
                    GetClient::Batches => batch.min(left[slice]),
                    GetClient::Continuous => left[slice].min(1),
                };
                self.submit(&mut waiting, &mut random, (slice, size), count);
                left[slice] -= count;
                in_flight[slice] += count;
                completed += 1;
                if completed.is_multiple_of(STEP) {
                    advance(completed as f64 / all as f64)?;
                }
            }
        }
        let counters = self.store.status().counters.since(&before);
        Ok(Gets {
            bytes_per_s: counters.user_bytes_read as f64 / self.store.now().since(begun).as_s_f64(),
            reads_per_get: counters.reads_per_get(),
        })
    }

    fn submit(
        &mut self,
        waiting: &mut BTreeMap<Ticket, usize>,
        random: &mut Random,
        (slice, size): (usize, usize),
        count: u64,
    ) {
        for _ in 0..count {
            let key = key(slice as u32, self.slices, (size, random.below(self.values[size].count)));
            waiting.insert(self.store.get(&key, None), slice);
        }
    }

    /// Scans the values of the first size of each slice with `threads` threads, each a part of the keys and one request
    /// in flight, over and over for `time`. Returns bytes of values a second in the second half of the time: of a page
    /// that was read partly in it, that part.
    ///
    /// # Errors
    /// What `advance` returns.
    pub fn scans(&mut self, threads: u64, time: Duration, advance: Advance<'_>) -> Result<f64, Interruption> {
        let bound =
            |slice: u32, part: u64| key(slice, self.slices, (0, self.values[0].count * part / threads));
        let parts: Vec<(Vec<u8>, Vec<u8>)> = (0..self.slices)
            .flat_map(|slice| (0..threads).map(move |part| (slice, part)))
            .map(|(slice, part)| (bound(slice, part), bound(slice, part + 1)))
            .collect();
        let begun = self.store.now();
        let (from, to) = (begun + time / 2, begun + time);
        let mut waiting: BTreeMap<Ticket, (usize, Instant)> = BTreeMap::new();
        for (nth, (first, end)) in parts.iter().enumerate() {
            waiting.insert(self.store.scan(first, Some(end), u64::MAX, SCAN_BYTES, None), (nth, begun));
        }
        let mut bytes = 0.0;
        let mut out = Vec::new();
        while !waiting.is_empty() {
            self.store.reap(Instant::FAR, &mut out);
            advance((self.store.now().since(begun).as_s_f64() / time.as_s_f64()).min(1.0))?;
            for finished in out.drain(..) {
                let (nth, asked) = waiting.remove(&finished.ticket).expect("a scan of this run");
                let Outcome::Scan(Ok(page)) = finished.outcome else {
                    panic!("a scan of a sound store ends well: {:?}", finished.outcome)
                };
                let read: u64 = page.items.iter().map(|item| item.value_bytes).sum();
                let counted = finished.completed.min(to).since(asked.max(from));
                let took = finished.completed.since(asked);
                // A page without values takes no time.
                if read > 0 {
                    bytes += read as f64 * counted.as_s_f64() / took.as_s_f64();
                }
                if finished.completed < to {
                    let (first, end) = &parts[nth];
                    let first = page.next.as_ref().filter(|next| *next < end).unwrap_or(first);
                    let ticket = self.store.scan(first, Some(end), u64::MAX, SCAN_BYTES, None);
                    waiting.insert(ticket, (nth, finished.completed));
                }
            }
        }
        Ok(bytes / to.since(from).as_s_f64())
    }

    /// Returns bytes of memory of indexes and filters for each value.
    pub fn memory_per_key(&self) -> f64 {
        let keys: u64 = self.values.iter().map(|values| values.count * u64::from(self.slices)).sum();
        self.store.status().index_memory_bytes as f64 / keys as f64
    }

    /// Opens the store anew, and returns its patches and the time that the opening took: blocks, the tails of all
    /// patches, then a log whose device takes no time.
    pub fn reopen(self) -> (u64, Duration) {
        let (device, log) = self.store.into_devices();
        let begun = device.now();
        let store = Store::open(device, log, options()).expect("a closed store is opened");
        let patches = store.status().slices.iter().flat_map(|slice| &slice.patches).sum();
        (patches, store.blocks().now().since(begun))
    }
}

/// Writes values of 100 KB to 1 MB under random keys for `time`, a client for each slice with one write in flight, over
/// `data_bytes` of values that were written in the order of their keys. What happens in the first half of the time is
/// not counted.
///
/// # Errors
/// What `advance` returns.
///
/// # Panics
/// Where the device cannot hold them.
pub fn writes<D: DataDevice>(
    device: D,
    slices: u32,
    data_bytes: u64,
    time: Duration,
    advance: Advance<'_>,
) -> Result<Writes, Interruption> {
    let mut random = Seed(5).source();
    let length = |random: &mut Random| WRITE_BYTES.0 + random.below(WRITE_BYTES.1);
    let values = data_bytes / (WRITE_BYTES.0 + WRITE_BYTES.1 / 2) / u64::from(slices);
    let mut store = create(device, slices);
    let mut lengths = Seed(4).source();
    fill(&mut store, slices, (0, values), &mut |_| length(&mut lengths), &mut |share| advance(share / 2.0))?;

    let begun = store.now();
    let end = begun + time;
    let mut clients: BTreeMap<Ticket, (u32, Instant)> = BTreeMap::new();
    // A write that is refused as busy waits here already.
    let write = |store: &mut Store<D, Log>, random: &mut Random, slice: u32| {
        let asked = store.now();
        let key = key(slice, slices, (0, random.below(values)));
        (put(store, key, length(random)), (slice, asked))
    };
    clients.extend((0..slices).map(|slice| write(&mut store, &mut random, slice)));
    let (mut before, mut latency) = (None, Histogram::new());
    let mut out = Vec::new();
    while store.now() < end {
        store.reap(end, &mut out);
        advance(0.5 + store.now().since(begun).as_s_f64() / time.as_s_f64() / 2.0)?;
        for finished in out.drain(..) {
            let Some((slice, asked)) = clients.remove(&finished.ticket) else { continue };
            if before.is_some() {
                latency.record(finished.completed.since(asked));
            }
            let (ticket, client) = write(&mut store, &mut random, slice);
            clients.insert(ticket, client);
        }
        if before.is_none() && store.now() >= begun + time / 2 {
            before = Some((store.now(), store.status().counters));
        }
    }
    // Those that have not completed waited too.
    clients.values().for_each(|(_, asked)| latency.record(store.now().since(*asked)));
    let (since, before) = before.expect("half of the time has passed");
    let after = store.status().counters;
    Ok(Writes {
        elapsed: store.now().since(since),
        counters: after.since(&before),
        latency: latency.latency(),
    })
}

/// Outcome of [`opening`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Patches that were found.
    pub patches: u64,
    /// Bytes of entries that were in containers and are read from the log.
    pub container_bytes: u64,
    /// Time that the opening took on the devices.
    pub elapsed: Duration,
}

/// Values of [`opening`], and the number of them that each slice has in its container when the power is cut: half of a
/// container.
const OPENING_VALUE_BYTES: u64 = 512 << 10;
const OPENING_IN_CONTAINER: u64 = 8;

/// Opens a store with `data_bytes` of values in patches, and some in the log only, after a power cut of both devices.
/// The log is on the device that `log` returns for the bytes that it needs.
///
/// # Errors
/// What `advance` returns.
///
/// # Panics
/// Where the device cannot hold them.
pub fn opening<D: DataDevice, L: DataDevice>(
    device: D,
    log: impl FnOnce(u64) -> L,
    slices: u32,
    data_bytes: u64,
    advance: Advance<'_>,
) -> Result<Opening, Interruption> {
    let values = data_bytes / OPENING_VALUE_BYTES / u64::from(slices);
    let mut store = create_with(device, log, slices);
    fill(&mut store, slices, (0, values), &mut |_| OPENING_VALUE_BYTES, advance)?;
    for number in 0..OPENING_IN_CONTAINER {
        for slice in 0..slices {
            put(
                &mut store,
                key(slice, slices, (0, number * values / OPENING_IN_CONTAINER)),
                OPENING_VALUE_BYTES,
            );
        }
    }
    let (mut device, mut log) = store.into_devices();
    device.cut_power();
    log.cut_power();
    let begun = device.now().max(log.now());
    let store = Store::open(device, log, options()).expect("a store is opened after a power cut");
    let found = store.status().slices;
    Ok(Opening {
        patches: found.iter().flat_map(|slice| &slice.patches).sum(),
        container_bytes: found.iter().map(|slice| slice.container_bytes).sum(),
        elapsed: store.now().since(begun),
    })
}

/// As the paper's store, which has no cache of reads.
fn options() -> StoreOptions {
    // The paper's store keeps its patches sorted on levels.
    let merge = "leveled".into();
    StoreOptions { memory_bytes: 2 << 30, cache_reads: false, merge, ..StoreOptions::default() }
}

fn create<D: DataDevice>(device: D, slices: u32) -> Store<D, Log> {
    create_with(device, |log_bytes| Backed::new(NullDevice::new(log_bytes)), slices)
}

/// Creates a store with the log that `log` returns for the bytes that it needs.
fn create_with<D: DataDevice, L: DataDevice>(
    device: D,
    log: impl FnOnce(u64) -> L,
    slices: u32,
) -> Store<D, L> {
    let (slices, options) = (Slices::even(slices), options());
    let needs = Requirements::new(device.info(), &slices, &options).expect("fresh devices take a store");
    Store::create(device, log(needs.log_bytes), 1, slices, options).expect("fresh devices take a store")
}

/// Writes values into each slice in the order of their keys, and waits until all of it is in patches and merged.
fn fill<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    slices: u32,
    (size, values): (usize, u64),
    length: &mut dyn FnMut(u64) -> u64,
    advance: Advance<'_>,
) -> Result<(), Interruption> {
    for number in 0..values {
        for slice in 0..slices {
            put(store, key(slice, slices, (size, number)), length(number));
        }
        advance(number as f64 / values as f64)?;
    }
    // First those writes that wait for the log: they are in no container yet.
    store.settle();
    store.flush();
    store.settle();
    store.reap(store.now(), &mut Vec::new());
    let in_containers: u64 = store.status().slices.iter().map(|slice| slice.container_bytes).sum();
    assert_eq!(in_containers, 0, "reads find all values in patches");
    Ok(())
}

/// A key of a slice: two bytes that choose it, which size its value has, and a number.
fn key(slice: u32, slices: u32, (size, number): (usize, u64)) -> Vec<u8> {
    let first = ((u64::from(slice) << 16) / u64::from(slices)) as u16;
    [&first.to_be_bytes()[..], &[size as u8], &number.to_be_bytes(), &[0; 5]].concat()
}

/// Writes a value, and waits where the store is busy until it takes it.
fn put<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, key: Vec<u8>, length: u64) -> Ticket {
    loop {
        let mut batch = Batch::default();
        batch.put(key.clone(), vec![0; length as usize]);
        match store.write(batch, Durability::Device) {
            Ok(ticket) => return ticket,
            Err(error) => assert!(store.step(Instant::FAR), "a write is refused for good: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::Device;
    use flashlane_sim::{device, profile};

    const VALUE: Values = Values { count: 60, bytes: 512 << 10 };

    /// The device of the paper with four channels.
    fn small() -> Backed<Box<dyn Device>> {
        let overrides = [("flash.channels", "4"), ("capacity", "1GiB")];
        let overrides: Vec<_> = overrides.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let config = profile::load("sdf", &overrides).expect("the test's own settings");
        Backed::new(device(&config, Seed(1), "sim:sdf".into()))
    }

    fn loaded(slices: u32) -> LoadedStore<impl DataDevice> {
        LoadedStore::new(small(), slices, vec![VALUE], &mut |_| Ok(())).expect("nothing stops it")
    }

    #[test]
    fn one_get_at_a_time_has_the_speed_of_a_channel() {
        let mut store = loaded(1);
        let gets = store.gets(0, GetClient::Batches, 1, 20, &mut |_| Ok(())).expect("nothing stops it");
        // A channel reads 38 MB/s (sdf14, section 3.3.1).
        assert!((gets.bytes_per_s / 38e6 - 1.0).abs() < 0.05, "{gets:?}");
        assert_eq!(gets.reads_per_get, 1.0);
        let all = |store: &mut LoadedStore<_>, client| {
            store.gets(0, client, 8, 20, &mut |_| Ok(())).expect("nothing stops it").bytes_per_s
        };
        let batches = all(&mut store, GetClient::Batches);
        assert!(all(&mut store, GetClient::Continuous) > batches && batches > 2.0 * gets.bytes_per_s);
    }

    #[test]
    fn scans_use_as_many_channels_as_there_are_threads() {
        let rate = |threads| {
            let mut store = loaded(1);
            store.scans(threads, Duration::from_s(1), &mut |_| Ok(())).expect("nothing stops it")
        };
        let (one, four) = (rate(1), rate(4));
        assert!((one / 38e6 - 1.0).abs() < 0.1 && four > 1.5 * one && four < 4.1 * one, "{one} and {four}");
    }

    #[test]
    fn scans_are_no_faster_than_the_device() {
        for threads in [16, 40, 60] {
            let rate =
                loaded(1).scans(threads, Duration::from_s(1), &mut |_| Ok(())).expect("nothing stops it");
            // Four channels of 40 MB/s.
            assert!(rate > 50e6 && rate < 160e6, "{threads} threads: {rate}");
        }
    }

    #[test]
    fn writes_count_what_the_device_did_after_half_of_the_time() {
        let time = Duration::from_s(1);
        let written = writes(small(), 2, 30_000_000, time, &mut |_| Ok(())).expect("nothing stops it");
        assert!(written.elapsed <= time / 2 && written.elapsed > time / 3, "{:?}", written.elapsed);
        assert!(written.counters.writes > 10 && written.write_rate() > 0.0, "{written:?}");
        assert!(written.latency.max > 0.0 && written.latency.max < 1e9, "{:?}", written.latency);
    }

    #[test]
    fn opening_after_a_power_cut_reads_the_log() {
        let disk = |bytes: u64| {
            let overrides = [("capacity".to_owned(), format!("{}MiB", bytes.div_ceil(1 << 20) * 2))];
            let config = profile::load("ssd-s", &overrides).expect("the test's own settings");
            Backed::new(device(&config, Seed(1), "sim:ssd-s".into()))
        };
        let opened = opening(small(), disk, 2, 200 << 20, &mut |_| Ok(())).expect("nothing stops it");
        assert!(opened.patches >= 25, "{opened:?}");
        assert!(opened.container_bytes >= 2 * OPENING_IN_CONTAINER * OPENING_VALUE_BYTES, "{opened:?}");
        assert!(opened.elapsed > Duration::from_ms(1) && opened.elapsed < Duration::from_s(3), "{opened:?}");
    }

    #[test]
    fn measurement_ends_where_it_is_stopped() {
        let mut calls = 0;
        let mut stop = |_: f64| {
            calls += 1;
            if calls < 5 { Ok(()) } else { Err(Interruption::Stopped) }
        };
        let stopped = LoadedStore::new(small(), 1, vec![VALUE], &mut stop).err();
        assert!(matches!(stopped, Some(Interruption::Stopped)));
        assert_eq!(calls, 5);
    }
}
