//! Looks up block devices and files by number, name and path.

use super::machine::{FileFacts, FileId, InOverlay, Number, Storage};
use rustix::fs::FileType;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Returns the storage at a path; `None` for other file types.
pub(super) fn storage_at(path: &Path) -> Option<Storage> {
    storage(&rustix::fs::stat(path).ok()?)
}

pub(super) fn storage(stat: &rustix::fs::Stat) -> Option<Storage> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Some(Storage::Block(split(stat.st_rdev))),
        FileType::RegularFile => {
            Some(Storage::File(FileId { file_system: split(stat.st_dev), inode: stat.st_ino }))
        }
        _ => None,
    }
}

/// Returns whether what is at a path belongs to an overlay.
pub(super) fn is_on_overlay(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|about| about.f_type == libc::OVERLAYFS_SUPER_MAGIC)
}

/// Returns what is known of a file of these lengths, to which `path` may lead. That an overlay has copied a file from a
/// lower layer, it notes in an attribute of the copy.
pub(super) fn facts(id: FileId, lengths: Range<u64>, overlay: InOverlay, path: &Path) -> FileFacts {
    let path = (storage_at(path) == Some(Storage::File(id))).then(|| path.to_owned());
    let has =
        |name| path.as_ref().is_some_and(|path| rustix::fs::getxattr(path, name, &mut [0_u8; 0][..]).is_ok());
    let is_copied_up = has("trusted.overlay.origin") || has("user.overlay.origin");
    FileFacts { id, lengths, overlay, path, is_copied_up }
}

/// Returns what is known of the file at a path, if there is one.
pub(super) fn facts_at(path: &Path, overlay: InOverlay) -> Option<FileFacts> {
    let stat = rustix::fs::stat(path).ok()?;
    let Some(Storage::File(id)) = storage(&stat) else { return None };
    let length_bytes = stat.st_size as u64;
    Some(facts(id, length_bytes..length_bytes.saturating_add(1), overlay, path))
}

/// Splits a device number into major and minor.
pub(super) fn split(device: u64) -> Number {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// Returns the device number in a folder of sysfs.
pub(super) fn number_in(folder: &Path) -> Option<Number> {
    number(&fs::read_to_string(folder.join("dev")).ok()?)
}

/// Parses `MAJOR:MINOR`.
pub(super) fn number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the names in a folder, sorted; empty where there is no such folder.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the numbers of the processes that `proc` lists, as it has them.
pub(super) fn processes(proc: &Path) -> impl Iterator<Item = String> {
    names(proc).into_iter().filter(|name| name.bytes().all(|character| character.is_ascii_digit()))
}

/// Returns the threads of a process that `proc` lists, but for the first, as folders of `proc`.
pub(super) fn threads(proc: &Path, process: &str) -> Vec<String> {
    let threads = names(&proc.join(process).join("task")).into_iter();
    threads.filter(|thread| thread != process).map(|thread| format!("{process}/task/{thread}")).collect()
}

/// Returns a process and those of its threads that have a table of open files of their own, as folders of `proc`.
pub(super) fn tables(proc: &Path, process: &str) -> Vec<String> {
    let number = |name: &str| name.rsplit('/').next().and_then(|name| name.parse::<u32>().ok());
    let first = number(process);
    let has_own = |thread: &String| match (first, number(thread)) {
        (Some(first), Some(thread)) => !shares_files(first, thread),
        _ => true,
    };
    let threads = threads(proc, process).into_iter().filter(has_own);
    std::iter::once(process.to_owned()).chain(threads).collect()
}

/// Returns whether two threads have one table of open files; false where the kernel does not say.
fn shares_files(one: u32, other: u32) -> bool {
    // Of <linux/kcmp.h>, which the libc crate leaves out.
    const KCMP_FILES: libc::c_long = 2;
    // SAFETY: the call takes numbers and changes nothing.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0_u64, 0_u64) == 0 }
}

/// Returns the node of a block device in `/dev`, if it has that number.
pub(super) fn node(name: &str, number: Number) -> Option<PathBuf> {
    // The kernel writes `!` for a slash in device names.
    let path = Path::new("/dev").join(name.replace('!', "/"));
    (storage_at(&path)? == Storage::Block(number)).then_some(path)
}
