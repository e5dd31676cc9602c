//! Paths: names between slashes, from the root on. A slash at the beginning or end, or more than one, means nothing.

use crate::error::FileError;
use crate::files::Files;
use crate::records::{Attributes, Inode, Kind};
use flashlane_device::DataDevice;

/// Returns the path of names below the root.
fn path_of(names: &[&[u8]]) -> Vec<u8> {
    [b"/", &*names.join(&b'/')].concat()
}

/// Returns the error of a path that leads through the file at `names`.
fn no_directory(names: &[&[u8]]) -> FileError {
    FileError::NoDirectory { name: String::new() }.of_path(path_of(names))
}

/// Returns the names of a path.
fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect()
}

impl<D: DataDevice, L: DataDevice> Files<'_, D, L> {
    /// Returns the properties of the file or directory with this path.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::NoDirectory`], [`FileError::Name`] and [`FileError::Store`].
    pub fn find(&mut self, path: impl AsRef<[u8]>) -> Result<Attributes, FileError> {
        let path = path.as_ref();
        let inode = self.walk(&names(path), path)?;
        self.attributes(inode).map_err(|error| error.of_path(path))
    }

    /// Returns the directory of a path and the name in it, which need not be there.
    ///
    /// # Errors
    /// [`FileError::Root`] where the path has no name, and those of [`find`](Self::find) for the directory.
    pub fn place(&mut self, path: impl AsRef<[u8]>) -> Result<(Inode, Vec<u8>), FileError> {
        let names = names(path.as_ref());
        let (name, above) = names.split_last().ok_or(FileError::Root)?;
        let directory = self.walk(above, &path_of(above))?;
        self.check_name(name)?;
        if self.attributes(directory)?.kind != Kind::Directory {
            return Err(no_directory(above));
        }
        Ok((directory, name.to_vec()))
    }

    /// Makes a directory, and those above it that are not there. It may be there itself.
    ///
    /// # Errors
    /// [`FileError::NoDirectory`] where a file is in the way, [`FileError::Name`] and [`FileError::Store`].
    pub fn make_directories(&mut self, path: impl AsRef<[u8]>) -> Result<Inode, FileError> {
        let names = names(path.as_ref());
        names.iter().try_for_each(|name| self.check_name(name))?;
        let mut directory = Inode::ROOT;
        for (at, name) in names.iter().enumerate() {
            directory = match self.lookup(directory, name)? {
                Some(entry) if entry.kind == Kind::Directory => entry.inode,
                Some(_) => return Err(no_directory(&names[..=at])),
                None => self.make_directory(directory, name)?,
            };
        }
        Ok(directory)
    }

    fn walk(&mut self, names: &[&[u8]], path: &[u8]) -> Result<Inode, FileError> {
        let (mut inode, mut kind) = (Inode::ROOT, Kind::Directory);
        for (at, name) in names.iter().enumerate() {
            if kind == Kind::File {
                return Err(no_directory(&names[..at]));
            }
            let missing = || FileError::Missing { name: String::new() }.of_path(path);
            let entry = self.lookup(inode, name)?.ok_or_else(missing)?;
            (inode, kind) = (entry.inode, entry.kind);
        }
        Ok(inode)
    }
}
