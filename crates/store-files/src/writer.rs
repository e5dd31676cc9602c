//! A file that is written from its beginning to its end, and appears as a whole.
//!
//! It is an unfinished inode without a name until [`Writer::finish`] gives it one: in one batch, with that of the file
//! that it replaces. A writer that is dropped before deletes what it stored; what a power cut or a kill leaves is
//! deleted by the next change. Memory is that of one extent, however long the file.

use crate::error::FileError;
use crate::files::Files;
use crate::records::{Attributes, Entry, Inode, Kind, encode_entry, entry_key, inode_key, unfinished_key};
use flashlane_device::DataDevice;
use flashlane_store::text::escape;
use flashlane_store::{Batch, Durability};

/// A file that has no name yet.
pub struct Writer<'f, 'a, D: DataDevice, L: DataDevice> {
    files: &'f mut Files<'a, D, L>,
    inode: Inode,
    /// Bytes in extents.
    stored_bytes: u64,
    /// Bytes behind these: less than an extent.
    rest: Vec<u8>,
}

impl<'a, D: DataDevice, L: DataDevice> Files<'a, D, L> {
    /// Begins a file.
    ///
    /// # Errors
    /// [`FileError::Store`].
    pub fn writer(&mut self) -> Result<Writer<'_, 'a, D, L>, FileError> {
        self.begin_change()?;
        let mut batch = Batch::default();
        let inode = self.next_inode(&mut batch);
        batch.put(unfinished_key(Some(inode)), []);
        self.has_unfinished = true;
        self.store.write_as(batch, Durability::Memory)?;
        Ok(Writer { files: self, inode, stored_bytes: 0, rest: Vec::new() })
    }
}

impl<D: DataDevice, L: DataDevice> Writer<'_, '_, D, L> {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// [`FileError::Store`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), FileError> {
        let extent_bytes = self.files.header.extent_bytes as usize;
        while self.rest.len() + bytes.len() >= extent_bytes {
            let (taken, left) = bytes.split_at(extent_bytes - self.rest.len());
            self.rest.extend_from_slice(taken);
            bytes = left;
            self.store_rest()?;
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the bytes so far.
    pub fn length_bytes(&self) -> u64 {
        self.stored_bytes + self.rest.len() as u64
    }

    /// Returns the bytes of memory of data that is not stored yet.
    #[cfg(test)]
    pub(crate) fn rest_capacity(&self) -> usize {
        self.rest.capacity()
    }

    fn store_rest(&mut self) -> Result<(), FileError> {
        let (index, bytes) = (self.stored_bytes / self.files.header.extent_bytes, self.rest.len() as u64);
        let extent = std::mem::take(&mut self.rest);
        // Zeros need not be stored.
        if extent.iter().any(|byte| *byte != 0) {
            self.files.put_extent(self.inode, index, extent)?;
        }
        self.stored_bytes += bytes;
        Ok(())
    }

    /// Gives the file its name, in place of a file that has it. Returns its inode.
    ///
    /// # Errors
    /// [`FileError::Directory`] where a directory has the name, [`FileError::NoDirectory`], [`FileError::Name`] and
    /// [`FileError::Store`].
    pub fn finish(mut self, directory: Inode, name: &[u8]) -> Result<Inode, FileError> {
        self.store_rest()?;
        let Self { ref mut files, inode, stored_bytes, .. } = self;
        let replaced = files.lookup(directory, name)?;
        let mut batch = files.touched(directory)?;
        match &replaced {
            Some(Entry { kind: Kind::Directory, .. }) => {
                return Err(FileError::Directory { name: escape(name) });
            }
            Some(replaced) => files.discard(replaced, &mut batch)?,
            None => {}
        }
        batch.put(inode_key(Some(inode)), Attributes::file(inode, stored_bytes, files.now_ms).encode());
        batch.put(entry_key(Some(directory), name), encode_entry(Kind::File, inode));
        batch.delete(unfinished_key(Some(inode)));
        files.store.write(batch)?;
        files.begin_change()?;
        Ok(inode)
    }
}

impl<D: DataDevice, L: DataDevice> Drop for Writer<'_, '_, D, L> {
    fn drop(&mut self) {
        self.files.give_back_unfinished();
    }
}
