//! Who uses a device or file, and what lies on it: everything that speaks against writing to it.
//!
//! | module | holds |
//! | --- | --- |
//! | `machine` | block devices, mounts and swap spaces as plain data |
//! | `read`, `mounts`, `loops` | where that data comes from |
//! | `graph` | what uses the bytes of a target, followed to the end |
//! | `openers` | other processes that have it open |

mod graph;
mod loops;
mod machine;
mod mounts;
mod openers;
mod read;

pub(crate) use mounts::{Mount, mounts};

use crate::blkid;
use crate::signature::{self, Signature};
use crate::target::{self, Target};
use machine::Storage;
use openers::openers;
use std::fmt;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// Everything found that speaks against writing to `target`. Only reads.
///
/// # Errors
/// What the operating system says where the target cannot be opened for reading.
pub(crate) fn survey(target: &Target) -> io::Result<Vec<Finding>> {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    let mut findings = uses(target, sys, proc);
    findings.extend(open_elsewhere(target, proc));
    let file = target.open_to_read()?;
    let length_bytes =
        if target.block { target::block_device_length(&file)? } else { file.metadata()?.len() };
    match signature::find(length_bytes, |at, buffer| file.read_at(buffer, at)) {
        Ok(own) => {
            let named = blkid::find(&file).unwrap_or_default();
            findings.extend(signature::merge(named, own).into_iter().map(Finding::Signature));
        }
        Err(e) => findings.push(Finding::Unreadable { reason: format!("its bytes cannot be read: {e}") }),
    }
    Ok(findings)
}

fn uses(target: &Target, sys: &Path, proc: &Path) -> Vec<Finding> {
    let machine = read::machine(sys, proc);
    let identities = identities(target, proc);
    let mut findings = graph::uses(&machine, &identities);
    if let Storage::Block(number) = identities[0]
        && !machine.devices.contains_key(&number)
    {
        let reason =
            format!("what uses it is unknown: {} has no entry for it", sys.join("dev/block").display());
        findings.push(Finding::Unreadable { reason });
    }
    for number in graph::devices_below(&machine, &identities) {
        let name = machine.name(number);
        if read::node(&name, number).is_some_and(|node| is_claimed(&node)) {
            findings.push(Finding::Claimed { device: name });
        }
    }
    findings
}

/// The target, and the same file in the layers of an overlay.
fn identities(target: &Target, proc: &Path) -> Vec<Storage> {
    let (file_system, inode, device) = target.identity;
    if target.block {
        return vec![Storage::Block(read::split(device))];
    }
    let file_system = read::split(file_system);
    let mut all = vec![Storage::File(machine::FileId { file_system, inode })];
    all.extend(read::overlaid(&target.real, file_system, &mounts(proc)));
    all
}

/// Whether a device is claimed by the kernel or a process.
fn is_claimed(node: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    let opened = options.read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Other processes that have the target open. One that is being started has its parent's files for a moment.
fn open_elsewhere(target: &Target, proc: &Path) -> Vec<Finding> {
    let identities = identities(target, proc);
    let mut found = openers(proc, &identities);
    let mut tries_left = 20;
    while !found.is_empty() && tries_left > 0 {
        std::thread::sleep(Duration::from_millis(25));
        found = openers(proc, &identities);
        tries_left -= 1;
    }
    let finding =
        |opener: openers::Opener| Finding::Open { program: opener.program, process: opener.process };
    found.into_iter().map(finding).collect()
}
