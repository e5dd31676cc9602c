//! Power cuts, on copies of the device, after which the stored blocks are compared with the model.

use crate::model::{Body, compare};
use crate::watched::Watched;
use crate::{Health, Trial, options};
use flashlane_block::{Blocks, Outcome, UnitAddress};
use flashlane_device::{DataDevice, Device, UnitState};
use std::collections::{BTreeMap, BTreeSet};

impl<D: DataDevice + Clone> Trial<'_, D> {
    /// Cuts the power of a copy now, opens it, and compares.
    pub(crate) fn cut(&mut self) {
        self.cut_at(self.blocks.device().copy());
    }

    /// Does the same with each snapshot, taken while the model stayed the same. Returns whether one of them replaced
    /// the trial's device.
    pub(crate) fn cut_within(&mut self) -> bool {
        let snapshots = self.blocks.device().take_snapshots();
        snapshots.into_iter().any(|device| self.cut_at(device))
    }

    /// Cuts the power of `device` and opens it.
    pub(crate) fn without_power(&mut self, device: D) -> Blocks<Watched<D>> {
        let mut device = (self.without_faults)(device);
        let is_cut = device.cut_power().is_some();
        assert!(is_cut, "the device has no power cut to be tried with");
        // Requests in flight fail.
        let mut ended = Vec::new();
        device.reap(device.now(), &mut ended);
        let options = options(&mut self.random);
        match Blocks::open(Watched::new(device), options) {
            Ok(copy) => copy,
            Err(error) => panic!("after a power cut: {error}"),
        }
    }

    /// Returns whether the copy replaced the trial's device.
    fn cut_at(&mut self, device: D) -> bool {
        let mut copy = self.without_power(device);
        self.tally.cuts += 1;
        let found = self.compare_all(&mut copy);
        let replaces = self.health == Health::Sound && self.random.chance(0.02);
        if replaces {
            self.replace(copy, found);
        }
        replaces
    }

    /// The trial continues on `copy`, which holds the blocks of `stored`.
    pub(crate) fn replace(&mut self, copy: Blocks<Watched<D>>, stored: BTreeMap<u64, Body>) {
        self.model.highest = self.model.highest.max(copy.list().map(|info| info.id).max());
        self.model.damaged = copy.damaged().map(|address| (address, erases_of(&copy, address))).collect();
        self.model.stored = stored;
        self.model.putting.clear();
        self.model.deleting.clear();
        self.model.getting.clear();
        self.blocks = copy;
        self.tally.restarts += 1;
    }

    /// Compares all that a copy holds with the model. Returns the blocks that it holds.
    pub(crate) fn compare_all(&mut self, copy: &mut Blocks<Watched<D>>) -> BTreeMap<u64, Body> {
        let mut found = BTreeMap::new();
        let listed: Vec<_> = copy.list().collect();
        for info in listed {
            let id = info.id;
            let model = &self.model;
            let moving = || model.putting.get(&id).or_else(|| model.deleting.get(&id)).map(|(_, body)| body);
            let body = model.stored.get(&id).or_else(moving).or_else(|| model.uncertain.get(&id));
            let Some(&body) = body else { panic!("block {id} was never put") };
            assert_eq!(info.length_bytes, body.length_bytes, "block {id} has another length");
            let ticket = copy.get(id, 0, body.length_bytes).expect("a listed block can be read");
            match copy.wait(ticket).map(|finished| finished.outcome) {
                Some(Outcome::Get(Ok(data))) => compare(id, body, 0, body.length_bytes, data.as_slice()),
                other => panic!("block {id} is listed, and a get returns {other:?}"),
            }
            found.insert(id, body);
            self.tally.blocks_compared += 1;
        }
        for id in self.model.stored.keys() {
            assert!(found.contains_key(id), "block {id} was acknowledged and is lost");
        }
        let highest = self.model.highest.map_or(0, |id| id + 1);
        let status = copy.status();
        assert!(
            status.next_id >= highest,
            "ids below {highest} were given out, and {} comes next",
            status.next_id
        );
        // Damaged units stay so until they are erased.
        let reported: BTreeSet<UnitAddress> = copy.damaged().collect();
        let written = UnitState::Written { bytes: status.layout.unit_bytes };
        let expected = self.model.damaged.iter().filter(|&(&address, &erases)| {
            let unit = copy.device().unit(address.device_lane(), address.unit.into());
            unit.map(|unit| unit.state) == Some(written) && erases_of(copy, address) == erases
        });
        let expected = expected.map(|(&address, _)| address).collect();
        assert_eq!(reported, expected, "damaged units as reported, and as expected");
        found
    }
}

/// Returns the erase count of a unit, where the device counts.
fn erases_of<D: DataDevice>(blocks: &Blocks<D>, address: UnitAddress) -> Option<u32> {
    blocks.device().unit(address.device_lane(), address.unit.into()).and_then(|unit| unit.erases)
}
