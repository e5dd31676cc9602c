//! Who uses a device or file, and what lies on it: everything that speaks against writing to it.

use crate::signature::{self, Signature};
use crate::target::{self, Target};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One reason why a device or file looks like somebody's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It, or a part of it, is mounted.
    Mounted {
        /// The device or partition that is mounted.
        device: String,
        /// Where.
        at: PathBuf,
    },
    /// It, or a part of it, is in use as swap space.
    Swap {
        /// The device, partition or file.
        device: String,
    },
    /// Another kernel driver stands on it: RAID, LVM, device mapper.
    Held {
        /// The device or partition that is held.
        device: String,
        /// The name of what stands on it.
        by: String,
    },
    /// It is divided into partitions.
    Partitioned {
        /// Their names.
        partitions: Vec<String>,
    },
    /// A loop device presents the file as a drive.
    LoopDevice {
        /// Its name.
        device: String,
    },
    /// Something known lies on it.
    Signature(Signature),
    /// What lies on it could not be read.
    Unreadable {
        /// The operating system's words.
        reason: String,
    },
    /// Somebody else has claimed it exclusively (the operating system does not tell who).
    Claimed,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(f, "{device} is mounted at {}", at.display()),
            Self::Swap { device } => write!(f, "{device} is in use as swap space"),
            Self::Held { device, by } => write!(f, "{device} is held by {by}"),
            Self::Partitioned { partitions } => write!(f, "is partitioned: {}", partitions.join(", ")),
            Self::LoopDevice { device } => write!(f, "is presented as a drive by {device}"),
            Self::Signature(signature) => write!(f, "has a signature: {signature}"),
            Self::Unreadable { reason } => write!(f, "what lies on it could not be read: {reason}"),
            Self::Claimed => f.write_str("is claimed exclusively by somebody else"),
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
    let file = File::open(&target.real)?;
    let length_bytes =
        if target.block { target::block_device_length(&file)? } else { file.metadata()?.len() };
    match signature::find(length_bytes, |at, buffer| file.read_at(buffer, at)) {
        Ok(found) => findings.extend(found.into_iter().map(Finding::Signature)),
        Err(e) => findings.push(Finding::Unreadable { reason: e.to_string() }),
    }
    Ok(findings)
}

/// A block device as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    name: String,
    number: (u32, u32),
    folder: PathBuf,
}

fn uses(target: &Target, sys: &Path, proc: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut nodes = Vec::new();
    if target.block {
        let (itself, partitions, parent) = related(target.device_number(), sys);
        if !partitions.is_empty() {
            let partitions = partitions.iter().map(|node| node.name.clone()).collect();
            findings.push(Finding::Partitioned { partitions });
        }
        nodes.extend(itself);
        nodes.extend(partitions);
        // A mount or a volume on the whole drive covers its partitions too.
        nodes.extend(parent);
    }
    let mounts = fs::read_to_string(proc.join("self/mountinfo")).unwrap_or_default();
    let swaps = fs::read_to_string(proc.join("swaps")).unwrap_or_default();
    for node in &nodes {
        for mount in mounts.lines().filter_map(Mount::parse) {
            // Btrfs and overlays mount under numbers of their own: there the source's name tells.
            if mount.number == node.number || target::device_number_of(&mount.source) == Some(node.number) {
                findings.push(Finding::Mounted { device: node.name.clone(), at: mount.at });
            }
        }
        for by in names(&node.folder.join("holders")) {
            findings.push(Finding::Held { device: node.name.clone(), by });
        }
    }
    for path in swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape) {
        let number = target::device_number_of(&path);
        let part = nodes.iter().any(|node| Some(node.number) == number);
        if part || target::same_place(&path, &target.real) {
            findings.push(Finding::Swap { device: path.display().to_string() });
        }
    }
    if !target.block {
        findings.extend(loop_devices(&target.real, sys));
    }
    findings
}

/// The device with `number`, its partitions, and the drive that it is a partition of.
fn related(number: (u32, u32), sys: &Path) -> (Option<Node>, Vec<Node>, Option<Node>) {
    let link = sys.join(format!("dev/block/{}:{}", number.0, number.1));
    let Ok(folder) = fs::canonicalize(link) else { return (None, Vec::new(), None) };
    let partitions = names(&folder)
        .into_iter()
        .map(|name| folder.join(name))
        .filter(|child| child.join("partition").exists())
        .filter_map(|child| node(&child))
        .collect();
    let parent = folder.join("partition").exists().then(|| folder.parent().and_then(node)).flatten();
    (node(&folder), partitions, parent)
}

fn node(folder: &Path) -> Option<Node> {
    let text = fs::read_to_string(folder.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(Node {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        number: (major.parse().ok()?, minor.parse().ok()?),
        folder: folder.into(),
    })
}

/// The names in a folder, sorted; none where there is no such folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn loop_devices(file: &Path, sys: &Path) -> Vec<Finding> {
    let block = sys.join("block");
    let backing = |name: &String| {
        let text = fs::read_to_string(block.join(name).join("loop/backing_file")).unwrap_or_default();
        Path::new(text.trim_end_matches('\n')) == file
    };
    names(&block).into_iter().filter(backing).map(|device| Finding::LoopDevice { device }).collect()
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub number: (u32, u32),
    pub at: PathBuf,
    pub file_system: String,
    pub source: PathBuf,
}

impl Mount {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let (major, minor) = fields.nth(2)?.split_once(':')?;
        let at = unescape(fields.nth(1)?);
        // Optional fields end with a lone dash.
        let mut rest = fields.skip_while(|field| *field != "-").skip(1);
        let file_system = rest.next()?.to_owned();
        let source = unescape(rest.next()?);
        Some(Self { number: (major.parse().ok()?, minor.parse().ok()?), at, file_system, source })
    }
}

/// The kernel writes blanks and backslashes in paths as `\040` and the like.
fn unescape(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 4 } else { 1 };
    }
    std::ffi::OsString::from_vec(out).into()
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
