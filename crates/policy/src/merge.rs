//! Merges of a log-structured merge tree: which patches are merged, and to which level.
//!
//! This is a policy of the host, above the drive; the tree is in `flashlane-store`. A *patch* is a sorted piece of the
//! tree that fills one block; a *run* is a set of patches whose keys do not overlap, and a *level* a sequence of runs.
//! Data of a lower level number is newer, and of the runs of a level the one with the higher number. A patch that was
//! just written stands in level 0 as a run with one patch. A tree has at most one merge at a time.
//!
//! A choice is legal ([`View::legality`]) if it keeps this order: after the merge, of two patches with a common key,
//! the one that is nearer to the front still holds the newer version.
//!
//! A merge writes its result before its inputs are deleted, so it needs free blocks. Policies need not care: where
//! there are too few for a choice, a part of it is merged ([`View::within`]). Parts write more than a whole, so a
//! policy with large merges had better choose a smaller one ([`View::merge_blocks`]).

mod by_size;
mod lazy_leveled;
mod leveled;
mod part;
mod space_bounded;
#[cfg(test)]
mod tests;
mod tiered;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// Levels of a tree: the last is [`LEVELS`]` - 1`.
pub const LEVELS: u8 = 8;

/// A patch as policies see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch<'a> {
    /// Its level.
    pub level: u8,
    /// Its run: of the runs of a level, the higher number is the newer one.
    pub run: u64,
    /// Its first key.
    pub first: &'a [u8],
    /// Its last key.
    pub last: &'a [u8],
    /// Bytes of its entries.
    pub bytes: u64,
    /// Number of its entries.
    pub entries: u64,
    /// Number of its tombstones that no snapshot needs.
    pub tombstones: u64,
    /// Number of its values that have expired and no snapshot needs, about.
    pub expired: u64,
}

impl Patch<'_> {
    fn overlaps(&self, first: &[u8], last: &[u8]) -> bool {
        self.first <= last && first <= self.last
    }

    /// Its place in the order of age: the lower one is newer.
    pub fn age(&self) -> (u8, std::cmp::Reverse<u64>) {
        (self.level, std::cmp::Reverse(self.run))
    }
}

/// The patches of a tree, newest first: by level, then from the highest run to the lowest, then by first key.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The patches.
    pub patches: &'a [Patch<'a>],
    /// Most bytes of a patch.
    pub patch_bytes: u64,
    /// Blocks that are free for a merge.
    pub merge_blocks: u64,
    /// Whether free blocks are scarce, so that merges should give some back.
    pub is_space_scarce: bool,
}

/// A merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Patches to merge, as indexes of [`View::patches`], in ascending order.
    pub inputs: Vec<usize>,
    /// Level of the result.
    pub level: u8,
    /// Run of that level that the result joins; `None` where it forms a newer one.
    pub run: Option<u64>,
    /// Entries with this key and above stay in the runs of their inputs, in patches that are written anew; `None` where
    /// all entries are merged.
    pub until: Option<Vec<u8>>,
}

impl Choice {
    /// A merge of all entries of these patches.
    fn whole(inputs: Vec<usize>, level: u8, run: Option<u64>) -> Self {
        Self { inputs, level, run, until: None }
    }
}

/// The rule that a choice breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// There are no inputs, or they are no ascending list of patches.
    #[error("inputs are no ascending list of patches")]
    Inputs,
    /// The result would stand above an input, or below the last level.
    #[error("the level of the result is above an input or does not exist")]
    Level,
    /// The result joins a level without a run.
    #[error("the result joins a run that does not exist")]
    NoRun,
    /// The result would overlap a patch of the run that it joins.
    #[error("the result overlaps patch {0} of its run")]
    Overlap(usize),
    /// An input has no entry that is merged.
    #[error("input {0} begins behind the entries that are merged")]
    Until(usize),
    /// Versions of a key would change their order.
    #[error("input {0} and patch {1}, which stays, would change their order")]
    Order(usize, usize),
}

impl View<'_> {
    /// Returns the first and last key of these patches. Requires: there is at least one.
    fn hull(&self, inputs: &[usize]) -> (&[u8], &[u8]) {
        let patches = || inputs.iter().map(|&nth| &self.patches[nth]);
        let first = patches().map(|patch| patch.first).min().expect("a merge has inputs");
        (first, patches().map(|patch| patch.last).max().expect("a merge has inputs"))
    }

    /// Checks that a choice keeps the order of versions.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn legality(&self, choice: &Choice) -> Result<(), Illegal> {
        let Choice { inputs, level, run, until } = choice;
        let is_ascending = inputs.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_ascending || inputs.last().is_none_or(|&last| last >= self.patches.len()) {
            return Err(Illegal::Inputs);
        }
        if *level >= LEVELS || inputs.iter().any(|&nth| self.patches[nth].level > *level) {
            return Err(Illegal::Level);
        }
        let is_merged = |patch: &Patch<'_>| until.as_ref().is_none_or(|until| patch.first < &until[..]);
        if let Some(&nth) = inputs.iter().find(|&&nth| !is_merged(&self.patches[nth])) {
            return Err(Illegal::Until(nth));
        }
        let result = (*level, std::cmp::Reverse(run.unwrap_or(u64::MAX)));
        if run.is_some() && self.patches.iter().all(|patch| patch.age() != result) {
            return Err(Illegal::NoRun);
        }
        let (first, last) = self.hull(inputs);
        let others = self.patches.iter().enumerate().filter(|(nth, _)| inputs.binary_search(nth).is_err());
        // Of a patch behind all that is merged no key is in the result.
        for (other, patch) in others.filter(|(_, patch)| is_merged(patch)) {
            if patch.age() == result && patch.overlaps(first, last) {
                return Err(Illegal::Overlap(other));
            }
            for &nth in inputs {
                let input = &self.patches[nth];
                let is_newer = patch.age() < input.age();
                if patch.overlaps(input.first, input.last) && is_newer != (patch.age() < result) {
                    return Err(Illegal::Order(nth, other));
                }
            }
        }
        Ok(())
    }

    /// Returns level and run in which a new patch with keys from `first` to `last` may stand at once, where it overlaps
    /// no other patch and `policy` names a level; a run of `None` is a new one. `None` where the patch begins at the
    /// top.
    pub fn place(
        self,
        policy: &dyn Merge,
        first: &[u8],
        last: &[u8],
        bytes: u64,
    ) -> Option<(u8, Option<u64>)> {
        if self.patches.iter().any(|patch| patch.overlaps(first, last)) {
            return None;
        }
        let level = policy.level_without_overlap(self, bytes);
        let newest = self.patches.iter().find(|patch| patch.level == level);
        (level > 0).then(|| (level, newest.map(|patch| patch.run)))
    }

    /// Returns the runs of a level, newest first, each with its patches.
    fn runs(&self, level: u8) -> Vec<Vec<usize>> {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for (nth, patch) in self.patches.iter().enumerate().filter(|(_, patch)| patch.level == level) {
            match runs.last_mut() {
                Some(run) if self.patches[run[0]].run == patch.run => run.push(nth),
                _ => runs.push(vec![nth]),
            }
        }
        runs
    }

    fn level_bytes(&self, level: u8) -> u64 {
        self.patches.iter().filter(|patch| patch.level == level).map(|patch| patch.bytes).sum()
    }

    /// Returns the mean bytes of entries that are no tombstones; 0 where there is none.
    fn value_bytes_mean(&self) -> u64 {
        value_bytes_mean(self.patches.iter().map(|patch| (patch.bytes, patch.entries, patch.tombstones)))
    }

    /// Returns the deepest level with a patch.
    fn deepest(&self) -> Option<u8> {
        self.patches.iter().map(|patch| patch.level).max()
    }

    /// Returns the merge of `inputs` with the newest run of `level`, or into a new run where the level has none; with
    /// all patches of that run that they overlap, and all that lie between them and the result in the order of age.
    /// Those may be there where another policy shaped the tree, and where versions of one key end a patch and begin the
    /// next.
    fn merge_into_level(&self, mut inputs: Vec<usize>, level: u8) -> Choice {
        let newest = self.runs(level).into_iter().next().unwrap_or_default();
        let run = newest.first().map_or(u64::MAX, |&nth| self.patches[nth].run);
        let result = (level, std::cmp::Reverse(run));
        loop {
            let (first, last) = self.hull(&inputs);
            let lies_between = |nth: usize| {
                let patch = &self.patches[nth];
                inputs.iter().map(|&nth| &self.patches[nth]).any(|input| {
                    let is_newer = patch.age() < input.age();
                    patch.overlaps(input.first, input.last) && is_newer != (patch.age() < result)
                })
            };
            let is_joined = |nth: usize| newest.contains(&nth) && self.patches[nth].overlaps(first, last);
            let others = (0..self.patches.len()).filter(|nth| !inputs.contains(nth));
            let added: Vec<usize> = others.filter(|&nth| is_joined(nth) || lies_between(nth)).collect();
            if added.is_empty() {
                break;
            }
            inputs.extend(added);
        }
        inputs.sort_unstable();
        let is_joined = newest.iter().any(|nth| !inputs.contains(nth));
        Choice::whole(inputs, level, is_joined.then_some(run))
    }

    /// Returns the merge of all runs of a level into one, where it has several.
    fn merge_into_one_run(&self, level: u8) -> Option<Choice> {
        let runs = self.runs(level);
        (runs.len() > 1).then(|| Choice::whole(runs.concat(), level, None))
    }

    /// Returns the merge of neighbouring patches of a level, as many as have `bytes` and at least one, into the next
    /// level: those with the fewest bytes below them. One merge of several patches reads and writes less than one for
    /// each, as only patches at its ends are merged beyond their keys, and more of it can be done at once.
    fn least_overlapping(&self, level: u8, bytes: u64) -> Option<Choice> {
        let of_level: Vec<usize> =
            (0..self.patches.len()).filter(|&nth| self.patches[nth].level == level).collect();
        let (mut neighbours, mut to, mut sum) = (Vec::new(), 0, 0);
        for from in 0..of_level.len() {
            while to < of_level.len() && (sum < bytes || to == from) {
                sum += self.patches[of_level[to]].bytes;
                to += 1;
            }
            if sum >= bytes || from == 0 {
                neighbours.push(&of_level[from..to]);
            }
            sum -= self.patches[of_level[from]].bytes;
        }
        let bytes_of = |inputs: &[usize]| inputs.iter().map(|&nth| self.patches[nth].bytes).sum::<u64>();
        let choices = neighbours.into_iter().map(|inputs| self.merge_into_level(inputs.to_vec(), level + 1));
        choices.min_by_key(|choice| (bytes_of(&choice.inputs), choice.inputs.clone()))
    }

    /// Where blocks are scarce, returns a merge that may give some back: of the uppermost level with the next one that
    /// has patches, or of the runs of the deepest, or of patches of one run that are not full. Repeated, everything
    /// comes to be in one run.
    fn reclaim(&self) -> Option<Choice> {
        if !self.is_space_scarce {
            return None;
        }
        let (upper, deepest) = (self.patches.first()?.level, self.deepest()?);
        match upper < deepest || upper == 0 {
            true => {
                let next = self.patches.iter().map(|patch| patch.level).find(|&level| level > upper);
                Some(self.merge_into_level(self.runs(upper).concat(), next.unwrap_or(upper + 1)))
            }
            false => self.merge_into_one_run(deepest).or_else(|| self.merge_unfilled(deepest)),
        }
    }

    /// Returns a merge that drops tombstones: of a patch that consists of them by more than `share`. One with nothing
    /// older below is rewritten in its place, any other is merged into the level that `next` returns for its own.
    fn dense_tombstones(&self, share: f64, next: impl Fn(u8) -> u8) -> Option<Choice> {
        let is_dense =
            |patch: &Patch<'_>| (patch.tombstones + patch.expired) as f64 > share * patch.entries as f64;
        // The deepest first, whose tombstones go at once. Level 0 has its own rule: its patches overlap.
        let dense = (0..self.patches.len()).rev().filter(|&nth| self.patches[nth].level > 0);
        let mut dense = dense.filter(|&nth| is_dense(&self.patches[nth]));
        dense.find_map(|nth| {
            let patch = &self.patches[nth];
            let below = self.patches.iter().filter(|other| other.age() > patch.age());
            let is_lowest = below.clone().all(|other| !other.overlaps(patch.first, patch.last));
            let choice = if is_lowest {
                Choice::whole(vec![nth], patch.level, Some(patch.run))
            } else if patch.level + 1 < LEVELS {
                self.merge_into_level(vec![nth], next(patch.level))
            } else {
                return None;
            };
            self.legality(&choice).is_ok().then_some(choice)
        })
    }
}

/// Returns the mean bytes of entries that are no tombstones, of patches with these bytes, entries and tombstones; 0
/// where there is none.
pub fn value_bytes_mean(patches: impl Iterator<Item = (u64, u64, u64)>) -> u64 {
    let (bytes, values) = patches.fold((0, 0), |(bytes, values), (own, entries, tombstones)| {
        (bytes + own, values + entries - tombstones)
    });
    bytes.checked_div(values).unwrap_or(0)
}

/// Chooses merges.
pub trait Merge: Send {
    /// Returns the next merge; `None` where the tree is in shape. Repeated merging without new patches MUST come to
    /// `None`.
    fn choose(&mut self, view: View<'_>) -> Option<Choice>;

    /// Returns the level at which a new patch of `bytes` may stand at once, in the newest run, where no other patch has
    /// keys between its first and its last: data that comes in the order of its keys needs no merge then. 0 where new
    /// patches begin at the top always.
    fn level_without_overlap(&self, _view: View<'_>, _bytes: u64) -> u8 {
        0
    }

    /// Returns the number of level-0 patches at which merging lags behind writing, so that writers are to be slowed;
    /// where entries that are no tombstones have so many bytes on average.
    fn level_0_patches_max(&self, value_bytes_mean: u64) -> u32;
}

/// Builds a merge policy.
pub type Build = fn(&Options) -> Result<Box<dyn Merge>, OptionError>;

/// All merge policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "leveled",
        summary: "one run a level, each larger by a factor: fewest reads and least space",
        is_random: false,
        build: leveled::build,
    },
    Entry {
        name: "tiered",
        summary: "several runs a level, merged together: fewest writes",
        is_random: false,
        build: tiered::build,
    },
    Entry {
        name: "lazy-leveled",
        summary: "several runs a level but the last, which has one: few writes, little space",
        is_random: false,
        build: lazy_leveled::build,
    },
    Entry {
        name: "space-bounded",
        summary: "one last run, and newer ones that may have as many bytes: fewest writes and reads of merges for large values",
        is_random: false,
        build: space_bounded::build,
    },
    Entry {
        name: "by-size",
        summary: "leveled, and space-bounded where values are large",
        is_random: false,
        build: by_size::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("merge", &[], REGISTRY);

impl Family<Build> {
    /// Builds the merge policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Merge>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}

/// Options that all merge policies have.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// Patches of level 0, or runs of a level, that are merged together.
    trigger: u32,
    /// Share of tombstones above which a patch is merged.
    tombstones: f64,
}

impl Shared {
    fn read(options: &Options, usual_trigger: u32) -> Result<Self, OptionError> {
        let share = crate::options::Share(0.5);
        let tombstones =
            options.get("tombstones", share, "a share of a patch's entries, as \"50%\"", |share| {
                share.0 > 0.0 && share.0 <= 1.0
            })?;
        let trigger =
            options.get("trigger", usual_trigger, "2 to 64", |trigger| (2..=64).contains(&trigger))?;
        Ok(Self { trigger, tombstones: tombstones.0 })
    }
}
