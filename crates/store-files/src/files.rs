//! The files of a store, and what a power cut leaves of a change.
//!
//! All records lie in one slice of the store, so that each change of them is one batch: a power cut leaves all of it or
//! nothing. Bytes of a file may take many batches, and lie in other slices. The store keeps its writes in their order:
//! a power cut leaves exactly the first ones. So extents are written first, with the least durability, and the record
//! that makes them count last, with the durability that was asked for; then all of them are as safe.
//!
//! What stays of the first ones where a power cut takes the last is found again: before extents are written behind a
//! file's length, and in the batch that shortens or removes a file, the inode is recorded as *unfinished*. The first
//! change after an opening deletes what lies behind the length of unfinished inodes. Opening and reading write nothing,
//! and never look there.
//!
//! Where the store has lost keys ([`Loss`](flashlane_store::Loss)), files are only read: a change deletes what no
//! record leads to and gives numbers of inodes out, by records that may be older ones, and an extent that is not there
//! is no hole for sure. What is not found is an error then.
//!
//! Invariants: an inode that is not unfinished has no bytes behind its length; inodes are given out once.

use crate::error::FileError;
use crate::records::{Attributes, Header, Inode, SPACE, first_inode, header_key, inode_key, unfinished_key};
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Durability, KeyValueStore, end_of_prefix};
use std::collections::BTreeSet;

/// Bytes of an extent unless chosen otherwise, or fewer: see [`Files::open`].
pub const EXTENT_BYTES: u64 = 512 << 10;
/// Sizes that extents may have.
const EXTENT_BYTES_MIN: u64 = 512;
const EXTENT_BYTES_MAX: u64 = 1 << 20;

/// Returns the bytes of extents that suit the blocks of a store. What is left of a value behind whole blocks takes
/// another one where it is too long to be stored with its key: that one is to be seven eighths full at least.
fn default_extent_bytes<D: DataDevice, L: DataDevice>(store: &mut KeyValueStore<D, L>) -> u64 {
    let store = store.store();
    let (block_bytes, inline_bytes) = (store.blocks().block_bytes(), store.inline_bytes_max());
    let fills = |extent_bytes: u64| {
        let rest = extent_bytes % block_bytes;
        rest <= inline_bytes || rest >= block_bytes - block_bytes / 8
    };
    let halves = std::iter::successors(Some(EXTENT_BYTES), |bytes| Some(bytes / 2));
    halves
        .take_while(|bytes| *bytes >= EXTENT_BYTES_MIN)
        .find(|&bytes| fills(bytes))
        .unwrap_or(EXTENT_BYTES_MIN)
}

/// The files of a store.
pub struct Files<'a, D, L> {
    pub(crate) store: &'a mut KeyValueStore<D, L>,
    pub(crate) header: Header,
    pub(crate) now_ms: u64,
    /// There may be unfinished inodes.
    pub(crate) has_unfinished: bool,
    /// What the store has lost is taken for deleted.
    gives_up_lost: bool,
}

impl<'a, D: DataDevice, L: DataDevice> Files<'a, D, L> {
    /// Opens the files of a store, which need not have any. Writes nothing. Where there is no file yet, extents will
    /// have [`EXTENT_BYTES`], or a power of two below of which none takes a block of the store that it does not fill.
    ///
    /// # Errors
    /// [`FileError::Parted`], [`FileError::Newer`] and [`FileError::Store`].
    pub fn open(store: &'a mut KeyValueStore<D, L>) -> Result<Self, FileError> {
        let extent_bytes = default_extent_bytes(store);
        Self::open_with(store, extent_bytes)
    }

    /// Does the same, and takes what the store may have lost for deleted: then files of it can be changed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_without_lost(store: &'a mut KeyValueStore<D, L>) -> Result<Self, FileError> {
        let extent_bytes = default_extent_bytes(store);
        Self::open_as(store, extent_bytes, true)
    }

    /// Does the same, and chooses the size of extents where there is no file yet: a power of two from 512 bytes to 1
    /// MiB. A write within an extent writes all of it.
    ///
    /// # Errors
    /// Also [`FileError::ExtentBytes`].
    pub fn open_with(store: &'a mut KeyValueStore<D, L>, extent_bytes: u64) -> Result<Self, FileError> {
        Self::open_as(store, extent_bytes, false)
    }

    fn open_as(
        store: &'a mut KeyValueStore<D, L>,
        extent_bytes: u64,
        gives_up_lost: bool,
    ) -> Result<Self, FileError> {
        if !extent_bytes.is_power_of_two() || !(EXTENT_BYTES_MIN..=EXTENT_BYTES_MAX).contains(&extent_bytes) {
            let (least, most) = (EXTENT_BYTES_MIN, EXTENT_BYTES_MAX);
            return Err(FileError::ExtentBytes { given: extent_bytes, least, most });
        }
        let [least, greatest] = SPACE.records().map(|key| store.store().slice_of(&key));
        if least != greatest {
            return Err(FileError::Parted);
        }
        let header = Header { extent_bytes, next_inode: Inode::ROOT.0 + 1 };
        let mut files = Self { store, header, now_ms: 0, has_unfinished: true, gives_up_lost };
        if let Some(header) = files.get(&header_key())? {
            files.header = Header::decode(&header)?;
        }
        Ok(files)
    }

    /// Returns a record or extent, if there is one.
    pub(crate) fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, FileError> {
        match self.store.get(key).map_err(FileError::from) {
            Err(error) if self.gives_up_lost && error.may_be_lost() => Ok(None),
            result => result,
        }
    }

    /// Sets the calendar time, in milliseconds, that changes record.
    pub fn set_time(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// Returns the bytes of an extent.
    pub fn extent_bytes(&self) -> u64 {
        self.header.extent_bytes
    }

    /// Returns the length of the longest name.
    pub fn name_bytes_max(&mut self) -> u64 {
        let before = crate::records::entry_key(Some(Inode::ROOT), b"").len() as u64;
        255.min(self.store.store().key_bytes_max() - before)
    }

    /// Returns the properties of an inode.
    ///
    /// # Errors
    /// [`FileError::Missing`] where there is no such inode, [`FileError::Malformed`] and [`FileError::Store`].
    pub fn attributes(&mut self, inode: Inode) -> Result<Attributes, FileError> {
        let missing = || FileError::Missing { name: format!("inode {inode}") };
        self.find_inode(inode)?.ok_or_else(missing)
    }

    /// Sets when a file or directory was modified, in milliseconds of the calendar.
    ///
    /// # Errors
    /// [`FileError::Missing`] and [`FileError::Store`].
    pub fn set_modified(&mut self, inode: Inode, modified_ms: u64) -> Result<(), FileError> {
        self.begin_change()?;
        let attributes = Attributes { modified_ms, ..self.attributes(inode)? };
        if inode == Inode::ROOT {
            // It has no record.
            return Ok(());
        }
        let mut batch = Batch::default();
        batch.put(inode_key(Some(inode)), attributes.encode());
        Ok(self.store.write(batch)?)
    }

    /// Makes all changes so far safe from power cuts, whatever the durability of the store's writes.
    ///
    /// # Errors
    /// [`FileError::Store`].
    pub fn sync(&mut self) -> Result<(), FileError> {
        // A delete, which a full device takes as well, of what is never there. Writes before it are as safe as it is.
        let mut batch = Batch::default();
        batch.delete(unfinished_key(Some(Inode::ROOT)));
        Ok(self.store.write_as(batch, Durability::Device)?)
    }

    /// Lets the store flush and merge for at most `longest`. Returns false where nothing is in flight.
    pub fn work(&mut self, longest: Duration) -> bool {
        self.store.store().step_for(longest)
    }

    /// Returns the bytes that can be written now ([`Status::room_bytes`](flashlane_store::Status::room_bytes)), and
    /// those with the blocks that are stored.
    pub fn space(&mut self) -> (u64, u64) {
        let store = self.store.store();
        let stored_bytes = store.blocks().status().blocks * store.blocks().block_bytes();
        let room_bytes = store.status().room_bytes;
        (room_bytes, room_bytes + stored_bytes)
    }

    pub(crate) fn find_inode(&mut self, inode: Inode) -> Result<Option<Attributes>, FileError> {
        if inode == Inode::ROOT {
            return Ok(Some(Attributes::directory(inode, inode, 0)));
        }
        let record = self.get(&inode_key(Some(inode)))?;
        record.map(|record| Attributes::decode(inode, &record)).transpose()
    }

    /// Takes a number that no inode has had, which `batch` records.
    pub(crate) fn next_inode(&mut self, batch: &mut Batch) -> Inode {
        let inode = Inode(self.header.next_inode);
        self.header.next_inode += 1;
        batch.put(header_key(), self.header.encode());
        inode
    }

    /// Gives out numbers above one that is there from now on: the header may be an older one, whose store has lost
    /// keys.
    pub(crate) fn raise_next_inode(&mut self, greatest: Option<&Inode>) -> Result<(), FileError> {
        match greatest {
            Some(inode) if inode.0 >= self.header.next_inode => {
                self.header.next_inode = inode.0 + 1;
                Ok(self.store.put(&header_key(), &self.header.encode())?)
            }
            _ => Ok(()),
        }
    }

    /// Prepares a change: deletes what lies behind the length of unfinished inodes.
    pub(crate) fn begin_change(&mut self) -> Result<(), FileError> {
        if !self.gives_up_lost
            && let Some(loss) = self.store.loss()
        {
            return Err(FileError::Lossy(Box::new(loss)));
        }
        if !self.has_unfinished {
            return Ok(());
        }
        for inode in self.unfinished()? {
            self.cut_behind_length(inode)?;
        }
        self.has_unfinished = false;
        Ok(())
    }

    /// Deletes what was stored of changes that ended before they were finished, as a full device refused them: other
    /// keys may need its room. What fails here is done by the next change.
    pub(crate) fn give_back_unfinished(&mut self) {
        let _ = self.begin_change();
    }

    /// Returns the inodes that are unfinished.
    pub(crate) fn unfinished(&mut self) -> Result<BTreeSet<Inode>, FileError> {
        let prefix = unfinished_key(None);
        let found = self.store.entries(&prefix, end_of_prefix(&prefix).as_deref(), false);
        found.map(|item| first_inode(&item?.key)).collect()
    }

    /// Prepares a removal, which a full device takes though it does not take what finishes some inodes.
    pub(crate) fn begin_delete(&mut self) -> Result<(), FileError> {
        match self.begin_change() {
            Err(error) if error.is_full() => Ok(()),
            result => result,
        }
    }
}
