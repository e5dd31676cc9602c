//! A check of the whole tree: each entry leads to an inode, and each inode and extent is led to.
//!
//! Each change of records is one batch, so that no power cut breaks these rules; lost blocks and faults of a program
//! might. The check reads all records, and an extent of each file. It takes the memory of a few words for each inode.

use crate::error::FileError;
use crate::files::Files;
use crate::records::{
    Attributes, Inode, Kind, SPACE, decode_entry, encode_entry, entry_key, extent_key, extent_place,
    first_inode, inode_key,
};
use flashlane_device::DataDevice;
use flashlane_store::{Batch, Durability, end_of_prefix};
use std::collections::BTreeMap;

/// Directory in the root in which a repair gives a name to what has lost its own.
const FOUND: &str = "lost+found";

/// What a check has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Files that have a name.
    pub files: u64,
    /// Directories that have a name: all but the root.
    pub directories: u64,
    /// Entries that lead to no inode, or to one of another kind or directory.
    pub dangling_entries: u64,
    /// Files and directories to which no entry leads.
    pub lost_inodes: u64,
    /// Files that are no more, of which extents are left.
    pub lost_extents: u64,
}

impl Check {
    /// Returns whether each entry leads to an inode, and each inode and extent is led to.
    pub fn is_sound(&self) -> bool {
        self.dangling_entries + self.lost_inodes + self.lost_extents == 0
    }
}

/// An inode, and whether an entry leads to it.
struct Seen {
    attributes: Attributes,
    is_named: bool,
}

impl<D: DataDevice, L: DataDevice> Files<'_, D, L> {
    /// Checks all files and directories. If `repairs`, removes dangling entries and lost extents, and names lost inodes
    /// `lost+found/NUMBER`; what it returns is what it found before. Where the store has lost keys, repairing needs
    /// [`open_without_lost`](Files::open_without_lost).
    ///
    /// # Errors
    /// [`FileError::Lossy`], [`FileError::Malformed`] and [`FileError::Store`].
    pub fn check(&mut self, repairs: bool) -> Result<Check, FileError> {
        if repairs {
            self.begin_change()?;
        }
        let mut inodes = self.inodes()?;
        let dangling = self.dangling(&mut inodes)?;
        let lost: Vec<Attributes> =
            inodes.values().filter(|seen| !seen.is_named).map(|seen| seen.attributes).collect();
        let lost_extents = self.lost_extents(&inodes)?;
        let named = |kind| {
            inodes.values().filter(|seen| seen.is_named && seen.attributes.kind == kind).count() as u64
        };
        let check = Check {
            files: named(Kind::File),
            directories: named(Kind::Directory),
            dangling_entries: dangling.len() as u64,
            lost_inodes: lost.len() as u64,
            lost_extents: lost_extents.len() as u64,
        };
        if repairs {
            self.raise_next_inode(inodes.keys().chain(&lost_extents).max())?;
            self.store.delete_all(dangling, Durability::Device)?;
            lost.into_iter().try_for_each(|lost| self.name_lost(lost))?;
            lost_extents.into_iter().try_for_each(|inode| self.cut_behind_length(inode))?;
        }
        Ok(check)
    }

    fn inodes(&mut self) -> Result<BTreeMap<Inode, Seen>, FileError> {
        let prefix = inode_key(None);
        let mut inodes = BTreeMap::new();
        for item in self.store.entries(&prefix, end_of_prefix(&prefix).as_deref(), true) {
            let item = item?;
            let inode = first_inode(&item.key)?;
            let attributes = Attributes::decode(inode, item.value.as_deref().unwrap_or_default())?;
            inodes.insert(inode, Seen { attributes, is_named: false });
        }
        Ok(inodes)
    }

    /// Returns the keys of dangling entries, and notes the inodes to which the others lead.
    fn dangling(&mut self, inodes: &mut BTreeMap<Inode, Seen>) -> Result<Vec<Vec<u8>>, FileError> {
        let prefix = entry_key(None, b"");
        let mut dangling = Vec::new();
        for item in self.store.entries(&prefix, end_of_prefix(&prefix).as_deref(), true) {
            let item = item?;
            let directory = first_inode(&item.key)?;
            let entry = decode_entry(&item.key, item.value.as_deref().unwrap_or_default())?;
            let is_in_directory = directory == Inode::ROOT
                || inodes.get(&directory).is_some_and(|seen| seen.attributes.kind == Kind::Directory);
            let named = inodes.get_mut(&entry.inode).filter(|seen| {
                let of_parent = seen.attributes.kind == Kind::File || seen.attributes.parent == directory;
                is_in_directory && !seen.is_named && seen.attributes.kind == entry.kind && of_parent
            });
            match named {
                Some(seen) => seen.is_named = true,
                None => dangling.push(item.key),
            }
        }
        Ok(dangling)
    }

    /// Returns the inodes of extents that no file has, and that no change has still to delete.
    fn lost_extents(&mut self, inodes: &BTreeMap<Inode, Seen>) -> Result<Vec<Inode>, FileError> {
        let unfinished = self.unfinished()?;
        let mut lost = Vec::new();
        let (mut next, end) = (extent_key(Inode(0), 0), SPACE.records()[0].clone());
        while let Some(found) = self.store.scan(&next, Some(&end), 1)?.items.first() {
            let (inode, _) = extent_place(&found.key);
            if !inodes.contains_key(&inode) && !unfinished.contains(&inode) {
                lost.push(inode);
            }
            next = extent_key(Inode(inode.0 + 1), 0);
        }
        Ok(lost)
    }

    /// Gives a name to a file or directory that has none.
    fn name_lost(&mut self, lost: Attributes) -> Result<(), FileError> {
        let directory = self.make_directories(FOUND)?;
        let mut batch = Batch::default();
        batch.put(
            entry_key(Some(directory), lost.inode.to_string().as_bytes()),
            encode_entry(lost.kind, lost.inode),
        );
        batch.put(inode_key(Some(lost.inode)), Attributes { parent: directory, ..lost }.encode());
        Ok(self.store.write(batch)?)
    }
}
