//! A merge: sorted runs are read in chunks and become patches of one run.
//!
//! Of a key all versions are gathered, those that a snapshot needs are kept, and a tombstone goes where nothing older
//! lies below. A value that has expired becomes a tombstone. Pieces of dropped versions are deleted when the merge is
//! complete. An entry that is kept is copied once, from the bytes that were read to the output.
//!
//! A merge of which nothing is left writes one tombstone all the same: its patch carries the record of the merge,
//! without which a power cut between the deletes of the inputs could bring back what a deleted one covered. Once they
//! are erased the patch is deleted (`Core::drop_tombstones`). Where no entry can be read, all being given up
//! (`salvage`), that is the tombstone of the first key.
//!
//! A merge may end before a key, where blocks are few: the entries of its inputs from that key on are the *rests*,
//! which stay in the runs of their inputs. They are copied to patches of their own, as outputs of the merge, so that
//! its inputs can be deleted as a whole.
//!
//! Work is bounded: a step merges the chunks that were read and no more, and few reads and writes are in flight, so
//! that gets come between.

use crate::builder::{Builder, Head, Shape};
use crate::cursor::{Cursor, Held};
use crate::entry::{Body, EntryRef, Version};
use crate::footer::{Origin, PatchFooter};
use crate::heads::Heads;
use crate::patch::{Age, Patch};
use crate::snapshots::Snapshots;
use crate::statement::Statement;
use flashlane_block::Payload;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Blocks that the least part of a merge writes at most: two patches become three, and of one a rest stays.
pub(crate) const PART_BLOCKS: u64 = 4;
/// Blocks that containers leave to merges while any runs: enough also where values of half a block fill patches badly.
pub(crate) const MERGE_BLOCKS: u64 = 2 * PART_BLOCKS;

/// What the result of a merge is.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) slice: u32,
    pub(crate) lower: Vec<u8>,
    pub(crate) upper: Vec<u8>,
    pub(crate) number: u64,
    /// Structure of the slice when the merge began.
    pub(crate) structure_version: u64,
    pub(crate) level: u8,
    pub(crate) run: u64,
    /// Entries with this key and above stay in the runs of their inputs.
    pub(crate) until: Option<Vec<u8>>,
    /// Blocks that are superseded and may come back.
    pub(crate) stale: Vec<u64>,
}

/// A merge that runs.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) plan: Plan,
    pub(crate) inputs: Vec<Arc<Patch>>,
    /// One for each run, newest first.
    pub(crate) cursors: Vec<Cursor>,
    /// Those that are merged now, or the one of the rest that is being copied.
    heads: Heads,
    /// Runs with rests, the next one first: each its cursor and its place in the order of age.
    rests: VecDeque<(usize, Age)>,
    /// The first of `rests` is being copied.
    is_copying: bool,
    /// Most outputs.
    pub(crate) outputs_max: u64,
    /// First and last keys of patches that stay and may be older than an input.
    older: Vec<(Vec<u8>, Vec<u8>)>,
    /// Versions of the key that is being gathered.
    versions: Vec<Merged>,
    /// Versions of a key that wait for the next output.
    carried: Option<Vec<Merged>>,
    builder: Option<Builder>,
    /// The last key that was dropped, and its newest sequence, while there is no output.
    dropped_key: Option<(Vec<u8>, u64)>,
    outputs_begun: u32,
    /// Outputs that no lane took yet.
    pub(crate) unplaced: Vec<Output>,
    /// Outputs that are not durable: each by its number.
    pub(crate) writing: BTreeMap<u32, PatchFooter>,
    /// Durable outputs.
    pub(crate) written: Vec<Arc<Patch>>,
    /// Generation of the newest statement of an output.
    pub(crate) stated: Option<u64>,
    dropped_pieces: BTreeSet<u64>,
    kept_pieces: BTreeSet<u64>,
    /// Bytes of the entries that were taken from inputs.
    merged_bytes: u64,
    is_ended: bool,
    /// Inputs that could not be read: the merge is given up once none of its outputs is being written.
    pub(crate) unread: BTreeSet<u64>,
}

/// A version that is merged.
#[derive(Debug)]
enum Merged {
    /// As it was read.
    Read(Held),
    /// A tombstone in the place of what was read, which has expired.
    Expired(Held),
}

impl Merged {
    /// Returns the entry that was read.
    fn entry(&self) -> EntryRef<'_> {
        match self {
            Self::Read(held) | Self::Expired(held) => held.entry(),
        }
    }

    fn key(&self) -> &[u8] {
        self.entry().key
    }

    fn sequence(&self) -> u64 {
        self.entry().sequence
    }

    fn is_tombstone(&self) -> bool {
        matches!(self, Self::Expired(_)) || self.entry().is_tombstone()
    }

    fn has_pieces(&self) -> bool {
        matches!(self, Self::Read(held) if held.entry().has_pieces())
    }

    /// Returns the blocks that the version refers to.
    fn pieces(&self) -> Vec<u64> {
        match self {
            Self::Read(held) => held.entry().pieces(),
            Self::Expired(_) => Vec::new(),
        }
    }

    /// Returns the bytes of its entry, and the number of its pieces.
    fn size(&self) -> (u64, u64) {
        match self {
            Self::Read(held) => (held.entry().bytes.len() as u64, self.pieces().len() as u64),
            Self::Expired(_) => (tombstone(self.sequence()).encoded_bytes(self.key()), 0),
        }
    }

    fn append_to(&self, builder: &mut Builder) {
        match self {
            Self::Read(held) => builder.copy(held.entry()),
            Self::Expired(_) => builder.push(self.key(), &tombstone(self.sequence())),
        }
    }
}

fn tombstone(sequence: u64) -> Version {
    Version { sequence, expiry_ms: 0, body: Body::Tombstone }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

/// Surroundings of a merge's step.
pub(crate) struct Context<'a> {
    pub(crate) shape: Shape,
    pub(crate) store: u128,
    pub(crate) now_ms: u64,
    pub(crate) snapshots: &'a Snapshots,
    /// Returns a buffer for an output.
    pub(crate) payload: &'a mut dyn FnMut() -> Payload,
    /// Returns the creation number of an output, and what it is to say of the store.
    pub(crate) number: &'a mut dyn FnMut() -> (u64, Statement),
}

/// An output to be put.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) nth: u32,
    pub(crate) payload: Payload,
}

impl Merge {
    /// A merge of `inputs` that writes at most `outputs_max` patches; `all` are the patches of the slice.
    pub(crate) fn new(plan: Plan, inputs: Vec<Arc<Patch>>, all: &[Arc<Patch>], outputs_max: u64) -> Self {
        let newest = inputs.iter().map(|patch| patch.age()).min().expect("a merge has inputs");
        let is_input = |patch: &Patch| inputs.iter().any(|input| input.id == patch.id);
        let older = all.iter().filter(|patch| patch.age() >= newest && !is_input(patch));
        let older = older.map(|patch| (patch.fields.first.clone(), patch.fields.last.clone())).collect();
        let mut runs: BTreeMap<_, Vec<Arc<Patch>>> = BTreeMap::new();
        inputs.iter().for_each(|patch| runs.entry(patch.age()).or_default().push(patch.clone()));
        let stays = |patch: &Patch| plan.until.as_ref().is_some_and(|until| patch.fields.last >= *until);
        let rests = runs.iter().enumerate().filter(|(_, (_, run))| run.iter().any(|patch| stays(patch)));
        let rests = rests.map(|(nth, (&age, _))| (nth, age)).collect();
        let cursors: Vec<Cursor> = runs.into_values().map(|run| Cursor::new(run.into_iter(), &[])).collect();
        let heads = Heads::new(0..cursors.len());
        Self {
            plan,
            inputs,
            cursors,
            heads,
            rests,
            is_copying: false,
            outputs_max,
            older,
            versions: Vec::new(),
            carried: None,
            builder: None,
            dropped_key: None,
            outputs_begun: 0,
            unplaced: Vec::new(),
            writing: BTreeMap::new(),
            written: Vec::new(),
            stated: None,
            dropped_pieces: BTreeSet::new(),
            kept_pieces: BTreeSet::new(),
            merged_bytes: 0,
            is_ended: false,
            unread: BTreeSet::new(),
        }
    }

    /// Returns whether an input could not be read.
    pub(crate) fn is_aborted(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Returns whether all outputs are durable.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_ended && !self.is_aborted() && self.writing.is_empty()
    }

    /// Returns the number of inputs in level 0, by the share of all entries that are merged.
    pub(crate) fn level_0_patches_merged(&self) -> f64 {
        let patches = self.inputs.iter().filter(|patch| patch.fields.level == 0).count();
        let bytes: u64 = self.inputs.iter().map(|patch| patch.fields.entry_bytes).sum();
        patches as f64 * self.merged_bytes as f64 / bytes as f64
    }

    /// Bytes of inputs that are read or being read, and not merged.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.cursors.iter().map(Cursor::held_bytes).sum()
    }

    /// Returns the number of outputs that the merge may still begin.
    pub(crate) fn outputs_left(&self) -> u64 {
        if self.is_ended { 0 } else { self.outputs_max.saturating_sub(self.outputs_begun.into()) }
    }

    /// Returns the pieces that no entry of the outputs refers to any more. Requires: the merge is complete.
    pub(crate) fn freed_pieces(&self) -> impl Iterator<Item = u64> + '_ {
        self.dropped_pieces.difference(&self.kept_pieces).copied()
    }

    /// Merges entries as far as they are read. Returns an output when it is full, or the last one.
    pub(crate) fn advance(&mut self, context: &mut Context<'_>) -> Option<Output> {
        if self.is_ended || self.is_aborted() {
            return None;
        }
        if let Some(versions) = self.carried.take()
            && let Some(output) = self.place(versions, context)
        {
            return Some(output);
        }
        while self.heads.order(&self.cursors) {
            let until = self.plan.until.as_deref().filter(|_| !self.is_copying);
            let first = self.heads.first().and_then(|run| Some((run, self.cursors[run].peek()?.key)));
            let next = first.filter(|(_, key)| until.is_none_or(|until| *key < until));
            let gathered = self.versions.first().map(Merged::key);
            let is_other = gathered.is_some_and(|own| next.is_none_or(|(_, key)| key != own));
            let next = next.map(|(run, _)| run);
            if is_other && let Some(output) = self.end_key(context) {
                return Some(output);
            }
            match next {
                Some(run) => self.gather(run),
                None => {
                    if let Some(output) = self.end_run(context) {
                        return Some(output);
                    }
                }
            }
        }
        None
    }

    /// Takes the versions of the next key, as far as they are read: of `run`, the newest that has it, and of the
    /// others.
    fn gather(&mut self, mut run: usize) {
        loop {
            let next = self.heads.second_of_same_key(&self.cursors);
            self.heads.move_first();
            self.take_versions(run);
            match next {
                Some(next) => run = next,
                None => break,
            }
        }
    }

    /// Takes the next entry of a run, and those behind it with its key.
    fn take_versions(&mut self, run: usize) {
        let cursor = &mut self.cursors[run];
        let mut newest = cursor.pop().expect("an entry was seen");
        loop {
            self.merged_bytes += newest.entry().bytes.len() as u64;
            let is_last = cursor.peek().is_none_or(|next| next.key != newest.entry().key);
            let older = if is_last { None } else { cursor.pop() };
            self.versions.push(Merged::Read(newest));
            match older {
                Some(older) => newest = older,
                None => break,
            }
        }
    }

    /// Ends the versions of a key. Returns an output where they do not fit into it any more.
    fn end_key(&mut self, context: &mut Context<'_>) -> Option<Output> {
        let mut versions = std::mem::take(&mut self.versions);
        // What the log brought back may stand in two patches.
        if versions.len() > 1 {
            versions.sort_by_key(|version| Reverse(version.sequence()));
        }
        if !self.is_copying {
            self.drop_versions(&mut versions, context);
        }
        if versions.is_empty() {
            return None;
        }
        for version in versions.iter().filter(|version| version.has_pieces()) {
            self.kept_pieces.extend(version.pieces());
        }
        self.place(versions, context)
    }

    /// Appends versions of a key. Returns an output where they do not fit into it: they then wait for the next one.
    /// Versions that exceed a patch are parted over several.
    fn place(&mut self, mut versions: Vec<Merged>, context: &mut Context<'_>) -> Option<Output> {
        let builder = self.builder(context);
        let fits = |builder: &Builder, versions: &[Merged]| {
            builder.fits(versions[0].key(), versions.iter().map(Merged::size))
        };
        if !fits(builder, &versions) {
            if builder.is_empty() {
                let mut count = 1;
                while fits(builder, &versions[..count + 1]) {
                    count += 1;
                }
                versions.drain(..count).for_each(|version| version.append_to(builder));
            }
            self.carried = Some(versions);
            return Some(self.end_output(false, context));
        }
        versions.drain(..).for_each(|version| version.append_to(builder));
        // Its memory serves the next key.
        self.versions = versions;
        None
    }

    fn builder(&mut self, context: &mut Context<'_>) -> &mut Builder {
        let lists = (self.inputs.len() + self.plan.stale.len()) as u64;
        self.builder.get_or_insert_with(|| Builder::new(context.shape, (context.payload)(), lists))
    }

    /// Removes the versions that no snapshot sees.
    fn drop_versions(&mut self, versions: &mut Vec<Merged>, context: &Context<'_>) {
        if versions.len() > 1 {
            let removed = context.snapshots.prune(None, versions, Merged::sequence);
            self.dropped_pieces.extend(removed.iter().flat_map(Merged::pieces));
        }
        if let Merged::Read(newest) = &versions[0]
            && newest.entry().is_expired(context.now_ms)
        {
            self.dropped_pieces.extend(newest.entry().pieces());
            versions[0] = Merged::Expired(newest.clone());
        }
        if !versions.last().is_some_and(Merged::is_tombstone) || self.is_covering(versions[0].key()) {
            return;
        }
        while let Some(oldest) = versions.pop_if(|oldest| oldest.is_tombstone()) {
            if versions.is_empty() {
                self.dropped_key = Some((oldest.key().to_vec(), oldest.sequence()));
            }
        }
    }

    /// Returns whether a patch that stays may hold an older version of a key.
    fn is_covering(&self, key: &[u8]) -> bool {
        self.older.iter().any(|(first, last)| **first <= *key && *key <= **last)
    }

    /// Ends the result, or the rest that is being copied. Returns its last output, if it has one, and goes on with the
    /// next rest, if there is one.
    fn end_run(&mut self, context: &mut Context<'_>) -> Option<Output> {
        let rests_left = self.rests.len() - usize::from(self.is_copying);
        if rests_left == 0 && self.builder.is_none() {
            let (key, sequence) = self.dropped_key.take().unwrap_or_else(|| self.key_given_up());
            self.builder(context).push(&key, &tombstone(sequence));
        }
        self.is_ended = rests_left == 0;
        assert!(self.builder.is_some() || !self.is_ended, "the last output of a merge has entries");
        let output = self.builder.is_some().then(|| self.end_output(self.is_ended, context));
        if std::mem::replace(&mut self.is_copying, true) {
            self.rests.pop_front();
        }
        self.heads = Heads::new(self.rests.front().map_or(0..0, |&(nth, _)| nth..nth + 1));
        output
    }

    /// Returns a key of the inputs, or of the rest that is being copied, of which no entry can be read, and the number
    /// of a write that none of them precedes.
    fn key_given_up(&self) -> (Vec<u8>, u64) {
        let rest = self.rests.front().filter(|_| self.is_copying);
        let is_read = |patch: &&Arc<Patch>| rest.is_none_or(|&(_, age)| patch.age() == age);
        let fields = || self.inputs.iter().filter(is_read).map(|patch| &patch.fields);
        let key = match rest {
            // The rest begins somewhere within a patch, and has the last key of its run.
            Some(_) => fields().map(|fields| &fields.last).max(),
            None => fields().map(|fields| &fields.first).min(),
        };
        let write = fields().map(|fields| fields.sequences.0).min();
        (key.expect("a merge has inputs").clone(), write.expect("a merge has inputs"))
    }

    fn end_output(&mut self, is_last: bool, context: &mut Context<'_>) -> Output {
        let builder = self.builder.take().expect("an output is being built");
        let nth = self.outputs_begun;
        self.outputs_begun += 1;
        let plan = &self.plan;
        let (level, run) = match self.rests.front() {
            Some(&(_, (level, Reverse(run)))) if self.is_copying => (level, run),
            _ => (plan.level, plan.run),
        };
        let inputs = self.inputs.iter().map(|patch| patch.id).collect();
        let all = || self.inputs.iter().map(|patch| patch.fields.sequences);
        let low = all().map(|(low, _)| low).min().expect("a merge has inputs");
        let high = all().map(|(_, high)| high).max().expect("a merge has inputs");
        let (creation, statement) = (context.number)();
        let head = Head {
            slice: plan.slice,
            lower: plan.lower.clone(),
            upper: plan.upper.clone(),
            level,
            run,
            creation,
            sequences: (low, high),
            origin: Origin::Merge { number: plan.number, output: nth, is_last, inputs },
            stale: plan.stale.clone(),
            statement,
        };
        let (payload, footer) = builder.finish(head, context.store);
        self.stated = self.stated.max(footer.statement.as_ref().map(|statement| statement.generation));
        self.writing.insert(nth, footer);
        Output { nth, payload }
    }

    /// Output `nth` is durable as block `id`.
    pub(crate) fn output_written(&mut self, nth: u32, id: u64) {
        let footer = self.writing.remove(&nth).expect("an output that is written was begun");
        self.written.push(Arc::new(Patch::new(id, footer)));
    }
}
