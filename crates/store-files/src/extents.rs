//! Bytes of files: read, written, cut, in extents.

use crate::error::FileError;
use crate::files::Files;
use crate::records::{Attributes, Inode, Kind, extent_key, extent_place, inode_key, unfinished_key};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Durability};

/// Longest file.
const LENGTH_BYTES_MAX: u64 = i64::MAX as u64;
/// Most extents that are deleted at once.
const EXTENTS_AT_ONCE: u64 = 256;

/// A part of an extent.
struct Part {
    index: u64,
    /// First byte in the extent.
    start: usize,
    /// Where the part is in the range that was asked for.
    range: std::ops::Range<usize>,
}

/// Returns the parts of a range of a file, one for each extent.
fn parts(extent_bytes: u64, offset_bytes: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset_bytes + done as u64;
        let (index, start) = (at / extent_bytes, (at % extent_bytes) as usize);
        let bytes = (length - done).min(extent_bytes as usize - start);
        let range = done..done + bytes;
        done += bytes;
        (bytes > 0).then_some(Part { index, start, range })
    })
}

impl<D: DataDevice, L: DataDevice> Files<'_, D, L> {
    /// Returns the properties of a file.
    pub(crate) fn file(&mut self, inode: Inode) -> Result<Attributes, FileError> {
        let attributes = self.attributes(inode)?;
        match attributes.kind {
            Kind::File => Ok(attributes),
            Kind::Directory => Err(FileError::Directory { name: format!("inode {inode}") }),
        }
    }

    /// Returns bytes of a file from an offset on; fewer than `length_bytes` where it ends before.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::Directory`] and [`FileError::Store`].
    pub fn read(&mut self, inode: Inode, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>, FileError> {
        let left = self.file(inode)?.length_bytes.saturating_sub(offset_bytes);
        let mut out = vec![0; left.min(length_bytes) as usize];
        for part in parts(self.header.extent_bytes, offset_bytes, out.len()) {
            let extent = self.get(&extent_key(inode, part.index))?.unwrap_or_default();
            let stored = extent.get(part.start..).unwrap_or_default();
            let bytes = stored.len().min(part.range.len());
            out[part.range.start..][..bytes].copy_from_slice(&stored[..bytes]);
        }
        Ok(out)
    }

    /// Writes bytes to a file from an offset on; what lies between its end and the offset becomes zeros. A power cut
    /// leaves the length of before or of after, and of each extent the bytes of before or of after.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::Directory`], [`FileError::TooLong`] and [`FileError::Store`].
    pub fn write(&mut self, inode: Inode, offset_bytes: u64, bytes: &[u8]) -> Result<(), FileError> {
        self.begin_change()?;
        let file = self.file(inode)?;
        let end = u128::from(offset_bytes) + bytes.len() as u128;
        if end > u128::from(LENGTH_BYTES_MAX) {
            return Err(FileError::TooLong { given: end, most: LENGTH_BYTES_MAX });
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let length_bytes = file.length_bytes.max(end as u64);
        let mut last = Batch::default();
        last.put(inode_key(Some(inode)), Attributes::file(inode, length_bytes, self.now_ms).encode());
        let parts: Vec<Part> = parts(self.header.extent_bytes, offset_bytes, bytes.len()).collect();
        let fits_one_batch = parts.len() == 1 && {
            let store = self.store.store();
            store.slice_of(&extent_key(inode, 0)) == store.slice_of(&inode_key(Some(inode)))
        };
        if fits_one_batch {
            let extent = self.changed(inode, &parts[0], bytes)?;
            last.put(extent_key(inode, parts[0].index), extent);
            return Ok(self.store.write(last)?);
        }
        let grows = length_bytes > file.length_bytes;
        if grows {
            self.mark_unfinished(inode)?;
            last.delete(unfinished_key(Some(inode)));
        }
        let written = self.put_parts(inode, &parts, bytes, last);
        match written {
            Ok(()) => self.has_unfinished = false,
            Err(_) => self.give_back_unfinished(),
        }
        written
    }

    /// Writes the extents of parts, and the record that ends the change.
    fn put_parts(
        &mut self,
        inode: Inode,
        parts: &[Part],
        bytes: &[u8],
        last: Batch,
    ) -> Result<(), FileError> {
        for part in parts {
            let extent = self.changed(inode, part, bytes)?;
            self.put_extent(inode, part.index, extent)?;
        }
        Ok(self.store.write(last)?)
    }

    /// Returns an extent with a part of it changed.
    fn changed(&mut self, inode: Inode, part: &Part, bytes: &[u8]) -> Result<Vec<u8>, FileError> {
        let bytes = &bytes[part.range.clone()];
        if bytes.len() as u64 == self.header.extent_bytes {
            return Ok(bytes.to_vec());
        }
        let mut extent = self.get(&extent_key(inode, part.index))?.unwrap_or_default();
        let end = part.start + bytes.len();
        extent.resize(extent.len().max(end), 0);
        extent[part.start..end].copy_from_slice(bytes);
        Ok(extent)
    }

    /// Records that extents may lie behind the length of an inode. A change has begun.
    pub(crate) fn mark_unfinished(&mut self, inode: Inode) -> Result<(), FileError> {
        let mut batch = Batch::default();
        batch.put(unfinished_key(Some(inode)), []);
        self.has_unfinished = true;
        Ok(self.store.write_as(batch, Durability::Memory)?)
    }

    /// Writes an extent, which the record that follows makes safe.
    pub(crate) fn put_extent(&mut self, inode: Inode, index: u64, bytes: Vec<u8>) -> Result<(), FileError> {
        let mut batch = Batch::default();
        batch.put(extent_key(inode, index), bytes);
        Ok(self.store.write_as(batch, Durability::Memory)?)
    }

    /// Sets the length of a file: cuts what lies behind, or adds zeros that take no space.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::Directory`], [`FileError::TooLong`] and [`FileError::Store`].
    pub fn set_length(&mut self, inode: Inode, length_bytes: u64) -> Result<(), FileError> {
        self.begin_change()?;
        let file = self.file(inode)?;
        if length_bytes > LENGTH_BYTES_MAX {
            return Err(FileError::TooLong { given: length_bytes.into(), most: LENGTH_BYTES_MAX });
        }
        let mut batch = Batch::default();
        batch.put(inode_key(Some(inode)), Attributes::file(inode, length_bytes, self.now_ms).encode());
        if length_bytes >= file.length_bytes {
            return Ok(self.store.write(batch)?);
        }
        batch.put(unfinished_key(Some(inode)), []);
        self.has_unfinished = true;
        self.store.write(batch)?;
        self.begin_change()
    }

    /// Deletes what is stored behind the length of an inode, or all of one that is no more. The inode is finished then.
    ///
    /// Deletes need no more durability than the least: where a power cut takes them, they are done again.
    pub(crate) fn cut_behind_length(&mut self, inode: Inode) -> Result<(), FileError> {
        let length_bytes = self.find_inode(inode)?.map_or(0, |file| file.length_bytes);
        let (whole, rest) =
            (length_bytes / self.header.extent_bytes, length_bytes % self.header.extent_bytes);
        // Scans read the bytes of extents. So one finds the next extent only where some have been deleted unseen.
        let end = extent_key(Inode(inode.0 + 1), 0);
        let mut next = whole + u64::from(rest > 0);
        while let Some(found) = self.store.scan(&extent_key(inode, next), Some(&end), 1)?.items.first() {
            let (_, first) = extent_place(&found.key);
            next = first.saturating_add(EXTENTS_AT_ONCE);
            self.store.delete_all((first..next).map(|index| extent_key(inode, index)), Durability::Memory)?;
        }
        if rest > 0
            && let Some(mut extent) = self.get(&extent_key(inode, whole))?
            && extent.len() as u64 > rest
        {
            extent.truncate(rest as usize);
            self.put_extent(inode, whole, extent)?;
        }
        let mut batch = Batch::default();
        batch.delete(unfinished_key(Some(inode)));
        Ok(self.store.write_as(batch, Durability::Memory)?)
    }
}
