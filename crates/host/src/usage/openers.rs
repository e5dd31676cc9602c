//! Other processes that have a file or device open: a database, a virtual machine, a file system in user space.
//!
//! `/proc` shows the open files of all processes to root, and of the user's own to others. A device counts only where
//! it is open for writing, because many services keep devices open for reading.

use super::lookup::{names, storage_at};
use super::machine::Storage;
use std::fs;
use std::path::Path;

/// A process that has the target open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opener {
    pub program: String,
    pub process: u32,
}

pub(super) fn openers(proc: &Path, target: &[Storage]) -> Vec<Opener> {
    let this = std::process::id();
    let processes = names(proc).into_iter().filter_map(|name| name.parse::<u32>().ok());
    let has = |process: &u32| *process != this && has_open(&proc.join(process.to_string()), target);
    let opener = |process: u32| {
        let program = fs::read_to_string(proc.join(process.to_string()).join("comm")).unwrap_or_default();
        Opener { program: program.trim().to_owned(), process }
    };
    processes.filter(has).map(opener).collect()
}

fn has_open(process: &Path, target: &[Storage]) -> bool {
    let folder = process.join("fd");
    names(&folder).iter().any(|file| match storage_at(&folder.join(file)) {
        Some(on) if !target.contains(&on) => false,
        Some(Storage::File(_)) => true,
        Some(Storage::Block(_)) => writes(&process.join("fdinfo").join(file)),
        None => false,
    })
}

/// Returns whether a file was opened for writing. Its flags are an octal number.
fn writes(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}
