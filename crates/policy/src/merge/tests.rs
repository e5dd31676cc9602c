//! The laws of the family, and a plain model of the tree: a list of patches, each a map from key to the number of its
//! version.

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
    is_space_scarce: bool,
    /// Blocks that a merge may write.
    blocks: Option<u64>,
    /// Merges that were done by parts.
    parts: u32,
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
            expired: 0,
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
        let view = View {
            patches: &patches,
            patch_bytes: PATCH as u64,
            merge_blocks: u64::MAX,
            is_space_scarce: false,
        };
        let (first, last) = (&keys[0], &keys[PATCH - 1]);
        let (level, run) = view.place(policy, first, last, PATCH as u64).unwrap_or((0, None));
        self.patches.push(Stored { level, run: run.unwrap_or(self.run), entries });
        self.sort();
    }

    /// Applies a merge, as the store does it.
    fn apply(&mut self, choice: &Choice) {
        let level = choice.level;
        self.run += 1;
        let run = choice.run.unwrap_or(self.run);
        let is_merged = |key: &Vec<u8>| choice.until.as_ref().is_none_or(|until| key < until);
        let (mut merged, mut rests) = (BTreeMap::new(), Vec::new());
        // The oldest first: newer versions replace older ones.
        for &nth in choice.inputs.iter().rev() {
            let (own, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
                self.patches[nth].entries.clone().into_iter().partition(|(key, _)| is_merged(key));
            merged.extend(own);
            if !rest.is_empty() {
                rests.push(Stored { entries: rest, ..self.patches[nth].clone() });
            }
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
        self.patches.extend(rests);
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
        for merges in 0..10_000 {
            let patches = self.patches();
            let blocks = self.blocks.unwrap_or(u64::MAX);
            let view = View {
                patches: &patches,
                patch_bytes: PATCH as u64,
                merge_blocks: blocks,
                is_space_scarce: self.is_space_scarce,
            };
            let Some(choice) = policy.choose(view) else { return merges };
            assert_eq!(view.legality(&choice), Ok(()), "{context}: {choice:?} of {patches:?}");
            let Some(own) = view.within(choice.clone(), blocks) else {
                let is_one_run = patches.iter().all(|patch| patch.age() == patches[0].age());
                assert!(is_one_run, "{context}: {choice:?} has no part for {blocks} blocks");
                return merges;
            };
            assert_eq!(
                view.legality(&own),
                Ok(()),
                "{context}: {own:?}, a part of {choice:?} of {patches:?}"
            );
            let (before, most) = (patches.len() - own.inputs.len(), view.blocks_written_max(&own));
            assert!(most <= blocks, "{context}: {own:?} may write {most} blocks, and {blocks} are free");
            self.parts += u32::from(own != choice);
            self.apply(&own);
            let written = self.patches.len() - before;
            assert!(written as u64 <= most, "{context}: {own:?} writes {written} blocks, and {most} at most");
            self.check(context);
        }
        panic!("{context}: merging does not end");
    }
}

fn build(name: &str) -> Box<dyn Merge> {
    // An entry of the model has one byte, which is to be large.
    let large = (name == "by-size").then(|| ("large".to_owned(), "1B".to_owned()));
    FAMILY.build(name, &Options::new(large)).expect("options are valid")
}

#[test]
fn policy_keeps_the_order_of_versions_and_ends() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..6).map(move |seed| (entry, seed))) {
        let (mut policy, mut model) = (build(entry.name), Model::default());
        let mut random = Seed(seed).source();
        let deletes = [0.0, 0.2, 0.7][seed as usize % 3];
        let mut merges = 0;
        for step in 0..240 {
            model.flush(&mut random, deletes);
            let context = format!("{}, seed {seed}, step {step}", entry.name);
            merges += model.merge(policy.as_mut(), &context);
            let level_0 = model.patches.iter().filter(|patch| patch.level == 0).count();
            assert!(
                level_0 < policy.level_0_patches_max(1) as usize,
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
    let view =
        View { patches: &patches, patch_bytes: PATCH as u64, merge_blocks: u64::MAX, is_space_scarce: false };
    let sizes: Vec<u64> = (0..5).map(|level| view.level_bytes(level) / PATCH as u64).collect();
    assert_eq!(sizes, [0, 8, 64, 428, 0]);
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
        let view = View {
            patches: &patches,
            patch_bytes: PATCH as u64,
            merge_blocks: u64::MAX,
            is_space_scarce: false,
        };
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
fn by_size_bounds_space_where_values_are_large_and_blocks_suffice() {
    // A tree of 84 patches is overwritten nine times: its most patches over those that its keys fill, and its most
    // runs.
    let runs = |large: &str, blocks: u64| {
        let options = Options::new([("large".into(), large.into())]);
        let mut policy = FAMILY.build("by-size", &options).expect("the option is valid");
        let (mut model, mut random) = (Model::default(), Seed(9).source());
        model.blocks = Some(blocks);
        let (mut most_patches, mut most_runs) = (0, 0);
        for _ in 0..800 {
            model.flush(&mut random, 0.0);
            model.merge(policy.as_mut(), large);
            let ages: Vec<_> = model.patches().iter().map(Patch::age).collect();
            let runs = ages.chunk_by(|a, b| a == b).count();
            (most_patches, most_runs) = (most_patches.max(ages.len()), most_runs.max(runs));
        }
        (most_patches as f64 * PATCH as f64 / model.truth.len() as f64, most_runs)
    };
    let (space, most_runs) = runs("1B", u64::MAX);
    assert!(space < 2.2 && most_runs > 12, "large: {space:.2} times the keys, {most_runs} runs");
    let (space, most_runs) = runs("2B", u64::MAX);
    assert!(space < 2.2 && most_runs < 12, "small: {space:.2} times the keys, {most_runs} runs");
    let (space, most_runs) = runs("1B", 40);
    assert!(space < 2.6 && most_runs < 20, "few blocks: {space:.2} times the keys, {most_runs} runs");
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
        model.is_space_scarce = true;
        model.merge(policy.as_mut(), entry.name);
        let runs: std::collections::BTreeSet<_> =
            model.patches.iter().map(|patch| (patch.level, patch.run)).collect();
        assert_eq!(runs.len(), 1, "{}: {runs:?}", entry.name);
    }
}

#[test]
fn parts_of_merges_do_what_the_whole_does() {
    for (entry, seed) in REGISTRY.iter().flat_map(|entry| (0..4).map(move |seed| (entry, seed))) {
        let (mut policy, mut model) = (build(entry.name), Model::default());
        let mut random = Seed(seed).source();
        model.is_space_scarce = seed % 2 == 0;
        for step in 0..40 {
            model.blocks = Some(4 + random.below(4));
            model.flush(&mut random, [0.0, 0.3, 0.5, 0.8][seed as usize]);
            model.merge(policy.as_mut(), &format!("{}, seed {seed}, step {step}", entry.name));
        }
        assert!(model.parts > 5, "{}, seed {seed}: {} parts", entry.name, model.parts);
        // Everything is deleted, and what is left takes no more patches than its entries fill.
        model.is_space_scarce = true;
        let keys: Vec<Vec<u8>> = model.truth.keys().cloned().collect();
        for keys in keys.chunks(PATCH) {
            model.version += 1;
            let entries: BTreeMap<_, _> =
                keys.iter().map(|key| (key.clone(), (model.version, true))).collect();
            model.truth.extend(entries.clone());
            model.run += 1;
            model.patches.push(Stored { level: 0, run: model.run, entries });
            model.sort();
            model.merge(policy.as_mut(), &format!("{}, seed {seed}, deletes", entry.name));
        }
        assert!(model.patches.is_empty(), "{}, seed {seed}: {:?}", entry.name, model.patches);
    }
}

#[test]
fn unfilled_patches_of_a_run_become_fewer() {
    for entry in REGISTRY {
        let (mut policy, mut model) = (build(entry.name), Model::default());
        for nth in 0..40_u8 {
            let entries: BTreeMap<_, _> = (0..2).map(|own| (vec![nth, own], (1, false))).collect();
            model.truth.extend(entries.clone());
            model.patches.push(Stored { level: LEVELS - 1, run: 1, entries });
        }
        (model.version, model.run) = (1, 1);
        (model.is_space_scarce, model.blocks) = (true, Some(5));
        model.merge(policy.as_mut(), entry.name);
        // 80 entries, of which 8 fill a patch.
        let patches = model.patches.len();
        assert!((10..=14).contains(&patches), "{}: {patches} patches", entry.name);
    }
}

#[test]
fn leveled_merges_neighbours_that_exceed_the_target() {
    let keys: Vec<[u8; 1]> = (0..12).map(|key| [key]).collect();
    let patch = |level, first: usize, last: usize| Patch {
        level,
        run: u64::from(level),
        first: &keys[first],
        last: &keys[last],
        bytes: 1,
        entries: 1,
        tombstones: 0,
        expired: 0,
    };
    // Level 1 may have four patches and has six; below its second, third and fourth there is one patch.
    let mut patches: Vec<Patch<'_>> = (0..6).map(|nth| patch(1, 2 * nth, 2 * nth + 1)).collect();
    patches.extend(
        [(0, 0), (1, 1), (2, 7), (8, 8), (9, 10), (11, 11)].map(|(first, last)| patch(2, first, last)),
    );
    let view = View { patches: &patches, patch_bytes: 1, merge_blocks: u64::MAX, is_space_scarce: false };
    let options = Options::new([("trigger".into(), "4".into())]);
    let mut policy = FAMILY.build("leveled", &options).expect("the option is valid");
    let choice = policy.choose(view).expect("level 1 exceeds its target");
    assert_eq!(choice, Choice::whole(vec![1, 2, 8], 2, Some(2)));
    assert_eq!(view.legality(&choice), Ok(()));
}

/// Values that have expired are dropped as tombstones are, and do not make the others seem larger.
#[test]
fn expired_values_are_merged_away_and_have_their_size() {
    let patch = |expired| Patch {
        level: 2,
        run: 1,
        first: b"a" as &[u8],
        last: b"z" as &[u8],
        bytes: 100 << 10,
        entries: 100,
        tombstones: 0,
        expired,
    };
    for (expired, is_merged) in [(40, false), (88, true)] {
        let patches = [patch(expired)];
        let view =
            View { patches: &patches, patch_bytes: 1 << 20, merge_blocks: u64::MAX, is_space_scarce: false };
        assert_eq!(view.value_bytes_mean(), 1 << 10);
        let choice = FAMILY.build("leveled", &Options::default()).expect("it has defaults").choose(view);
        assert_eq!(choice.is_some(), is_merged, "{expired} of 100 have expired");
    }
}

#[test]
fn illegal_choices_are_named() {
    let patch = |level, run, first, last| Patch {
        level,
        run,
        first,
        last,
        bytes: 1,
        entries: 1,
        tombstones: 0,
        expired: 0,
    };
    let patches = [
        patch(0, 9, b"a" as &[u8], b"m" as &[u8]),
        patch(0, 8, b"c", b"z"),
        patch(1, 1, b"a", b"f"),
        patch(1, 1, b"n", b"p"),
    ];
    let view = View { patches: &patches, patch_bytes: 1, merge_blocks: u64::MAX, is_space_scarce: false };
    let parted = |inputs: &[usize], level, run, until: Option<&str>| {
        let until = until.map(|until| until.as_bytes().to_vec());
        view.legality(&Choice { inputs: inputs.to_vec(), level, run, until })
    };
    let legality = |inputs: &[usize], level, run| parted(inputs, level, run, None);
    assert_eq!(legality(&[], 1, Some(1)), Err(Illegal::Inputs));
    assert_eq!(legality(&[0, 4], 1, Some(1)), Err(Illegal::Inputs));
    assert_eq!(legality(&[2], 0, None), Err(Illegal::Level));
    assert_eq!(legality(&[2], 2, Some(1)), Err(Illegal::NoRun));
    assert_eq!(legality(&[1, 2], 1, Some(1)), Err(Illegal::Overlap(3)));
    // The newer patch of level 0 would fall below the older one.
    assert_eq!(legality(&[0, 2], 1, Some(1)), Err(Illegal::Order(0, 1)));
    assert_eq!(legality(&[1], 1, None), Ok(()));
    assert_eq!(legality(&[0, 1, 2, 3], 1, Some(1)), Ok(()));
    // Patches behind the entries that are merged are not touched.
    assert_eq!(parted(&[1, 2], 1, Some(1), Some("n")), Ok(()));
    assert_eq!(parted(&[1, 2], 1, Some(1), Some("o")), Err(Illegal::Overlap(3)));
    assert_eq!(parted(&[1, 2, 3], 1, Some(1), Some("n")), Err(Illegal::Until(3)));
    assert_eq!(parted(&[0], 1, Some(1), Some("c")), Err(Illegal::Overlap(2)));
    assert_eq!(parted(&[0, 2], 1, Some(1), Some("c")), Ok(()));
    assert_eq!(parted(&[0, 2], 1, Some(1), Some("d")), Err(Illegal::Order(0, 1)));
}

#[test]
fn options_out_of_range_are_refused() {
    for (key, value) in [("trigger", "1"), ("tombstones", "0%"), ("factor", "65"), ("unknown", "1")] {
        let options = Options::new([(key.into(), value.into())]);
        assert!(FAMILY.build("leveled", &options).is_err(), "{key}={value}");
    }
}
