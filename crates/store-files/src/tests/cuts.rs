//! Power cuts within changes: copies of both devices are taken at a call of one of them, lose their power, and are
//! opened.

use super::model::{Change, Model, Tree};
use super::{EXTENT, TestStore, apply, check_space, devices, kind_of, slices, tree};
use crate::Files;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Lane, Request, RequestId,
    SubmitError, Unit,
};
use flashlane_device_testing::{MemoryDisk, MemoryLanes, cycle_power};
use flashlane_store::{KeyValueStore, Store, StoreOptions};
use std::cell::RefCell;
use std::rc::Rc;

/// When copies are taken, and the copies.
#[derive(Default)]
struct Cut {
    /// Calls until then.
    calls_left: Option<u64>,
    lanes: Option<MemoryLanes>,
    disk: Option<MemoryDisk>,
}

/// A device that is copied before a call.
struct Watched<D> {
    inner: D,
    cut: Rc<RefCell<Cut>>,
    copy: fn(&mut Cut) -> &mut Option<D>,
}

impl<D: Clone> Watched<D> {
    /// A call begins, which may change the device.
    fn called(&mut self) {
        let cut = &mut *self.cut.borrow_mut();
        match &mut cut.calls_left {
            None => return,
            Some(left @ 1..) => {
                *left -= 1;
                if *left > 0 {
                    return;
                }
            }
            // The other device was copied at an earlier call, since which this one has had none.
            Some(0) => {}
        }
        let copy = (self.copy)(cut);
        if copy.is_none() {
            *copy = Some(self.inner.clone());
        }
    }
}

impl<D: DataDevice + Clone> Device for Watched<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn now(&self) -> Instant {
        self.inner.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.called();
        self.inner.submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.called();
        self.inner.reap(until, out);
    }
    fn next_event(&self) -> Option<Instant> {
        self.inner.next_event()
    }
    fn counters(&self) -> Counters {
        self.inner.counters()
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.inner.unit(lane, index)
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.inner.at_risk()
    }
}

impl<D: DataDevice + Clone> DataDevice for Watched<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.called();
        self.inner.submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.inner.take_buffer(id)
    }
}

type WatchedStore = KeyValueStore<Watched<MemoryLanes>, Watched<MemoryDisk>>;

fn create(are_parted: bool, cut: &Rc<RefCell<Cut>>) -> WatchedStore {
    let (lanes, disk) = devices(160);
    let lanes = Watched { inner: lanes, cut: cut.clone(), copy: |cut| &mut cut.lanes };
    let disk = Watched { inner: disk, cut: cut.clone(), copy: |cut| &mut cut.disk };
    // Reads that a cache answers are no calls, and cuts are chosen among calls.
    let options = StoreOptions { cache_reads: false, ..StoreOptions::default() };
    let store = Store::create(lanes, disk, 1, slices(are_parted), options);
    store.expect("the devices suit").into()
}

/// Returns the store that is left where power is cut at the call that was chosen, or now.
fn left(store: &mut WatchedStore, cut: &Rc<RefCell<Cut>>) -> (TestStore, bool) {
    let store = store.store();
    let mut cut = cut.borrow_mut();
    let is_within = cut.calls_left.take() == Some(0);
    let mut lanes = cut.lanes.take().unwrap_or_else(|| store.blocks().device().inner.clone());
    let mut disk = cut.disk.take().unwrap_or_else(|| store.log_device().inner.clone());
    cycle_power(&mut lanes);
    cycle_power(&mut disk);
    (KeyValueStore::open(lanes, disk).expect("the store is there"), is_within)
}

/// Returns whether a tree may be what a power cut within a change leaves.
fn is_possible(found: &Tree, before: &Tree, after: &Tree, change: &Change) -> bool {
    if found == before || found == after {
        return true;
    }
    match change {
        // Extent by extent the old bytes or the new ones, in one of both lengths.
        Change::Write(path, ..) => {
            let others = |tree: &Tree| {
                tree.iter()
                    .filter(|(key, _)| *key != path)
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect::<Tree>()
            };
            let bytes = |tree: &Tree| tree.get(path).cloned().flatten().unwrap_or_default();
            let (found_bytes, mut old, new) = (bytes(found), bytes(before), bytes(after));
            let length = found_bytes.len();
            let is_length = length == old.len() || length == new.len();
            old.resize(length.max(old.len()), 0);
            let extents = (0..length.div_ceil(EXTENT as usize)).all(|nth| {
                let range = nth * EXTENT as usize..length.min((nth + 1) * EXTENT as usize);
                found_bytes[range.clone()] == old[range.clone()] || found_bytes[range.clone()] == new[range]
            });
            others(found) == others(before) && is_length && extents
        }
        Change::RemoveAll(path) => {
            let prefix = format!("{path}/");
            let is_removed = |key: &String| key == path || key.starts_with(&prefix);
            found.iter().all(|(key, value)| before.get(key) == Some(value))
                && before.keys().all(|key| is_removed(key) || found.contains_key(key))
        }
        _ => false,
    }
}

#[test]
fn power_cuts_leave_what_was_or_what_comes() {
    let (mut within, mut unfinished) = (0, 0);
    for seed in 0..16 {
        let cut = Rc::<RefCell<Cut>>::default();
        let mut store = create(seed % 2 == 1, &cut);
        let (mut model, mut random) = (Model::default(), Seed(seed).derive("cuts").source());
        for step in 0..120 {
            let change = Change::random(&mut random);
            let before = model.tree.clone();
            let expected = model.apply(&change);
            let most = if random.chance(0.5) { 12 } else { 120 };
            let calls = 1 + random.below(most);
            cut.borrow_mut().calls_left = Some(calls);
            let mut files = Files::open_with(&mut store, EXTENT).unwrap();
            let found = apply(&mut files, &change).map_err(|error| kind_of(&error));
            assert_eq!(found, expected, "seed {seed}, step {step}: {change:?}");
            let (mut copy, is_within) = left(&mut store, &cut);
            within += u64::from(is_within);
            let mut files = Files::open_with(&mut copy, EXTENT).unwrap();
            let seen = tree(&mut files);
            let of = || format!("seed {seed}, step {step}, a cut at call {calls} of {change:?}");
            if is_within {
                let paths = |tree: &Tree| {
                    tree.iter()
                        .map(|(path, bytes)| (path.clone(), bytes.as_ref().map(Vec::len)))
                        .collect::<Vec<_>>()
                };
                assert!(
                    is_possible(&seen, &before, &model.tree, &change),
                    "{}: {:?} of {:?}",
                    of(),
                    paths(&seen),
                    paths(&before)
                );
            } else {
                assert_eq!(seen, model.tree, "{}: completed changes are durable", of());
            }
            // The next change deletes what the cut has left.
            let records = files.store.entries(&crate::records::unfinished_key(None), None, false);
            unfinished += u64::from(records.count() > 0);
            files.make_directories("/new").unwrap();
            let mut now = tree(&mut files);
            now.remove("/new");
            assert_eq!(now, seen, "{}", of());
            check_space(&mut copy);
        }
    }
    assert!(within > 400 && unfinished > 50, "{within} cuts within changes, {unfinished} left something");
}
