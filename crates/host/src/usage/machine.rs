//! The machine's block devices and their users as plain data, from the kernel's lists and the loop driver.
//!
//! Numbers identify devices and files: a block device by its device number, a file by its file system's device number
//! and its inode. Names are for messages only.

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
    /// The lengths that the file can have, by what is presented of it.
    pub lengths: Range<u64>,
    /// Whether the file has a further identity that is unknown: it is in an overlay with a layer that was not found.
    pub is_partly_known: bool,
    /// The kernel's name.
    pub name: String,
}

impl Backing {
    /// Returns the lengths of a file of which a loop device presents `range`: all to the last sector, unless it `is_limited`.
    pub(crate) fn lengths(range: &Range<u64>, is_limited: bool) -> Range<u64> {
        range.end..if is_limited { u64::MAX } else { range.end.saturating_add(SECTOR_BYTES) }
    }

    /// Returns whether a file of another file system and of one of these lengths may be this file, where layers of an overlay
    /// are unknown.
    pub(crate) fn may_be(&self, file_system: Number, lengths: &Range<u64>) -> bool {
        let overlap = self.lengths.start.max(lengths.start) < self.lengths.end.min(lengths.end);
        self.file_system != file_system && overlap
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
    /// Returns the identities that a file may also have: those of the files that loop devices present, where layers of an
    /// overlay are unknown. To ask once too often costs less than its data.
    pub(crate) fn possible_identities(&self, file: &Backing) -> Vec<Storage> {
        let backings = self.devices.values().filter_map(|device| device.backing.as_ref());
        let possible = backings
            .filter(|other| other.is_partly_known || file.is_partly_known)
            .filter(|other| file.may_be(other.file_system, &other.lengths));
        let identities = possible.flat_map(|other| &other.storage);
        identities.copied().filter(|on| matches!(on, Storage::File(_))).collect()
    }

    /// Returns a device's name, or its number where it has none.
    pub(crate) fn name(&self, number: Number) -> String {
        self.devices.get(&number).map_or_else(|| format!("{}:{}", number.0, number.1), |d| d.name.clone())
    }
}
