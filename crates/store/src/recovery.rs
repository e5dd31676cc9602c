//! Opening a store: the patches that count are found from what each says of itself, and the log is replayed. There is
//! no manifest.
//!
//! Opening writes nothing. What it finds not to count is deleted once the store may write, and only then are
//! replayed containers written and patches merged.
//!
//! # Which patches count
//! A merge `M` reads *inputs* and writes *outputs*; each output names `M`, its number, whether it is the last, and the
//! inputs. Inputs are deleted when all outputs are durable. So `M` is **complete** if all its outputs are there, or one
//! of its inputs is gone. Inputs of complete merges do not count, nor outputs of incomplete ones: both are deleted.
//!
//! Two things make it harder. First, an output of `M` may be merged further, by `M2`, and be gone. Second, a delete
//! takes time: until the erase is confirmed a power cut may bring the block back, also one whose put was reported as
//! failed. Such blocks are *undeleted*. Every output of `M2` lists what was undeleted in its slice when `M2` began, as
//! *stale*. Merges are looked at from the newest to the oldest, and what a complete one has as input or stale is
//! **dead**: it counts as gone.
//!
//! # Why that is right
//! 1. *A complete merge is recognised.* Let `M` have completed. If all outputs are there it is seen. If one is missing,
//!    it was an input of a later merge `M2` that completed; of these take the newest chain whose last merge has all its
//!    outputs there (there is one, since every merge has an output and an output is deleted only for a later merge).
//!    When `M2` began, each input of `M` was either erased, or undeleted and so is stale in `M2`'s outputs. By
//!    induction over the chain `M2` is recognised first, so every input of `M` is gone or dead. Outputs of a merge by
//!    parts are of several runs, and may be inputs of different merges: the argument is the same for each. An output of
//!    tombstones alone may also be missing since it was deleted without a merge. That happens only while nothing in the
//!    slice is undeleted: every input of `M` is erased, and so is what the output listed as stale.
//! 2. *An incomplete merge is recognised.* None of its inputs was deleted, so none is erased. None is dead: only a
//!    complete merge makes an input dead, one that read the input would be a second merge of the slice beside `M`, and
//!    stale blocks are no inputs of a merge that began later. And not all its outputs are there, as that would make it
//!    complete.
//! 3. *An abandoned output is never taken for a valid one.* Outputs of a merge that was given up, and blocks whose put
//!    failed, are undeleted, so that the outputs of any later merge of the slice that would make them look complete
//!    list them.
//!
//! Two blocks with one creation number are one patch that was put twice, since the first put was reported as failed:
//! the one with the higher id counts, which later patches name.
//!
//! # The log
//! Its records are replayed from the tail on, whether or not they are in a patch already: an entry that stands in two
//! places is the same in both. A patch is written only when the log is durable up to its records. So what is found is
//! exactly the first `n` writes, in the order of their numbers, for an `n` that is not below that of any write
//! acknowledged as durable.
//!
//! # Copies of different moments
//! A copy of the device with a log of another moment may lack writes. Two facts hold whenever the power is cut, and a
//! pair that breaks one is refused ([`check_moments`]):
//! 1. No patch has a write behind the last one of the log. So a log that is older than a patch is recognised.
//! 2. In a store of version 3 each write whose record was freed is *covered* by a patch of its slice: a patch covers
//!    the writes of its container, or of its inputs, and one without use is deleted only where another covers the same.
//!
//! Records that were freed stay in the ring until they are overwritten, and are looked up. Of writes before these only
//! the last is: where the log has gone round since the device's copy, and patches reach beyond its oldest record all
//! the same, a loss may go unnoticed. A value of the log whose pieces are not there shows different moments as well.
//!
//! A patch that the device has lost is missed by what later patches say of it (`statement`).
//!
//! A store that was salvaged lacks some of the writes until then, and what it says of itself from before counts what it
//! lost: neither is compared ([`Salvage`]).

use crate::builder::Shape;
use crate::core::{Core, Parts, shape_of};
use crate::error::{CreateError, OpenError};
use crate::footer::{Footer, FooterError, Origin, PatchFooter, TRAILER_BYTES, VERSION};
use crate::log::{
    FoundHeader, Freed, Log, LogConfig, Recovered, blank_ring, read_header, recover, write_header,
};
use crate::options::{Slices, StoreOptions};
use crate::requirements::{Requirements, log_layout};
use crate::salvage::Salvage;
use crate::statement::{self, Census};
use flashlane_base::Instant;
use flashlane_block::{BlockInfo, Blocks, Layout, Outcome, Ticket};
use flashlane_device::DataDevice;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes at the end of each block that are read first.
const TAIL_BYTES: u64 = 32 << 10;
/// Reads in flight on each lane.
const READS_PER_LANE: u64 = 4;

/// Formats both devices.
pub(crate) fn create<D: DataDevice, L: DataDevice>(
    device: D,
    mut log: L,
    store: u128,
    slices: Slices,
    options: StoreOptions,
) -> Result<Core<D, L>, CreateError> {
    Requirements::new(device.info(), &slices, &options)?;
    let layout = Layout::new(device.info()).map_err(flashlane_block::FormatError::Unsuitable)?;
    let shape = shape_of(layout.block_bytes(), layout.granule_bytes, &slices.bounds)?;
    let config = LogConfig::new(store, slices.bounds);
    let log_layout = log_layout(log.info(), &config, shape.block_bytes)?;
    let name = log.info().name.clone();
    let blocks = Blocks::format_with_log(device, store, options.blocks)?;
    // A simulated device holds nothing but what a program of ours wrote.
    let blanked = if log.info().simulated { Ok(()) } else { blank_ring(&mut log, &log_layout) };
    blanked
        .and_then(|()| write_header(&mut log, &log_layout, &config))
        .map_err(|reason| CreateError::Log { device: name, reason })?;
    let log = Log::new(log, log_layout, store, &Recovered::empty());
    Ok(Core::new(Parts { blocks, log, store, bounds: config.bounds }, shape, options)?)
}

/// Opens both devices.
pub(crate) fn open<D: DataDevice, L: DataDevice>(
    device: D,
    mut log: L,
    options: StoreOptions,
) -> Result<Core<D, L>, OpenError> {
    let header = read_header(&mut log)?;
    let config = &header.config;
    let mut blocks = Blocks::open(device, options.blocks)?;
    let shape = shape_of_store(&blocks, config)?;
    let without_damaged = options.without_damaged_blocks;
    let (contents, lost) = read_footers(&mut blocks, config.store, without_damaged)?;
    // The other half is left to the containers that the records fill.
    let recovered = recover(&mut log, &header.layout, config, options.memory_bytes / 2, without_damaged)?;
    let core = empty_core(blocks, log, &header, &recovered, shape, options)?;
    let mut opening = Opening::new(core, lost, recovered.damage.clone(), config.salvage.clone());
    let dead = opening.find_dead(&contents.patches, &recovered.freed, config.patches_cover_log)?;
    let dropped = statement::dropped(&contents.patches);
    opening.core.install(contents.patches, &dead, &dropped)?;
    opening.core.replay(recovered);
    opening.check_pieces(&contents.pieces)?;
    opening.core.delete_unknown(&contents.pieces);
    Ok(opening.core)
}

/// Returns the shape of the patches of a store whose log has this header. Refuses blocks of another one.
fn shape_of_store<D: DataDevice>(blocks: &Blocks<D>, config: &LogConfig) -> Result<Shape, OpenError> {
    let status = blocks.status();
    if status.format_id != config.store {
        return Err(OpenError::OtherStore { log: config.store, blocks: status.format_id });
    }
    Ok(shape_of(blocks.block_bytes(), status.layout.granule_bytes, &config.bounds)?)
}

/// Returns the parts of a store in which nothing is installed yet.
fn empty_core<D: DataDevice, L: DataDevice>(
    blocks: Blocks<D>,
    log: L,
    header: &FoundHeader,
    recovered: &Recovered,
    shape: Shape,
    options: StoreOptions,
) -> Result<Core<D, L>, OpenError> {
    let FoundHeader { config, layout, damaged } = header;
    let log = Log::new(log, *layout, config.store, recovered).with_damaged_header(damaged.clone());
    let parts = Parts { blocks, log, store: config.store, bounds: config.bounds.clone() };
    Ok(Core::new(parts, shape, options)?)
}

/// A store that is being opened.
struct Opening<D, L> {
    core: Core<D, L>,
    /// Whether all units and blocks can be read, and all records of the log. Otherwise what is missing may be in what
    /// cannot: the damage is reported, and the rest stays readable.
    is_whole: bool,
}

impl<D: DataDevice, L: DataDevice> Opening<D, L> {
    fn new(
        mut core: Core<D, L>,
        lost: Vec<u64>,
        damage: Option<OpenError>,
        salvage: Option<Salvage>,
    ) -> Self {
        let is_whole =
            core.blocks().damaged_since_written().next().is_none() && lost.is_empty() && damage.is_none();
        core.lose_blocks(lost);
        if let Some(damage) = damage {
            core.miss_blocks(damage);
        }
        core.set_salvage(salvage);
        Self { core, is_whole }
    }

    /// Notes that blocks are missing, or refuses a store without them.
    fn miss(&mut self, missing: OpenError) -> Result<(), OpenError> {
        match self.core.options().without_damaged_blocks {
            _ if !self.is_whole => {}
            true => self.core.miss_blocks(missing),
            false => return Err(missing),
        }
        Ok(())
    }

    /// Returns the patches that do not count, and notes which are missing.
    fn find_dead(
        &mut self,
        patches: &BTreeMap<u64, PatchFooter>,
        freed: &Freed,
        covers_log: bool,
    ) -> Result<BTreeSet<u64>, OpenError> {
        let name = self.core.log().device().info().name.clone();
        let (given_up_to, number) =
            self.core.last_salvage().map_or((0, 0), |salvage| (salvage.last_write, salvage.number));
        match check_moments(patches, freed, (covers_log && self.is_whole, given_up_to), &name) {
            Err(missing @ OpenError::DeviceOlder { .. }) => self.miss(missing)?,
            checked => checked?,
        }
        let (dead, missing_output) = dead_patches(patches, statement::dropped(patches));
        if let Some(missing) = missing_output {
            self.miss(missing)?;
        }
        let (mut missing, refusal) = statement::missing_patches(patches, &dead, number);
        if let Some(refusal) = refusal {
            self.miss(refusal)?;
        }
        // The newest patch is in no statement: the log says whether a damaged unit held it.
        let is_uncovered = || check_moments(patches, freed, (covers_log, given_up_to), &name).is_err();
        if !self.is_whole && missing == Census::default() && is_uncovered() {
            missing = missing.and_unknown(1);
        }
        self.core.state_missing(missing);
        // Numbers of writes that are lost are not given again.
        self.core.skip_writes(freed.last.unwrap_or(0));
        Ok(dead)
    }

    /// Notes where a value in the log has a piece that is missing.
    fn check_pieces(&mut self, pieces: &BTreeSet<u64>) -> Result<(), OpenError> {
        let log = self.core.log().device().info().name.clone();
        match self.core.write_without_piece(pieces) {
            Some((write, block)) => self.miss(OpenError::PieceMissing { log, write, block }),
            None => Ok(()),
        }
    }
}

/// What the blocks of a store hold.
#[derive(Default)]
struct Contents {
    patches: BTreeMap<u64, PatchFooter>,
    pieces: BTreeSet<u64>,
}

impl Contents {
    fn add(&mut self, id: u64, footer: Footer) {
        match footer {
            Footer::Piece => drop(self.pieces.insert(id)),
            Footer::Patch(patch) => drop(self.patches.insert(id, *patch)),
        }
    }
}

/// Reads the footers of all blocks, over all lanes at once. Where what lies before a footer is damaged it is read
/// alone. Returns what the blocks hold, and with `without_damaged` those whose footers cannot be read.
fn read_footers<D: DataDevice>(
    blocks: &mut Blocks<D>,
    store: u128,
    without_damaged: bool,
) -> Result<(Contents, Vec<u64>), OpenError> {
    let mut left: Vec<(BlockInfo, u64)> = blocks.list().map(|info| (info, TAIL_BYTES)).collect();
    // Blocks are listed by id, which go round the lanes.
    left.reverse();
    let most = u64::from(blocks.status().layout.lanes) * READS_PER_LANE;
    let mut reading: BTreeMap<Ticket, (BlockInfo, u64)> = BTreeMap::new();
    let (mut contents, mut lost) = (Contents::default(), Vec::new());
    let mut out = Vec::new();
    while !left.is_empty() || !reading.is_empty() {
        while let Some((info, bytes)) = left.pop_if(|_| (reading.len() as u64) < most) {
            let length = bytes.min(info.length_bytes);
            let ticket = blocks.get(info.id, info.length_bytes - length, length);
            let ticket =
                ticket.map_err(|error| OpenError::Block { id: info.id, reason: error.to_string() })?;
            reading.insert(ticket, (info, bytes));
        }
        blocks.reap(Instant::FAR, &mut out);
        for finished in out.drain(..) {
            let (info, tail_bytes) = reading.remove(&finished.ticket).expect("a read of a footer");
            let Outcome::Get(result) = finished.outcome else { unreachable!("only reads are in flight") };
            let data = match result {
                Ok(data) => data,
                Err(failure) => {
                    match tail_bytes {
                        TAIL_BYTES => left.push((info, TRAILER_BYTES)),
                        _ if without_damaged => lost.push(info.id),
                        _ => {
                            let reason = failure.to_string();
                            return Err(OpenError::BlockDamaged { id: info.id, reason });
                        }
                    }
                    continue;
                }
            };
            match Footer::decode(data.as_slice(), store) {
                Ok(footer) => contents.add(info.id, footer),
                Err(FooterError::Longer(bytes))
                    if bytes <= info.length_bytes && bytes > data.as_slice().len() as u64 =>
                {
                    // One more than it has, where that is what the first read has.
                    left.push((info, if bytes == TAIL_BYTES { bytes + 1 } else { bytes }));
                }
                Err(error) => return Err(refused_footer(info.id, &error)),
            }
            blocks.reuse(data);
        }
    }
    Ok((contents, lost))
}

/// Returns the error of the block `id` whose footer was read and is not one of this store.
fn refused_footer(id: u64, error: &FooterError) -> OpenError {
    let reason = match error {
        FooterError::Newer(found) => {
            format!("its format has version {found}, and {VERSION} is the newest supported")
        }
        FooterError::OtherStore => "it is of another store".into(),
        FooterError::Longer(_) => "its footer is longer than the block".into(),
        FooterError::Foreign => return OpenError::ForeignBlock { id },
    };
    OpenError::Block { id, reason }
}

/// Refuses devices whose contents are of different moments: see the header of this file. Writes up to `given_up_to` may
/// be missing.
fn check_moments(
    patches: &BTreeMap<u64, PatchFooter>,
    freed: &Freed,
    (covers_log, given_up_to): (bool, u64),
    log: &str,
) -> Result<(), OpenError> {
    let log = log.to_owned();
    let highest = patches.iter().map(|(&id, patch)| (patch.fields.sequences.1, id)).max();
    if let (Some(last), Some((found, block))) = (freed.last, highest)
        && found > last
    {
        return Err(OpenError::LogOlder { log, last, block, found });
    }
    if !covers_log {
        return Ok(());
    }
    let highest = highest.map_or(0, |(sequence, _)| sequence).max(given_up_to);
    if let Some(first) = freed.first
        && highest + 1 < first
    {
        return Err(OpenError::DeviceOlder { log, write: first - 1 });
    }
    let mut covered: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for PatchFooter { fields, .. } in patches.values() {
        covered.entry(fields.slice).or_default().push(fields.sequences);
    }
    for ranges in covered.values_mut() {
        unite(ranges);
    }
    let is_covered = |slice: u32, write: u64| {
        let ranges = covered.get(&slice).map_or(&[][..], Vec::as_slice);
        let nth = ranges.partition_point(|&(_, high)| high < write);
        ranges.get(nth).is_some_and(|&(low, _)| low <= write)
    };
    let mut kept = freed.writes.iter().filter(|(_, write)| *write > given_up_to);
    match kept.find(|&&(slice, write)| !is_covered(slice, write)) {
        Some(&(_, write)) => Err(OpenError::DeviceOlder { log, write }),
        None => Ok(()),
    }
}

/// Sorts ranges, and joins those that overlap.
fn unite(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let overlaps = next.0 <= before.1;
        if overlaps {
            before.1 = before.1.max(next.1);
        }
        overlaps
    });
}

/// The outputs of a merge that are there.
#[derive(Debug, Default)]
struct Outputs {
    ids: BTreeMap<u32, u64>,
    last: Option<u32>,
    inputs: Vec<u64>,
    stale: Vec<u64>,
}

/// Returns the patches that do not count, those that were dropped and others, and the output of a merge that is
/// missing. The inputs of that do not count either: outputs that are there stand for a part of them.
fn dead_patches(
    patches: &BTreeMap<u64, PatchFooter>,
    dropped: BTreeSet<u64>,
) -> (BTreeSet<u64>, Option<OpenError>) {
    let (mut dead, mut missing) = (dropped, None);
    // Of a patch that was put twice the later put counts.
    let mut by_creation: BTreeMap<u64, u64> = BTreeMap::new();
    for (&id, PatchFooter { fields, .. }) in patches {
        if let Some(earlier) = by_creation.insert(fields.creation, id) {
            dead.insert(earlier);
        }
    }
    let mut merges: BTreeMap<(u64, u32), Outputs> = BTreeMap::new();
    for (&id, PatchFooter { fields, .. }) in patches.iter().filter(|(id, _)| !dead.contains(id)) {
        if let Origin::Merge { number, output, is_last, inputs } = &fields.origin {
            let merge = merges.entry((*number, fields.slice)).or_default();
            merge.ids.insert(*output, id);
            if *is_last {
                merge.last = Some(*output);
            }
            merge.inputs.clone_from(inputs);
            merge.stale.clone_from(&fields.stale);
        }
    }
    for ((number, slice), merge) in merges.into_iter().rev() {
        let alive: Vec<u32> =
            merge.ids.iter().filter(|(_, id)| !dead.contains(id)).map(|(&nth, _)| nth).collect();
        if alive.is_empty() {
            continue;
        }
        let are_all_there = merge.last.is_some_and(|last| alive.len() as u32 == last + 1);
        let is_gone = |id: &u64| !patches.contains_key(id) || dead.contains(id);
        if are_all_there || merge.inputs.iter().any(is_gone) {
            if !are_all_there && !merge.inputs.iter().all(is_gone) {
                // An output that was merged further is gone, then all inputs are; this one was lost.
                let output = (0..).find(|nth| !alive.contains(nth)).expect("some output is missing");
                missing = Some(OpenError::MissingOutput { slice, merge: number, output });
            }
            dead.extend(merge.inputs);
            dead.extend(merge.stale);
        } else {
            dead.extend(merge.ids.into_values());
        }
    }
    (dead, missing)
}
