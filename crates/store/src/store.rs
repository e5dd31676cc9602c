//! The store: keys and values, with calls that queue an operation and return at once.
//!
//! # What is promised
//! - A write is visible to reads as soon as it has its number, and as safe as its [`Durability`] says when it
//!   completes: by default no power cut takes it.
//! - A batch is visible and stored as a whole. After a power cut the store holds exactly the first `n` writes, by their
//!   numbers, for an `n` not below that of any write that completed as durable.
//! - Writes in flight together have no order among them, but that their numbers say. Writes to one slice get their
//!   numbers in the order of their submission, except that one with a value above [`Store::inline_bytes_max`] gets its
//!   number later.
//! - Opening writes nothing. Blocks that it finds not to count are deleted from the first write on that is accepted, or
//!   for which merges have to make room.
//! - A read at a snapshot sees the writes up to the snapshot's number; a scan without one sees those up to its
//!   submission.
//! - The memory of containers, indexes, filters, waiting writes, buffers of merges, scans and the cache of
//!   reads is bounded by one option. Scans wait where others take an eighth of it; gets are beside that bound. The
//!   cache gives way to the others; where they use it up, writes complete later, by a formula (see `pacing`), and at
//!   last are refused as busy. While no write waits one of any size is taken: a large value is beside that bound until
//!   its pieces are stored.
//! - A full device refuses values. Gets, scans and deletes go on, and values are taken again once merges gave space
//!   back.

use crate::core::Core;
use crate::counters::Counters;
use crate::error::{CreateError, OpenError, SalvageError, WriteError};
use crate::log::{Durability, LogOverwritten};
use crate::loss::Loss;
use crate::operation::{Batch, Finished, Outcome, Snapshot, Ticket};
use crate::options::{Slices, StoreOptions};
use crate::recovery;
use crate::salvage::Damage;
use flashlane_base::{Duration, Instant};
use flashlane_block::{Blocks, PutFailure};
use flashlane_device::{DataDevice, Failure};

/// A key-value store over a device with erase units and a log beside it.
///
/// ```
/// use flashlane_base::{Instant, Seed};
/// use flashlane_device_testing::MemoryLanes;
/// use flashlane_store::{Batch, Durability, Outcome, Slices, Store, StoreOptions};
/// # use flashlane_device_testing::MemoryDisk;
///
/// // Four lanes of 64 erase units of 64 KiB, and a disk of 1 MiB for the log, both in memory.
/// let (device, log) = (MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1)), MemoryDisk::new(1 << 20, 512, Seed(1)));
/// let mut store = Store::create(device, log, 1, Slices::even(4), StoreOptions::default())?;
/// let mut batch = Batch::default();
/// batch.put("key", "value");
/// let write = store.write(batch, Durability::default())?;
/// store.wait(write);
/// let get = store.get(b"key", None);
/// let finished = store.wait(get).expect("the get was submitted");
/// assert!(matches!(finished.outcome, Outcome::Get(Ok(Some(found))) if found.bytes == b"value"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<D, L> {
    pub(crate) core: Core<D, L>,
}

/// State of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Identifies the store.
    pub store: u128,
    /// Counts since it was opened.
    pub counters: Counters,
    /// Number of the last write.
    pub last_sequence: u64,
    /// Share of the log's ring in use.
    pub log_used: f64,
    /// State of the log's header.
    pub log_header: LogHeader,
    /// Other data in the places where the log is written: all writes are refused. `None` where there is none.
    pub log_overwritten: Option<LogOverwritten>,
    /// Why keys may be missing or have older values ([`StoreOptions::without_damaged_blocks`]); `None` where there is
    /// no sign of it.
    pub loss: Option<Loss>,
    /// Blocks for which there is room.
    pub blocks_free: u64,
    /// Bytes of values that have room now, beside the blocks that are kept for deletes and merges; a value up to this
    /// length is admitted. Merges give space back where keys were overwritten or deleted.
    pub room_bytes: u64,
    /// Bytes of memory of indexes and filters.
    pub index_memory_bytes: u64,
    /// Bytes of memory of containers.
    pub container_memory_bytes: u64,
    /// Bytes of memory of gets and scans in flight.
    pub read_memory_bytes: u64,
    /// Bytes of memory of the cache of reads.
    pub cache_memory_bytes: u64,
    /// State of each slice.
    pub slices: Vec<SliceStatus>,
}

/// State of the two copies of the log's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogHeader {
    /// Both are sound.
    #[default]
    Sound,
    /// One is damaged, and the next write repairs it.
    Damaged,
    /// Other data is in the place of one, and stays there.
    Overwritten,
}

/// State of a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceStatus {
    /// Its first key.
    pub lower: Vec<u8>,
    /// Bytes of entries in containers.
    pub container_bytes: u64,
    /// Entries in containers, without tombstones.
    pub container_entries: u64,
    /// Frozen containers that are no patches yet.
    pub frozen: u64,
    /// Patches of each level, from level 0 to the last that has any.
    pub patches: Vec<u64>,
    /// Entries in patches: versions and tombstones, each counted where it stands.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Bytes of these entries.
    pub entry_bytes: u64,
    /// Whether a merge runs.
    pub is_merging: bool,
}

impl<D: DataDevice, L: DataDevice> Store<D, L> {
    /// Makes the two devices hold an empty store, and gives up what they hold. `store` identifies it, and MUST differ
    /// from that of any before on these devices.
    ///
    /// # Errors
    /// [`CreateError`] where the devices cannot hold a store, or fail.
    pub fn create(
        device: D,
        log: L,
        store: u128,
        slices: Slices,
        options: StoreOptions,
    ) -> Result<Self, CreateError> {
        Ok(Self { core: recovery::create(device, log, store, slices, options)? })
    }

    /// Opens the store on two devices. Nothing is written before the first [`flush`](Self::flush), or write
    /// that is accepted or for which merges have to make room.
    ///
    /// # Errors
    /// [`OpenError`] where there is none, or a part of it is lost.
    pub fn open(device: D, log: L, options: StoreOptions) -> Result<Self, OpenError> {
        Ok(Self { core: recovery::open(device, log, options)? })
    }

    /// Queues a batch.
    ///
    /// # Errors
    /// [`WriteError`] where it is refused: nothing has changed.
    pub fn write(&mut self, batch: Batch, durability: Durability) -> Result<Ticket, WriteError> {
        self.core.write(batch, durability)
    }

    /// Queues a read of a key, now or at a snapshot, which MUST NOT be released before the read completes. Where the
    /// store has lost keys, that of one that is not there fails with
    /// [`ReadFailure::MayBeLost`](crate::ReadFailure::MayBeLost).
    pub fn get(&mut self, key: &[u8], snapshot: Option<Snapshot>) -> Ticket {
        self.core.get(key, snapshot)
    }

    /// Queues a scan of the keys from `start` on and below `end`, in their order. It ends after `items_max` entries,
    /// and after that with which their bytes reach `bytes_max`; [`Page::next`](crate::Page::next) says where to go on.
    pub fn scan(
        &mut self,
        start: &[u8],
        end: Option<&[u8]>,
        items_max: u64,
        bytes_max: u64,
        snapshot: Option<Snapshot>,
    ) -> Ticket {
        self.core.scan(start, end, (items_max, bytes_max), snapshot)
    }

    /// Returns a snapshot of all writes so far, which keeps their versions until it is [released](Self::release).
    pub fn snapshot(&mut self) -> Snapshot {
        Snapshot(self.core.add_snapshot())
    }

    /// Releases a snapshot.
    ///
    /// # Panics
    /// If it was released before.
    pub fn release(&mut self, snapshot: Snapshot) {
        self.core.release_snapshot(snapshot.0);
    }

    /// Sets the calendar time, in milliseconds, by which values expire. It is 0 after opening, when none does.
    pub fn set_time(&mut self, now_ms: u64) {
        self.core.set_time(now_ms);
    }

    /// Begins to write all containers as patches.
    pub fn flush(&mut self) {
        self.core.flush();
    }

    /// Appends completed operations to `out`. Returns as soon as there is one or the clock has reached `until`; with
    /// nothing in flight and `until` [`Instant::FAR`] at once. Merges go on meanwhile.
    pub fn reap(&mut self, until: Instant, out: &mut Vec<Finished>) {
        if self.core.has_finished() {
            self.core.poll();
        } else {
            while self.core.step(until) && !self.core.has_finished() && self.now() < until {}
        }
        self.core.take_finished(out);
    }

    /// Lets the devices work until something completes, at most until `until`. Returns false where nothing is in
    /// flight. Operations that complete are kept for [`reap`](Self::reap).
    pub fn step(&mut self, until: Instant) -> bool {
        self.core.step(until)
    }

    /// Lets the devices work until something completes, for at most `longest`. Returns false at once where nothing is
    /// in flight, whatever the time.
    pub fn step_for(&mut self, longest: Duration) -> bool {
        let until = self.now() + longest;
        !self.core.is_idle() && self.core.step(until)
    }

    /// Waits for one operation; others that complete meanwhile are kept for [`reap`](Self::reap). `None` where no
    /// operation with this ticket is pending.
    pub fn wait(&mut self, ticket: Ticket) -> Option<Finished> {
        loop {
            if let Some(finished) = self.core.take(ticket) {
                return Some(finished);
            }
            if !self.core.step(Instant::FAR) {
                return None;
            }
        }
    }

    /// Returns an operation if it has completed; it is then not [reaped](Self::reap).
    pub fn take(&mut self, ticket: Ticket) -> Option<Finished> {
        self.core.take(ticket)
    }

    /// Waits for an operation that is pending.
    pub(crate) fn outcome(&mut self, ticket: Ticket) -> Outcome {
        self.wait(ticket).expect("an accepted operation completes").outcome
    }

    /// Waits until nothing is in flight: operations have completed, and merges that were due are done.
    pub fn settle(&mut self) {
        while self.core.step(Instant::FAR) {}
    }

    /// Returns whether an operation has not completed.
    pub fn is_busy(&self) -> bool {
        self.core.is_busy()
    }

    /// Returns the slice of a key: a batch holds keys of one slice.
    pub fn slice_of(&self, key: &[u8]) -> u32 {
        self.core.slice_of(key)
    }

    /// Returns the length of the longest value that is stored whole. Longer ones are stored in pieces.
    pub fn inline_bytes_max(&self) -> u64 {
        self.core.shape().inline_bytes_max()
    }

    /// Returns the length of the longest key.
    pub fn key_bytes_max(&self) -> u64 {
        self.core.shape().key_bytes_max()
    }

    /// Returns the devices' time.
    pub fn now(&self) -> Instant {
        self.core.now()
    }

    /// Returns the blocks below.
    pub fn blocks(&self) -> &Blocks<D> {
        self.core.blocks()
    }

    /// Returns the log's device.
    pub fn log_device(&self) -> &L {
        self.core.log().device()
    }

    /// Completes all operations, makes every write durable, and marks the end of the log: the next opening then notices
    /// where any of these writes is missing. A store that is left without it loses nothing, but damage of the log's end
    /// is then taken for a write that a power cut tore. Merges are not waited for. Writes nothing where nothing was
    /// written since the store was opened: what an earlier program left in a volatile cache stays as safe as it was.
    /// The store can be used afterwards.
    ///
    /// # Errors
    /// The failure of the log's device.
    pub fn close(&mut self) -> Result<(), Failure> {
        while self.core.is_busy() && self.core.step(Instant::FAR) {}
        self.begin_close();
        while self.core.log().is_closing() && self.core.step(Instant::FAR) {}
        self.core.log().failure().map_or(Ok(()), Err)
    }

    /// Begins what [`close`](Self::close) does once all operations have completed: it is done when nothing is in
    /// flight.
    pub fn begin_close(&mut self) {
        self.core.close_log();
    }

    /// Returns the devices once all operations have completed, without [closing](Self::close). Containers stay in the
    /// log.
    pub fn into_devices(mut self) -> (D, L) {
        self.settle();
        self.core.into_devices()
    }

    /// Returns why keys may be missing or have older values; `None` where there is no sign of it.
    pub fn loss(&self) -> Option<Loss> {
        self.core.loss()
    }

    /// Reads all that is stored, waits for that, and returns what cannot be read or is missing. Nothing is changed.
    /// Operations that complete meanwhile are kept for [`reap`](Self::reap).
    pub fn scrub(&mut self) -> Damage {
        self.core.scrub()
    }

    /// Checks whether [`salvage`](Self::salvage) can give anything up.
    ///
    /// # Errors
    /// [`SalvageError::Log`].
    pub fn check_salvage(&self) -> Result<(), SalvageError> {
        self.core.check_salvage()
    }

    /// Gives up what [`scrub`](Self::scrub) found damaged, and waits for that: records that it is lost
    /// ([`Loss::stated`]), erases other data in the log and damaged blocks, and rewrites those of which a part can be
    /// read, so that writes are taken and merges complete. Such a block stays where there is no room for its rewriting,
    /// until merges take it. A power cut meanwhile loses nothing else; a further salvage goes on.
    ///
    /// # Errors
    /// [`SalvageError`]. But for [`SalvageError::Units`] nothing is given up.
    pub fn salvage(&mut self, damage: &Damage) -> Result<(), SalvageError> {
        self.core.salvage(damage)
    }

    /// Ends the statement of what salvages gave up ([`Loss::stated`]): what is left counts as the whole from now on.
    ///
    /// # Errors
    /// [`SalvageError`]: the statement stays.
    pub fn acknowledge_loss(&mut self) -> Result<(), SalvageError> {
        self.core.acknowledge_loss()
    }

    /// Returns why the last block could not be written, if it could not.
    pub fn put_failure(&self) -> Option<PutFailure> {
        self.core.put_failure()
    }

    /// Returns the state of the store.
    pub fn status(&self) -> Status {
        let core = &self.core;
        let slices: Vec<SliceStatus> = core.slices().iter().map(slice_status).collect();
        Status {
            store: core.store(),
            counters: core.counters(),
            last_sequence: core.last_sequence(),
            log_used: core.log().use_of_ring(),
            log_header: match core.log().damaged_header() {
                None => LogHeader::Sound,
                Some(true) => LogHeader::Damaged,
                Some(false) => LogHeader::Overwritten,
            },
            log_overwritten: core.log().overwritten(),
            loss: core.loss(),
            blocks_free: core.blocks().free_blocks(),
            room_bytes: core.room_bytes(),
            index_memory_bytes: core.slices().iter().map(|slice| slice.levels().memory_bytes()).sum(),
            container_memory_bytes: core.slices().iter().map(|slice| slice.container_memory_bytes()).sum(),
            read_memory_bytes: core.read_memory_bytes(),
            cache_memory_bytes: core.cache_memory_bytes(),
            slices,
        }
    }
}

fn slice_status(slice: &crate::slice::Slice) -> SliceStatus {
    let patches = slice.levels().patches();
    let levels = patches.iter().map(|patch| patch.fields.level).max().map_or(0, |level| level + 1);
    let of_level = |level| patches.iter().filter(|patch| patch.fields.level == level).count() as u64;
    SliceStatus {
        lower: slice.lower().to_vec(),
        container_bytes: slice.containers().map(|container| container.entry_bytes()).sum(),
        container_entries: slice.containers().map(|container| container.live_entries()).sum(),
        frozen: slice.frozen().len() as u64,
        patches: (0..levels).map(of_level).collect(),
        entries: patches.iter().map(|patch| patch.fields.entries).sum(),
        tombstones: patches.iter().map(|patch| patch.fields.tombstones).sum(),
        entry_bytes: patches.iter().map(|patch| patch.fields.entry_bytes).sum(),
        is_merging: slice.merge().is_some(),
    }
}
