//! The parts of a store, and the loop that joins them.
//!
//! Operations change memory and queue requests; [`Core::pump`] starts what can start; [`Core::step`] lets the devices
//! work until something completes, and handles it (`stepping`). `writing`, `reading` and `compaction` are the three
//! paths, `flushing` leads from the first to the last; `room` decides which writes have room; `memory` divides the
//! memory among them; `salvaging` ends damage; `recovery` builds the parts when a store is opened.
//!
//! # The path of a key
//! ```text
//! write      Core::write: checks the batch, counts its bytes, cuts long values into pieces (store_pieces), queues it at its slice
//! pump       admit_writes -> apply: the next number, Log::append, Slice::add to the container in memory
//!            Log::dispatch: a group of the log is written, and flushed where a write asks for it
//! step       Log::complete -> log_progress: writes that the log has reached are as safe as they asked to be
//!            finish_delayed: they complete, later where merges lag behind (`pacing`)
//! pump       freeze: a full container takes no more writes
//!            flush_containers -> write_patch: once its records are durable in the log, it is put as a block, a patch
//! step       flush_written -> Slice::flushed: the patch replaces the container; free_log: the log no longer holds its records
//! pump       compact: patches of a slice are merged, and their blocks deleted
//! open       recovery::open: finds the patches that count, then replays the log into containers
//! ```

mod blocked;
mod compaction;
mod flushing;
mod install;
mod memory;
mod reading;
mod room;
mod salvaging;
mod stepping;
mod writing;

use crate::builder::Shape;
use crate::cache::GroupCache;
use crate::counters::Counters;
use crate::cursor::Cursor;
use crate::dropped::Dropped;
use crate::error::{OpenError, OptionsError, ReadFailure};
use crate::log::Log;
use crate::operation::{Finished, Outcome, Pending, Ticket};
use crate::options::StoreOptions;
use crate::reads::Reads;
use crate::routes::{Purpose, Routes};
use crate::salvage::Salvage;
use crate::slice::Slice;
use crate::snapshots::Snapshots;
use crate::statement::{Census, Statement};
use crate::writes::Writes;
use flashlane_base::Instant;
use flashlane_block::{
    BlockBytes, Blocks, GetFailure, Outcome as BlockOutcome, Payload, PutFailure, Ticket as BlockTicket,
};
use flashlane_device::DataDevice;
use flashlane_policy::merge;
use std::collections::BTreeSet;

/// A store's parts.
pub(crate) struct Core<D, L> {
    blocks: Blocks<D>,
    log: Log<L>,
    store: u128,
    shape: Shape,
    options: StoreOptions,
    slices: Vec<Slice>,
    snapshots: Snapshots,
    policy: Box<dyn merge::Merge>,
    writes: Writes,
    reads: Reads,
    cache: GroupCache,
    counters: Counters,
    /// Number of the last write.
    last_sequence: u64,
    /// Number of the next patch or merge.
    next_number: u64,
    /// Generation of the census when the store was opened.
    opened_generation: u64,
    /// Patches that are missing, and stay in all statements.
    missing_patches: Census,
    /// Patches that are deleted without a merge.
    dropped: Dropped,
    /// Calendar time in milliseconds, for expiry.
    now_ms: u64,
    /// Requests to the block layer.
    routes: Routes,
    /// Whether anything may be written: from the first write on that is accepted, or for which merges have to make
    /// room.
    may_write: bool,
    /// Blocks that an opening could not recognise.
    lost_blocks: Vec<u64>,
    /// Why blocks or records are missing.
    missing: Option<OpenError>,
    /// The last salvage.
    salvage: Option<Salvage>,
    /// Blocks that an opening found not to count, with their slices; they are deleted when changes are allowed.
    found_dead: Vec<(u32, u64)>,
    /// Pieces that no entry refers to once the log is durable below a page.
    freed_pieces: Vec<(u64, u64)>,
    /// The slices with writes whose acknowledgement is delayed.
    delayed_slices: BTreeSet<u32>,
    finished: Vec<Finished>,
    /// When the next write whose acknowledgement is delayed completes, unless debt changes before.
    next_due: Instant,
    /// When [`poll`](Core::poll) looks at the devices again.
    next_poll: Instant,
    next_ticket: u64,
    /// Buffers of blocks, for later ones.
    payloads: Vec<Payload>,
    is_blocks_turn: bool,
    /// Why the last block could not be written, if it could not.
    put_failure: Option<PutFailure>,
    /// Puts of patches that failed since one succeeded.
    failed_puts: u32,
}

/// The parts that are known when a store is opened or created.
pub(crate) struct Parts<D, L> {
    pub(crate) blocks: Blocks<D>,
    pub(crate) log: Log<L>,
    pub(crate) store: u128,
    pub(crate) bounds: Vec<Vec<u8>>,
}

/// Fewest bytes of a block.
const BLOCK_BYTES_MIN: u64 = 2048;
/// Smallest group of small entries.
const GROUP_BYTES_MIN: u64 = 4096;

/// Returns the shape of patches on blocks of a device.
pub(crate) fn shape_of(
    block_bytes: u64,
    granule_bytes: u64,
    bounds: &[Vec<u8>],
) -> Result<Shape, OptionsError> {
    if block_bytes < BLOCK_BYTES_MIN {
        return Err(OptionsError::SmallBlocks { block_bytes, least_bytes: BLOCK_BYTES_MIN });
    }
    // A group is a few read units where these are small, and a small part of a block where that is.
    let group_bytes = GROUP_BYTES_MIN.min(block_bytes / 8).next_multiple_of(granule_bytes);
    let bounds_bytes = 2 * bounds.iter().map(|bound| bound.len() as u64).max().unwrap_or(0);
    Ok(Shape { block_bytes, group_bytes, bounds_bytes })
}

impl Shape {
    /// Longest key.
    pub(crate) fn key_bytes_max(&self) -> u64 {
        (64 << 10).min(self.block_bytes / 16)
    }

    /// Values above this length are stored in pieces.
    pub(crate) fn inline_bytes_max(&self) -> u64 {
        self.block_bytes / 2
    }
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    pub(crate) fn new(parts: Parts<D, L>, shape: Shape, options: StoreOptions) -> Result<Self, OptionsError> {
        let Parts { blocks, log, store, bounds } = parts;
        let policy = options.check(&shape, bounds.len() as u64)?;
        let uppers = bounds.iter().skip(1).cloned().chain([Vec::new()]);
        let slices: Vec<Slice> = bounds
            .iter()
            .zip(uppers)
            .zip(0..)
            .map(|((lower, upper), number)| Slice::new(number, lower.clone(), upper))
            .collect();
        let cache = GroupCache::new(if options.cache_reads { options.memory_bytes } else { 0 });
        Ok(Self {
            blocks,
            log,
            store,
            shape,
            options,
            slices,
            snapshots: Snapshots::default(),
            policy,
            writes: Writes::default(),
            reads: Reads::default(),
            cache,
            counters: Counters::default(),
            last_sequence: 0,
            next_number: 1,
            opened_generation: 0,
            missing_patches: Census::default(),
            dropped: Dropped::default(),
            now_ms: 0,
            routes: Routes::default(),
            may_write: false,
            lost_blocks: Vec::new(),
            missing: None,
            salvage: None,
            found_dead: Vec::new(),
            freed_pieces: Vec::new(),
            delayed_slices: BTreeSet::new(),
            finished: Vec::new(),
            next_due: Instant::FAR,
            next_poll: Instant::ZERO,
            next_ticket: 0,
            payloads: Vec::new(),
            is_blocks_turn: false,
            put_failure: None,
            failed_puts: 0,
        })
    }

    pub(crate) fn now(&self) -> Instant {
        self.blocks.now().max(self.log.device().now())
    }

    fn allocate_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// Returns the generation of the census: it grows with every change.
    fn generation(&self) -> u64 {
        let changes = self.slices.iter().map(|slice| slice.levels().changes());
        self.opened_generation + changes.sum::<u64>()
    }

    /// Returns what a patch that is written now says of the store.
    fn statement(&self) -> Statement {
        let moment = (self.generation(), self.next_number, self.missing_patches);
        statement(moment, &self.slices, &self.dropped)
    }

    /// A patch with a statement of this generation is durable in the store: patches that it does not count any more are
    /// deleted.
    fn stated(&mut self, generation: u64) {
        for (slice, id) in self.dropped.stated(generation) {
            self.delete_block(id, Some(slice));
        }
    }

    /// Returns a buffer for a block.
    fn take_payload(&mut self) -> Payload {
        self.payloads.pop().unwrap_or_else(|| self.blocks.payload())
    }

    fn reuse_payload(&mut self, payload: Payload) {
        if self.payloads.len() < 64 {
            self.payloads.push(payload);
        }
    }

    pub(crate) fn slice_of(&self, key: &[u8]) -> u32 {
        match &self.slices[..] {
            [_] => 0,
            slices => slices.partition_point(|slice| slice.lower() <= key) as u32 - 1,
        }
    }

    // State, for the store's calls.

    pub(crate) fn blocks(&self) -> &Blocks<D> {
        &self.blocks
    }

    pub(crate) fn log(&self) -> &Log<L> {
        &self.log
    }

    pub(crate) fn options(&self) -> &StoreOptions {
        &self.options
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Returns the store's number.
    pub(crate) fn store(&self) -> u128 {
        self.store
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Goes on as after this number of writes.
    #[cfg(test)]
    pub(crate) fn set_last_sequence(&mut self, sequence: u64) {
        self.last_sequence = sequence;
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { log_bytes_written: self.log.written_bytes(), ..self.counters }
    }

    pub(crate) fn read_memory_bytes(&self) -> u64 {
        self.reads.memory_bytes()
    }

    pub(crate) fn cache_memory_bytes(&self) -> u64 {
        self.cache.memory_bytes()
    }

    /// Returns whether an operation has not completed.
    pub(crate) fn is_busy(&self) -> bool {
        !self.writes.are_settled() || self.has_delayed() || !self.reads.are_settled()
    }

    /// Returns whether the acknowledgement of a write is delayed.
    pub(crate) fn has_delayed(&self) -> bool {
        !self.delayed_slices.is_empty()
    }

    pub(crate) fn into_devices(self) -> (D, L) {
        (self.blocks.into_device(), self.log.into_device())
    }

    /// Sets the calendar time.
    pub(crate) fn set_time(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.slices.iter_mut().for_each(|slice| slice.time_passes(now_ms));
    }

    /// Keeps the versions up to the last write. Returns its number.
    pub(crate) fn add_snapshot(&mut self) -> u64 {
        self.snapshots.add(self.last_sequence);
        self.last_sequence
    }

    pub(crate) fn release_snapshot(&mut self, sequence: u64) {
        self.snapshots.release(sequence);
        for slice in &mut self.slices {
            // Tombstones may have become useless.
            slice.ask_again();
        }
    }

    /// Returns the number of snapshots that are not released.
    #[cfg(test)]
    pub(crate) fn live_snapshots(&self) -> usize {
        self.snapshots.len()
    }

    /// Begins to write all containers as patches.
    pub(crate) fn flush(&mut self) {
        if self.log.overwritten().is_some() {
            return;
        }
        self.allow_writes();
        self.retry_puts();
        (0..self.slices.len()).for_each(|slice| self.freeze(slice));
        self.pump();
    }

    // Operations.

    fn accept(&mut self) -> Pending {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        Pending { ticket, submitted: self.now() }
    }

    fn finish(&mut self, pending: Pending, outcome: Outcome) {
        self.finish_at(self.now(), pending, outcome);
    }

    fn finish_at(&mut self, completed: Instant, pending: Pending, outcome: Outcome) {
        let Pending { ticket, submitted } = pending;
        debug_assert!(self.finished.iter().all(|other| other.ticket != ticket), "{ticket:?} completes twice");
        match &outcome {
            Outcome::Write(Ok(_)) => self.counters.writes += 1,
            Outcome::Get(Ok(value)) => {
                self.counters.gets += 1;
                self.counters.user_bytes_read += value.as_ref().map_or(0, |value| value.bytes.len() as u64);
            }
            Outcome::Scan(Ok(page)) => {
                self.counters.user_bytes_read += page.items.iter().map(|item| item.value_bytes).sum::<u64>();
            }
            _ => {}
        }
        self.finished.push(Finished { ticket, submitted, completed, outcome });
    }

    pub(crate) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    pub(crate) fn take_finished(&mut self, out: &mut Vec<Finished>) {
        out.append(&mut self.finished);
    }

    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Finished> {
        let at = self.finished.iter().position(|finished| finished.ticket == ticket)?;
        Some(self.finished.remove(at))
    }

    // Requests to the block layer.

    /// Reads bytes of a block.
    fn read_block(
        &mut self,
        id: u64,
        range: std::ops::Range<u64>,
        purpose: Purpose,
    ) -> Result<(), ReadFailure> {
        let ticket = self.blocks.get(id, range.start, range.end - range.start)?;
        self.routes.add(ticket, purpose);
        Ok(())
    }

    /// Deletes a block that is not needed any more, if it is there.
    fn delete_block(&mut self, id: u64, slice: Option<u32>) {
        // Pieces that the log brought back may be gone; any other block stays undeleted, and an opening deletes it.
        if let Ok(ticket) = self.blocks.delete(id) {
            self.routes.add(ticket, Purpose::Delete { slice, id });
        }
    }

    fn block_ended(&mut self, ticket: BlockTicket, block: u64, outcome: BlockOutcome) {
        let purpose = self.routes.take(ticket);
        if let BlockOutcome::Put(result, _) = &outcome {
            self.put_ended(*result);
        }
        match (purpose, outcome) {
            (Purpose::Get(get), BlockOutcome::Get(result)) => self.get_read(get, result),
            (Purpose::GetPiece { get, nth }, BlockOutcome::Get(result)) => self.piece_read(get, nth, result),
            (Purpose::Scan { scan, cursor, structure_version }, BlockOutcome::Get(result)) => {
                self.scan_read(scan, (cursor, block), structure_version, result);
            }
            (Purpose::MergeRead { slice, cursor }, BlockOutcome::Get(result)) => {
                self.merge_read(slice, (cursor, block), result);
            }
            (Purpose::MergeWrite { slice, nth, id }, BlockOutcome::Put(result, payload)) => {
                self.merge_written(slice, nth, id, result, payload);
            }
            (Purpose::Flush { slice, creation, id }, BlockOutcome::Put(result, payload)) => {
                self.flush_written(slice, (creation, id), result, payload);
            }
            (Purpose::Piece { write, id }, BlockOutcome::Put(result, payload)) => {
                self.reuse_payload(payload);
                self.piece_written(write, id, result);
            }
            (Purpose::Delete { slice, id }, BlockOutcome::Delete(result)) => {
                if let (Some(slice), Ok(())) = (slice, result) {
                    self.dropped.erased(id);
                    self.slices[slice as usize].deleted(id);
                }
            }
            (purpose, outcome) => unreachable!("{purpose:?} ended as {outcome:?}"),
        }
    }

    /// Keeps the memory of what cursors have read and do not need any more.
    fn reuse_spent(&mut self, cursors: &mut [Cursor]) {
        let mut spent = Vec::new();
        cursors.iter_mut().for_each(|cursor| cursor.take_spent(&mut spent));
        spent.into_iter().for_each(|data| self.blocks.reuse(data));
    }

    /// Keeps the memory of what was read.
    fn reuse(&mut self, result: Result<BlockBytes, GetFailure>) {
        if let Ok(data) = result {
            self.blocks.reuse(data);
        }
    }

    // The loop.

    /// Allows changes of the devices: an opening writes nothing, the first write that is accepted or has merges make
    /// room does what it left to do.
    fn allow_writes(&mut self) {
        if std::mem::replace(&mut self.may_write, true) {
            return;
        }
        for (slice, id) in std::mem::take(&mut self.found_dead) {
            self.delete_block(id, Some(slice));
        }
    }

    /// Requests that the log becomes durable and that its end is marked, if anything was written.
    pub(crate) fn close_log(&mut self) {
        if self.may_write {
            self.log.close();
        }
    }

    /// Starts everything that can start.
    fn pump(&mut self) {
        self.log_progress();
        self.begin_waiting_scans();
        if self.may_write {
            self.admit_writes();
            self.relieve_space();
            self.flush_containers();
            self.compact();
            self.free_log();
        }
        if !self.cache.is_empty() {
            self.fit_cache();
        }
        self.next_due = self.finish_delayed();
        if self.may_write {
            self.log.dispatch();
            // The device may refuse what it is handed.
            if self.log.failure().is_some() {
                self.fail_writes();
            }
        }
    }
}

/// Returns what a patch that is written now says of the store: at a generation, with the next number, and with patches
/// that are missing.
fn statement(
    (generation, next_number, missing): (u64, u64, Census),
    slices: &[Slice],
    dropped: &Dropped,
) -> Statement {
    let censuses = slices.iter().map(|slice| slice.levels().census());
    Statement {
        generation,
        next_number,
        census: censuses.fold(missing, Census::and),
        containers: slices.iter().flat_map(Slice::frozen).map(|frozen| frozen.creation()).collect(),
        merges: slices.iter().filter_map(|slice| Some(slice.merge()?.plan.number)).collect(),
        dropped: dropped.ids().collect(),
    }
}
