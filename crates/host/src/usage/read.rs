//! Reads the machine's block devices, loop devices, mounts and swap spaces from the kernel.
//!
//! Unreadable entries are left out. Mounts come from every mount namespace that the process may read.

use super::layers::{Layers, Mounts, OpenFile};
use super::lookup::{names, number, number_in, split, storage, storage_at};
use super::loops;
use super::machine::{
    Backing, BlockDevice, FileFacts, FileId, InOverlay, Machine, MountUse, NO_FILE_SYSTEM, Number,
    SECTOR_BYTES, Storage, SwapUse,
};
use super::mounts::{Mount, read_escaped, unescape};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the machine as `sys` (`/sys`) and the folder of processes with these mounts describe it now.
pub(super) fn machine(sys: &Path, mounts: &Mounts<'_>) -> Machine {
    let mut machine = Machine::default();
    for entry in names(&sys.join("dev/block")) {
        let Some(number) = number(&entry) else { continue };
        let Ok(folder) = fs::canonicalize(sys.join("dev/block").join(&entry)) else { continue };
        machine.devices.insert(number, device(&folder, number, mounts));
    }
    let identities = |device: &BlockDevice| {
        let file = device.backing.as_ref().and_then(|backing| backing.file.as_ref());
        file.map_or_else(Vec::new, |file| machine.possible_identities(file))
    };
    let possible: Vec<_> = machine.devices.values().map(identities).collect();
    for (device, identities) in machine.devices.values_mut().zip(possible) {
        device.backing.iter_mut().for_each(|backing| backing.storage.extend(&identities));
    }
    machine.mounts = mounts.all.iter().map(|mount| in_use(mount, &machine)).collect();
    machine.mounts.extend(btrfs(sys));
    let swaps = read_escaped(&mounts.proc.join("swaps")).unwrap_or_default();
    let paths = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape);
    machine.swaps = paths
        .filter_map(|path| Some(SwapUse { on: storage_at(&path)?, name: path.display().to_string() }))
        .collect();
    machine
}

fn device(folder: &Path, number: Number, mounts: &Mounts<'_>) -> BlockDevice {
    let value =
        |name: &str| -> Option<u64> { fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok() };
    let bytes = |name: &str| value(name).unwrap_or(0).saturating_mul(SECTOR_BYTES);
    let is_partition = folder.join("partition").exists();
    let drive = is_partition.then(|| number_in(folder.parent()?)).flatten();
    let linked = |kind: &str| {
        let folder = folder.join(kind);
        names(&folder).into_iter().map(move |name| (number_in(&folder.join(&name)), name))
    };
    BlockDevice {
        name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        length_bytes: bytes("size"),
        partition_of: drive.map(|drive| (drive, bytes("start"))),
        backing: backing(folder, number, bytes("size"), mounts),
        slaves: linked("slaves").filter_map(|(number, _)| number).collect(),
        holders: linked("holders").map(|(number, name)| (name, number)).collect(),
    }
}

/// Returns the backing of a loop device: from its driver where permitted, else from the path that the kernel shows.
/// Where that leads nowhere either, any file of its length may be it.
fn backing(folder: &Path, number: Number, length_bytes: u64, mounts: &Mounts<'_>) -> Option<Backing> {
    let shown = fs::read(folder.join("loop/backing_file")).ok()?;
    let path = Path::new(OsStr::from_bytes(shown.strip_suffix(b"\n").unwrap_or(&shown)));
    let value = |name: &str| -> u64 {
        let text = fs::read_to_string(folder.join(name)).ok();
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    let named = || {
        let stat = rustix::fs::stat(path).ok();
        let known = stat.as_ref().and_then(|stat| Some((storage(stat)?, split(stat.st_dev))));
        let (storage, file_system) = known.unwrap_or((lost_file(number), NO_FILE_SYSTEM));
        let (offset_bytes, is_limited) = (value("loop/offset"), value("loop/sizelimit") != 0);
        loops::Status { storage, file_system, offset_bytes, is_limited }
    };
    let status = loops::status(&folder.file_name()?.to_string_lossy(), number).unwrap_or_else(named);
    let range = status.offset_bytes..status.offset_bytes.saturating_add(length_bytes);
    let lengths = Backing::lengths(&range, status.is_limited);
    let (layers, file) = match status.storage {
        Storage::File(id) if id.file_system == NO_FILE_SYSTEM => {
            // Its length decides alone.
            let overlay = InOverlay::Unknown;
            (Layers::default(), Some(FileFacts { id, lengths, overlay, path: None, is_copied_up: false }))
        }
        Storage::File(id) => {
            let (layers, file) = mounts.look_up(OpenFile { id, path, link: path }, lengths);
            (layers, Some(file))
        }
        Storage::Block(_) => (Layers::default(), None),
    };
    Some(Backing {
        storage: std::iter::once(status.storage).chain(layers.files.into_keys()).collect(),
        file_system: status.file_system,
        range,
        file,
        name: path.display().to_string(),
    })
}

/// Returns an identity for the file under a loop device of which no path or driver tells.
fn lost_file((major, minor): Number) -> Storage {
    let inode = (u64::from(major) << 32) | u64::from(minor);
    Storage::File(FileId { file_system: NO_FILE_SYSTEM, inode })
}

/// Returns the devices that hold a mounted file system.
fn in_use(mount: &Mount, machine: &Machine) -> MountUse {
    let mut on = BTreeSet::new();
    if machine.devices.contains_key(&mount.number) {
        on.insert(Storage::Block(mount.number));
    }
    // File systems without the device number of their drive (Btrfs, FUSE, EROFS over a file) name a device or file as
    // source.
    if mount.source.is_absolute() {
        on.extend(storage_at(&mount.source));
    }
    MountUse { on: on.into_iter().collect(), at: mount.shown_at() }
}

/// Returns the devices or files that hold the file system in which `path` is, absolute and without links: those of the
/// innermost mount above it, with all of a file system on several.
pub(super) fn storage_of(path: &Path, proc: &Path, machine: &Machine) -> Vec<Storage> {
    let mounts = super::mounts::mounts(proc);
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.at));
    // Of several on one directory the last one is seen.
    let Some(mount) = above.max_by_key(|mount| mount.at.components().count()) else { return Vec::new() };
    let mut on = in_use(mount, machine).on;
    let shares = |other: &&MountUse| other.on.iter().any(|storage| on.contains(storage));
    let others: Vec<Storage> =
        machine.mounts.iter().filter(shares).flat_map(|other| other.on.clone()).collect();
    on.extend(others);
    on
}

/// Returns all devices of every mounted Btrfs, which lists them.
fn btrfs(sys: &Path) -> Vec<MountUse> {
    let folder = sys.join("fs/btrfs");
    let mut mounts = Vec::new();
    for uuid in names(&folder) {
        let devices = folder.join(&uuid).join("devices");
        let on: Vec<Storage> = names(&devices)
            .iter()
            .filter_map(|name| number_in(&devices.join(name)).map(Storage::Block))
            .collect();
        if !on.is_empty() {
            mounts.push(MountUse { on, at: format!("a place of the Btrfs file system {uuid}").into() });
        }
    }
    mounts
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
