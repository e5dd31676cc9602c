//! Reads the machine's block devices, loop devices, mounts and swap spaces from the kernel.
//!
//! Unreadable entries are left out. Mounts come from every mount namespace that the process may read.

use super::lookup::{names, number, number_in, split, storage, storage_at};
use super::loops;
use super::machine::{Backing, BlockDevice, Machine, MountUse, Number, Storage, SwapUse};
use super::mounts::{Mount, namespaces, unescape};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The kernel counts in sectors of 512 bytes for every drive.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Returns the machine as `sys` and `proc` (`/sys` and `/proc`) describe it now.
pub(super) fn machine(sys: &Path, proc: &Path) -> Machine {
    let mut machine = Machine::default();
    let mounts = namespaces(proc);
    for entry in names(&sys.join("dev/block")) {
        let Some(number) = number(&entry) else { continue };
        let Ok(folder) = fs::canonicalize(sys.join("dev/block").join(&entry)) else { continue };
        machine.devices.insert(number, device(&folder, number, &mounts));
    }
    machine.mounts = mounts.iter().map(|mount| in_use(mount, &machine)).collect();
    machine.mounts.extend(btrfs(sys));
    let swaps = fs::read_to_string(proc.join("swaps")).unwrap_or_default();
    let paths = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape);
    machine.swaps = paths
        .filter_map(|path| Some(SwapUse { on: storage_at(&path)?, name: path.display().to_string() }))
        .collect();
    machine
}

fn device(folder: &Path, number: Number, mounts: &[Mount]) -> BlockDevice {
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
fn backing(folder: &Path, number: Number, length_bytes: u64, mounts: &[Mount]) -> Option<Backing> {
    let shown = fs::read(folder.join("loop/backing_file")).ok()?;
    let path = Path::new(OsStr::from_bytes(shown.strip_suffix(b"\n").unwrap_or(&shown)));
    let status = loops::status(&folder.file_name()?.to_string_lossy(), number).or_else(|| {
        let stat = rustix::fs::stat(path).ok()?;
        let offset = fs::read_to_string(folder.join("loop/offset")).ok();
        let offset_bytes = offset.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        Some(loops::Status { storage: storage(&stat)?, file_system: split(stat.st_dev), offset_bytes })
    })?;
    let mut identities = vec![status.storage];
    identities.extend(overlaid(path, status.file_system, mounts));
    Some(Backing {
        storage: identities,
        file_system: status.file_system,
        range: status.offset_bytes..status.offset_bytes.saturating_add(length_bytes),
        name: path.display().to_string(),
    })
}

/// Returns the same file in the layers of an overlay that holds `path`. Each has a separate identity.
pub(super) fn overlaid(path: &Path, file_system: Number, mounts: &[Mount]) -> Vec<Storage> {
    let overlays = mounts.iter().filter(|m| m.number == file_system && m.file_system == "overlay");
    let mut found = BTreeSet::new();
    for overlay in overlays {
        let Ok(inside) = path.strip_prefix(&overlay.at) else { continue };
        let inside = overlay.root.strip_prefix("/").unwrap_or(Path::new("")).join(inside);
        found.extend(overlay.layers().iter().filter_map(|layer| storage_at(&layer.join(&inside))));
    }
    found.into_iter().collect()
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
    MountUse { on: on.into_iter().collect(), at: mount.at.clone() }
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
