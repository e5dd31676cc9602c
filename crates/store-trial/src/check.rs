//! Comparisons with the model, and power cuts.

use crate::model::{Get, Map, Model, visible};
use crate::{Found, Trial, TrialStore, options, readable};
use flashlane_base::Instant;
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes, cycle_power};
use flashlane_store::{OpenError, Outcome, Page, Snapshot, Store};

/// Bytes of a page of the log on disks with small sectors.
const LOG_PAGE_BYTES: usize = 4096;

/// Returns whether the bytes are a page of the log that is not torn, by what `layout.md` says of pages.
fn is_page(bytes: &[u8]) -> bool {
    let mut checked = bytes.to_vec();
    checked[8..12].fill(0);
    bytes.starts_with(b"flashlog") && bytes[8..12] == crc32c::crc32c(&checked).to_le_bytes()
}

/// Returns the offset of the page of the log that was written last.
fn last_page(log: &[u8]) -> Option<usize> {
    let number =
        |page: &[u8], at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"));
    let pages = log.chunks(LOG_PAGE_BYTES).enumerate().filter(|(_, page)| is_page(page));
    let newest = pages.max_by_key(|(_, page)| (number(page, 32), number(page, 40)));
    newest.map(|(nth, _)| nth * LOG_PAGE_BYTES)
}

impl Trial {
    pub(crate) fn check_get(&mut self, get: &Get, found: Option<Vec<u8>>) {
        self.tally.gets += 1;
        let readable = readable(&get.allowed, self.model.now_ms);
        // A value may have expired, or have been read before it did.
        let was_there = get.allowed.iter().flatten().any(|(_, bytes)| Some(bytes) == found.as_ref());
        assert!(
            readable.contains(&found.as_ref()) || was_there,
            "{:?} is {:?} bytes, and one of {:?} was expected",
            get.key,
            found.as_ref().map(Vec::len),
            readable.iter().map(|value| value.map(Vec::len)).collect::<Vec<_>>()
        );
    }

    /// Compares a page with the state of its snapshot.
    pub(crate) fn check_scan(&mut self, map: &Map, start: &[u8], items: u64, page: &Page) {
        self.tally.scans += 1;
        let all = visible(map, 0);
        let expected: Vec<_> = all.range(start.to_vec()..).collect();
        // Values that expire may be there or not.
        let is_lasting = |key: &[u8]| map.get(key).is_none_or(|value| value.0 == 0);
        let found: Vec<_> = page.items.iter().filter(|item| is_lasting(&item.key)).collect();
        let lasting: Vec<_> = expected.iter().filter(|(key, _)| is_lasting(key)).collect();
        if page.next.is_none() {
            let missing: Vec<_> =
                lasting.iter().filter(|(key, _)| found.iter().all(|item| item.key != **key)).collect();
            assert_eq!(found.len(), lasting.len(), "a scan from {start:?} to the end lacks {missing:?}");
        }
        for (item, (key, value)) in found.iter().zip(&lasting) {
            assert_eq!(&&item.key, key, "keys of a scan from {start:?} of {items} items");
            assert!(item.value.as_ref().is_none_or(|own| own == *value), "{key:?} has other bytes in a scan");
            assert_eq!(item.value_bytes, value.len() as u64, "{key:?} has another length in a scan");
        }
        assert!(page.items.len() as u64 <= items, "a scan of {items} items returns {}", page.items.len());
    }

    /// Cuts the power of copies of both devices now, opens them, and compares.
    pub(crate) fn cut(&mut self) {
        let (device, log) = (self.store.blocks().device().clone(), self.store.log_device().clone());
        self.next_cut_seed += 1;
        let Some((mut copy, found)) = self.cut_devices(device, log) else { return };
        // The copy works on, and loses its power once more.
        if self.random.chance(0.2) {
            let steps = self.random.below(30);
            if self.random.chance(0.8) {
                copy.flush();
            }
            for _ in 0..steps {
                copy.step(Instant::FAR);
            }
            let (device, log) = (copy.blocks().device().clone(), copy.log_device().clone());
            let Some((mut again, _)) = self.cut_devices(device, log) else { return };
            again.settle();
            let status = again.status();
            assert_eq!(
                status.slices.iter().filter(|slice| slice.is_merging).count(),
                0,
                "a settled store merges"
            );
            let (_, settled) = self.compare(&mut again);
            assert_eq!(settled, found, "merges change no entry");
            copy = again;
        }
        if !self.is_failing && self.random.chance(0.006) {
            self.replace(copy);
        }
    }

    /// Closes the store with power cuts meanwhile. If it has written to the log, all writes are durable then, and
    /// opening notices where the last pages of the log are not there.
    pub(crate) fn close(&mut self) {
        self.store.begin_close();
        self.cut();
        while self.store.step(Instant::FAR) {
            self.collect();
            self.cut();
        }
        self.store.close().unwrap_or_else(|failure| panic!("the log is sound: {failure}"));
        self.cut();
        self.tally.closes += 1;
        if self.store.status().counters.log_bytes_written > 0 {
            self.model.slices.iter_mut().for_each(|slice| slice.durable_to(u64::MAX));
            self.check_noticed_loss();
        }
    }

    /// Opens a copy whose log lacks the page that was written last.
    fn check_noticed_loss(&mut self) {
        let (device, mut log) = (self.store.blocks().device().clone(), self.store.log_device().clone());
        let Some(last) = last_page(log.bytes_mut()) else { return };
        log.bytes_mut()[last..last + LOG_PAGE_BYTES].fill(0);
        let opened = Store::open(device, log, options(&mut self.random)).map(drop);
        assert!(
            matches!(opened, Err(OpenError::LogDamaged { .. })),
            "the last page of a closed log is missing, and opening returns {opened:?}"
        );
    }

    /// Returns the store that is left by a power cut, and what it holds. Nothing may be open in it.
    pub(crate) fn cut_devices(
        &mut self,
        device: MemoryLanes,
        log: MemoryDisk,
    ) -> Option<(TrialStore, Found)> {
        let none = MemoryFaults::default();
        let (mut device, mut log) = (device.with_faults(none), log.with_faults(none));
        cycle_power(&mut device);
        cycle_power(&mut log);
        let own = options(&mut self.random);
        let mut copy = match Store::open(device, log, own) {
            Ok(copy) => copy,
            Err(error) => panic!("after a power cut: {error}"),
        };
        copy.set_time(self.model.now_ms);
        self.tally.cuts += 1;
        let (_, found) = self.compare(&mut copy);
        Some((copy, found))
    }

    /// Compares what a store holds with the model. Returns the number of writes beyond the durable ones in each slice,
    /// and the entries.
    fn compare(&mut self, store: &mut TrialStore) -> (Vec<usize>, Found) {
        let found = read_all(store, None);
        self.tally.entries_compared += found.len() as u64;
        let count = self.model.slices.len() as u64;
        let mut counts = Vec::new();
        for (nth, slice) in self.model.slices.iter().enumerate() {
            let own: Found = found.iter().filter(|(key, _)| slice_of(key, count) == nth).map(clone).collect();
            match slice.matching(&own, self.model.now_ms) {
                Some((count, _)) => counts.push(count),
                None => panic!("{}", difference(&self.model, nth, &own)),
            }
        }
        (counts, found)
    }

    /// The trial continues on `copy`.
    fn replace(&mut self, mut copy: TrialStore) {
        let (counts, _) = self.compare(&mut copy);
        for (slice, count) in self.model.slices.iter_mut().zip(counts) {
            let mut durable = slice.durable.clone();
            slice.journal[..count].iter().for_each(|write| crate::model::apply(&mut durable, &write.changes));
            slice.durable = durable;
            slice.journal.clear();
            slice.is_blocked = None;
        }
        self.model.gets.clear();
        self.model.scans.clear();
        self.model.snapshots.clear();
        self.tally.add(&self.store.status().counters);
        self.store = copy;
        self.tally.restarts += 1;
    }
}

fn clone((key, value): (&Vec<u8>, &Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    (key.clone(), value.clone())
}

/// Returns the slice of a key, as the bounds part them.
fn slice_of(key: &[u8], count: u64) -> usize {
    let first = u64::from(u16::from_be_bytes([key[0], key[1]]));
    (0..count).rev().find(|nth| (nth << 16) / count <= first).expect("slice 0 begins with the empty key")
        as usize
}

/// Describes how what was found differs from every state that is allowed.
fn difference(model: &Model, nth: usize, found: &Found) -> String {
    let slice = &model.slices[nth];
    let durable = visible(&slice.durable, model.now_ms);
    let differs = |key: &&Vec<u8>| durable.get(*key) != found.get(*key);
    let keys: Vec<_> = durable.keys().chain(found.keys()).filter(differs).collect();
    let lengths = |key: &Vec<u8>| (durable.get(key).map(Vec::len), found.get(key).map(Vec::len));
    let keys: Vec<_> = keys.into_iter().map(|key| (key.clone(), lengths(key))).collect();
    let journal: Vec<_> =
        slice.journal.iter().map(|write| (write.sequence, write.durability, write.changes.len())).collect();
    format!(
        "slice {nth} is no state after its first writes: keys with durable and found lengths {keys:?}, then {journal:?}"
    )
}

/// Returns all entries of a store.
fn read_all(store: &mut TrialStore, snapshot: Option<Snapshot>) -> Found {
    let (mut found, mut start) = (Found::new(), Vec::new());
    loop {
        let ticket = store.scan(&start, None, 64, u64::MAX, snapshot);
        let page = match store.wait(ticket).expect("a scan completes").outcome {
            Outcome::Scan(Ok(page)) => page,
            other => panic!("after a power cut a scan returns {other:?}"),
        };
        for item in page.items {
            let value = match item.value {
                Some(value) => value,
                None => {
                    let ticket = store.get(&item.key, snapshot);
                    match store.wait(ticket).expect("a get completes").outcome {
                        Outcome::Get(Ok(Some(value))) => value.bytes,
                        other => panic!("after a power cut a get of {:?} returns {other:?}", item.key),
                    }
                }
            };
            found.insert(item.key, value);
        }
        match page.next {
            Some(next) => start = next,
            None => return found,
        }
    }
}
