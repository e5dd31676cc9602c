//! Surveys the users and the existing data of a device or file: every reason not to write to it.
//!
//! | module | holds |
//! | --- | --- |
//! | `machine` | block devices, mounts and swap spaces as plain data |
//! | `read`, `mounts`, `loops`, `lookup` | the sources of that data |
//! | `graph` | all users of a target's bytes |
//! | `openers` | other processes that have it open |

mod graph;
mod lookup;
mod loops;
mod machine;
mod mounts;
mod openers;
mod read;

pub(crate) use mounts::{Mount, mounts};

use crate::blkid;
use crate::finding::Finding;
use crate::signature::{self, Signature};
use crate::target::{self, Target};
use machine::{Backing, Machine, Storage};
use openers::openers;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// Returns every reason not to write to `target`. Only reads.
///
/// # Errors
/// The operating system's error where the target cannot be opened for reading.
pub(crate) fn survey(target: &Target) -> io::Result<Vec<Finding>> {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    let machine = read::machine(sys, proc);
    let identities = identities(target, &machine, proc);
    let mut findings = uses(&machine, &identities, sys);
    findings.extend(open_elsewhere(&identities, proc));
    let file = target.open_to_read()?;
    let length_bytes =
        if target.block { target::block_device_length(&file)? } else { file.metadata()?.len() };
    let mut shows_own = false;
    match signature::find(length_bytes, |at, buffer| file.read_at(buffer, at)) {
        Ok(own) => {
            shows_own = own.iter().any(Signature::is_own);
            let named = blkid::find(&file).unwrap_or_default();
            findings.extend(signature::merge(named, own).into_iter().map(Finding::Signature));
        }
        Err(e) => findings.push(Finding::Unreadable { reason: format!("its bytes cannot be read: {e}") }),
    }
    if !shows_own
        && let Storage::Block(number) = identities[0]
        && let Some(backing) = machine.devices.get(&number).and_then(|device| device.backing.as_ref())
    {
        findings.extend(own_data_below(backing).map(Finding::Signature));
    }
    Ok(findings)
}

/// Returns every use of the target's bytes that the kernel reports.
fn uses(machine: &Machine, identities: &[Storage], sys: &Path) -> Vec<Finding> {
    let mut findings = graph::uses(machine, identities);
    if let Storage::Block(number) = identities[0]
        && !machine.devices.contains_key(&number)
    {
        let reason =
            format!("what uses it is unknown: {} has no entry for it", sys.join("dev/block").display());
        findings.push(Finding::Unreadable { reason });
    }
    for number in graph::devices_below(machine, identities) {
        let name = machine.name(number);
        if lookup::node(&name, number).is_some_and(|node| is_claimed(&node)) {
            findings.push(Finding::Claimed { device: name });
        }
    }
    findings
}

/// Returns the mark of Flashlane's own data at the ends of the file that a loop device presents a part of: the part may
/// begin inside a block, and then shows no mark itself.
fn own_data_below(backing: &Backing) -> Option<Signature> {
    let file = File::open(&backing.name).ok()?;
    let metadata = file.metadata().ok()?;
    let id = machine::FileId { file_system: lookup::split(metadata.dev()), inode: metadata.ino() };
    let is_backing = metadata.is_file() && backing.storage.contains(&Storage::File(id));
    let read_at = |at, buffer: &mut [u8]| file.read_at(buffer, at);
    let found = if is_backing { signature::find(metadata.len(), read_at).ok()? } else { Vec::new() };
    found.into_iter().find(Signature::is_own)
}

/// Returns the identities of the target: itself, and the same file in the layers of an overlay. Where layers are unknown, a
/// file counts as the one of the same length that a loop device presents: to ask once too often costs less than its data.
fn identities(target: &Target, machine: &Machine, proc: &Path) -> Vec<Storage> {
    let (file_system, inode, device) = target.identity;
    if target.block {
        return vec![Storage::Block(lookup::split(device))];
    }
    let file_system = lookup::split(file_system);
    let mut all = vec![Storage::File(machine::FileId { file_system, inode })];
    let layers = read::Mounts { all: mounts(proc), proc }.layers_of(&target.real, file_system);
    all.extend(layers.files);
    let length_bytes = target.real.metadata().map_or(0, |metadata| metadata.len());
    let backings = machine.devices.values().filter_map(|device| device.backing.as_ref());
    let possible = backings
        .filter(|backing| backing.is_partly_known || layers.is_incomplete)
        .filter(|backing| backing.has_length(length_bytes));
    all.extend(possible.flat_map(|backing| &backing.storage));
    all
}

/// Returns whether a device is claimed by the kernel or a process.
fn is_claimed(node: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let opened = options.read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Returns other processes that have the target open. A starting process shares its parent's files briefly, so retry.
fn open_elsewhere(identities: &[Storage], proc: &Path) -> Vec<Finding> {
    let mut found = openers(proc, identities);
    let mut tries_left = 20;
    while !found.is_empty() && tries_left > 0 {
        std::thread::sleep(Duration::from_millis(25));
        found = openers(proc, identities);
        tries_left -= 1;
    }
    let finding =
        |opener: openers::Opener| Finding::Open { program: opener.program, process: opener.process };
    found.into_iter().map(finding).collect()
}
