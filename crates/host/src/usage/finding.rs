//! What speaks against writing to a device or file.

use crate::signature::Signature;
use std::fmt;
use std::path::PathBuf;

/// One reason why a device or file looks like somebody's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It, or what lies over or under it, is mounted.
    Mounted {
        /// The device that is mounted; `it` for a file.
        device: String,
        /// Where.
        at: PathBuf,
    },
    /// It, or what lies over or under it, is in use as swap space.
    Swap {
        /// The device or file.
        device: String,
    },
    /// Another kernel driver stands on it: RAID, LVM, device mapper.
    Held {
        /// The device that is held.
        device: String,
        /// The name of what stands on it.
        by: String,
    },
    /// It is divided into partitions.
    Partitioned {
        /// Their names.
        partitions: Vec<String>,
    },
    /// A loop device presents it as a drive.
    LoopDevice {
        /// Its name.
        device: String,
        /// What it presents, by the name that the kernel has for it.
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
    /// Another process has it open; a device only counts where it is open for writing.
    Open {
        /// The process's name.
        program: String,
        /// Its number.
        process: u32,
    },
    /// Something known lies on it.
    Signature(Signature),
    /// What uses it, or what lies on it, could not be read.
    Unreadable {
        /// What, and the operating system's words.
        reason: String,
    },
    /// It, or what lies under it, is claimed exclusively (the operating system does not report by whom).
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
            Self::Open { program, process } => write!(f, "it is open in {program} (process {process})"),
            Self::Signature(signature) => write!(f, "it has a signature: {signature}"),
            Self::Unreadable { reason } => f.write_str(reason),
            Self::Claimed { device } => write!(f, "{device} is claimed exclusively by another user of it"),
        }
    }
}
