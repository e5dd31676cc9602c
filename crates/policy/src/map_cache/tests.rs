//! Laws of all policies, and a comparison of each with a model that searches plain vectors.

use super::*;
use flashlane_base::Seed;

const SLOTS: u32 = 12;

/// Slots from oldest to youngest, and whether each was used again (`clock`) or is protected (`segmented`).
#[derive(Default)]
struct Model {
    name: &'static str,
    order: Vec<(u32, bool)>,
}

impl Model {
    fn take(&mut self, slot: u32) {
        self.order.retain(|entry| entry.0 != slot);
    }
}

impl Replacement for Model {
    fn insert(&mut self, slot: u32) {
        self.order.push((slot, false));
    }

    fn touch(&mut self, slot: u32) {
        if self.name == "clock" {
            self.order.iter_mut().filter(|entry| entry.0 == slot).for_each(|entry| entry.1 = true);
            return;
        }
        self.take(slot);
        if self.name == "segmented" {
            let protected: Vec<u32> =
                self.order.iter().filter(|entry| entry.1).map(|entry| entry.0).collect();
            if protected.len() == SLOTS as usize / 2 {
                self.take(protected[0]);
                self.order.push((protected[0], false));
            }
        }
        self.order.push((slot, true));
    }

    fn victim(&mut self) -> Option<u32> {
        let slot = match self.name {
            "lru" => self.order.first()?.0,
            "segmented" => self.order.iter().find(|entry| !entry.1).or(self.order.first())?.0,
            _ => {
                while self.order.first()?.1 {
                    let (slot, _) = self.order.remove(0);
                    self.order.push((slot, false));
                }
                self.order[0].0
            }
        };
        self.take(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        self.take(slot);
    }
}

#[test]
fn each_policy_chooses_as_its_model_does() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..100).map(move |seed| (entry, seed))) {
        let mut random = Seed(seed).source();
        let mut policy = FAMILY.build(entry.name, SLOTS, &Options::default()).unwrap();
        let mut model = Model { name: entry.name, ..Model::default() };
        for _ in 0..300 {
            let slot = random.below(SLOTS.into()) as u32;
            let is_used = model.order.iter().any(|entry| entry.0 == slot);
            match random.below(8) {
                0 => assert_eq!(policy.victim(), model.victim(), "{}, seed {seed}", entry.name),
                1 if is_used => {
                    policy.remove(slot);
                    model.remove(slot);
                }
                _ if is_used => {
                    policy.touch(slot);
                    model.touch(slot);
                }
                _ => {
                    policy.insert(slot);
                    model.insert(slot);
                }
            }
        }
        let rest =
            |policy: &mut dyn Replacement| -> Vec<u32> { std::iter::from_fn(|| policy.victim()).collect() };
        assert_eq!(rest(policy.as_mut()), rest(&mut model), "{}, seed {seed}", entry.name);
    }
}

#[test]
fn segments_keep_what_is_used_again_from_a_scan() {
    let options = |share: &str| Options::new([("protected".into(), share.into())]);
    let mut policy = FAMILY.build("segmented", 8, &options("25%")).unwrap();
    (0..8).for_each(|slot| policy.insert(slot));
    policy.touch(0);
    policy.touch(1);
    // The least recently used of the protected lines makes room for another.
    policy.touch(2);
    let victims: Vec<u32> = std::iter::from_fn(|| policy.victim()).collect();
    assert_eq!(victims, [3, 4, 5, 6, 7, 0, 1, 2]);
    assert!(FAMILY.build("segmented", 8, &options("100%")).is_err());
}
