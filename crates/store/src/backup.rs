//! A backup of a store while it is written: all keys and values of one moment, in a file.
//!
//! A [`Backup`] holds a snapshot and reads the store by scans and gets that complete among those of other users: one is
//! in flight at a time, and a page of entries or one long value is in memory. A snapshot pins no block, so that merges
//! go on; versions that it needs take space until the backup is done.

mod format;

use crate::error::{ReadFailure, StoreError};
use crate::operation::{Finished, Item, Outcome, Snapshot, Ticket};
use crate::store::Store;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use format::Writer;
pub use format::{BackupEntry, BackupError, BackupReader, is_backup, whole_backup};
use std::collections::VecDeque;
use std::io::Write;

/// Most entries of a scan, and bytes of values after which one ends.
const ITEMS: u64 = 4096;
const SCAN_BYTES: u64 = 1 << 20;

/// A backup that is being made, as of the moment in which it began. It holds a snapshot: a program that does not
/// [`finish`](Self::finish) it MUST [`abandon`](Self::abandon) it.
///
/// ```
/// # use flashlane_base::{Instant, Seed};
/// # use flashlane_device_testing::{MemoryDisk, MemoryLanes};
/// # use flashlane_store::{Backup, BackupReader, Batch, Durability, Slices, Store, StoreOptions};
/// # let (device, log) = (MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1)), MemoryDisk::new(1 << 20, 512, Seed(1)));
/// # let mut store = Store::create(device, log, 1, Slices::even(4), StoreOptions::default())?;
/// # let mut batch = Batch::default();
/// # batch.put("key", "value");
/// # let write = store.write(batch, Durability::default())?;
/// # store.wait(write);
/// let mut backup = Backup::begin(&mut store, Vec::new())?;
/// let mut out = Vec::new();
/// while !backup.is_done() {
///     // Writes and reads of the program complete here too, and may be submitted as ever.
///     store.reap(Instant::FAR, &mut out);
///     for finished in out.drain(..) {
///         let own = backup.offer(&mut store, finished)?;
///         assert!(own.is_none(), "nothing else is in flight");
///     }
/// }
/// let (file, entries) = backup.finish(&mut store)?;
/// assert_eq!((BackupReader::open(&file[..])?.count(), entries), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Backup<W> {
    writer: Writer<W>,
    snapshot: Snapshot,
    /// The scan or get in flight; `None` where the backup is done or has failed.
    in_flight: Option<Ticket>,
    /// Where the next scan begins; `None` behind the last.
    next: Option<Vec<u8>>,
    /// Entries that were found and are not written.
    found: VecDeque<Item>,
}

impl<W: Write> Backup<W> {
    /// Begins a backup of all writes so far.
    ///
    /// # Errors
    /// [`BackupError::Lost`] of a store that has lost keys, and [`BackupError::Write`]. The snapshot is released.
    pub fn begin<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, out: W) -> Result<Self, BackupError> {
        if let Some(loss) = store.loss() {
            return Err(BackupError::Lost(Box::new(loss)));
        }
        let snapshot = store.snapshot();
        let writer = Writer::new(out, store.status().store, snapshot.sequence());
        let writer = writer.inspect_err(|_| store.release(snapshot))?;
        let mut backup =
            Self { writer, snapshot, in_flight: None, next: Some(Vec::new()), found: VecDeque::new() };
        backup.read_on(store)?;
        Ok(backup)
    }

    /// Takes an operation that has completed, and goes on. Returns it where it is none of the backup's.
    ///
    /// # Errors
    /// [`BackupError`]: the backup has failed, and MUST be [abandoned](Self::abandon).
    pub fn offer<D: DataDevice, L: DataDevice>(
        &mut self,
        store: &mut Store<D, L>,
        finished: Finished,
    ) -> Result<Option<Finished>, BackupError> {
        if self.in_flight != Some(finished.ticket) {
            return Ok(Some(finished));
        }
        self.in_flight = None;
        match finished.outcome {
            Outcome::Scan(result) => {
                let page = result.map_err(StoreError::from)?;
                (self.found, self.next) = (page.items.into(), page.next);
            }
            Outcome::Get(result) => {
                let item = self.found.pop_front().expect("the get was for an entry");
                // The scan has found it at the same snapshot; only time has gone on since.
                if let Some(value) = result.map_err(StoreError::from)? {
                    self.writer.add(&item.key, &value.bytes, value.expiry_ms)?;
                }
            }
            Outcome::Write(_) => unreachable!("a backup writes nothing to the store"),
        }
        self.read_on(store)?;
        Ok(None)
    }

    /// Writes the entries that are there, and begins the next read.
    fn read_on<D: DataDevice, L: DataDevice>(&mut self, store: &mut Store<D, L>) -> Result<(), BackupError> {
        while let Some(Item { key, value, expiry_ms, missing_piece, .. }) = self.found.front() {
            if let Some(id) = *missing_piece {
                return Err(StoreError::from(ReadFailure::Missing { id }).into());
            }
            let Some(value) = value else {
                self.in_flight = Some(store.get(key, Some(self.snapshot)));
                return Ok(());
            };
            self.writer.add(key, value, *expiry_ms)?;
            self.found.pop_front();
        }
        if let Some(start) = self.next.take() {
            self.in_flight = Some(store.scan(&start, None, ITEMS, SCAN_BYTES, Some(self.snapshot)));
        }
        Ok(())
    }

    /// Returns whether everything is read.
    pub fn is_done(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Writes the end. Returns what was written to, and the number of entries.
    ///
    /// # Errors
    /// [`BackupError::Write`]. The snapshot is released.
    ///
    /// # Panics
    /// Where the backup [is not done](Self::is_done).
    pub fn finish<D: DataDevice, L: DataDevice>(
        self,
        store: &mut Store<D, L>,
    ) -> Result<(W, u64), BackupError> {
        assert!(self.is_done(), "a backup whose store is not read has no end");
        store.release(self.snapshot);
        self.writer.finish()
    }

    /// Gives the backup up, once its read in flight has completed. What was written has no end.
    pub fn abandon<D: DataDevice, L: DataDevice>(self, store: &mut Store<D, L>) {
        if let Some(ticket) = self.in_flight {
            store.wait(ticket);
        }
        store.release(self.snapshot);
    }

    /// Lets the devices work for at most `longest`, and goes on. For programs that do nothing else meanwhile.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    pub fn wait<D: DataDevice, L: DataDevice>(
        &mut self,
        store: &mut Store<D, L>,
        longest: Duration,
    ) -> Result<(), BackupError> {
        store.step_for(longest);
        let Some(ticket) = self.in_flight else { return Ok(()) };
        match store.take(ticket) {
            None => Ok(()),
            Some(finished) => self.offer(store, finished).map(drop),
        }
    }
}
