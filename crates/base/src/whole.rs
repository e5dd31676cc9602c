//! A file that is in its place whole, or not at all.
//!
//! It is written without a name in the directory of its place, then synced and linked there: whatever ends the
//! program, nothing is left. Where the file system has no files without names, and for the moment in which an old file
//! is replaced, it has a name of its own, `.flashlane-*.part`, which nobody else can have and which follows no link;
//! only what kills the program outright leaves that.
//!
//! To whoever looks, a file that is replaced is still the same one, but for ACLs and extended attributes: its mode
//! stays, and its owner and group where the system lets us give files away. Nobody gets to read it by that: what its
//! group might goes where the group is another, or was no more than the bound of an ACL. Further names (hard links)
//! keep the old one, as with all that rename.

mod place;

use place::{directory, find};
use rustix::fs::{AtFlags, CWD, OFlags};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{PathPersistError, TempPath};

/// What may be done with a file that is there: its mode without the bits that writing to it would clear.
const ACCESS: u32 = 0o777;
/// What its group may do; with an ACL, what anybody may to whom that gives something.
const GROUP: u32 = 0o070;
/// What holds a file's ACL.
const ACL: &str = "system.posix_acl_access";

/// A file on its way to its place. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    /// Its name until then, if it has one.
    part: Option<TempPath>,
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
        let mut options = File::options();
        // Who opens it before it has the old one's mode reads what is written later.
        options.write(true).mode(if old.is_some() { 0o600 } else { 0o666 });
        let (file, part) = match nameless(directory(&place), &options) {
            Some(file) => (file, None),
            None => named(directory(&place), |part| options.clone().create_new(true).open(part))
                .map(|(file, part)| (file, Some(part)))?,
        };
        if let Some(old) = old {
            resemble(&file, &old, has_acl(&place))?;
        }
        Ok(Self { file, part, place })
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Puts it in its place, instead of a file that is there.
    ///
    /// # Errors
    /// What the system says; the place is then as it was.
    pub fn put(self) -> io::Result<()> {
        self.file.sync_all()?;
        let part = match self.part {
            Some(part) => part,
            // A link takes no place that is taken; a name is moved there.
            None => match link(&self.file, &self.place) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    named(directory(&self.place), |part| link(&self.file, part))?.1
                }
                linked => return linked,
            },
        };
        part.persist(&self.place).map_err(|error| error.error)
    }

    /// Puts it in its place where that is still free.
    ///
    /// # Errors
    /// What the system says, [`AlreadyExists`](io::ErrorKind::AlreadyExists) among it; the place is then as it was.
    pub fn put_new(self) -> io::Result<()> {
        self.file.sync_all()?;
        match self.part {
            None => link(&self.file, &self.place),
            Some(part) => match part.persist_noclobber(&self.place) {
                Err(PathPersistError { error, path }) if error.kind() != ErrorKind::AlreadyExists => {
                    take(path, &self.place)
                }
                put => put.map_err(|error| error.error),
            },
        }
    }
}

/// A file without a name in that directory, which can get one; nothing where that is not to be had.
fn nameless(dir: &Path, options: &OpenOptions) -> Option<File> {
    let flags = OFlags::TMPFILE.bits().cast_signed();
    let file = options.clone().custom_flags(flags).open(dir).ok()?;
    // It gets its name by way of this.
    through_proc(&file).exists().then_some(file)
}

/// Gives a file without a name one that is free.
fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::linkat(CWD, through_proc(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn through_proc(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// What `make` makes under a name of our own in that directory, and the name. `tempfile`'s own ways to open a file tell
/// errors with a name that means nothing to anybody, and give it to one user only.
fn named<T>(dir: &Path, make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, TempPath)> {
    let made = tempfile::Builder::new().prefix(".flashlane-").suffix(".part").make_in(dir, make)?;
    Ok(made.into_parts())
}

/// Moves a file to a place that is free where the file system has neither hard links nor renames that overwrite
/// nothing: the place is taken by an empty file first. Such a one is left if the program is killed in between.
fn take(part: TempPath, place: &Path) -> io::Result<()> {
    File::create_new(place)?;
    part.persist(place).map_err(|error| {
        let _ = fs::remove_file(place);
        error.error
    })
}

/// Gives a new file the mode of the one that it replaces, and its owner and group if that may be.
fn resemble(new: &File, old: &Metadata, had_acl: bool) -> io::Result<()> {
    // That which the directory gives to new files.
    let _ = rustix::fs::fremovexattr(new, ACL);
    let meta = new.metadata()?;
    if (meta.uid(), meta.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file to another owner, and others to their groups only: it is theirs then.
        let _ = fchown(new, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(new, None, Some(old.gid())));
    }
    let meta = new.metadata()?;
    let mode = access(old.mode(), meta.gid() == old.gid() && !had_acl);
    if meta.mode() & ACCESS == mode {
        // Not all file systems take a mode.
        return Ok(());
    }
    new.set_permissions(Permissions::from_mode(mode))
}

/// What may be done with what replaces a file of this mode, whose group bits may still mean the same people or not.
fn access(old_mode: u32, keeps_group: bool) -> u32 {
    old_mode & if keeps_group { ACCESS } else { ACCESS & !GROUP }
}

fn has_acl(place: &Path) -> bool {
    rustix::fs::getxattr(place, ACL, &mut [0u8; 0][..]).is_ok()
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
