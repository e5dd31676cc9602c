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
use machine::{Backing, Machine, Number, Storage};
use openers::Openers;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Returns every reason not to write to `target`. Only reads.
///
/// # Errors
/// The operating system's error where the target cannot be opened for reading.
pub(crate) fn survey(target: &Target) -> io::Result<Vec<Finding>> {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    let machine = read::machine(sys, proc);
    let (identities, is_partly_known) = identities(target, &machine, proc);
    let mut findings = uses(&machine, &identities, sys);
    let length_bytes = if target.block { None } else { target.real.metadata().ok().map(|data| data.len()) };
    let used = graph::storage_below(&machine, &identities);
    findings.extend(open_elsewhere(&Openers::new(proc, used, length_bytes, is_partly_known)));
    findings.extend(hidden_use(target, proc));
    let content = content(target)?;
    let is_own = |finding: &Finding| matches!(finding, Finding::Signature(signature) if signature.is_own());
    let shows_own = content.iter().any(is_own);
    findings.extend(content);
    if let Storage::Block(number) = identities[0] {
        findings.extend(data_below(&machine, number, shows_own));
    }
    Ok(findings)
}

/// Returns the reasons not to write to `target` that its bytes show.
///
/// # Errors
/// As [`survey`].
pub(crate) fn content(target: &Target) -> io::Result<Vec<Finding>> {
    let file = target.open_to_read()?;
    let length_bytes =
        if target.block { target::block_device_length(&file)? } else { file.metadata()?.len() };
    Ok(match signatures(&file, length_bytes) {
        Ok(found) => found.into_iter().map(Finding::Signature).collect(),
        Err(e) => vec![Finding::Unreadable { reason: format!("its bytes cannot be read: {e}") }],
    })
}

/// Returns the signatures on a file or device of this length, by libblkid and our own table.
fn signatures(file: &File, length_bytes: u64) -> io::Result<Vec<Signature>> {
    let own = signature::find(length_bytes, |at, buffer| file.read_at(buffer, at))?;
    Ok(signature::merge(blkid::find(file).unwrap_or_default(), own))
}

/// Returns whether the file is on a FUSE file system, which may show a file that is in use by another name. One on a block
/// device of its own (`fuseblk`) shows no file of another file system.
fn hidden_use(target: &Target, proc: &Path) -> Option<Finding> {
    const FUSE: i64 = 0x6573_5546;
    if target.block || target.file_system_magic().ok()? != FUSE {
        return None;
    }
    let number = lookup::split(target.identity.0);
    let mount = mounts(proc).into_iter().find(|mount| mount.number == number);
    let file_system = mount.map_or_else(|| "fuse".to_owned(), |mount| mount.file_system);
    (file_system != "fuseblk").then_some(Finding::HiddenUse { file_system })
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

/// Returns the signatures of all files and devices of which the loop devices at and below a device present a part, where the part
/// may show none itself: it may begin inside a block of ours, or inside a file system. Of a part that begins with the file, only
/// our own marks count, and partition tables never do: what they describe lies behind them. Our own marks count once, and
/// not at all if the device `shows_own`.
fn data_below(machine: &Machine, number: Number, mut shows_own: bool) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for (backing, is_inside) in graph::loops_below(machine, number) {
        let found = match open_below(backing).map(|(file, length_bytes)| signatures(&file, length_bytes)) {
            Some(Ok(found)) => found,
            _ if is_inside => {
                let reason =
                    format!("what is in '{}', of which it presents a part, cannot be read", backing.name);
                findings.push(Finding::Unreadable { reason });
                continue;
            }
            _ => continue,
        };
        for mut signature in found {
            let counts = match signature.is_own() {
                true => !std::mem::replace(&mut shows_own, true),
                false => is_inside && !signature.is_table() && seen.insert(signature.what.clone()),
            };
            if counts && !signature.is_own() {
                signature.what =
                    format!("{} in '{}', of which it presents a part", signature.what, backing.name);
            }
            findings.extend(counts.then_some(Finding::Signature(signature)));
        }
    }
    findings
}

/// Opens the backing of a loop device, if its name still leads to it. Returns its length too.
fn open_below(backing: &Backing) -> Option<(File, u64)> {
    let path = Path::new(&backing.name);
    let on = lookup::storage_at(path)?;
    if !backing.storage.contains(&on) {
        return None;
    }
    let file = File::open(path).ok()?;
    let length_bytes = match on {
        Storage::Block(_) => target::block_device_length(&file).ok()?,
        Storage::File(_) => file.metadata().ok()?.len(),
    };
    Some((file, length_bytes))
}

/// Returns the identities of the target: itself, and the same file in the layers of an overlay. Where layers are unknown, a
/// file counts as the one of the same length that a loop device presents: to ask once too often costs less than its data. Also
/// returns whether layers are unknown.
fn identities(target: &Target, machine: &Machine, proc: &Path) -> (Vec<Storage>, bool) {
    let (file_system, inode, device) = target.identity;
    if target.block {
        return (vec![Storage::Block(lookup::split(device))], false);
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
    (all, layers.is_incomplete)
}

/// Returns whether a device is claimed by the kernel or a process.
fn is_claimed(node: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let opened = options.read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Returns other processes that have the target open. A starting process shares its parent's files briefly, so retry.
fn open_elsewhere(openers: &Openers<'_>) -> Vec<Finding> {
    let mut found = openers.find();
    let mut tries_left = 20;
    while !found.is_empty() && tries_left > 0 {
        std::thread::sleep(Duration::from_millis(25));
        found = openers.find();
        tries_left -= 1;
    }
    let finding =
        |opener: openers::Opener| Finding::Open { program: opener.program, process: opener.process };
    found.into_iter().map(finding).collect()
}
