//! Other processes that have a file or device open: a database, a virtual machine, a file system in user space.
//!
//! `/proc` shows the open files of all processes to root, and of the user's own to others. A device counts only where
//! it is open for writing, because many services keep devices open for reading. A file counts where it is open for
//! reading or writing.

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
        // A descriptor of the path alone reads and writes nothing: another Flashlane holds one while it looks for openers.
        Some(Storage::File(_)) => flags(process, file).is_none_or(|flags| flags & libc::O_PATH == 0),
        Some(Storage::Block(_)) => {
            flags(process, file).is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
        }
        None => false,
    })
}

/// Returns the flags that a process opened a file with, which the kernel lists as an octal number.
fn flags(process: &Path, file: &str) -> Option<i32> {
    let text = fs::read_to_string(process.join("fdinfo").join(file)).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(flags.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn descriptor_of_the_path_alone_is_no_opener() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("77");
        fs::create_dir_all(process.join("fd")).unwrap();
        fs::create_dir_all(process.join("fdinfo")).unwrap();
        fs::write(process.join("comm"), "other\n").unwrap();
        let file = proc.path().join("file");
        fs::write(&file, "").unwrap();
        symlink(&file, process.join("fd/3")).unwrap();
        let target = [storage_at(&file).unwrap()];
        for (flags, is_open) in [("012000000", false), ("0100000", true), ("0100002", true)] {
            fs::write(process.join("fdinfo/3"), format!("pos:\t0\nflags:\t{flags}\n")).unwrap();
            let expected = is_open.then_some(Opener { program: "other".into(), process: 77 });
            assert_eq!(openers(proc.path(), &target), Vec::from_iter(expected), "{flags}");
        }
    }
}
