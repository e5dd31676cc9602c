//! The laws of the family, and a plain model of the tree: a list of patches, each a map from key to the number of its version.

use super::*;
use flashlane_base::{Random, Seed};
use std::collections::BTreeMap;

/// Entries of a patch.
const PATCH: usize = 8;

#[derive(Clone, Debug)]
struct Stored {
    level: u8,
    run: u64,
    /// By key: its version, and whether that is a tombstone.
    entries: BTreeMap<Vec<u8>, (u64, bool)>,
}

/// A tree, newest patch first.
#[derive(Default)]
struct Model {
    patches: Vec<Stored>,
    truth: BTreeMap<Vec<u8>, (u64, bool)>,
    version: u64,
    run: u64,
    scarce_blocks: Option<u64>,
}

impl Model {
    fn patches(&self) -> Vec<Patch<'_>> {
        let of = |stored: &Stored| Patch {
            level: stored.level,
            run: stored.run,
            first: &[],
            last: &[],
            bytes: stored.entries.len() as u64,
            entries: stored.entries.len() as u64,
            tombstones: stored.entries.values().filter(|entry| entry.1).count() as u64,
        };
        let ends = |stored: &Stored| {
            let (first, last) = (stored.entries.first_key_value(), stored.entries.last_key_value());
            (first.expect("a patch has entries").0.clone(), last.expect("a patch has entries").0.clone())
        };
        self.patches
            .iter()
            .map(|stored| {
                let (first, last) = ends(stored);
                let key = |key: &[u8]| stored.entries.get_key_value(key).expect("its own key").0.as_slice();
                Patch { first: key(&first), last: key(&last), ..of(stored) }
            })
            .collect()
    }

    fn sort(&mut self) {
        self.patches.sort_by_key(|patch| {
            let first = patch.entries.first_key_value().map(|(key, _)| key.clone());
            (patch.level, std::cmp::Reverse(patch.run), first)
        });
    }

    fn flush(&mut self, random: &mut Random, deletes: f64) {
        let mut entries = BTreeMap::new();
        while entries.len() < PATCH {
            let key = vec![b'a' + random.below(26) as u8, b'a' + random.below(26) as u8];
            self.version += 1;
            let entry = (self.version, random.chance(deletes));
            entries.insert(key.clone(), entry);
            self.truth.insert(key, entry);
        }
        self.run += 1;
        self.patches.push(Stored { level: 0, run: self.run, entries });
        self.sort();
    }

    /// Adds a patch with keys from `number` on, which stands where the policy says if it overlaps no other.
    fn flush_in_order(&mut self, number: u64, policy: &dyn Merge) {
        let key = |number: u64| format!("{number:08}").into_bytes();
        let keys: Vec<Vec<u8>> = (number..number + PATCH as u64).map(key).collect();
        self.version += 1;
        let entries: BTreeMap<_, _> = keys.iter().map(|key| (key.clone(), (self.version, false))).collect();
        self.truth.extend(entries.clone());
        self.run += 1;
        let patches = self.patches();
        let view = View { patches: &patches, patch_bytes: PATCH as u64, scarce_blocks: None };
        let (first, last) = (&keys[0], &keys[PATCH - 1]);
        let level = match patches.iter().any(|patch| patch.overlaps(first, last)) {
            true => 0,
            false => policy.level_without_overlap(view, PATCH as u64),
        };
        let runs = patches.iter().filter(|patch| patch.level == level).map(|patch| patch.run);
        let run = if level == 0 { self.run } else { runs.max().unwrap_or(self.run) };
        self.patches.push(Stored { level, run, entries });
        self.sort();
    }

    /// Applies a merge, as the store does it.
    fn apply(&mut self, choice: &Choice) {
        let level = choice.level;
        let joined = self.patches.iter().filter(|patch| patch.level == level).map(|patch| patch.run).max();
        self.run += 1;
        let run = if choice.joins { joined.expect("a run to join") } else { self.run };
        let mut merged = BTreeMap::new();
        // The oldest first: newer versions replace older ones.
        for &nth in choice.inputs.iter().rev() {
            merged.extend(self.patches[nth].entries.clone());
        }
        let oldest = choice
            .inputs
            .iter()
            .map(|&nth| (self.patches[nth].level, std::cmp::Reverse(self.patches[nth].run)));
        let oldest = oldest.max().expect("a merge has inputs");
        let mut nth = 0;
        self.patches.retain(|_| (choice.inputs.binary_search(&nth).is_err(), nth += 1).0);
        merged.retain(|key, (_, is_tombstone)| {
            let is_below = |patch: &Stored| {
                let age = (patch.level, std::cmp::Reverse(patch.run));
                let keys = patch.entries.first_key_value().zip(patch.entries.last_key_value());
                age >= oldest && keys.is_some_and(|(first, last)| first.0 <= key && key <= last.0)
            };
            !*is_tombstone || self.patches.iter().any(is_below)
        });
        let mut entries = merged.into_iter().peekable();
        while entries.peek().is_some() {
            let entries = entries.by_ref().take(PATCH).collect();
            self.patches.push(Stored { level, run, entries });
        }
        self.sort();
    }

    fn check(&self, context: &str) {
        for (key, truth) in &self.truth {
            let found = self.patches.iter().find_map(|patch| patch.entries.get(key));
            match found {
                None => assert!(truth.1, "{context}: {key:?} is lost"),
                Some(found) => assert_eq!(found, truth, "{context}: {key:?}"),
            }
        }
        for pair in self.patches().windows(2).filter(|pair| pair[0].age() == pair[1].age()) {
            assert!(pair[0].last < pair[1].first, "{context}: patches of a run overlap: {pair:?}");
        }
    }

    /// Merges until the policy is content; returns the number of merges.
    fn merge(&mut self, policy: &mut dyn Merge, context: &str) -> u32 {
        for merges in 0..1000 {
            let patches = self.patches();
            let view =
                View { patches: &patches, patch_bytes: PATCH as u64, scarce_blocks: self.scarce_blocks };
            let Some(choice) = policy.choose(view) else { return merges };
            assert_eq!(view.legality(&choice), Ok(()), "{context}: {choice:?} of {patches:?}");
            self.apply(&choice);
            self.check(context);
        }
        panic!("{context}: merging does not end");
    }
}

fn build(name: &str) -> Box<dyn Merge> {
    FAMILY.build(name, &Options::default()).expect("defaults are valid")
}

#[test]
fn policy_keeps_the_order_of_versions_and_ends() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..6).map(move |seed| (entry, seed))) {
        let (mut policy, mut model) = (build(entry.name), Model::default());
        let mut random = Seed(seed).source();
        let deletes = [0.0, 0.2, 0.7][seed as usize % 3];
        let mut merges = 0;
        for step in 0..60 {
            model.flush(&mut random, deletes);
            let context = format!("{}, seed {seed}, step {step}", entry.name);
            merges += model.merge(policy.as_mut(), &context);
            let level_0 = model.patches.iter().filter(|patch| patch.level == 0).count();
            assert!(
                level_0 < policy.level_0_patches_max() as usize,
                "{context}: {level_0} patches in level 0"
            );
        }
        assert!(merges > 10, "{}: {merges} merges", entry.name);
    }
}

#[test]
fn policy_takes_over_the_shape_of_another() {
    for seed in 0..12 {
        let (mut model, mut random) = (Model::default(), Seed(seed).source());
        for step in 0..12 {
            let name = REGISTRY[random.below(REGISTRY.len() as u64) as usize].name;
            let mut policy = build(name);
            let flushes = random.below(12);
            (0..flushes).for_each(|_| model.flush(&mut random, 0.3));
            model.merge(policy.as_mut(), &format!("seed {seed}, step {step}, {name}"));
        }
    }
}

#[test]
fn leveled_needs_no_merge_for_data_in_order() {
    let (mut policy, mut model) = (build("leveled"), Model::default());
    for nth in 0..500 {
        model.flush_in_order(nth * PATCH as u64, policy.as_ref());
        assert_eq!(model.merge(policy.as_mut(), "in order"), 0, "{nth} patches");
    }
    let patches = model.patches();
    let view = View { patches: &patches, patch_bytes: PATCH as u64, scarce_blocks: None };
    let sizes: Vec<u64> = (0..5).map(|level| view.level_bytes(level) / PATCH as u64).collect();
    assert_eq!(sizes, [0, 4, 32, 256, 208]);
}

#[test]
fn order_is_kept_where_some_data_comes_in_order() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..6).map(move |seed| (entry, seed))) {
        let (mut policy, mut model) = (build(entry.name), Model::default());
        let mut random = Seed(seed).source();
        for step in 0..100 {
            match random.below(3) {
                0 => model.flush(&mut random, 0.2),
                // Some overlap what is there.
                _ => model.flush_in_order(random.below(2000), policy.as_ref()),
            }
            let context = format!("{}, seed {seed}, step {step}", entry.name);
            model.check(&context);
            model.merge(policy.as_mut(), &context);
        }
    }
}

#[test]
fn shape_is_that_of_the_policy() {
    let shape = |name: &str| {
        let (mut policy, mut model, mut random) = (build(name), Model::default(), Seed(5).source());
        for _ in 0..200 {
            model.flush(&mut random, 0.0);
            model.merge(policy.as_mut(), name);
        }
        let patches = model.patches();
        let view = View { patches: &patches, patch_bytes: PATCH as u64, scarce_blocks: None };
        (0..LEVELS).map(|level| view.runs(level).len()).collect::<Vec<_>>()
    };
    let leveled = shape("leveled");
    assert!(leveled[0] < 4 && leveled[1..].iter().all(|&runs| runs <= 1), "{leveled:?}");
    assert!(shape("tiered").iter().all(|&runs| runs < 4));
    let lazy = shape("lazy-leveled");
    let last = lazy.iter().rposition(|&runs| runs > 0).expect("there are patches");
    assert!(last > 1 && lazy[last] == 1 && lazy[..last].iter().all(|&runs| runs < 4), "{lazy:?}");
}

#[test]
fn tombstones_leave_a_tree_that_is_deleted() {
    for entry in REGISTRY {
        let (mut policy, mut model, mut random) = (build(entry.name), Model::default(), Seed(7).source());
        (0..40).for_each(|_| model.flush(&mut random, 0.0));
        model.merge(policy.as_mut(), entry.name);
        let full = model.patches.len();
        (0..200).for_each(|_| {
            model.flush(&mut random, 1.0);
            model.merge(policy.as_mut(), entry.name);
        });
        // What is left stands in level 0, or above data that was not deleted.
        let left: usize = model.patches.iter().filter(|patch| patch.level > 0).count();
        assert!(left * 2 < full, "{}: {left} of {full} patches are left", entry.name);
    }
}

#[test]
fn scarce_blocks_bring_everything_into_one_run() {
    for entry in REGISTRY {
        let (mut policy, mut model, mut random) = (build(entry.name), Model::default(), Seed(8).source());
        for _ in 0..30 {
            model.flush(&mut random, 0.1);
            model.merge(policy.as_mut(), entry.name);
        }
        model.scarce_blocks = Some(1000);
        model.merge(policy.as_mut(), entry.name);
        let runs: std::collections::BTreeSet<_> =
            model.patches.iter().map(|patch| (patch.level, patch.run)).collect();
        assert_eq!(runs.len(), 1, "{}: {runs:?}", entry.name);
    }
}

#[test]
fn illegal_choices_are_named() {
    let patch =
        |level, run, first, last| Patch { level, run, first, last, bytes: 1, entries: 1, tombstones: 0 };
    let patches = [
        patch(0, 9, b"a" as &[u8], b"m" as &[u8]),
        patch(0, 8, b"c", b"z"),
        patch(1, 1, b"a", b"f"),
        patch(1, 1, b"n", b"p"),
    ];
    let view = View { patches: &patches, patch_bytes: 1, scarce_blocks: None };
    let legality =
        |inputs: &[usize], level, joins| view.legality(&Choice { inputs: inputs.to_vec(), level, joins });
    assert_eq!(legality(&[], 1, true), Err(Illegal::Inputs));
    assert_eq!(legality(&[0, 4], 1, true), Err(Illegal::Inputs));
    assert_eq!(legality(&[2], 0, false), Err(Illegal::Level));
    assert_eq!(legality(&[2], 2, true), Err(Illegal::NoRun));
    assert_eq!(legality(&[1, 2], 1, true), Err(Illegal::Overlap(3)));
    // The newer patch of level 0 would fall below the older one.
    assert_eq!(legality(&[0, 2], 1, true), Err(Illegal::Order(0, 1)));
    assert_eq!(legality(&[1], 1, false), Ok(()));
    assert_eq!(legality(&[0, 1, 2, 3], 1, true), Ok(()));
}

#[test]
fn options_out_of_range_are_refused() {
    for (key, value) in [("trigger", "1"), ("tombstones", "0%"), ("factor", "65"), ("unknown", "1")] {
        let options = Options::new([(key.into(), value.into())]);
        assert!(FAMILY.build("leveled", &options).is_err(), "{key}={value}");
    }
}
