//! A file that is in its place whole, or not at all.
//!
//! It is written under a name of its own in the same directory, one that nobody else can have and that follows no
//! link, then synced and renamed. What fails before leaves the place as it was and nothing beside it; only what kills
//! the program outright leaves a `.flashlane-*.part`.
//!
//! To whoever looks, a file that is replaced is still the same one: its mode stays, and its owner and group where the
//! system lets us give files away. Further names (hard links) keep the old one, as with all that rename.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// What may be done with a file that is there: its mode without the bits that writing to it would clear.
const ACCESS: u32 = 0o777;

/// A file on its way to its place. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    part: tempfile::NamedTempFile,
    place: PathBuf,
}

impl WholeFile {
    /// Begins the file that is to be at `place`. Where that is a link, the place is what the link leads to.
    ///
    /// # Errors
    /// What the system says, also of a link that leads nowhere; and where the place has no name, or is taken by what
    /// is no plain file.
    pub fn begin(place: &Path) -> io::Result<Self> {
        let old = place.metadata().ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Err(io::Error::other("it is no plain file"));
        }
        let place = if place.is_symlink() { place.canonicalize()? } else { place.to_owned() };
        if place.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let dir = place.parent().filter(|dir| *dir != OsStr::new("")).unwrap_or(Path::new("."));
        let mut beside = tempfile::Builder::new();
        beside.prefix(".flashlane-").suffix(".part");
        // Other users may read it as they may what programs write otherwise.
        beside.permissions(Permissions::from_mode(0o666));
        let part = beside.tempfile_in(dir)?;
        if let Some(old) = old {
            // Before there is anything in it that only some may read.
            resemble(part.as_file(), &old)?;
        }
        Ok(Self { part, place })
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        self.part.as_file_mut()
    }

    /// Puts it in its place, instead of a file that is there.
    ///
    /// # Errors
    /// What the system says; the place is then as it was.
    pub fn put(self) -> io::Result<()> {
        self.part.as_file().sync_all()?;
        self.part.persist(&self.place).map(drop).map_err(|error| error.error)
    }

    /// Puts it in its place where that is still free.
    ///
    /// # Errors
    /// What the system says, [`AlreadyExists`](io::ErrorKind::AlreadyExists) among it; the place is then as it was.
    pub fn put_new(self) -> io::Result<()> {
        self.part.as_file().sync_all()?;
        self.part.persist_noclobber(&self.place).map(drop).map_err(|error| error.error)
    }
}

/// Gives a new file the mode of the one that it replaces, and its owner and group if that may be.
fn resemble(new: &File, old: &Metadata) -> io::Result<()> {
    let meta = new.metadata()?;
    if (meta.uid(), meta.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file to another owner, and others to their groups only: it is theirs then.
        let _ = fchown(new, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(new, None, Some(old.gid())));
    }
    if (meta.mode() ^ old.mode()) & ACCESS == 0 {
        // Not all file systems take a mode.
        return Ok(());
    }
    new.set_permissions(Permissions::from_mode(old.mode() & ACCESS))
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn begun(place: &Path, text: &str) -> WholeFile {
        let mut file = WholeFile::begin(place).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn of_several_at_one_place_each_is_whole_and_the_last_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        let (mut first, second) = (begun(&place, "first"), begun(&place, "second"));
        second.put().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "second");
        first.write_all(b" to the end").unwrap();
        first.put().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "first to the end");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_dropped_or_finds_its_place_taken_leaves_all_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        let late = begun(&place, "late");
        drop(begun(&place, "half"));
        begun(&place, "early").put_new().unwrap();
        assert_eq!(late.put_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&place).unwrap(), "early");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_longest_name_has_room_beside_it_and_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("n".repeat(255));
        begun(&place, "text").put().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "text");
        for place in ["/", "", ".."] {
            assert!(WholeFile::begin(Path::new(place)).is_err(), "{place}");
        }
    }

    #[test]
    fn a_device_is_not_replaced_not_even_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(WholeFile::begin(&link).unwrap_err().to_string().contains("no plain file"));
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced_and_one_to_nowhere_is_refused() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (target, link) = (other.path().join("target"), dir.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(WholeFile::begin(&link).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&target, "old").unwrap();
        begun(&link, "new").put().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn it_may_be_read_by_whom_other_new_files_may_be_and_one_that_is_replaced_by_whom_it_might() {
        let dir = tempfile::tempdir().unwrap();
        let (place, plain) = (dir.path().join("place"), dir.path().join("plain"));
        begun(&place, "text").put().unwrap();
        fs::write(&plain, "text").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&place), mode(&plain));
        for given in [0o600, 0o444, 0o664, 0o777, 0o000] {
            fs::set_permissions(&place, Permissions::from_mode(given)).unwrap();
            let half = begun(&place, "other");
            assert_eq!(half.part.as_file().metadata().unwrap().mode() & 0o7777, given, "while it is written");
            half.put().unwrap();
            assert_eq!(mode(&place) & 0o7777, given);
        }
        // A program that others run as its owner is none any more, as when they write to it.
        fs::set_permissions(&place, Permissions::from_mode(0o4755)).unwrap();
        begun(&place, "other").put().unwrap();
        assert_eq!(mode(&place) & 0o7777, 0o755);
    }

    #[test]
    fn one_that_is_replaced_keeps_its_owner_where_we_may_give_it_away() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        fs::write(&place, "text").unwrap();
        if std::os::unix::fs::chown(&place, Some(65_534), Some(65_533)).is_err() {
            eprintln!("skipped: only root gives files away");
            return;
        }
        begun(&place, "other").put().unwrap();
        let meta = place.metadata().unwrap();
        assert_eq!((meta.uid(), meta.gid()), (65_534, 65_533));
    }
}
