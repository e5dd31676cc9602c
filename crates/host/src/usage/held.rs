//! Overlays that no mount namespace lists and that a process still holds by a directory: unmounted lazily, or never
//! attached.
//!
//! Their layers are not known, but what they show is found below that directory.

use super::lookup::{is_on_overlay, names, processes, split, tables, threads};
use super::machine::Number;
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An overlay without a mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Leads to its uppermost directory that can be reached.
    pub top: PathBuf,
    /// The number of a process that is in it or has a directory of it open, with one of its threads at least.
    pub process: String,
}

/// Returns the overlays that processes hold and whose device numbers are not among those of the mounts.
pub(super) fn held_overlays(proc: &Path, mounted: &BTreeSet<Number>) -> Vec<Held> {
    let mut seen = mounted.clone();
    let mut found = Vec::new();
    for process in processes(proc) {
        let tasks = std::iter::once(process.clone()).chain(threads(proc, &process));
        let places = tasks.flat_map(|task| ["cwd", "root"].map(|name| proc.join(&task).join(name)));
        let folders = tables(proc, &process).into_iter().map(|task| proc.join(task).join("fd"));
        let files = folders.flat_map(|folder| names(&folder).into_iter().map(move |fd| folder.join(fd)));
        for link in places.chain(files) {
            let is_new = directory(&link).is_some_and(|(device, _)| !seen.contains(&split(device)));
            if is_new && is_on_overlay(&link) {
                seen.extend(directory(&link).map(|(device, _)| split(device)));
                found.push(Held { top: top_of(link), process: process.clone() });
            }
        }
    }
    found
}

/// Returns the highest directory above one on its file system.
fn top_of(mut path: PathBuf) -> PathBuf {
    loop {
        let above = path.join("..");
        match (directory(&path), directory(&above)) {
            (Some(here), Some(there)) if here.0 == there.0 && here.1 != there.1 => path = above,
            _ => return path,
        }
    }
}

/// Returns the device and the inode of the directory at a path, if it leads to one.
fn directory(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    is_directory.then_some((stat.st_dev, stat.st_ino))
}
