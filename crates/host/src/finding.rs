//! Reasons not to write to a device or file.

use crate::signature::Signature;
use std::fmt;
use std::path::PathBuf;

/// One sign of existing data on a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The target, or a device above or below it, is mounted.
    Mounted {
        /// The mounted device; `it` for a file.
        device: String,
        /// The mount point.
        at: PathBuf,
    },
    /// The target, or a device above or below it, is in use as swap space.
    Swap {
        /// The device or file.
        device: String,
    },
    /// Another kernel driver uses it: RAID, LVM, device mapper.
    Held {
        /// The device in use.
        device: String,
        /// Name of the device or driver that uses it.
        by: String,
    },
    /// The target has partitions.
    Partitioned {
        /// Names of the partitions.
        partitions: Vec<String>,
    },
    /// A loop device presents it as a drive.
    LoopDevice {
        /// The loop device.
        device: String,
        /// The backing file or device, by the kernel's name.
        backing: String,
    },
    /// A file on it is presented as a drive.
    HoldsBackingFile {
        /// The device with the file system.
        device: String,
        /// The file.
        file: String,
        /// The loop device.
        by: String,
    },
    /// The target, or a file below it, is in a layer of a mounted overlay, whose behaviour is undefined once a layer
    /// changes.
    Layer {
        /// The file.
        file: PathBuf,
        /// The mount point of the overlay.
        overlay: PathBuf,
    },
    /// The target, or a file below it, has several names, and one of them may be in a layer of a mounted overlay, which
    /// has too many files to look for it.
    Link {
        /// The file.
        file: PathBuf,
        /// The number of its names.
        names: u64,
        /// The mount point of the overlay.
        overlay: PathBuf,
    },
    /// Another process has it, or what lies below it, open; a device counts only if it is open for writing.
    Open {
        /// Name of the process.
        program: String,
        /// Number of the process.
        process: u32,
    },
    /// Descriptors wait in a Unix socket of another process, which may be of the device.
    Waiting {
        /// Name of the process.
        program: String,
        /// Number of the process.
        process: u32,
    },
    /// Another process has a ring of io_uring with files that cannot be told, which may be the device.
    UnknownRing {
        /// Name of the process.
        program: String,
        /// Number of the process.
        process: u32,
    },
    /// The file is open in this program, which was started with a descriptor of it, as by a redirection of the shell.
    OpenHere {
        /// Number of the descriptor.
        descriptor: u32,
    },
    /// The file is open in a program that this one cannot see, as outside a container, or in the kernel.
    OpenUnseen,
    /// The file system passes requests on to another one, and shows neither other users of the file nor its other
    /// names.
    HiddenUse {
        /// The file; `it` for the target.
        file: String,
        /// Type of the file system, as the kernel names it.
        file_system: String,
    },
    /// The target carries a known signature.
    Signature(Signature),
    /// The users or the data of the target could not be read.
    Unreadable {
        /// The failed step and the operating system's error.
        reason: String,
    },
    /// The target, or a device below it, is claimed exclusively (the operating system does not report by whom).
    Claimed {
        /// The device.
        device: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(f, "{device} is mounted at {}", at.display()),
            Self::Swap { device } => write!(f, "{device} is in use as swap space"),
            Self::Held { device, by } => write!(f, "{device} is held by {by}"),
            Self::Partitioned { partitions } => write!(f, "it is partitioned: {}", partitions.join(", ")),
            Self::LoopDevice { device, backing } => {
                write!(f, "{backing} is presented as a drive by {device}")
            }
            Self::HoldsBackingFile { device, file, by } => {
                write!(f, "{device} holds a file system with the file {file}, which {by} presents as a drive")
            }
            Self::Layer { file, overlay } => {
                write!(f, "{} is in use by the overlay mounted at {}", file.display(), overlay.display())
            }
            Self::Link { file, names, overlay } => {
                let (file, overlay) = (file.display(), overlay.display());
                write!(
                    f,
                    "{file} has {names} names, and one may be in the overlay mounted at {overlay}, which has too many \
                     files to look for it; a copy of {file} has one name"
                )
            }
            Self::Open { program, process } => write!(f, "it is open in {program} (process {process})"),
            Self::Waiting { program, process } => write!(
                f,
                "it may be in use: descriptors wait in a socket of {program} (process {process}), and the kernel does not tell \
                 of which files"
            ),
            Self::UnknownRing { program, process } => write!(
                f,
                "it may be in use: {program} (process {process}) has files registered with io_uring that cannot be told"
            ),
            Self::OpenHere { descriptor } => write!(
                f,
                "this command was started with it as its descriptor {descriptor}: name it by its path, and leave the redirection out"
            ),
            Self::OpenUnseen => {
                f.write_str("it is open in a program that cannot be seen from here, as outside a container, or in the kernel")
            }
            Self::HiddenUse { file, file_system } => {
                write!(
                    f,
                    "{file} is on a file system of type {file_system}, which hides other users and other names of the file"
                )
            }
            Self::Signature(signature) => write!(f, "it has a signature: {signature}"),
            Self::Unreadable { reason } => f.write_str(reason),
            Self::Claimed { device } => write!(f, "{device} is claimed exclusively by another user of it"),
        }
    }
}
