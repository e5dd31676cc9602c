//! Laws of all policies, and a comparison of each with a model that searches plain vectors.

use super::*;
use flashlane_base::Seed;
use std::collections::BTreeSet;

const SHAPE: Shape = Shape { slots: 16, packages: Some(4), block_pages: 4 };

/// A dirty page in package `number % 4`.
fn page(number: u32) -> Page {
    Page { number, package: number % 4, dirty: true }
}

fn make(name: &str) -> Box<dyn Replacement> {
    FAMILY.build(name, SHAPE, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Removes all remaining pages, one at a time.
fn remaining(policy: &mut dyn Replacement) -> Vec<u32> {
    std::iter::from_fn(|| policy.victim()).collect()
}

#[test]
fn policy_returns_each_slot_once() {
    for entry in REGISTRY {
        let mut policy = make(entry.name);
        (0..16).for_each(|slot| policy.insert(slot, page(slot)));
        policy.touch(3, PageUse::Write);
        policy.remove(5);
        let mut out = Vec::new();
        policy.batch(4, &mut out);
        assert!(!out.is_empty() && out.len() <= 4, "{}: {out:?}", entry.name);
        out.extend(remaining(policy.as_mut()));
        assert_eq!(out.len(), 15, "{}: {out:?}", entry.name);
        let out: BTreeSet<u32> = out.into_iter().collect();
        assert_eq!(out, (0..16).filter(|&slot| slot != 5).collect(), "{}", entry.name);
        // A returned slot can be inserted again.
        policy.insert(5, page(9));
        assert_eq!(remaining(policy.as_mut()), [5], "{}", entry.name);
        assert_eq!(policy.drop_clean(), None, "{}", entry.name);
    }
}

#[test]
fn copies_of_a_page_leave_in_insertion_order() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..100).map(move |seed| (entry, seed))) {
        let mut random = Seed(seed).source();
        // Enough slots for an unstable sort to fail.
        let shape = Shape { slots: 64, ..SHAPE };
        let mut policy = FAMILY.build(entry.name, shape, &Options::default()).unwrap();
        // Slots with copies of three pages, and the slots that left, in order.
        let mut copies = vec![Vec::new(); 3];
        let mut out = Vec::new();
        for slot in 0..shape.slots {
            let number = random.below(3);
            policy.insert(slot, page(number as u32));
            copies[number as usize].push(slot);
            if random.chance(0.02) {
                policy.batch(4, &mut out);
            }
        }
        out.extend(remaining(policy.as_mut()));
        for (number, slots) in copies.iter().enumerate() {
            let left: Vec<u32> = out.iter().copied().filter(|slot| slots.contains(slot)).collect();
            assert_eq!(&left, slots, "{}, seed {seed}, page {number}", entry.name);
        }
    }
}

/// The simplest form of each policy: pages in the order in which they would leave.
struct Model {
    name: &'static str,
    /// Slot, page, and (where pages are grouped) whether the page is leaving.
    order: Vec<(u32, Page)>,
    /// The list whose turn it is, of `parallel`.
    turn: u32,
    /// The leaving group, of `bplru`.
    leaving: Vec<(u32, Page)>,
    /// Runs with pages, of `bplru`, and the next page of a run written in order so far.
    in_order: Vec<(u32, Option<u32>)>,
}

const BLOCK: u32 = SHAPE.block_pages;

impl Model {
    fn position(&self, slot: u32) -> Option<usize> {
        self.order.iter().position(|entry| entry.0 == slot)
    }

    /// Moves the pages of a run to the young end, or to the old end where the whole run was written in order.
    fn regroup(&mut self, run: u32, place: u32, again: bool) {
        // The page that would continue the run, if the group is not new.
        let known = self.in_order.iter().position(|entry| entry.0 == run);
        let next = known.map_or(Some(0), |at| self.in_order.remove(at).1);
        let next = (next == Some(place + u32::from(again))).then_some(place + 1);
        self.in_order.push((run, next));
        let (group, others): (Vec<_>, Vec<_>) =
            self.order.iter().copied().partition(|(_, page)| page.number / BLOCK == run);
        let (old, young) = if next == Some(BLOCK) { (group, others) } else { (others, group) };
        self.order = old.into_iter().chain(young).collect();
    }

    /// Drops the state of runs without pages.
    fn forget_runs(&mut self) {
        self.in_order.retain(|(run, _)| self.order.iter().any(|(_, page)| page.number / BLOCK == *run));
    }
}

impl Replacement for Model {
    fn insert(&mut self, slot: u32, page: Page) {
        self.order.push((slot, page));
        if self.name == "bplru" {
            self.regroup(page.number / BLOCK, page.number % BLOCK, false);
        }
    }

    fn touch(&mut self, slot: u32, access: PageUse) {
        let Some(at) = self.position(slot) else {
            // The page is leaving; its write counts for other pages of its run.
            let number = self.leaving.iter().find(|entry| entry.0 == slot).unwrap().1.number;
            if self.order.iter().any(|(_, page)| page.number / BLOCK == number / BLOCK) {
                self.regroup(number / BLOCK, number % BLOCK, true);
            }
            return;
        };
        match self.name {
            "fifo" => {}
            "bplru" => {
                let number = self.order[at].1.number;
                self.regroup(number / BLOCK, number % BLOCK, true);
            }
            _ => {
                let (slot, mut page) = self.order.remove(at);
                page.dirty |= access == PageUse::Write;
                self.order.push((slot, page));
            }
        }
    }

    fn victim(&mut self) -> Option<u32> {
        match self.name {
            "parallel" => {
                for _ in 0..4 {
                    let list = self.turn;
                    self.turn = (list + 1) % 4;
                    if let Some(at) = self.order.iter().position(|(_, page)| page.package == list) {
                        return Some(self.order.remove(at).0);
                    }
                }
                None
            }
            "bplru" => {
                if self.leaving.is_empty() {
                    let run = self.order.first()?.1.number / BLOCK;
                    (self.leaving, self.order) =
                        self.order.iter().copied().partition(|(_, page)| page.number / BLOCK == run);
                    self.leaving.sort_by_key(|(_, page)| page.number);
                    self.forget_runs();
                }
                Some(self.leaving.remove(0).0)
            }
            _ => {
                let at = self.order.iter().position(|(_, page)| page.dirty)?;
                Some(self.order.remove(at).0)
            }
        }
    }

    fn batch(&mut self, most: u32, out: &mut Vec<u32>) {
        match self.name {
            "parallel" => {
                for _ in 0..most / 4 {
                    for list in 0..4 {
                        if let Some(at) = self.order.iter().position(|(_, page)| page.package == list) {
                            out.push(self.order.remove(at).0);
                        }
                    }
                }
            }
            "bplru" => loop {
                out.extend(self.victim());
                while !self.leaving.is_empty() {
                    out.extend(self.victim());
                }
                if out.len() as u32 + BLOCK > most || self.order.is_empty() {
                    return;
                }
            },
            _ => out.extend(std::iter::from_fn(|| self.victim()).take(most as usize)),
        }
    }

    fn drop_clean(&mut self) -> Option<u32> {
        let at = self.order.iter().take(SHAPE.slots as usize / 4).position(|(_, page)| !page.dirty)?;
        Some(self.order.remove(at).0)
    }

    fn remove(&mut self, slot: u32) {
        self.order.retain(|entry| entry.0 != slot);
        self.leaving.retain(|entry| entry.0 != slot);
        self.forget_runs();
    }
}

/// Policies with a model; others are only held to the laws.
const MODELLED: [&str; 5] = ["bplru", "cflru", "fifo", "lru", "parallel"];

#[test]
fn policy_chooses_as_its_model() {
    for name in MODELLED {
        for seed in 0..200 {
            let mut random = Seed(seed).derive(name).source();
            let mut policy = make(name);
            let mut model = Model { name, order: vec![], turn: 0, leaving: vec![], in_order: vec![] };
            let mut free: Vec<u32> = (0..SHAPE.slots).collect();
            let mut held: Vec<(u32, u32)> = Vec::new();
            let mut next = 0;
            for step in 0..400 {
                let mut left: Vec<u32> = Vec::new();
                match random.below(12) {
                    0..=4 if !free.is_empty() => {
                        let slot = free.remove(random.below(free.len() as u64) as usize);
                        // Often the page after the last one, so that whole runs are written in order.
                        next = if random.chance(0.7) { (next + 1) % 32 } else { random.below(32) as u32 };
                        if held.iter().any(|&(_, number)| number == next) {
                            free.push(slot);
                            continue;
                        }
                        let dirty = !policy.keeps_reads() || random.chance(0.6);
                        let page = Page { dirty, ..page(next) };
                        policy.insert(slot, page);
                        model.insert(slot, page);
                        held.push((slot, next));
                    }
                    5..=7 if !held.is_empty() => {
                        let (slot, _) = held[random.below(held.len() as u64) as usize];
                        let read = policy.keeps_reads() && random.chance(0.5);
                        let access = if read { PageUse::Read } else { PageUse::Write };
                        policy.touch(slot, access);
                        model.touch(slot, access);
                    }
                    8 if !held.is_empty() => {
                        let (slot, _) = held[random.below(held.len() as u64) as usize];
                        policy.remove(slot);
                        model.remove(slot);
                        left.push(slot);
                    }
                    9 => {
                        let dropped = policy.drop_clean();
                        let same = if policy.keeps_reads() { model.drop_clean() } else { None };
                        assert_eq!(dropped, same, "{} seed {seed} step {step}", name);
                        left.extend(dropped);
                    }
                    10 if random.chance(0.2) && !model.order.is_empty() => {
                        let mut same = Vec::new();
                        policy.batch(8, &mut left);
                        model.batch(8, &mut same);
                        assert_eq!(left, same, "{} seed {seed} step {step}", name);
                    }
                    _ => {
                        let victim = policy.victim();
                        assert_eq!(victim, model.victim(), "{} seed {seed} step {step}", name);
                        left.extend(victim);
                    }
                }
                held.retain(|(slot, _)| !left.contains(slot));
                free.extend(left);
            }
        }
    }
}

#[test]
fn parallel_batch_takes_equally_from_each_list() {
    let mut policy = make("parallel");
    // Five pages of package 0, two of package 1, one of package 3.
    for (slot, package) in [0, 0, 0, 1, 3, 0, 1, 0].into_iter().enumerate() {
        policy.insert(slot as u32, Page { number: slot as u32, package, dirty: true });
    }
    let mut out = Vec::new();
    policy.batch(8, &mut out);
    assert_eq!(out, [0, 3, 4, 1, 6], "two of each list that has them, one of each in turn");
    assert_eq!(remaining(policy.as_mut()), [2, 5, 7]);
}

#[test]
fn bplru_evicts_ordered_block_first_and_pads_others() {
    let padding = Options::new([("padding".to_owned(), "true".to_owned())]);
    let mut policy = FAMILY.build("bplru", SHAPE, &padding).unwrap();
    // Block 0 at random, then block 1 from its first page to its last, in halves.
    policy.insert(0, page(2));
    policy.insert(1, page(1));
    for slot in 0..4 {
        policy.insert(4 + slot, page(4 + slot));
        policy.touch(4 + slot, PageUse::Write);
    }
    let mut pads = Vec::new();
    let mut leave = |count| -> Vec<u32> { (0..count).filter_map(|_| policy.victim()).collect() };
    assert_eq!(leave(4), [4, 5, 6, 7]);
    assert_eq!(leave(2), [1, 0]);
    policy.pads(&mut pads);
    assert_eq!(pads, [Pad { number: 0, beside: 1 }, Pad { number: 3, beside: 0 }]);
}

#[test]
fn unsuited_policy_or_option_is_refused_with_reason() {
    let unknown = Shape { packages: None, ..SHAPE };
    let error = FAMILY.build("parallel", unknown, &Options::default()).err().unwrap();
    assert!(matches!(error, OptionError::Unsuited { policy: "parallel", .. }), "{error}");
    for (name, option, given) in
        [("cflru", "window", "0%"), ("cflru", "window", "7"), ("bplru", "padding", "1")]
    {
        let options = Options::new([(option.to_owned(), given.to_owned())]);
        let error = FAMILY.build(name, SHAPE, &options).err().unwrap().to_string();
        assert!(error.contains(option) && error.contains(given) && error.contains("allowed"), "{error}");
    }
}
