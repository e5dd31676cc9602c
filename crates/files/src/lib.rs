//! Ordinary files, replaced atomically.
//!
//! An [`AtomicFile`] is written next to its path under a temporary name, synced and renamed: a crash leaves the old
//! file or the new one, never a part. Devices, pipes and directories are refused.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file being written, removed if dropped before a commit.
#[derive(Debug)]
pub struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file for `path`, or for its target if it is a symbolic link. It has the mode of the file
    /// that it replaces.
    ///
    /// # Errors
    /// Errors of the system, and [`ErrorKind::InvalidInput`] where `path` is not a regular file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
        let old = regular_file(&path)?;
        let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        // Mode 0666 minus the umask, as for any new file; `tempfile` alone would use 0600.
        let file = tempfile::Builder::new()
            .prefix(".flashlane-")
            .suffix(".part")
            .make_in(parent, |part| File::options().write(true).create_new(true).mode(0o666).open(part))?;
        if let Some(old) = old {
            file.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self { file, path })
    }

    /// Returns the path that the file gets, with a symbolic link at its end resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and renames it to its path, replacing a file there.
    ///
    /// # Errors
    /// Errors of the system; the old file is then unchanged.
    pub fn commit(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path)?;
        Ok(())
    }

    /// Syncs the file and renames it to its path, which must not exist.
    ///
    /// # Errors
    /// Errors of the system, [`ErrorKind::AlreadyExists`] where the path exists.
    pub fn commit_new(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(&self.path)?;
        Ok(())
    }
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
        created(&path, "third").commit().unwrap();
        assert_eq!((entries(&dir), fs::read(&path).unwrap().as_slice()), (1, &b"third"[..]));
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
        created(&path, "newer").commit().unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn commit_replaces_the_target_of_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        symlink(&target, &link).unwrap();
        assert_eq!(AtomicFile::create(&link).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&target, "old").unwrap();
        created(&link, "new").commit().unwrap();
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
