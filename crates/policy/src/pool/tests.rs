//! Laws of all policies, and a comparison of each with a model that searches plain vectors.

use super::*;
use flashlane_base::{Random, Seed};
use std::collections::BTreeMap;

const SHAPE: Shape = Shape { frames: 32, pages: 1000 };
/// Frames of `SHAPE` in the window of `cflru-e`.
const WINDOW: usize = 8;

fn make(name: &str) -> Box<dyn Replacement> {
    FAMILY.build(name, SHAPE, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Frames by last use, oldest first, and the simplest form of each policy over them.
#[derive(Default)]
struct Model {
    name: &'static str,
    order: Vec<(u32, u32, bool)>,
    /// By frame in the window: its class as of its entry.
    classes: BTreeMap<u32, u32>,
    /// By group: the probability that an access is slow.
    slow: BTreeMap<u32, f32>,
}

impl Model {
    fn enter(&mut self) {
        for (frame, page, _) in self.order.iter().take(WINDOW) {
            let slow = self.slow.get(&(page / 64)).copied().unwrap_or(0.0);
            self.classes.entry(*frame).or_insert(((slow * 16.0) as u32).min(15));
        }
    }

    fn take(&mut self, frame: u32) -> (u32, u32, bool) {
        let at = self.order.iter().position(|entry| entry.0 == frame).unwrap();
        self.classes.remove(&frame);
        self.order.remove(at)
    }
}

impl Replacement for Model {
    fn insert(&mut self, frame: u32, page: u32, dirty: bool) {
        self.order.push((frame, page, dirty));
        self.enter();
    }

    fn touch(&mut self, frame: u32, write: bool) {
        let (frame, page, dirty) = self.take(frame);
        self.order.push((frame, page, dirty || write));
        self.enter();
    }

    fn victim(&mut self) -> Option<u32> {
        let window = &self.order[..self.order.len().min(WINDOW)];
        let clean = window.iter().find(|entry| !entry.2);
        let least = |entry: &&(u32, u32, bool)| self.classes[&entry.0];
        let (frame, ..) = *match self.name {
            "lru" => self.order.first()?,
            // The first of equals. A page that was clean when it entered the window has left it if it was written.
            _ => clean.or_else(|| window.iter().min_by_key(least))?,
        };
        Some(frame)
    }

    fn remove(&mut self, frame: u32) {
        self.take(frame);
        self.enter();
    }

    fn observe(&mut self, page: u32, slow: bool) {
        let probability = self.slow.entry(page / 64).or_default();
        *probability += (f32::from(u8::from(slow)) - *probability) / 16.0;
    }
}

fn step(
    policy: &mut dyn Replacement,
    model: &mut Model,
    free: &mut Vec<u32>,
    random: &mut Random,
    context: &str,
) {
    let page = random.below(1000) as u32;
    match random.below(4) {
        0 if !free.is_empty() => {
            let frame = free.swap_remove(random.below(free.len() as u64) as usize);
            let dirty = random.chance(0.7);
            policy.insert(frame, page, dirty);
            model.insert(frame, page, dirty);
        }
        1 if !model.order.is_empty() => {
            let (frame, ..) = model.order[random.below(model.order.len() as u64) as usize];
            let write = random.chance(0.5);
            policy.touch(frame, write);
            model.touch(frame, write);
        }
        2 => {
            let slow = random.chance(f64::from(page) / 1000.0);
            policy.observe(page, slow);
            model.observe(page, slow);
        }
        _ if free.is_empty() || random.chance(0.3) => {
            let victim = policy.take_victim();
            assert_eq!(victim, model.take_victim(), "{context}");
            free.extend(victim);
        }
        _ => {}
    }
}

#[test]
fn policy_replaces_as_its_model() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..50).map(move |seed| (entry, seed))) {
        let mut random = Seed(seed).source();
        let mut policy = make(entry.name);
        let mut model = Model { name: entry.name, ..Model::default() };
        let mut free: Vec<u32> = (0..SHAPE.frames).collect();
        for _ in 0..1000 {
            let context = format!("{}, seed {seed}", entry.name);
            step(policy.as_mut(), &mut model, &mut free, &mut random, &context);
        }
        // Every frame leaves once.
        while let Some(frame) = policy.take_victim() {
            assert_eq!(Some(frame), model.take_victim(), "{}, seed {seed}", entry.name);
        }
        assert!(model.order.is_empty(), "{}, seed {seed}", entry.name);
    }
}

#[test]
fn cflru_e_writes_the_least_slow_page_of_an_all_dirty_window() {
    let mut policy = make("cflru-e");
    // Pages of two groups; those of the first are slow.
    for _ in 0..100 {
        policy.observe(0, true);
        policy.observe(64, false);
    }
    for frame in 0..32 {
        policy.insert(frame, if frame % 2 == 0 { frame } else { 64 + frame }, true);
    }
    let victims: Vec<u32> = std::iter::from_fn(|| policy.take_victim()).take(4).collect();
    // Each victim lets one more page into the window.
    assert_eq!(victims, [1, 3, 5, 7]);
    let clean = 40;
    policy.insert(1, clean, false);
    assert_ne!(policy.take_victim(), Some(1), "a clean page outside the window is young");
}

#[test]
fn window_out_of_range_is_refused() {
    let options = Options::new([("window".into(), "0%".into())]);
    let error = FAMILY.build("cflru-e", SHAPE, &options).err().unwrap();
    assert_eq!(error.to_string(), "option 'window' is '0%'; allowed: a share of the pool, as \"25%\"");
}
