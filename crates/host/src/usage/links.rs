//! Looks for further names of a file below folders, by its inode number or, where an overlay shows its data under
//! another number, by its length and bytes.
//!
//! Costs one entry of a folder for each file there, so that only files with several names, and data of layers that are
//! not found, are looked for, and only up to a number of entries.

use super::lookup::facts_at;
use super::machine::{FileFacts, FileId, InOverlay};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Entries of folders that are read at most for one file: about a second.
pub(super) const ENTRIES_MAX: u32 = 300_000;

/// A file that is looked for in folders.
pub(super) struct Links<'a> {
    file: &'a FileFacts,
    /// Whether only files of its inode number are looked at.
    by_number: bool,
    /// The number of entries that may still be read.
    entries_left: u32,
    /// What was found in folders, by their file system and inode: overlays share layers.
    known: BTreeMap<(u64, u64), HasName>,
}

/// Whether a folder has a name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HasName {
    No,
    Yes,
    /// There are too many entries to know.
    Unknown,
}

impl<'a> Links<'a> {
    /// Looks for names of a file.
    pub(super) fn new(file: &'a FileFacts, entries_max: u32) -> Self {
        Self { file, by_number: true, entries_left: entries_max, known: BTreeMap::new() }
    }

    /// Looks for files of overlays that may show the bytes of a file.
    pub(super) fn of_bytes(file: &'a FileFacts, entries_max: u32) -> Self {
        Self { by_number: false, ..Self::new(file, entries_max) }
    }

    /// Looks in a folder, which is an overlay or not, and in those below it on its file system.
    pub(super) fn find(&mut self, folder: &Path, overlay: InOverlay) -> HasName {
        let Ok(root) = fs::metadata(folder) else { return HasName::No };
        let identity = (root.dev(), root.ino());
        if let Some(&known) = self.known.get(&identity) {
            return known;
        }
        let mut found = HasName::No;
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop().filter(|_| found == HasName::No) {
            let is_there = fs::metadata(&folder).is_ok_and(|data| data.dev() == root.dev());
            if is_there {
                found = self.look_in(&folder, overlay, &mut folders);
            }
        }
        self.known.insert(identity, found);
        found
    }

    /// Looks in one folder, and adds those in it to `below`.
    fn look_in(&mut self, folder: &Path, overlay: InOverlay, below: &mut Vec<PathBuf>) -> HasName {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(left) = self.entries_left.checked_sub(1) else { return HasName::Unknown };
            self.entries_left = left;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
                continue;
            }
            if self.is_candidate(&entry)
                && let Some(found) = facts_at(&entry.path(), overlay)
                && (found.id == self.file.id || found.may_be(self.file))
            {
                return HasName::Yes;
            }
        }
        HasName::No
    }

    /// Returns whether it may be the file, by what one look at it costs least.
    fn is_candidate(&self, entry: &fs::DirEntry) -> bool {
        match self.by_number {
            true => FileId { inode: entry.ino(), ..self.file.id }.has_inode_of(self.file.id),
            false => entry.metadata().is_ok_and(|data| self.file.lengths.contains(&data.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_found_below_a_folder_up_to_a_number_of_entries() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("layer/deep")).unwrap();
        fs::write(path("file"), "bytes").unwrap();
        fs::write(path("other"), "bytes").unwrap();
        fs::hard_link(path("file"), path("layer/deep/link")).unwrap();
        for (name, entries_max, expected) in [
            ("file", 2, HasName::Yes),
            ("file", 1, HasName::Unknown),
            ("other", 2, HasName::No),
            ("other", 1, HasName::Unknown),
        ] {
            let file = facts_at(&path(name), InOverlay::No).unwrap();
            let mut links = Links::new(&file, entries_max);
            // The second answer is remembered.
            for _ in 0..2 {
                assert_eq!(links.find(&path("layer"), InOverlay::No), expected, "{name}, {entries_max}");
            }
        }
    }
}
