//! A file that is in its place whole, or not at all.
//!
//! It is written under a name of its own in the same directory, one that nobody else can have and that follows no
//! link, then synced and renamed. What fails before leaves the place as it was and nothing beside it; only what kills
//! the program outright leaves a `.flashlane-*.part`.
//!
//! To whoever looks, a file that is replaced is still the same one: its mode stays, and its owner and group where the
//! system lets us give files away. Further names (hard links) keep the old one, as with all that rename.

mod place;

use place::{directory, find};
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
    /// What the system says; and in words of its own where the place is taken by what is no plain file, named as a
    /// directory is, in none that is there, or a link that leads nowhere.
    pub fn begin(place: &Path) -> io::Result<Self> {
        let (place, old) = find(place)?;
        let mut beside = tempfile::Builder::new();
        beside.prefix(".flashlane-").suffix(".part");
        // `tempfile`'s own way to open it tells errors with this name, which means nothing to anybody, and gives it to
        // one user only: others may read it as they may what programs write otherwise.
        let part = beside
            .make_in(directory(&place), |part| File::options().write(true).create_new(true).open(part))?;
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
mod tests;
