//! Files as the kernel sees them: numbers, handles, error numbers.
//!
//! A file that is removed while it is open stays readable until it is closed. It has a hidden name in the root
//! meanwhile, under which the next mount finds and removes it after a power cut.
//!
//! Invariants: `removed` has the inodes with a hidden name; each of them is in `open`, which has the open handles of
//! each inode.

use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_store::StoreError;
use flashlane_store_files::{Attributes, Entry, FileError, Files, Inode, Kind};
use fuser::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// What hidden names begin with.
const HIDDEN: &[u8] = b".flashlane-removed-";
/// Bytes of zeros that are written at once.
const ZEROS_BYTES: u64 = 1 << 20;

/// Result of a request.
pub type Result<T> = std::result::Result<T, Errno>;

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub inode: Inode,
    pub kind: Kind,
    pub name: Vec<u8>,
}

/// The files of a store, mounted.
pub struct Volume<'a, D, L> {
    files: Files<'a, D, L>,
    open: BTreeMap<Inode, u64>,
    removed: BTreeSet<Inode>,
    /// Listings of open directories, by their handles.
    listings: BTreeMap<u64, Vec<Listed>>,
    next_handle: u64,
}

impl<'a, D: DataDevice, L: DataDevice> Volume<'a, D, L> {
    /// Takes files over. Unless it is only read, removes those that an earlier mount had removed while they were open.
    pub fn new(mut files: Files<'a, D, L>, is_read_only: bool) -> std::result::Result<Self, FileError> {
        let hidden = files.list(Inode::ROOT, None, usize::MAX)?;
        for entry in hidden.iter().filter(|entry| !is_read_only && entry.name.starts_with(HIDDEN)) {
            files.remove(Inode::ROOT, &entry.name)?;
        }
        let (open, removed, listings) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Ok(Self { files, open, removed, listings, next_handle: 1 })
    }

    /// Sets the calendar time, in milliseconds.
    pub fn set_time(&mut self, now_ms: u64) {
        self.files.set_time(now_ms);
    }

    /// Lets the store merge for at most `longest`. Returns false where it has nothing to do.
    pub fn work(&mut self, longest: Duration) -> bool {
        self.files.work(longest)
    }

    /// Removes the files that were removed while they were open: nothing reaches them any more.
    pub fn end(&mut self) -> Result<()> {
        for inode in std::mem::take(&mut self.removed) {
            self.files.remove(Inode::ROOT, &hidden_name(inode)).map_err(errno)?;
        }
        self.open.clear();
        Ok(())
    }

    /// Returns bytes of an extent.
    pub fn extent_bytes(&self) -> u64 {
        self.files.extent_bytes()
    }

    /// Returns free and all bytes.
    pub fn space(&mut self) -> (u64, u64) {
        self.files.space()
    }

    /// Returns the length of the longest name.
    pub fn name_bytes_max(&mut self) -> u64 {
        self.files.name_bytes_max()
    }

    /// Returns whether a name leads to an inode.
    pub fn has_name(&self, inode: Inode) -> bool {
        !self.removed.contains(&inode)
    }

    // Names.

    pub fn lookup(&mut self, directory: Inode, name: &[u8]) -> Result<Attributes> {
        let entry = self.entry(directory, name)?.ok_or(Errno::ENOENT)?;
        self.attributes(entry.inode)
    }

    fn entry(&mut self, directory: Inode, name: &[u8]) -> Result<Option<Entry>> {
        self.check_name(directory, name)?;
        self.files.lookup(directory, name).map_err(errno)
    }

    fn check_name(&mut self, directory: Inode, name: &[u8]) -> Result<()> {
        match name {
            _ if name.len() as u64 > self.files.name_bytes_max() => Err(Errno::ENAMETOOLONG),
            _ if directory == Inode::ROOT && name.starts_with(HIDDEN) => Err(Errno::EACCES),
            _ => Ok(()),
        }
    }

    pub fn attributes(&mut self, inode: Inode) -> Result<Attributes> {
        self.files.attributes(inode).map_err(errno)
    }

    pub fn make_directory(&mut self, directory: Inode, name: &[u8]) -> Result<Attributes> {
        self.check_name(directory, name)?;
        let inode = self.files.make_directory(directory, name).map_err(errno)?;
        self.attributes(inode)
    }

    pub fn create(&mut self, directory: Inode, name: &[u8]) -> Result<Attributes> {
        self.check_name(directory, name)?;
        let inode = self.files.create(directory, name).map_err(errno)?;
        self.attributes(inode)
    }

    /// Removes the name of a file.
    pub fn unlink(&mut self, directory: Inode, name: &[u8]) -> Result<()> {
        match self.entry(directory, name)?.ok_or(Errno::ENOENT)? {
            Entry { kind: Kind::Directory, .. } => Err(Errno::EISDIR),
            Entry { inode, .. } if self.open.contains_key(&inode) => self.hide(directory, name, inode),
            _ => self.files.remove(directory, name).map_err(errno),
        }
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, directory: Inode, name: &[u8]) -> Result<()> {
        match self.entry(directory, name)?.ok_or(Errno::ENOENT)?.kind {
            Kind::File => Err(Errno::ENOTDIR),
            Kind::Directory => self.files.remove(directory, name).map_err(errno),
        }
    }

    /// Takes the name of an open file away.
    fn hide(&mut self, directory: Inode, name: &[u8], inode: Inode) -> Result<()> {
        assert!(self.open.contains_key(&inode), "a file that is not open is removed");
        self.files.rename(directory, name, Inode::ROOT, &hidden_name(inode)).map_err(errno)?;
        self.removed.insert(inode);
        Ok(())
    }

    /// Gives a file or directory another name, in place of a file or empty directory there if `may_replace`.
    pub fn rename(&mut self, from: (Inode, &[u8]), to: (Inode, &[u8]), may_replace: bool) -> Result<()> {
        let moved = self.entry(from.0, from.1)?.ok_or(Errno::ENOENT)?;
        if let Some(replaced) = self.entry(to.0, to.1)? {
            if !may_replace {
                return Err(Errno::EEXIST);
            }
            let are_files = moved.kind == Kind::File && replaced.kind == Kind::File;
            if are_files && replaced.inode != moved.inode && self.open.contains_key(&replaced.inode) {
                self.hide(to.0, to.1, replaced.inode)?;
            }
        }
        self.files.rename(from.0, from.1, to.0, to.1).map_err(errno)
    }

    // Open files and directories.

    /// Opens a file.
    pub fn open(&mut self, inode: Inode) -> Result<()> {
        if self.attributes(inode)?.kind == Kind::Directory {
            return Err(Errno::EISDIR);
        }
        *self.open.entry(inode).or_default() += 1;
        Ok(())
    }

    /// Closes a file.
    pub fn close(&mut self, inode: Inode) -> Result<()> {
        let count = self.open.get_mut(&inode).ok_or(Errno::EBADF)?;
        *count -= 1;
        if *count > 0 {
            return Ok(());
        }
        self.open.remove(&inode);
        match self.removed.remove(&inode) {
            true => self.files.remove(Inode::ROOT, &hidden_name(inode)).map_err(errno),
            false => Ok(()),
        }
    }

    /// Opens a directory. Returns its handle.
    pub fn open_directory(&mut self, inode: Inode) -> Result<u64> {
        if self.attributes(inode)?.kind == Kind::File {
            return Err(Errno::ENOTDIR);
        }
        let handle = self.next_handle;
        self.next_handle += 1;
        self.listings.insert(handle, Vec::new());
        Ok(handle)
    }

    /// Returns the entries of an open directory from one on, as they were when the first ones were read.
    pub fn list(&mut self, inode: Inode, handle: u64, first: u64) -> Result<&[Listed]> {
        if first == 0 {
            let parent = self.attributes(inode)?.parent;
            let own = |name: &[u8], inode| Listed { inode, kind: Kind::Directory, name: name.to_vec() };
            let mut all = vec![own(b".", inode), own(b"..", parent)];
            let found = self.files.list(inode, None, usize::MAX).map_err(errno)?;
            let is_shown = |entry: &Entry| inode != Inode::ROOT || !entry.name.starts_with(HIDDEN);
            all.extend(found.into_iter().filter(is_shown).map(|entry| {
                let Entry { inode, kind, name } = entry;
                Listed { inode, kind, name }
            }));
            self.listings.insert(handle, all);
        }
        let listing = self.listings.get(&handle).ok_or(Errno::EBADF)?;
        Ok(listing.get(first as usize..).unwrap_or_default())
    }

    pub fn close_directory(&mut self, handle: u64) {
        self.listings.remove(&handle);
    }

    // Bytes.

    pub fn read(&mut self, inode: Inode, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>> {
        self.files.read(inode, offset_bytes, length_bytes).map_err(errno)
    }

    pub fn write(&mut self, inode: Inode, offset_bytes: u64, bytes: &[u8]) -> Result<()> {
        self.files.write(inode, offset_bytes, bytes).map_err(errno)
    }

    pub fn set_length(&mut self, inode: Inode, length_bytes: u64) -> Result<()> {
        self.files.set_length(inode, length_bytes).map_err(errno)
    }

    pub fn set_modified(&mut self, inode: Inode, modified_ms: u64) -> Result<()> {
        self.files.set_modified(inode, modified_ms).map_err(errno)
    }

    /// Adds zeros that take no space, up to the end of a range.
    pub fn extend(&mut self, inode: Inode, offset_bytes: u64, length_bytes: u64) -> Result<()> {
        let end = offset_bytes.checked_add(length_bytes).ok_or(Errno::EFBIG)?;
        match self.attributes(inode)?.length_bytes < end {
            true => self.set_length(inode, end),
            false => Ok(()),
        }
    }

    /// Writes zeros to the part of a range that lies within the file.
    pub fn write_zeros(&mut self, inode: Inode, offset_bytes: u64, length_bytes: u64) -> Result<()> {
        let end = offset_bytes.saturating_add(length_bytes).min(self.attributes(inode)?.length_bytes);
        let mut at = offset_bytes;
        while at < end {
            let bytes = (end - at).min(ZEROS_BYTES);
            self.write(inode, at, &vec![0; bytes as usize])?;
            at += bytes;
        }
        Ok(())
    }

    /// Makes all changes so far safe from power cuts.
    pub fn sync(&mut self) -> Result<()> {
        self.files.sync().map_err(errno)
    }
}

fn hidden_name(inode: Inode) -> Vec<u8> {
    [HIDDEN, inode.to_string().as_bytes()].concat()
}

/// Returns the error number of a failure.
fn errno(error: FileError) -> Errno {
    match error {
        _ if error.is_full() => Errno::ENOSPC,
        FileError::Missing { .. } => Errno::ENOENT,
        FileError::Exists { .. } => Errno::EEXIST,
        FileError::NoDirectory { .. } => Errno::ENOTDIR,
        FileError::Directory { .. } => Errno::EISDIR,
        FileError::NotEmpty { .. } => Errno::ENOTEMPTY,
        FileError::IntoItself { .. } | FileError::Name { .. } => Errno::EINVAL,
        FileError::Root => Errno::EBUSY,
        FileError::TooLong { .. } => Errno::EFBIG,
        FileError::Lossy(_) => Errno::EROFS,
        FileError::Store(StoreError::Write(_)) => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_device_testing::{MemoryDisk, MemoryLanes};
    use flashlane_store::{KeyValueStore, Slices};

    type TestStore = KeyValueStore<MemoryLanes, MemoryDisk>;

    fn store() -> TestStore {
        let device = MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1));
        let log = MemoryDisk::new(1 << 20, 512, Seed(1));
        KeyValueStore::create(device, log, 1, Slices::even(1)).expect("the devices suit")
    }

    fn volume(store: &mut TestStore) -> Volume<'_, MemoryLanes, MemoryDisk> {
        Volume::new(Files::open_with(store, 4096).unwrap(), false).unwrap()
    }

    fn names(volume: &mut Volume<'_, MemoryLanes, MemoryDisk>) -> Vec<String> {
        let handle = volume.open_directory(Inode::ROOT).unwrap();
        let names = volume.list(Inode::ROOT, handle, 2).map(<[Listed]>::len);
        assert_eq!(names, Ok(0), "nothing was read from the beginning yet");
        let listed = volume.list(Inode::ROOT, handle, 0).unwrap()[2..].to_vec();
        volume.close_directory(handle);
        listed.into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect()
    }

    #[test]
    fn removed_file_is_there_until_it_is_closed() {
        let mut store = store();
        let mut volume = volume(&mut store);
        let inode = volume.create(Inode::ROOT, b"a").unwrap().inode;
        let other = volume.create(Inode::ROOT, b"b").unwrap().inode;
        for inode in [inode, inode, other] {
            volume.open(inode).unwrap();
        }
        volume.write(inode, 0, b"text").unwrap();
        volume.unlink(Inode::ROOT, b"a").unwrap();
        // Another one has its name, and replaces an open one.
        volume.create(Inode::ROOT, b"a").unwrap();
        volume.rename((Inode::ROOT, b"a"), (Inode::ROOT, b"b"), true).unwrap();
        assert_eq!(names(&mut volume), ["b"]);
        assert!(!volume.has_name(inode) && !volume.has_name(other));
        volume.close(inode).unwrap();
        assert_eq!(volume.read(inode, 0, 10).unwrap(), b"text");
        volume.close(inode).unwrap();
        assert_eq!(volume.read(inode, 0, 10), Err(Errno::ENOENT));
        let hidden = hidden_name(other);
        assert_eq!(volume.lookup(Inode::ROOT, &hidden).unwrap_err(), Errno::EACCES);
        volume.end().unwrap();
        assert_eq!(volume.read(other, 0, 10), Err(Errno::ENOENT));
    }

    #[test]
    fn next_mount_removes_what_was_open_and_removed() {
        let mut store = store();
        let mut first = volume(&mut store);
        let inode = first.create(Inode::ROOT, b"a").unwrap().inode;
        first.open(inode).unwrap();
        first.unlink(Inode::ROOT, b"a").unwrap();
        drop(first);
        let mut next = volume(&mut store);
        assert_eq!(next.attributes(inode), Err(Errno::ENOENT));
    }

    #[test]
    fn failures_have_the_numbers_of_posix() {
        let mut store = store();
        let mut volume = volume(&mut store);
        let root = Inode::ROOT;
        let directory = volume.make_directory(root, b"d").unwrap().inode;
        let file = volume.create(directory, b"f").unwrap().inode;
        assert_eq!(volume.lookup(root, b"x"), Err(Errno::ENOENT));
        assert_eq!(volume.create(root, b"d"), Err(Errno::EEXIST));
        assert_eq!(volume.create(file, b"x"), Err(Errno::ENOTDIR));
        assert_eq!(volume.unlink(root, b"d"), Err(Errno::EISDIR));
        assert_eq!(volume.remove_directory(root, b"d"), Err(Errno::ENOTEMPTY));
        assert_eq!(volume.remove_directory(directory, b"f"), Err(Errno::ENOTDIR));
        assert_eq!(volume.rename((root, b"d"), (directory, b"x"), true), Err(Errno::EINVAL));
        assert_eq!(volume.rename((directory, b"f"), (root, b"d"), false), Err(Errno::EEXIST));
        assert_eq!(volume.create(root, &[b'n'; 300]), Err(Errno::ENAMETOOLONG));
        assert_eq!(volume.set_length(file, u64::MAX), Err(Errno::EFBIG));
        assert_eq!(volume.open(directory), Err(Errno::EISDIR));
        assert_eq!(volume.open_directory(file), Err(Errno::ENOTDIR));
        assert_eq!(volume.close(file), Err(Errno::EBADF));
    }

    #[test]
    fn zeros_stay_within_the_file() {
        let mut store = store();
        let mut volume = volume(&mut store);
        let file = volume.create(Inode::ROOT, b"f").unwrap().inode;
        volume.write(file, 0, &[1; 6000]).unwrap();
        volume.write_zeros(file, 4000, 1 << 40).unwrap();
        volume.extend(file, 5000, 500).unwrap();
        let bytes = volume.read(file, 0, 10_000).unwrap();
        assert!(bytes.len() == 6000 && bytes[..4000] == [1; 4000] && bytes[4000..] == [0; 2000]);
        volume.extend(file, 5000, 2000).unwrap();
        assert_eq!(volume.attributes(file).unwrap().length_bytes, 7000);
        volume.sync().unwrap();
    }
}
