//! The machine's block devices and their users as plain data, from the kernel's lists and the loop driver.
//!
//! Numbers identify devices and files: a block device by its device number, a file by its file system's device number
//! and its inode. Names are for messages only.

use super::bytes::may_be_equal;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// The kernel counts in sectors of 512 bytes for every drive.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Major and minor number of a block device.
pub(crate) type Number = (u32, u32);

/// A file: the device number of its file system, and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    /// `st_dev`, major and minor.
    pub file_system: Number,
    pub inode: u64,
}

impl FileId {
    /// Returns whether a file of an overlay and one of another file system have the same inode number, below the bits
    /// by which an overlay may tell its layers' file systems apart.
    pub(crate) fn has_inode_of(self, layer: Self) -> bool {
        const DISTINGUISHED: u64 = u32::MAX as u64;
        self.inode & DISTINGUISHED == layer.inode & DISTINGUISHED
    }
}

/// A block device or file that holds data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Storage {
    Block(Number),
    File(FileId),
}

/// A block device as the kernel lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    pub name: String,
    pub length_bytes: u64,
    /// For a partition, its drive and its start there.
    pub partition_of: Option<(Number, u64)>,
    /// The backing of a loop device.
    pub backing: Option<Backing>,
    /// Devices that it consists of (device mapper, RAID).
    pub slaves: Vec<Number>,
    /// Drivers that use it: names, and numbers where they are block devices.
    pub holders: Vec<(String, Option<Number>)>,
}

/// A file or device: the one that a loop device presents as a drive, or a target that is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backing {
    /// The file or block device; several where a file has more than one identity (as in the layers of an overlay).
    pub storage: Vec<Storage>,
    /// Device number of the file system that holds the file.
    pub file_system: Number,
    /// The range presented.
    pub range: Range<u64>,
    /// The same of a file, to compare it with others; `None` for a block device.
    pub file: Option<FileFacts>,
    /// The kernel's name.
    pub name: String,
}

impl Backing {
    /// Returns the lengths of a file of which a loop device presents `range`: all to the last sector, unless it
    /// `is_limited`.
    pub(crate) fn lengths(range: &Range<u64>, is_limited: bool) -> Range<u64> {
        range.end..if is_limited { u64::MAX } else { range.end.saturating_add(SECTOR_BYTES) }
    }
}

/// Whether a file is in an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InOverlay {
    No,
    /// All its layers were found.
    Known,
    /// It may be in a layer that was not found.
    Unknown,
}

/// The number of no file system, for files of which nothing but the length is known.
pub(crate) const NO_FILE_SYSTEM: Number = (0, 0);

/// What is known of a file, to compare it with files of other file systems: one of an overlay is one of a layer too.
///
/// By "Inode properties" of the kernel's `overlayfs.rst` it has the inode number of that one, below bits that tell file
/// systems apart. A file that an overlay has copied up keeps the number of the lower layer's, and one whose data are in
/// a data-only layer has that of the file with its name: only the bytes show that it is the file with the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub id: FileId,
    /// The lengths that it can have.
    pub lengths: Range<u64>,
    pub overlay: InOverlay,
    /// A path that leads to it, if any is known.
    pub path: Option<PathBuf>,
    /// Whether an overlay has copied it up, as far as a path shows it.
    pub is_copied_up: bool,
}

impl FileFacts {
    /// Returns whether this and a file of another file system may be one, by what is not known of their layers. To ask
    /// once too often costs less than data.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let overlap = self.lengths.start.max(other.lengths.start) < self.lengths.end.min(other.lengths.end);
        let is_other_file_system = self.id.file_system != other.id.file_system;
        is_other_file_system && overlap && (self.may_show(other) || other.may_show(self))
    }

    /// Returns whether this file, of an overlay, may have its bytes in a file of a layer: by its number, or by its
    /// bytes where paths lead to both. Where none does, the lengths have decided.
    fn may_show(&self, layer: &Self) -> bool {
        let by_number = match self.overlay {
            InOverlay::No => return false,
            InOverlay::Known => false,
            InOverlay::Unknown => self.path.is_none() || self.id.has_inode_of(layer.id),
        };
        let by_bytes = |layer: &PathBuf| self.path.as_ref().is_some_and(|this| may_be_equal(this, layer));
        by_number || layer.is_copied_up || layer.path.as_ref().is_none_or(by_bytes)
    }
}

/// A mounted file system, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountUse {
    /// All devices (or files) that hold it.
    pub on: Vec<Storage>,
    pub at: PathBuf,
}

/// A swap space in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SwapUse {
    pub on: Storage,
    pub name: String,
}

/// A snapshot of devices, mounts and swap spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub devices: BTreeMap<Number, BlockDevice>,
    pub mounts: Vec<MountUse>,
    pub swaps: Vec<SwapUse>,
}

impl Machine {
    /// Returns the identities that a file may also have: those of the files that loop devices present, where layers of
    /// an overlay are unknown.
    pub(crate) fn possible_identities(&self, file: &FileFacts) -> Vec<Storage> {
        let backings = self.devices.values().filter_map(|device| device.backing.as_ref());
        let possible = backings.filter(|other| other.file.as_ref().is_some_and(|other| file.may_be(other)));
        let identities = possible.flat_map(|other| &other.storage);
        identities.copied().filter(|on| matches!(on, Storage::File(_))).collect()
    }

    /// Returns a device's name, or its number where it has none.
    pub(crate) fn name(&self, number: Number) -> String {
        self.devices.get(&number).map_or_else(|| format!("{}:{}", number.0, number.1), |d| d.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(file_system: u32, inode: u64, lengths: Range<u64>, overlay: InOverlay) -> FileFacts {
        let id = FileId { file_system: (0, file_system), inode };
        // It has no bytes by which it could be another file.
        FileFacts { id, lengths, overlay, path: Some("/dev/null".into()), is_copied_up: false }
    }

    #[test]
    fn file_has_the_length_that_a_loop_device_presents_of_it() {
        let merged =
            |range, is_limited| file(77, 5, Backing::lengths(&range, is_limited), InOverlay::Unknown);
        let layer = |file_system, length| file(file_system, 5, length..length + 1, InOverlay::No);
        let may_be = |length| merged(4096..8192, false).may_be(&layer(78, length));
        assert_eq!([8191, 8192, 8703, 8704].map(may_be), [false, true, true, false]);
        assert!(!merged(4096..8192, false).may_be(&layer(77, 8192)), "another file of the same file system");
        assert!(merged(0..4096, true).may_be(&layer(78, 1 << 20)));
    }

    #[test]
    fn file_of_an_overlay_with_other_inodes_has_its_layers_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, bytes: &str| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            Some(folder.path().join(name))
        };
        let layer = FileFacts { path: at("layer", "the bytes"), ..file(78, 5, 9..10, InOverlay::No) };
        for (overlay, is_it) in [(InOverlay::No, false), (InOverlay::Known, true), (InOverlay::Unknown, true)]
        {
            for (bytes, is_same) in [("the bytes", true), ("the bites", false)] {
                let merged = FileFacts { path: at("merged", bytes), ..file(77, 6, 9..10, overlay) };
                assert_eq!(merged.may_be(&layer), is_it && is_same, "{bytes}, {overlay:?}");
                assert_eq!(layer.may_be(&merged), is_it && is_same, "{bytes}, {overlay:?}");
            }
        }
    }

    #[test]
    fn file_of_an_overlay_has_its_layers_inode_unless_copied_up() {
        let merged = |inode, overlay| file(77, inode, 9..10, overlay);
        let layer = |is_copied_up| FileFacts { is_copied_up, ..file(78, 5, 9..10, InOverlay::No) };
        let lost = |file| FileFacts { path: None, ..file };
        // The bits above tell the file systems of layers apart.
        for inode in [5, 5 | 1 << 62] {
            for (overlay, is_it) in
                [(InOverlay::No, false), (InOverlay::Known, false), (InOverlay::Unknown, true)]
            {
                assert_eq!(merged(inode, overlay).may_be(&layer(false)), is_it, "{inode} {overlay:?}");
                assert_eq!(layer(false).may_be(&merged(inode, overlay)), is_it, "{inode} {overlay:?}");
            }
        }
        for (overlay, is_it) in [(InOverlay::No, false), (InOverlay::Known, true), (InOverlay::Unknown, true)]
        {
            assert!(!merged(6, overlay).may_be(&layer(false)), "{overlay:?}");
            assert_eq!(merged(6, overlay).may_be(&layer(true)), is_it, "{overlay:?}");
            assert_eq!(merged(6, overlay).may_be(&lost(layer(false))), is_it, "{overlay:?}");
            let is_unknown = overlay == InOverlay::Unknown;
            assert_eq!(lost(merged(6, overlay)).may_be(&layer(false)), is_unknown, "{overlay:?}");
        }
    }
}
