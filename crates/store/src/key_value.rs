//! A store with calls that wait: each returns when its operation has completed.
//!
//! A thin loop over [`Store`], for programs that do one thing at a time.

use crate::entries::Entries;
use crate::error::{CreateError, OpenError, StoreError, WriteError};
use crate::loader::Loader;
use crate::log::Durability;
use crate::loss::Loss;
use crate::operation::{Batch, Outcome, Page};
use crate::options::{Slices, StoreOptions};
use crate::store::{Status, Store};
use flashlane_base::Instant;
use flashlane_device::{DataDevice, Failure};

/// Keys and values, with calls that return when a value is stored or read. Every write is durable when it returns,
/// unless [`with_durability`](Self::with_durability) chooses less.
pub struct KeyValueStore<D, L> {
    store: Store<D, L>,
    durability: Durability,
}

impl<D: DataDevice, L: DataDevice> KeyValueStore<D, L> {
    /// Creates a store: see [`Store::create`].
    ///
    /// # Errors
    /// [`CreateError`] where the devices cannot hold a store, or fail.
    pub fn create(device: D, log: L, store: u128, slices: Slices) -> Result<Self, CreateError> {
        Ok(Store::create(device, log, store, slices, StoreOptions::default())?.into())
    }

    /// Opens a store: see [`Store::open`].
    ///
    /// # Errors
    /// [`OpenError`] where there is none, or a part of it is lost.
    pub fn open(device: D, log: L) -> Result<Self, OpenError> {
        Ok(Store::open(device, log, StoreOptions::default())?.into())
    }

    /// Chooses how safe writes are when they return.
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Stores a value.
    ///
    /// # Errors
    /// [`StoreError::Write`] and [`StoreError::WriteFailed`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.put(key, value);
        self.write(batch)
    }

    /// Removes a key. It need not be there.
    ///
    /// # Errors
    /// [`StoreError::Write`] and [`StoreError::WriteFailed`].
    pub fn delete(&mut self, key: &[u8]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(key);
        self.write(batch)
    }

    /// Stores a batch as a whole.
    ///
    /// # Errors
    /// [`StoreError::Write`] and [`StoreError::WriteFailed`].
    pub fn write(&mut self, batch: Batch) -> Result<(), StoreError> {
        self.write_as(batch, self.durability)
    }

    /// Stores a batch as a whole, and returns when it is as safe as `durability` says. Writes that returned before are
    /// at least as safe: a power cut takes none of them and leaves this one.
    ///
    /// # Errors
    /// [`StoreError::Write`] and [`StoreError::WriteFailed`].
    pub fn write_as(&mut self, batch: Batch, durability: Durability) -> Result<(), StoreError> {
        let mut free_before = None;
        let ticket = loop {
            match self.store.write(batch.clone(), durability) {
                Err(WriteError::Busy { .. }) if self.store.step(Instant::FAR) => {}
                // Each refusal begins merges, as long as they give space back.
                Err(WriteError::Full { blocks_free, .. })
                    if free_before.is_none_or(|before| blocks_free > before) =>
                {
                    self.store.settle();
                    free_before = Some(blocks_free);
                }
                answer => break answer?,
            }
        };
        match self.store.outcome(ticket) {
            Outcome::Write(result) => Ok(result.map(drop)?),
            other => unreachable!("a write ends as one, not as {other:?}"),
        }
    }

    /// Removes keys in batches, each as large as is allowed and of one slice, so that a power cut may leave some. They
    /// need not be there.
    ///
    /// # Errors
    /// [`StoreError::Write`] and [`StoreError::WriteFailed`].
    pub fn delete_all(
        &mut self,
        keys: impl IntoIterator<Item = Vec<u8>>,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let bytes_max = self.store.inline_bytes_max();
        let (mut batch, mut bytes, mut slice) = (Batch::default(), 0, 0);
        for key in keys {
            // A tombstone takes no more than this beside its key.
            let own = (self.store.slice_of(&key), key.len() as u64 + 32);
            if !batch.is_empty() && (own.0 != slice || bytes + own.1 > bytes_max) {
                self.write_as(std::mem::take(&mut batch), durability)?;
                bytes = 0;
            }
            (slice, bytes) = (own.0, bytes + own.1);
            batch.delete(key);
        }
        if batch.is_empty() { Ok(()) } else { self.write_as(batch, durability) }
    }

    /// Returns the value of a key, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Read`], also where there is none in a store that has lost keys
    /// ([`ReadFailure::MayBeLost`](crate::ReadFailure::MayBeLost)).
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let ticket = self.store.get(key, None);
        match self.store.outcome(ticket) {
            Outcome::Get(result) => Ok(result?.map(|value| value.bytes)),
            other => unreachable!("a get ends as one, not as {other:?}"),
        }
    }

    /// Returns entries from `start` on and below `end`, in the order of keys: see [`Store::scan`].
    ///
    /// # Errors
    /// [`StoreError::Scan`].
    pub fn scan(&mut self, start: &[u8], end: Option<&[u8]>, items_max: u64) -> Result<Page, StoreError> {
        let ticket = self.store.scan(start, end, items_max, u64::MAX, None);
        match self.store.outcome(ticket) {
            Outcome::Scan(result) => Ok(result?),
            other => unreachable!("a scan ends as one, not as {other:?}"),
        }
    }

    /// Returns whether a key has a value. If it is long it is not read, unless the store has lost keys.
    ///
    /// # Errors
    /// [`StoreError::Scan`], and as [`get`](Self::get) where it has none.
    pub fn contains(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        // A scan does not say whether the key was deleted, or which version it found.
        if self.loss().is_some() {
            return Ok(self.get(key)?.is_some());
        }
        let after = [key, &[0]].concat();
        Ok(!self.scan(key, Some(&after), 1)?.items.is_empty())
    }

    /// Returns the entries from `start` on and below `end` one after the other, in the order of keys, as of now. Values
    /// that are stored in pieces are read if `with_values`, and otherwise left out.
    pub fn entries(&mut self, start: &[u8], end: Option<&[u8]>, with_values: bool) -> Entries<'_, D, L> {
        Entries::new(&mut self.store, start, end, with_values)
    }

    /// Begins to store many pairs at once.
    pub fn loader(&mut self) -> Loader<'_, D, L> {
        Loader::new(&mut self.store, self.durability)
    }

    /// Returns why keys may be missing or have older values; `None` where there is no sign of it.
    pub fn loss(&self) -> Option<Loss> {
        self.store.loss()
    }

    /// Returns the state of the store.
    pub fn status(&self) -> Status {
        self.store.status()
    }

    /// Makes every write durable and marks the end of the log ([`Store::close`]).
    ///
    /// # Errors
    /// The failure of the log's device.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.store.close()
    }

    /// Returns the store for calls that do not wait, between those that do.
    pub fn store(&mut self) -> &mut Store<D, L> {
        &mut self.store
    }

    /// Returns the store for calls that do not wait.
    pub fn into_store(self) -> Store<D, L> {
        self.store
    }
}

impl<D: DataDevice, L: DataDevice> From<Store<D, L>> for KeyValueStore<D, L> {
    fn from(store: Store<D, L>) -> Self {
        Self { store, durability: Durability::default() }
    }
}
