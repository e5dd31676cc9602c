//! Reads the machine's block devices, loop devices, mounts and swap spaces from the kernel.
//!
//! Unreadable entries are left out. Mounts come from every mount namespace that the process may read.

use super::lookup::{names, number, number_in, split, storage, storage_at};
use super::loops;
use super::machine::{Backing, BlockDevice, Machine, MountUse, Number, SECTOR_BYTES, Storage, SwapUse};
use super::mounts::{Mount, namespaces, read_escaped, unescape};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the machine as `sys` (`/sys`) and the folder of processes with these mounts describe it now.
pub(super) fn machine(sys: &Path, mounts: &Mounts<'_>) -> Machine {
    let mut machine = Machine::default();
    for entry in names(&sys.join("dev/block")) {
        let Some(number) = number(&entry) else { continue };
        let Ok(folder) = fs::canonicalize(sys.join("dev/block").join(&entry)) else { continue };
        machine.devices.insert(number, device(&folder, number, mounts));
    }
    let identities = |device: &BlockDevice| match &device.backing {
        Some(backing) => machine.possible_identities(backing),
        None => Vec::new(),
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
fn backing(folder: &Path, number: Number, length_bytes: u64, mounts: &Mounts<'_>) -> Option<Backing> {
    let shown = fs::read(folder.join("loop/backing_file")).ok()?;
    let path = Path::new(OsStr::from_bytes(shown.strip_suffix(b"\n").unwrap_or(&shown)));
    let status = loops::status(&folder.file_name()?.to_string_lossy(), number).or_else(|| {
        let stat = rustix::fs::stat(path).ok()?;
        let value = |name: &str| -> u64 {
            let text = fs::read_to_string(folder.join(name)).ok();
            text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        Some(loops::Status {
            storage: storage(&stat)?,
            file_system: split(stat.st_dev),
            offset_bytes: value("loop/offset"),
            is_limited: value("loop/sizelimit") != 0,
        })
    })?;
    let layers = mounts.layers_of(path, status.file_system);
    let range = status.offset_bytes..status.offset_bytes.saturating_add(length_bytes);
    Some(Backing {
        storage: std::iter::once(status.storage).chain(layers.files.into_keys()).collect(),
        file_system: status.file_system,
        lengths: Backing::lengths(&range, status.is_limited),
        range,
        is_partly_known: layers.is_incomplete,
        name: path.display().to_string(),
    })
}

/// Mounts, and the folder of the kernel that lists processes.
pub(super) struct Mounts<'a> {
    pub all: Vec<Mount>,
    pub proc: &'a Path,
}

/// The same file in the layers of an overlay, and in theirs. Each has its own identity.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// The files and their paths.
    pub files: BTreeMap<Storage, PathBuf>,
    /// Whether a layer was not found: it was named by a relative path, renamed, or is out of this process's reach.
    pub is_incomplete: bool,
}

impl<'a> Mounts<'a> {
    /// The mounts of all namespaces, as `proc` (`/proc`) shows them now.
    pub(super) fn of_all(proc: &'a Path) -> Self {
        Self { all: namespaces(proc), proc }
    }

    /// Returns the file at `path` in the layers of its file system; nothing unless that is an overlay.
    pub(super) fn layers_of(&self, path: &Path, file_system: Number) -> Layers {
        let mut layers = Layers::default();
        self.add_layers(path, file_system, &mut layers);
        layers
    }

    fn add_layers(&self, path: &Path, file_system: Number, all: &mut Layers) {
        // Where the layers of an overlay are on several file systems, its files have device numbers that no mount has.
        let is_mounted = self.all.iter().any(|mount| mount.number == file_system);
        let is_of_file = |mount: &Mount| match is_mounted {
            true => mount.number == file_system,
            false => self.is_innermost(mount, path),
        };
        let is_overlay = |mount: &&Mount| mount.file_system == "overlay" && is_of_file(mount);
        let mut overlays = self.all.iter().filter(is_overlay).peekable();
        if overlays.peek().is_none() {
            return;
        }
        let mut is_found = false;
        for overlay in overlays {
            let layers = overlay.layers();
            let found: Vec<_> = layers.iter().filter_map(|layer| overlay.here(layer, self.proc)).collect();
            all.is_incomplete |= found.len() < layers.len() || !found.iter().all(|layer| layer.is_dir());
            let Ok(inside) = path.strip_prefix(&overlay.at) else { continue };
            let inside = overlay.root.strip_prefix("/").unwrap_or(Path::new("")).join(inside);
            for path in found.iter().map(|layer| layer.join(&inside)) {
                let Some(on @ Storage::File(file)) = storage_at(&path) else { continue };
                is_found = true;
                if all.files.insert(on, path.clone()).is_none() {
                    self.add_layers(&path, file.file_system, all);
                }
            }
        }
        all.is_incomplete |= !is_found;
    }

    /// Returns the mount points of the overlays of which the file at `path` is in a layer.
    pub(super) fn overlays_over(&self, path: &Path) -> Vec<PathBuf> {
        let Ok(path) = path.canonicalize() else { return Vec::new() };
        let file = LayerFile {
            folders: path.ancestors().skip(1).filter_map(identity).collect(),
            place: self.place(&path),
            path,
        };
        let mut seen = BTreeSet::new();
        let overlays = self.all.iter().filter(|mount| mount.file_system == "overlay");
        let over =
            overlays.filter(|overlay| self.has_in_layer(overlay, &file) && seen.insert(overlay.number));
        over.map(Mount::shown_at).collect()
    }

    /// Returns whether a file is in a layer of an overlay. Where layers are unknown, it counts as in one of them if the overlay
    /// has a file of its length by the end of its path.
    fn has_in_layer(&self, overlay: &Mount, file: &LayerFile) -> bool {
        let named = overlay.layers();
        let here: Vec<_> = named.iter().map(|layer| overlay.here(layer, self.proc)).collect();
        let layers: Vec<_> = here.iter().map(|layer| identity(layer.as_ref()?)).collect();
        if file.folders.iter().any(|&folder| layers.contains(&Some(folder))) {
            return true;
        }
        // A part of a layer that is mounted elsewhere has no folder of that layer above it.
        let holds = |(file_system, inside): &(Number, PathBuf)| {
            file.place.as_ref().is_some_and(|place| place.0 == *file_system && place.1.starts_with(inside))
        };
        let place = |layer: &PathBuf| self.place(&layer.canonicalize().ok()?);
        if here.iter().flatten().filter_map(place).any(|layer| holds(&layer)) {
            return true;
        }
        let Some(at) = overlay.here(&overlay.at, self.proc).filter(|_| layers.contains(&None)) else {
            return false;
        };
        let length_bytes =
            |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
        let path = file.path.as_path();
        let shows = |inside: &Path| {
            let shown = at.join(inside);
            let is_shown = length_bytes(&shown).is_some_and(|length| Some(length) == length_bytes(path));
            is_shown
                && identity(&shown) != identity(path)
                && self.is_innermost(overlay, &overlay.at.join(inside))
        };
        path.ancestors().skip(1).filter_map(|folder| path.strip_prefix(folder).ok()).any(shows)
    }

    /// Returns the file system of a path as this process sees it, and the path within it, whichever part of it is mounted.
    fn place(&self, path: &Path) -> Option<(Number, PathBuf)> {
        let covers = |mount: &&Mount| mount.process.is_none() && path.starts_with(&mount.at);
        // Of mounts at one place the last one is seen.
        let mount = self.all.iter().filter(covers).max_by_key(|mount| mount.at.as_os_str().len())?;
        Some((mount.number, mount.root.join(path.strip_prefix(&mount.at).ok()?)))
    }

    /// Returns whether a path lies in a mount, and in none below it that the same processes see.
    fn is_innermost(&self, mount: &Mount, path: &Path) -> bool {
        let covers = |other: &&Mount| other.process == mount.process && path.starts_with(&other.at);
        let innermost = self.all.iter().filter(covers).map(|other| other.at.as_os_str().len()).max();
        path.starts_with(&mount.at) && innermost == Some(mount.at.as_os_str().len())
    }
}

/// A file that may be in a layer of an overlay, looked up once for all overlays.
struct LayerFile {
    path: PathBuf,
    /// The folders above it.
    folders: Vec<Identity>,
    /// Its file system, and its path within it.
    place: Option<(Number, PathBuf)>,
}

/// Device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    rustix::fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino))
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
