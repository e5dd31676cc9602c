//! Other processes that use a file or device: a database, a virtual machine, a file system in user space. They have it
//! open, or mapped: a mapping outlives the descriptor that it was made with.
//!
//! `/proc` shows the files of all processes to root, and of the user's own to others. A device counts only where
//! it is open for writing, because many services keep devices open for reading. A file counts where it is open for
//! reading or writing.
//!
//! The threads of a process share its memory, but one may have left the table of open files; and of a process whose
//! first thread has ended, only the others show anything.
//!
//! A file that is open through an overlay is the file in the layers too, and is looked for by all its identities.

use super::descriptors::{Unreceived, unreceived};
use super::layers::{Mounts, OpenFile};
use super::lookup::{names, storage, tables, threads};
use super::machine::{Backing, FileFacts, FileId, Number, Storage};
use rustix::fs::Stat;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A process that uses the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opener {
    pub program: String,
    pub process: u32,
    /// Where its use is a descriptor that is not among its open files.
    pub unreceived: Option<Unreceived>,
}

/// Looks for the processes that use a target.
pub(super) struct Openers<'a> {
    mounts: &'a Mounts<'a>,
    /// The identities of the target, and what lies below it.
    target: Vec<Storage>,
    /// The files among them, which programs may have open through an overlay.
    files: Vec<Backing>,
}

/// A file that a process has open or mapped.
struct Used {
    storage: Storage,
    /// Its path, as the process sees it.
    path: PathBuf,
    /// The link of `/proc` that leads to it.
    link: PathBuf,
    length_bytes: u64,
}

impl<'a> Openers<'a> {
    pub(super) fn new(mounts: &'a Mounts<'a>, target: Vec<Storage>, files: Vec<Backing>) -> Self {
        Self { mounts, target, files }
    }

    /// Returns the processes that use the target now.
    pub(super) fn find(&self) -> Vec<Opener> {
        let (this, proc) = (std::process::id(), self.mounts.proc);
        let processes = names(proc).into_iter().filter_map(|name| name.parse::<u32>().ok());
        let opener = |process: u32| {
            let unreceived = match self.is_used_by(process) {
                true => None,
                false => Some(self.unreceived_by(process)?),
            };
            let program = fs::read_to_string(proc.join(process.to_string()).join("comm")).unwrap_or_default();
            Some(Opener { program: program.trim().to_owned(), process, unreceived })
        };
        processes.filter(|process| *process != this).filter_map(opener).collect()
    }

    /// Returns whether a process may have a descriptor of a device of the target that is none of its open files.
    fn unreceived_by(&self, process: u32) -> Option<Unreceived> {
        if !self.target.iter().any(|on| matches!(on, Storage::Block(_))) {
            return None;
        }
        let tasks = tables(self.mounts.proc, &process.to_string()).into_iter();
        tasks.map(|task| self.mounts.proc.join(task)).find_map(|task| unreceived(&task, &self.target))
    }

    fn is_used_by(&self, process: u32) -> bool {
        let (proc, name) = (self.mounts.proc, process.to_string());
        let first = proc.join(&name);
        if self.is_open(&first) || self.is_mapped(&first) {
            return true;
        }
        let has_ended = fs::read(first.join("maps")).is_ok_and(|maps| maps.is_empty());
        tables(proc, &name).iter().skip(1).any(|thread| self.is_open(&proc.join(thread)))
            || has_ended && threads(proc, &name).iter().any(|thread| self.is_mapped(&proc.join(thread)))
    }

    fn is_open(&self, process: &Path) -> bool {
        let folder = process.join("fd");
        names(&folder).iter().any(|file| {
            let Some(used) = used(&folder.join(file)) else { return false };
            self.is_target(&used) && {
                let flags = flags(process, file);
                match used.storage {
                    // A descriptor of the path alone reads and writes nothing: another Flashlane holds one while it
                    // looks for openers.
                    Storage::File(_) => flags.is_none_or(|flags| flags & libc::O_PATH == 0),
                    Storage::Block(_) => flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY),
                }
            }
        })
    }

    fn is_mapped(&self, process: &Path) -> bool {
        let text = fs::read(process.join("maps")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut seen = BTreeSet::new();
        text.lines().filter_map(Mapping::parse).any(|mapping| {
            // The program and its libraries have several.
            if !seen.insert((mapping.device, mapping.inode, mapping.is_written, mapping.is_shared)) {
                return false;
            }
            // Where a file system has other numbers for `stat` than the kernel lists here, the link has those of
            // `stat`.
            let link = process.join("map_files").join(mapping.range);
            let listed = || {
                let (file_system, inode) = (mapping.device, mapping.inode);
                let length_bytes = fs::metadata(mapping.path).map_or(0, |data| data.len());
                let storage = Storage::File(FileId { file_system, inode });
                Used { storage, path: mapping.path.into(), link: link.clone(), length_bytes }
            };
            let used = used(&link).unwrap_or_else(listed);
            // Memory that is shared and of a file open for writing becomes writable by `mprotect`.
            let may_be_written = || mapping.is_shared && is_of_writer(&link);
            self.is_target(&used)
                && (mapping.is_written || matches!(used.storage, Storage::File(_)) || may_be_written())
        })
    }

    /// Returns whether a used file is the target, or below it, or may be as far as the layers of overlays are known.
    fn is_target(&self, used: &Used) -> bool {
        if self.target.contains(&used.storage) {
            return true;
        }
        let Storage::File(id) = used.storage else { return false };
        let is_elsewhere = |file: &&FileFacts| file.id.file_system != id.file_system;
        let facts = self.files.iter().filter_map(|file| file.file.as_ref());
        let mut others = facts.filter(is_elsewhere).peekable();
        if others.peek().is_none() {
            return false;
        }
        let file = OpenFile { id, path: &used.path, link: &used.link };
        let (layers, facts) = self.mounts.look_up(file, used.length_bytes..used.length_bytes + 1);
        layers.files.keys().any(|layer| self.target.contains(layer))
            || used.length_bytes > 0 && others.any(|file| facts.may_be(file))
    }
}

/// Returns what a link of `/proc` leads to; `None` for other types of files.
fn used(link: &Path) -> Option<Used> {
    let stat: Stat = rustix::fs::stat(link).ok()?;
    let storage = storage(&stat)?;
    let (path, length_bytes) = (fs::read_link(link).ok()?, stat.st_size as u64);
    Some(Used { storage, path, link: link.to_owned(), length_bytes })
}

/// A line of `/proc/PID/maps` with a file.
struct Mapping<'a> {
    range: &'a str,
    /// Whether a write to the memory is one to the file.
    is_written: bool,
    is_shared: bool,
    device: Number,
    inode: u64,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (range, rights, _offset) = (fields.next()?, fields.next()?, fields.next()?);
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        let inode = fields.next()?.parse().ok().filter(|&inode| inode != 0)?;
        let path = fields.next()?.trim_start();
        let is_shared = rights.ends_with('s');
        let is_written = is_shared && rights.contains('w');
        Some(Self { range, is_written, is_shared, device, inode, path })
    }
}

/// Returns whether what is mapped was opened for writing, as the rights of the link in `map_files` show.
fn is_of_writer(link: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(link).is_ok_and(|data| data.permissions().mode() & 0o200 != 0)
}

/// Returns the flags that a process opened a file with, which the kernel lists as an octal number.
fn flags(process: &Path, file: &str) -> Option<i32> {
    let text = fs::read_to_string(process.join("fdinfo").join(file)).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(flags.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::super::lookup::storage_at;
    use super::super::machine::InOverlay;
    use super::*;
    use rustix::fs::{major, minor};
    use std::os::unix::fs::{MetadataExt, symlink};

    /// A folder as `/proc` with one process, number 77.
    fn proc() -> (tempfile::TempDir, PathBuf) {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("77");
        for folder in ["fd", "fdinfo", "map_files"] {
            fs::create_dir_all(process.join(folder)).unwrap();
        }
        fs::write(process.join("comm"), "other\n").unwrap();
        (proc, process)
    }

    fn openers_of(proc: &Path, file: &Path) -> Vec<Opener> {
        Openers::new(&Mounts::of_all(proc), vec![storage_at(file).unwrap()], Vec::new()).find()
    }

    /// A file of another file system than all others here, with an identity there and these.
    fn file(id: FileId, others: &[Storage], length_bytes: u64, overlay: InOverlay, path: PathBuf) -> Backing {
        let lengths = length_bytes..length_bytes + 1;
        Backing {
            storage: [&[Storage::File(id)], others].concat(),
            file_system: id.file_system,
            range: 0..length_bytes,
            file: Some(FileFacts { id, lengths, overlay, path: Some(path), is_copied_up: false }),
            name: String::new(),
        }
    }

    fn other() -> Vec<Opener> {
        vec![Opener { program: "other".into(), process: 77, unreceived: None }]
    }

    #[test]
    fn descriptor_of_the_path_alone_is_no_opener() {
        let (proc, process) = proc();
        let file = proc.path().join("file");
        fs::write(&file, "").unwrap();
        symlink(&file, process.join("fd/3")).unwrap();
        for (flags, is_open) in [("012000000", false), ("0100000", true), ("0100002", true)] {
            fs::write(process.join("fdinfo/3"), format!("pos:\t0\nflags:\t{flags}\n")).unwrap();
            let expected = if is_open { other() } else { Vec::new() };
            assert_eq!(openers_of(proc.path(), &file), expected, "{flags}");
        }
    }

    #[test]
    fn thread_with_open_files_of_its_own_is_a_use() {
        let (proc, process) = proc();
        let file = proc.path().join("file");
        fs::write(&file, "").unwrap();
        let thread = process.join("task/78");
        for folder in ["fd", "fdinfo"] {
            fs::create_dir_all(thread.join(folder)).unwrap();
        }
        assert_eq!(openers_of(proc.path(), &file), []);
        symlink(&file, thread.join("fd/3")).unwrap();
        assert_eq!(openers_of(proc.path(), &file), other());
    }

    #[test]
    fn mapping_outlives_the_first_thread() {
        let (proc, process) = proc();
        let file = proc.path().join("file");
        fs::write(&file, "mapped").unwrap();
        let stat = fs::metadata(&file).unwrap();
        let device = format!("{:02x}:{:02x}", major(stat.dev()), minor(stat.dev()));
        fs::create_dir_all(process.join("task/78")).unwrap();
        let line = format!("7f00-7f01 r--s 00000000 {device} {}      {}\n", stat.ino(), file.display());
        fs::write(process.join("task/78/maps"), line).unwrap();
        fs::write(process.join("maps"), "").unwrap();
        assert_eq!(openers_of(proc.path(), &file), other());
    }

    #[test]
    fn mapping_without_a_descriptor_is_a_use() {
        let (proc, process) = proc();
        let file = proc.path().join("a file");
        fs::write(&file, "mapped").unwrap();
        let stat = fs::metadata(&file).unwrap();
        let device = format!("{:02x}:{:02x}", major(stat.dev()), minor(stat.dev()));
        let maps = |device: &str, inode: u64| {
            let line = format!("7f00-7f01 r--s 00000000 {device} {inode}      {}\n", file.display());
            fs::write(process.join("maps"), format!("00-01 rw-p 00000000 00:00 0\n{line}")).unwrap();
        };
        maps("00:01", 1);
        assert_eq!(openers_of(proc.path(), &file), []);
        maps(&device, stat.ino());
        assert_eq!(openers_of(proc.path(), &file), other());
        // The kernel lists another device number than that of the file.
        maps("00:01", 1);
        symlink(&file, process.join("map_files/7f00-7f01")).unwrap();
        assert_eq!(openers_of(proc.path(), &file), other());
    }

    #[test]
    fn file_open_through_an_overlay_is_that_of_its_layer() {
        let (proc, process) = proc();
        let path = |name: &str| proc.path().join(name);
        for folder in ["upper", "merged", "self"] {
            fs::create_dir(path(folder)).unwrap();
        }
        fs::write(path("upper/file"), "in the layer").unwrap();
        fs::write(path("merged/file"), "in the merge").unwrap();
        fs::write(path("merged/long"), "in the merge, longer").unwrap();
        fs::write(path("upper/free"), "free").unwrap();
        // A number that no mount has, as where layers are on several file systems.
        let mount = |layers: &str| {
            let line = format!("9 1 0:9999 / {} rw - overlay none rw,{layers}", path("merged").display());
            fs::write(path("self/mountinfo"), line).unwrap();
        };
        let opens = |name: &str| {
            let _ = fs::remove_file(process.join("fd/3"));
            symlink(path(name), process.join("fd/3")).unwrap();
            fs::write(process.join("fdinfo/3"), "flags:\t0100002\n").unwrap();
        };
        let inode = |name: &str| fs::metadata(path(name)).unwrap().ino();
        let is_open = |file: Backing| {
            !Openers::new(&Mounts::of_all(proc.path()), file.storage.clone(), vec![file]).find().is_empty()
        };
        // A file of a layer has the number of the overlay's.
        let is_used = |name: &str, shown: &str| {
            let id = FileId { file_system: (7, 7), inode: inode(shown) };
            let length_bytes = fs::metadata(path(name)).unwrap().len();
            is_open(file(id, &[storage_at(&path(name)).unwrap()], length_bytes, InOverlay::No, path(name)))
        };
        mount(&format!("lowerdir=/none,upperdir={}", path("upper").display()));
        opens("merged/file");
        assert!(is_used("upper/file", "upper/file") && !is_used("upper/free", "upper/free"));
        // Where a layer cannot be found, one of the same length and number may be the file.
        mount("lowerdir=lower,upperdir=upper");
        assert!(is_used("upper/file", "merged/file") && !is_used("upper/file", "merged/long"));
        opens("merged/long");
        assert!(!is_used("upper/file", "merged/long"));
        // The same for the target's layers.
        opens("upper/file");
        for (length_bytes, overlay) in
            [(12, InOverlay::Unknown), (12, InOverlay::Known), (13, InOverlay::Unknown)]
        {
            let id = FileId { file_system: (7, 7), inode: inode("upper/file") };
            let is_it = length_bytes == 12 && overlay == InOverlay::Unknown;
            let file = file(id, &[], length_bytes, overlay, path("merged/file"));
            assert_eq!(is_open(file), is_it, "{length_bytes}, {overlay:?}");
        }
    }
}
