//! Overlays and their layers: which files of both are the same, and which layers a file is in.
//!
//! The kernel lists layers by the names that they had once, and lists no overlay that is mounted nowhere any more. What
//! is found by such a name counts only if it has the inode number of the overlay's file (`FileFacts`).

use super::held::{Held, held_overlays};
use super::links::{ENTRIES_MAX, HasName, Links};
use super::lookup::{facts, facts_at, is_on_overlay, storage_at};
use super::machine::{FileFacts, FileId, InOverlay, Number, Storage};
use super::mounts::{Layer, Mount, mounts};
use super::namespaces::Namespaces;
use crate::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mounts, and the folder of the kernel that lists processes.
pub(super) struct Mounts<'a> {
    pub all: Vec<Mount>,
    pub proc: &'a Path,
    /// Why the mounts of some namespaces are not among them, one reason each.
    pub unseen: Vec<String>,
    /// Keeps the folders of `/proc` that the mounts name.
    _namespaces: Namespaces,
}

/// A file that a program or a loop device has open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile<'a> {
    pub id: FileId,
    /// The kernel's name, which may lead elsewhere.
    pub path: &'a Path,
    /// Leads to the file, if any path does.
    pub link: &'a Path,
}

/// The same file in the layers of an overlay, and in theirs. Each has its own identity.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// The files and their paths.
    pub files: BTreeMap<Storage, PathBuf>,
    /// Whether a layer was not found: it was named by a relative path, renamed, or is out of this process's reach, or
    /// the overlay is mounted nowhere.
    pub is_incomplete: bool,
}

impl Layers {
    pub(super) fn overlay(&self) -> InOverlay {
        match self.is_incomplete {
            true => InOverlay::Unknown,
            false if self.files.is_empty() => InOverlay::No,
            false => InOverlay::Known,
        }
    }
}

impl<'a> Mounts<'a> {
    /// The mounts of all namespaces, as `proc` (`/proc`) shows them now.
    pub(super) fn of_all(proc: &'a Path) -> Self {
        let mut namespaces = Namespaces::all(proc);
        let (all, unseen) = (std::mem::take(&mut namespaces.mounts), std::mem::take(&mut namespaces.unseen));
        Self { all, proc, unseen, _namespaces: namespaces }
    }

    /// The mounts of this process only.
    pub(super) fn of_this(proc: &'a Path) -> Self {
        Self::new(mounts(proc), proc)
    }

    fn new(all: Vec<Mount>, proc: &'a Path) -> Self {
        Self { all, proc, unseen: Vec::new(), _namespaces: Namespaces::default() }
    }

    /// Returns a file in the layers of its file system; nothing unless that is an overlay.
    pub(super) fn layers_of(&self, file: OpenFile<'_>) -> Layers {
        let mut layers = Layers::default();
        self.add_layers(file, &mut layers);
        layers
    }

    /// Returns a file of these lengths in its layers, and what is known of it.
    pub(super) fn look_up(&self, file: OpenFile<'_>, lengths: Range<u64>) -> (Layers, FileFacts) {
        let layers = self.layers_of(file);
        let facts = facts(file.id, lengths, layers.overlay(), file.link);
        (layers, facts)
    }

    fn add_layers(&self, file: OpenFile<'_>, all: &mut Layers) {
        let OpenFile { id, path, .. } = file;
        // Where the layers of an overlay are on several file systems, its files have device numbers that no mount has.
        let is_mounted = self.all.iter().any(|mount| mount.number == id.file_system);
        let is_of_file = |mount: &Mount| match is_mounted {
            true => mount.number == id.file_system,
            false => self.is_innermost(mount, path),
        };
        let is_overlay = |mount: &&Mount| mount.file_system == "overlay" && is_of_file(mount);
        let mut overlays = self.all.iter().filter(is_overlay).peekable();
        if overlays.peek().is_none() {
            all.is_incomplete |= !is_mounted && is_of_unmounted_overlay(file);
            return;
        }
        let mut is_found = false;
        for overlay in overlays {
            let layers = overlay.layers();
            let found: Vec<_> =
                layers.iter().filter_map(|layer| overlay.here(&layer.path, self.proc)).collect();
            all.is_incomplete |= found.len() < layers.len() || !found.iter().all(|layer| layer.is_dir());
            let Ok(inside) = path.strip_prefix(&overlay.at) else { continue };
            let inside = overlay.root.strip_prefix("/").unwrap_or(Path::new("")).join(inside);
            for path in found.iter().map(|layer| layer.join(&inside)) {
                let Some(on @ Storage::File(layer)) = storage_at(&path) else { continue };
                is_found |= id.has_inode_of(layer);
                if all.files.insert(on, path.clone()).is_none() {
                    self.add_layers(OpenFile { id: layer, path: &path, link: &path }, all);
                }
            }
        }
        all.is_incomplete |= !is_found;
    }

    /// Returns the overlays of which the file at `path` is in a layer.
    pub(super) fn overlays_over(&self, path: &Path) -> Vec<Finding> {
        let Ok(path) = path.canonicalize() else { return Vec::new() };
        let Some(facts) = facts_at(&path, InOverlay::No) else { return Vec::new() };
        let file = LayerFile {
            folders: path.ancestors().skip(1).filter_map(identity).collect(),
            place: self.place(&path),
            facts: &facts,
            path: &path,
        };
        let names = fs::metadata(&path).map_or(1, |data| data.nlink());
        let mut links = Links::new(&facts, ENTRIES_MAX);
        let mut seen = BTreeSet::new();
        let overlays = self.all.iter().filter(|mount| mount.file_system == "overlay");
        let finding = |mount: &Mount| {
            let has = match self.has_in_layer(mount, &file) {
                true => HasName::Yes,
                false if self.shows_bytes(mount, &facts) => HasName::Yes,
                false if names > 1 => self.has_link_in_layer(mount, &mut links),
                false => HasName::No,
            };
            let (file, overlay) = (path.clone(), mount.shown_at());
            let finding = match has {
                HasName::No => return None,
                HasName::Yes => Finding::Layer { file, overlay },
                HasName::Unknown => Finding::Link { file, names, overlay },
            };
            seen.insert(mount.number).then_some(finding)
        };
        let listed: Vec<_> = overlays.filter_map(finding).collect();
        let held = self.held_overlays_over(&facts).map(|held| Finding::Layer {
            file: path.clone(),
            overlay: format!("no path any more (process {} holds it)", held.process).into(),
        });
        listed.into_iter().chain(held).collect()
    }

    /// Returns the overlays that are mounted nowhere and show a file, as far as they have not too many files.
    fn held_overlays_over(&self, file: &FileFacts) -> impl Iterator<Item = Held> {
        let held = held_overlays(self.proc, &self.all.iter().map(|mount| mount.number).collect());
        let mut links = Links::of_bytes(file, ENTRIES_MAX);
        held.into_iter().filter(move |held| links.find(&held.top, InOverlay::Unknown) == HasName::Yes)
    }

    /// Returns whether a layer of an overlay has a further name of a file. Where a layer is not found, the overlay
    /// shows it.
    fn has_link_in_layer(&self, overlay: &Mount, links: &mut Links<'_>) -> HasName {
        let here = |path: &Path| overlay.here(path, self.proc);
        let layers = overlay.layers();
        let found: Vec<_> =
            layers.iter().filter_map(|layer| here(&layer.path)).filter(|at| at.is_dir()).collect();
        let merged = if found.len() < layers.len() { here(&overlay.at) } else { None };
        let mut has = HasName::No;
        let layers = found.iter().map(|layer| (layer, InOverlay::No));
        for (folder, kind) in layers.chain(merged.iter().map(|at| (at, InOverlay::Unknown))) {
            match links.find(folder, kind) {
                HasName::Yes => return HasName::Yes,
                HasName::Unknown => has = HasName::Unknown,
                HasName::No => {}
            }
        }
        has
    }

    /// Returns whether an overlay shows the bytes of a file, which may be in a data-only layer that is not found. Where
    /// the overlay has too many files, it counts as not shown.
    fn shows_bytes(&self, overlay: &Mount, file: &FileFacts) -> bool {
        let is_found = |layer: &Layer| overlay.here(&layer.path, self.proc).is_some_and(|at| at.is_dir());
        let is_lost = |layer: &Layer| layer.is_data_only && !is_found(layer);
        let merged = overlay.layers().iter().any(is_lost).then(|| overlay.here(&overlay.at, self.proc));
        let look_in = |merged: PathBuf| Links::of_bytes(file, ENTRIES_MAX).find(&merged, InOverlay::Unknown);
        merged.flatten().is_some_and(|merged| look_in(merged) == HasName::Yes)
    }

    /// Returns whether a file is in a layer of an overlay. A layer that the kernel names by another path has it if the
    /// overlay shows it by the end of its path.
    fn has_in_layer(&self, overlay: &Mount, file: &LayerFile<'_>) -> bool {
        let named = overlay.layers();
        let here: Vec<_> = named.iter().map(|layer| overlay.here(&layer.path, self.proc)).collect();
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
        let Some(at) = overlay.here(&overlay.at, self.proc) else { return false };
        let shows = |inside: &Path| {
            let shown = facts_at(&at.join(inside), InOverlay::Unknown);
            shown.is_some_and(|shown| shown.may_be(file.facts))
                && self.is_innermost(overlay, &overlay.at.join(inside))
        };
        let path = file.path;
        path.ancestors().skip(1).filter_map(|folder| path.strip_prefix(folder).ok()).any(shows)
    }

    /// Returns the file system of a path as this process sees it, and the path within it, whichever part of it is
    /// mounted.
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

/// Returns whether a file whose file system is mounted nowhere may be in an overlay. Where no path leads to it, its
/// device number shows only that its file system has no drive.
fn is_of_unmounted_overlay(file: OpenFile<'_>) -> bool {
    match storage_at(file.link) == Some(Storage::File(file.id)) {
        true => is_on_overlay(file.link),
        false => file.id.file_system.0 == 0,
    }
}

/// A file that may be in a layer of an overlay, looked up once for all overlays.
struct LayerFile<'a> {
    path: &'a Path,
    /// The folders above it.
    folders: Vec<Identity>,
    /// Its file system, and its path within it.
    place: Option<(Number, PathBuf)>,
    facts: &'a FileFacts,
}

/// Device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    rustix::fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
