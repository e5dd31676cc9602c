//! A slice: a range of keys with its containers, patches and merge.
//!
//! Invariants:
//! - The container is newer than all frozen ones, a frozen one than those before it, and all of them than the patches.
//! - A frozen container is in memory until its patch is installed, and patches are installed in the order in which
//!   their containers were frozen. So a patch of level 0 that merges see has nothing older above it.
//! - A patch is written only when the records of its container are durable in the log. So after a power cut the log and
//!   the patches hold the same writes from the first to the last: nothing is in a patch that is not below the end of
//!   the log.
//! - A container's records are freed in the log when its patch is installed.
//! - A patch that is written below level 0 overlaps no patch and no container that was frozen before it, and from its
//!   placement to its installation the slice has no merge: what it was compared with is all that there is then.
//! - `undeleted` holds every block that was superseded, or whose put failed, and whose erase is not confirmed: a power
//!   cut may bring it back. Outputs of merges list them (see `recovery`).

use crate::builder::{Shape, Size};
use crate::container::Container;
use crate::entry::{Entry, Version};
use crate::filter::hash_key;
use crate::footer::PatchFooter;
use crate::levels::Levels;
use crate::merging::Merge;
use crate::operation::QueuedWrite;
use crate::pacing::DelayedWrites;
use crate::patch::Patch;
use crate::snapshots::Snapshots;
use flashlane_policy::merge;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// A container that takes no more entries.
#[derive(Debug)]
pub(crate) struct Frozen {
    container: Container,
    /// Number of its patch.
    creation: u64,
    state: FlushState,
}

/// How far a frozen container is on its way to a patch.
#[derive(Debug)]
enum FlushState {
    /// Its records are not durable, or there was no block for it.
    Waiting,
    /// Its patch is being written.
    Writing(Box<PatchFooter>),
    /// Its patch is durable, and earlier ones are not.
    Written(Arc<Patch>),
}

impl Frozen {
    pub(crate) fn container(&self) -> &Container {
        &self.container
    }

    /// Number of its patch.
    pub(crate) fn creation(&self) -> u64 {
        self.creation
    }

    /// Returns whether its patch is still to be written.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.state, FlushState::Waiting)
    }

    /// Returns whether its patch is being written.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.state, FlushState::Writing(_))
    }

    /// Level and run of its patch.
    fn place(&self) -> (u8, u64) {
        match &self.state {
            FlushState::Waiting => (0, self.creation),
            FlushState::Writing(footer) => (footer.fields.level, footer.fields.run),
            FlushState::Written(patch) => (patch.fields.level, patch.fields.run),
        }
    }

    /// Returns its patch as policies see it, as if it were installed.
    fn for_policy(&self) -> merge::Patch<'_> {
        let ((level, run), (first, last)) = (self.place(), self.container.ends());
        let (bytes, entries) = (self.container.entry_bytes(), self.container.entries());
        merge::Patch { level, run, first, last, bytes, entries, tombstones: 0, expired: 0 }
    }
}

/// What is known of the next merge of a slice, so that the policy is not asked in vain. A *structure* is the state of
/// the slice's patches for which it holds.
#[derive(Debug)]
struct Prospects {
    /// The structure for which the policy had no merge, or one that failed, and the most blocks with which no part of
    /// it could begin.
    in_shape: Option<(u64, u64)>,
    /// Most blocks that a merge may write: less than all once one found no room.
    blocks_max: u64,
    /// The structure that is as dense as merges make it: refused values do not begin another one.
    dense: Option<u64>,
    /// The structure for which useless tombstones were looked for.
    pruned: Option<u64>,
}

impl Default for Prospects {
    fn default() -> Self {
        Self { in_shape: None, blocks_max: u64::MAX, dense: None, pruned: None }
    }
}

/// A patch that a merge could not read.
#[derive(Debug, Default)]
struct Unread {
    /// Merges that could not.
    merges: u32,
    /// The structure from which on the next one may begin.
    wait_until: u64,
}

/// A range of keys.
#[derive(Debug)]
pub(crate) struct Slice {
    number: u32,
    lower: Vec<u8>,
    /// First key of the next slice; empty for the last one.
    upper: Vec<u8>,
    container: Container,
    /// Oldest first.
    frozen: VecDeque<Frozen>,
    levels: Levels,
    merge: Option<Box<Merge>>,
    /// Writes that wait for room.
    queue: VecDeque<QueuedWrite>,
    /// Writes whose acknowledgement is delayed.
    delayed: DelayedWrites,
    undeleted: BTreeSet<u64>,
    prospects: Prospects,
    /// Patches that merges could not read.
    unread: BTreeMap<u64, Unread>,
    /// Grows with every change of the containers and patches that a scan reads, except for added entries.
    structure_version: u64,
}

impl Slice {
    pub(crate) fn new(number: u32, lower: Vec<u8>, upper: Vec<u8>) -> Self {
        Self {
            number,
            lower,
            upper,
            container: Container::default(),
            frozen: VecDeque::new(),
            levels: Levels::default(),
            merge: None,
            queue: VecDeque::new(),
            delayed: DelayedWrites::default(),
            undeleted: BTreeSet::new(),
            prospects: Prospects::default(),
            unread: BTreeMap::new(),
            // Unique over all slices.
            structure_version: u64::from(number) << 40,
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// First key.
    pub(crate) fn lower(&self) -> &[u8] {
        &self.lower
    }

    /// First key of the next slice; empty for the last one.
    pub(crate) fn upper(&self) -> &[u8] {
        &self.upper
    }

    /// The container that takes entries.
    pub(crate) fn container(&self) -> &Container {
        &self.container
    }

    /// The containers on their way to patches, oldest first.
    pub(crate) fn frozen(&self) -> impl ExactSizeIterator<Item = &Frozen> {
        self.frozen.iter()
    }

    pub(crate) fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Grows with every change of the containers and patches that a scan reads, except for added entries.
    pub(crate) fn structure_version(&self) -> u64 {
        self.structure_version
    }

    pub(crate) fn delayed(&mut self) -> &mut DelayedWrites {
        &mut self.delayed
    }

    // Queue.

    /// Lets a write wait for room.
    pub(crate) fn enqueue(&mut self, write: QueuedWrite) {
        self.queue.push_back(write);
    }

    /// Returns whether a write waits for room.
    pub(crate) fn has_waiting_writes(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Takes the first write that waits for room.
    pub(crate) fn next_write(&mut self) -> Option<QueuedWrite> {
        self.queue.pop_front()
    }

    /// Lets the first write wait again, for which there was no room.
    pub(crate) fn requeue(&mut self, write: QueuedWrite) {
        self.queue.push_front(write);
    }

    // Containers and patches.

    /// Adds the entries of a record to the container: see [`Container::add`].
    pub(crate) fn add(
        &mut self,
        shape: &Shape,
        entries: Vec<Entry>,
        pages: Range<u64>,
        snapshots: &Snapshots,
    ) -> Vec<Version> {
        self.container.add(shape, entries, pages, snapshots)
    }

    /// The patch of the `nth` frozen container is being written.
    pub(crate) fn patch_begins(&mut self, nth: usize, footer: PatchFooter) {
        let state = &mut self.frozen[nth].state;
        assert!(matches!(state, FlushState::Waiting), "a patch is written once at a time");
        *state = FlushState::Writing(Box::new(footer));
    }

    /// The patch of the frozen container with this creation number could not be written. It will be under another id;
    /// what this put may have left is superseded.
    pub(crate) fn patch_failed(&mut self, creation: u64, id: u64) {
        let frozen = self.frozen.iter_mut().find(|frozen| frozen.creation == creation);
        let state = &mut frozen.expect("a patch that failed is of a frozen container").state;
        assert!(matches!(state, FlushState::Writing(_)), "the patch was being written");
        *state = FlushState::Waiting;
        self.undeleted.insert(id);
    }

    /// Adds a patch that an opening found.
    pub(crate) fn install(&mut self, patch: Patch) {
        self.levels.replace(&[], [Arc::new(patch)]);
    }

    /// Replaces patches, whose blocks are superseded from now on.
    pub(crate) fn replace(&mut self, inputs: &[u64], outputs: impl IntoIterator<Item = Arc<Patch>>) {
        self.levels.replace(inputs, outputs);
        inputs.iter().for_each(|id| _ = self.unread.remove(id));
        self.structure_version += 1;
        self.undeleted.extend(inputs);
    }

    // Superseded blocks.

    /// A block is superseded, or its put failed: a power cut may bring it back until its erase is confirmed.
    pub(crate) fn superseded(&mut self, id: u64) {
        self.undeleted.insert(id);
    }

    /// The erase of a block is confirmed.
    pub(crate) fn deleted(&mut self, id: u64) {
        self.undeleted.remove(&id);
    }

    /// Blocks that a power cut may bring back.
    pub(crate) fn undeleted(&self) -> &BTreeSet<u64> {
        &self.undeleted
    }

    // Merges.

    pub(crate) fn merge(&self) -> Option<&Merge> {
        self.merge.as_deref()
    }

    pub(crate) fn merge_mut(&mut self) -> Option<&mut Merge> {
        self.merge.as_deref_mut()
    }

    /// Begins a merge, or goes on with one that was [taken](Self::take_merge).
    pub(crate) fn set_merge(&mut self, merge: Box<Merge>) {
        assert!(self.merge.is_none(), "slice {} has a merge", self.number);
        assert!(!self.is_placing(), "no merge runs beside a placed patch");
        self.merge = Some(merge);
    }

    /// Takes the merge, to go on with it or to end it.
    pub(crate) fn take_merge(&mut self) -> Option<Box<Merge>> {
        self.merge.take()
    }

    /// Returns whether a merge that may write `blocks` blocks may begin, as far as is known without asking the policy.
    pub(crate) fn may_merge(&self, blocks: impl FnOnce() -> u64) -> bool {
        if self.merge.is_some() || self.is_placing() {
            return false;
        }
        let asked = self
            .prospects
            .in_shape
            .filter(|&(structure_version, _)| structure_version == self.structure_version);
        !asked.is_some_and(|(_, most)| most == u64::MAX || blocks() <= most)
    }

    /// Notes that no merge can begin with up to `blocks` blocks until the structure changes; [`u64::MAX`] where there
    /// is none.
    pub(crate) fn set_in_shape(&mut self, blocks: u64) {
        self.prospects.in_shape = Some((self.structure_version, blocks));
    }

    /// Lets the policy be asked again.
    pub(crate) fn ask_again(&mut self) {
        self.prospects.in_shape = None;
    }

    /// Lets the policy be asked again, unless the patches are as dense as merges make them.
    pub(crate) fn ask_again_for_space(&mut self) {
        if self.prospects.dense != Some(self.structure_version) {
            self.ask_again();
        }
    }

    /// Time has gone on: lets the policy be asked again where entries have expired since.
    pub(crate) fn time_passes(&mut self, now_ms: u64) {
        if self.levels.have_expired(now_ms) {
            self.prospects.dense = None;
            self.ask_again();
        }
    }

    /// A merge could not read this patch. The next one that needs it waits for changes of the slice, twice as many
    /// after each such merge: a read may succeed later, and one that never does wears the device by what merges write
    /// before.
    pub(crate) fn merge_could_not_read(&mut self, id: u64) {
        let unread = self.unread.entry(id).or_default();
        unread.merges += 1;
        unread.wait_until = self.structure_version + (1 << unread.merges.min(32)) - 2;
    }

    /// Returns whether a merge of these patches may begin, as far as earlier ones could read them.
    pub(crate) fn may_read<'a>(&self, mut inputs: impl Iterator<Item = &'a Arc<Patch>>) -> bool {
        let waits = |id: &u64| self.unread.get(id).is_some_and(|own| own.wait_until > self.structure_version);
        self.unread.is_empty() || !inputs.any(|patch| waits(&patch.id))
    }

    /// Lets merges read all patches again: what cannot be read was given up.
    pub(crate) fn forget_unread(&mut self) {
        self.unread.clear();
        self.ask_again();
    }

    /// Notes that the patches are as dense as merges make them.
    pub(crate) fn set_dense(&mut self) {
        self.set_in_shape(u64::MAX);
        self.prospects.dense = Some(self.structure_version);
    }

    /// Most blocks that a merge may write: less than all once one found no room.
    pub(crate) fn merge_blocks_max(&self) -> u64 {
        self.prospects.blocks_max
    }

    pub(crate) fn set_merge_blocks_max(&mut self, blocks: u64) {
        self.prospects.blocks_max = blocks;
    }

    /// Returns whether useless tombstones are to be looked for, once for a structure.
    pub(crate) fn begin_pruning(&mut self) -> bool {
        let may_begin = self.merge.is_none() && self.undeleted.is_empty();
        may_begin && self.prospects.pruned.replace(self.structure_version) != Some(self.structure_version)
    }

    /// Returns whether a batch fits into the container.
    pub(crate) fn fits(&self, shape: &Shape, entries: &[Entry]) -> bool {
        self.container.fits(shape, &Size::of(shape, entries))
    }

    /// Freezes the container. Requires: it has entries.
    pub(crate) fn freeze(&mut self, creation: u64) {
        assert!(!self.container.is_empty(), "an empty container is not frozen");
        let container = std::mem::take(&mut self.container);
        self.frozen.push_back(Frozen { container, creation, state: FlushState::Waiting });
        self.structure_version += 1;
    }

    /// Returns whether a patch is on its way to a level below 0.
    pub(crate) fn is_placing(&self) -> bool {
        self.frozen.iter().any(|frozen| frozen.place().0 > 0)
    }

    /// Returns level and run of the patch of the `nth` frozen container: below level 0 only where `policy` says so, and
    /// it overlaps nothing that is older.
    pub(crate) fn place(&self, nth: usize, policy: &dyn merge::Merge, patch_bytes: u64) -> (u8, u64) {
        let Frozen { container, creation, .. } = &self.frozen[nth];
        // A patch of tombstones that was deleted may come back as long as it is not erased, and would then be newer.
        if self.merge.is_some() || !self.undeleted.is_empty() {
            return (0, *creation);
        }
        let mut patches = self.levels.for_policy(None, 0);
        patches.extend(self.frozen.iter().take(nth).map(Frozen::for_policy));
        patches.sort_by_key(|patch| (patch.age(), patch.first));
        let (first, last) = container.ends();
        let view =
            merge::View { patches: &patches, patch_bytes, merge_blocks: u64::MAX, is_space_scarce: false };
        let (level, run) = view.place(policy, first, last, container.entry_bytes()).unwrap_or((0, None));
        (level, run.unwrap_or(*creation))
    }

    /// The frozen container with this creation number is durable as a patch. Installs all patches whose turn it is.
    /// Returns the generation of the patch's statement.
    pub(crate) fn flushed(&mut self, creation: u64, id: u64) -> Option<u64> {
        let frozen = self.frozen.iter_mut().find(|frozen| frozen.creation == creation);
        let frozen = frozen.expect("a patch that was written is of a frozen container");
        let FlushState::Writing(footer) = std::mem::replace(&mut frozen.state, FlushState::Waiting) else {
            panic!("the patch of container {creation} was not being written")
        };
        let stated = footer.statement.as_ref().map(|statement| statement.generation);
        frozen.state = FlushState::Written(Arc::new(Patch::new(id, *footer)));
        while let Some(Frozen { state: FlushState::Written(_), .. }) = self.frozen.front() {
            let Some(Frozen { state: FlushState::Written(patch), .. }) = self.frozen.pop_front() else {
                unreachable!()
            };
            assert!(patch.fields.level == 0 || self.merge.is_none(), "a merge began beside a placed patch");
            self.levels.replace(&[], [patch]);
            self.structure_version += 1;
        }
        stated
    }

    /// Returns the patches of level 0 and those that containers will become, without what a merge has done of them. The
    /// open container counts by its share of a patch of `patch_bytes`.
    pub(crate) fn unmerged_patches(&self, patch_bytes: u64) -> f64 {
        let open = self.container.entry_bytes() as f64 / patch_bytes as f64;
        let merged = self.merge.as_ref().map_or(0.0, |merge| merge.level_0_patches_merged());
        f64::from(self.levels.level_0_patches()) - merged + self.frozen.len() as f64 + open
    }

    /// Returns the newest version of `key` up to `sequence` that is in memory.
    pub(crate) fn in_memory(&self, key: &[u8], sequence: u64) -> Option<&Version> {
        let frozen = self.frozen.iter().rev().map(|frozen| &frozen.container);
        std::iter::once(&self.container).chain(frozen).find_map(|container| container.get(key, sequence))
    }

    /// Returns the patches that may hold `key`, newest first.
    pub(crate) fn candidates(&self, key: &[u8]) -> Vec<Arc<Patch>> {
        self.levels.candidates(key, hash_key(key)).cloned().collect()
    }

    /// Returns the containers, newest first.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        std::iter::once(&self.container).chain(self.frozen.iter().rev().map(|frozen| &frozen.container))
    }

    /// Returns the first page of the log that its containers need.
    pub(crate) fn first_page(&self) -> Option<u64> {
        self.containers().filter_map(Container::first_page).min()
    }

    /// Bytes of memory of containers.
    pub(crate) fn container_memory_bytes(&self) -> u64 {
        self.containers().map(Container::memory_bytes).sum()
    }
}
