//! Ordinary files, replaced atomically.
//!
//! An [`AtomicFile`] is written next to its path under a temporary name, synced and renamed, and so is the directory: a
//! crash leaves the old file or the new one, never a part, and after a commit the new one. Devices, pipes and
//! directories are refused. Where only a certain file may be replaced or removed, it is first moved to a temporary name
//! and checked there, since any other file may take its path until then.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Syncs the directory of a path, so that the names in it survive a crash, where its file system can do that.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    match File::open(parent)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

/// A file being written, removed if dropped before a commit.
#[derive(Debug)]
pub struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file for `path`, or for its target if it is a symbolic link. It has the rights of the file
    /// that it replaces, without its setuid, setgid and sticky bits.
    ///
    /// # Errors
    /// Errors of the system, and [`ErrorKind::InvalidInput`] where `path` is not a regular file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
        let old = regular_file(&path)?;
        let file = part_beside(&path)?;
        if let Some(old) = old {
            // The file is a new one of this user: a right to run as the owner or group of the old one does not pass on.
            let rights = fs::Permissions::from_mode(old.permissions().mode() & 0o777);
            file.as_file().set_permissions(rights)?;
        }
        Ok(Self { file, path })
    }

    /// Returns the path that the file gets, with a symbolic link at its end resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs what is written so far, so that the commit has less to sync.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_file().sync_data()
    }

    /// Syncs the file and renames it to its path, which must not exist.
    ///
    /// # Errors
    /// Errors of the system, [`ErrorKind::AlreadyExists`] where the path exists.
    pub fn commit_new(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(&self.path)?;
        sync_directory(&self.path)
    }

    /// Syncs the file and renames it to its path, or, where that exists, to the first with a number in its name that
    /// does not. Returns the path that it has.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn commit_beside(self) -> io::Result<PathBuf> {
        self.file.as_file().sync_all()?;
        let Self { mut file, path } = self;
        for number in 0_u64.. {
            let beside = if number == 0 { path.clone() } else { numbered(&path, number) };
            match file.persist_noclobber(&beside) {
                Ok(_) => return sync_directory(&beside).map(|()| beside),
                Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => file = taken.file,
                Err(other) => return Err(other.error),
            }
        }
        unreachable!("a directory has fewer files than there are numbers")
    }

    /// Syncs the file and puts it in the place of the file at its path, which must pass `may_replace`: it is called
    /// with the path that the old file has by then. Without a file there, it is as [`commit_new`](Self::commit_new).
    /// Where the file system cannot exchange two files, the old one is checked at its own path directly before it is
    /// replaced.
    ///
    /// # Errors
    /// Errors of the system, [`ErrorKind::AlreadyExists`] where another file is at the path, which remains.
    pub fn commit_over(self, may_replace: impl FnOnce(&Path) -> bool) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let (is_exchanged, old) = match self.exchange() {
            Ok(()) => (true, self.file.path()),
            Err(Errno::NOENT) => return self.commit_new(),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => (false, self.path.as_path()),
            Err(error) => return Err(error.into()),
        };
        match (may_replace(old), is_exchanged) {
            (true, true) => sync_directory(&self.path).and_then(|()| self.file.close()),
            (true, false) => {
                self.file.persist(&self.path)?;
                sync_directory(&self.path)
            }
            (false, true) => Err(self.put_back()),
            (false, false) => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    /// Exchanges the file and the one at its path.
    fn exchange(&self) -> Result<(), Errno> {
        renameat_with(CWD, self.file.path(), CWD, &self.path, RenameFlags::EXCHANGE)
    }

    /// Returns another file, for which this one was exchanged, to its path. Returns the error to report.
    fn put_back(self) -> io::Error {
        let is_back = self.exchange().is_ok();
        let found = self.file.path().symlink_metadata();
        let is_own = |found: &Metadata| self.file.as_file().metadata().is_ok_and(|own| same(&own, found));
        if is_back && found.is_ok_and(|found| is_own(&found)) {
            return ErrorKind::AlreadyExists.into();
        }
        keep(self.file)
    }
}

/// Removes the file at `path` if it passes `may_remove`, which is called with the path that it has by then.
///
/// # Errors
/// Errors of the system, [`ErrorKind::AlreadyExists`] where it does not pass; it then remains.
pub fn remove_if(path: &Path, may_remove: impl FnOnce(&Path) -> bool) -> io::Result<()> {
    let part = part_beside(path)?;
    fs::rename(path, part.path())?;
    if may_remove(part.path()) {
        return part.close();
    }
    match part.persist_noclobber(path) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) => Err(keep(error.file)),
    }
}

/// Leaves a file of the user under its temporary name, since its path is taken again. Returns the error to report.
fn keep(part: NamedTempFile) -> io::Error {
    match part.keep() {
        Ok((_, kept)) => io::Error::new(
            ErrorKind::AlreadyExists,
            format!("other files came to its name meanwhile, and one of them is now '{}'", kept.display()),
        ),
        Err(error) => error.error,
    }
}

/// A regular file as it was when it was looked at.
#[derive(Debug)]
pub struct Seen {
    /// File system, inode, length and time of the last change of the content.
    state: (u64, u64, u64, i64, i64),
    /// While it is open, no new file has its inode.
    _open: Option<File>,
}

impl Seen {
    /// Looks at what is at `path`; `None` where there is nothing, or something else than a regular file.
    pub fn at(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(Metadata::is_file)?;
        Some(Self::new(path, &found))
    }

    /// The file at `path` that was `found` there.
    pub fn new(path: &Path, found: &Metadata) -> Self {
        Self { state: Self::state(found), _open: File::open(path).ok() }
    }

    fn state(found: &Metadata) -> (u64, u64, u64, i64, i64) {
        (found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec())
    }

    /// Returns whether this file, unchanged, is at `path`.
    pub fn is_at(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|found| self.is(&found))
    }

    /// Returns whether `found` is the metadata of this file, unchanged.
    pub fn is(&self, found: &Metadata) -> bool {
        Self::state(found) == self.state
    }

    /// Returns the length of the file.
    pub fn length_bytes(&self) -> u64 {
        self.state.2
    }
}

/// Creates a file with a temporary name in the directory of `path`.
fn part_beside(path: &Path) -> io::Result<NamedTempFile> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    // Mode 0666 minus the umask, as for any new file; `tempfile` alone would use 0600.
    tempfile::Builder::new()
        .prefix(".flashlane-")
        .suffix(".part")
        .make_in(parent, |part| File::options().write(true).create_new(true).mode(0o666).open(part))
}

/// Returns a path with a number in its name, before the first dot behind its beginning, so that endings stay.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let dot = name.iter().skip(1).position(|&byte| byte == b'.').map_or(name.len(), |at| at + 1);
    let numbered = [&name[..dot], format!("-{number}").as_bytes(), &name[dot..]].concat();
    path.with_file_name(OsString::from_vec(numbered))
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Returns the metadata of the regular file at `path`, or `None` where there is no file.
fn regular_file(path: &Path) -> io::Result<Option<Metadata>> {
    let refused =
        |kind| Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a regular file")));
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return refused("a directory");
    }
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => refused("a directory"),
        Ok(old) if !old.is_file() => refused("a device, pipe or socket"),
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn created(path: &Path, text: &str) -> AtomicFile {
        let mut file = AtomicFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn entries(dir: &tempfile::TempDir) -> usize {
        fs::read_dir(dir.path()).unwrap().count()
    }

    #[test]
    fn file_is_committed_beside_others() {
        let dir = tempfile::tempdir().unwrap();
        for (name, beside) in [("a.csv.gz", ["a.csv.gz", "a-1.csv.gz"]), (".a", [".a", ".a-1"])] {
            for beside in beside.map(|beside| dir.path().join(beside)) {
                let path = created(&dir.path().join(name), "new").commit_beside().unwrap();
                assert_eq!((&path, fs::read(&path).unwrap().as_slice()), (&beside, &b"new"[..]));
            }
        }
        assert_eq!(entries(&dir), 4);
    }

    #[test]
    fn dropped_file_keeps_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        drop(created(&path, "new"));
        assert_eq!(entries(&dir), 0);
        fs::write(&path, "old").unwrap();
        drop(created(&path, "new"));
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"old"[..]));
    }

    #[test]
    fn commit_new_never_replaces_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let (first, second) = (created(&path, "first"), created(&path, "second"));
        first.commit_new().unwrap();
        assert_eq!(second.commit_new().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"first"[..]));
        created(&path, "third").commit_over(|_| true).unwrap();
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"third"[..]));
    }

    #[test]
    fn commit_over_replaces_only_the_file_that_passes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let is = |old: &'static str| move |at: &Path| fs::read(at).is_ok_and(|found| found == old.as_bytes());
        created(&path, "first").commit_over(is("none")).unwrap();
        created(&path, "second").commit_over(is("first")).unwrap();
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"second"[..]));
        let error = created(&path, "third").commit_over(is("first")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"second"[..]));
    }

    #[test]
    fn files_that_come_one_after_the_other_all_remain() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "one").unwrap();
        let two = |_: &Path| {
            // The new file is at the path now.
            fs::rename(&path, dir.path().join("new")).unwrap();
            fs::write(&path, "two").unwrap();
            false
        };
        let error = created(&path, "new").commit_over(two).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let files = fs::read_dir(dir.path()).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        let mut files: Vec<_> = files.collect();
        files.sort();
        assert_eq!(files, [b"new", b"one", b"two"]);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert!(error.to_string().contains(".part"), "{error}");
    }

    #[test]
    fn changed_or_other_file_is_not_the_one_seen() {
        let dir = tempfile::tempdir().unwrap();
        let [path, moved] = ["file", "moved"].map(|name| dir.path().join(name));
        assert!(Seen::at(&path).is_none() && Seen::at(dir.path()).is_none());
        fs::write(&path, "one").unwrap();
        let seen = Seen::at(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        fs::write(&path, "one").unwrap();
        assert!(seen.is_at(&moved) && !seen.is_at(&path));
        symlink(&moved, dir.path().join("link")).unwrap();
        assert!(!seen.is_at(&dir.path().join("link")));
        fs::write(&moved, "longer").unwrap();
        assert!(!seen.is_at(&moved));
    }

    #[test]
    fn only_a_file_that_passes_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "mine").unwrap();
        assert_eq!(remove_if(&path, |_| false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"mine"[..]));
        remove_if(&path, |part| fs::read(part).unwrap() == b"mine").unwrap();
        assert_eq!(remove_if(&path, |_| true).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(entries(&dir), 0);
    }

    #[test]
    fn new_file_has_default_mode_and_replaced_one_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        let (plain, path) = (dir.path().join("plain"), dir.path().join("file"));
        File::create(&plain).unwrap();
        created(&path, "new").commit_new().unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        created(&path, "newer").commit_over(|_| true).unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn replaced_file_passes_on_no_right_to_run_as_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o7750)).unwrap();
        let file = AtomicFile::create(&path).unwrap();
        assert_eq!(file.file.path().metadata().unwrap().permissions().mode() & 0o7777, 0o750);
    }

    #[test]
    fn commit_over_replaces_the_target_of_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        symlink(&target, &link).unwrap();
        assert_eq!(AtomicFile::create(&link).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&target, "old").unwrap();
        created(&link, "new").commit_over(|_| true).unwrap();
        assert!(link.is_symlink());
        assert_eq!((entries(&dir), fs::read(&target).unwrap().as_slice()), (2, &b"new"[..]));
    }

    #[test]
    fn path_that_is_not_a_regular_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for (path, kind) in [
            (dir.path(), "a directory"),
            (&dir.path().join("new/"), "a directory"),
            (Path::new("/dev/null"), "a device"),
        ] {
            let error = AtomicFile::create(path).unwrap_err().to_string();
            assert!(error.contains(kind) && error.contains("not a regular file"), "{error}");
        }
        assert_eq!(
            AtomicFile::create(&dir.path().join("none/file")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(entries(&dir), 0);
    }
}
