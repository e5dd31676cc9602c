//! Power cuts, on copies of the device: what is found afterwards is compared with the model.

use super::model::{Body, compare};
use super::watched::Watched;
use super::{Health, Trial, options};
use crate::{Blocks, Outcome, Place};
use flashlane_device::{DataDevice, Device, UnitState};
use std::collections::{BTreeMap, BTreeSet};

impl<D: DataDevice + Clone> Trial<'_, D> {
    /// Cuts the power of a copy now, opens it, and compares.
    pub(super) fn cut(&mut self) {
        self.cut_at(self.blocks.device().copy());
    }

    /// The same at each step that was watched, the model being as it was before. Whether one of them is gone on with.
    pub(super) fn cut_within(&mut self) -> bool {
        let seen = self.blocks.device.take_seen();
        seen.into_iter().any(|device| self.cut_at(device))
    }

    /// What is found on a device whose power is cut.
    pub(super) fn without_power(&mut self, device: D) -> Blocks<Watched<D>> {
        let mut device = (self.calm)(device);
        let could = device.cut_power().is_some();
        assert!(could, "a device that cannot be cut off cannot be tried");
        // What was in flight ends, in failure.
        let mut ended = Vec::new();
        device.reap(device.now(), &mut ended);
        let options = options(&mut self.random);
        match Blocks::open(Watched::new(device), options) {
            Ok(copy) => copy,
            Err(error) => panic!("after a power cut: {error}"),
        }
    }

    /// Whether it is gone on with.
    fn cut_at(&mut self, device: D) -> bool {
        let mut copy = self.without_power(device);
        self.tally.cuts += 1;
        let found = self.compare_all(&mut copy);
        let goes_on = self.health == Health::Sound && self.random.chance(0.02);
        if goes_on {
            self.go_on(copy, found);
        }
        goes_on
    }

    /// Somebody goes on from here.
    pub(super) fn go_on(&mut self, copy: Blocks<Watched<D>>, stored: BTreeMap<u64, Body>) {
        self.model.highest = self.model.highest.max(copy.list().map(|info| info.id).max());
        self.model.damaged = copy.damaged().map(|place| (place, erases_of(&copy, place))).collect();
        self.model.stored = stored;
        self.model.putting.clear();
        self.model.deleting.clear();
        self.model.getting.clear();
        self.blocks = copy;
        self.tally.restarts += 1;
    }

    /// Compares all that a copy holds with the model; what it holds is given back.
    pub(super) fn compare_all(&mut self, copy: &mut Blocks<Watched<D>>) -> BTreeMap<u64, Body> {
        let mut found = BTreeMap::new();
        let listed: Vec<_> = copy.list().collect();
        for info in listed {
            let id = info.id;
            let model = &self.model;
            let moving = || model.putting.get(&id).or_else(|| model.deleting.get(&id)).map(|(_, body)| body);
            let body = model.stored.get(&id).or_else(moving).or_else(|| model.uncertain.get(&id));
            let Some(&body) = body else { panic!("block {id} came from nowhere") };
            assert_eq!(info.length_bytes, body.length_bytes, "block {id} has another length");
            let ticket = copy.get(id, 0, body.length_bytes).expect("a listed block is there");
            match copy.wait(ticket).map(|finished| finished.outcome) {
                Some(Outcome::Get(Ok(data))) => compare(id, body, 0, body.length_bytes, data.as_slice()),
                other => panic!("block {id} is listed, and a get gives {other:?}"),
            }
            found.insert(id, body);
            self.tally.blocks_compared += 1;
        }
        for id in self.model.stored.keys() {
            assert!(found.contains_key(id), "block {id} was acknowledged and is lost");
        }
        let highest = self.model.highest.map_or(0, |id| id + 1);
        assert!(copy.next_id >= highest, "id {} was given out, and {} comes next", highest, copy.next_id);
        // Damaged is what was damaged and has not been erased since.
        let told: BTreeSet<Place> = copy.damaged().collect();
        let written = UnitState::Written { bytes: copy.layout.unit_bytes };
        let state_of = |place: Place| copy.device.unit(place.on(), place.unit.into()).map(|unit| unit.state);
        let left = self.model.damaged.iter().filter(|&(&place, &erases)| {
            state_of(place) == Some(written) && erases_of(copy, place) == erases
        });
        assert_eq!(told, left.map(|(&place, _)| place).collect(), "these are told as damaged, and those are");
        found
    }
}

/// How often a unit was erased, where the device counts.
fn erases_of<D: DataDevice>(blocks: &Blocks<D>, place: Place) -> Option<u32> {
    blocks.device.unit(place.on(), place.unit.into()).and_then(|unit| unit.erases)
}
