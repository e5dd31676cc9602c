//! Directories: names are looked up, listed, added, removed and renamed.

use crate::error::FileError;
use crate::files::Files;
use crate::records::{
    Attributes, Entry, Inode, Kind, decode_entry, encode_entry, entry_key, inode_key, unfinished_key,
};
use flashlane_device::DataDevice;
use flashlane_store::text::escape;
use flashlane_store::{Batch, end_of_prefix};

impl<D: DataDevice, L: DataDevice> Files<'_, D, L> {
    /// Returns what a name of a directory stands for, if there is such a name.
    ///
    /// # Errors
    /// [`FileError::Name`] and [`FileError::Store`].
    pub fn lookup(&mut self, directory: Inode, name: &[u8]) -> Result<Option<Entry>, FileError> {
        self.check_name(name)?;
        let key = entry_key(Some(directory), name);
        let value = self.get(&key)?;
        value.map(|value| decode_entry(&key, &value)).transpose()
    }

    /// Returns the names of a directory in their order, those behind `after` where it is given, and at most `most`.
    ///
    /// # Errors
    /// [`FileError::Malformed`] and [`FileError::Store`].
    pub fn list(
        &mut self,
        directory: Inode,
        after: Option<&[u8]>,
        most: usize,
    ) -> Result<Vec<Entry>, FileError> {
        let all = entry_key(Some(directory), b"");
        let start =
            after.map_or_else(|| all.clone(), |name| entry_key(Some(directory), &[name, &[0]].concat()));
        let found = self.store.entries(&start, end_of_prefix(&all).as_deref(), true).take(most);
        found
            .map(|item| {
                let item = item?;
                decode_entry(&item.key, item.value.as_deref().unwrap_or_default())
            })
            .collect()
    }

    /// Makes an empty directory.
    ///
    /// # Errors
    /// [`FileError::Exists`], [`FileError::Name`], [`FileError::NoDirectory`] and [`FileError::Store`].
    pub fn make_directory(&mut self, directory: Inode, name: &[u8]) -> Result<Inode, FileError> {
        self.add(directory, name, Kind::Directory)
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// [`FileError::Exists`], [`FileError::Name`], [`FileError::NoDirectory`] and [`FileError::Store`].
    pub fn create(&mut self, directory: Inode, name: &[u8]) -> Result<Inode, FileError> {
        self.add(directory, name, Kind::File)
    }

    fn add(&mut self, directory: Inode, name: &[u8], kind: Kind) -> Result<Inode, FileError> {
        self.begin_change()?;
        let mut batch = self.touched(directory)?;
        if self.lookup(directory, name)?.is_some() {
            return Err(FileError::Exists { name: escape(name) });
        }
        let inode = self.next_inode(&mut batch);
        let attributes = match kind {
            Kind::File => Attributes::file(inode, 0, self.now_ms),
            Kind::Directory => Attributes::directory(inode, directory, self.now_ms),
        };
        batch.put(inode_key(Some(inode)), attributes.encode());
        batch.put(entry_key(Some(directory), name), encode_entry(kind, inode));
        self.store.write(batch)?;
        Ok(inode)
    }

    /// Removes a file, or an empty directory.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::NotEmpty`] and [`FileError::Store`].
    pub fn remove(&mut self, directory: Inode, name: &[u8]) -> Result<(), FileError> {
        self.begin_delete()?;
        let entry = self.lookup(directory, name)?.ok_or_else(|| FileError::Missing { name: escape(name) })?;
        let mut batch = self.touched(directory)?;
        batch.delete(entry_key(Some(directory), name));
        self.discard(&entry, &mut batch)?;
        match self.store.write(batch).map_err(FileError::from) {
            Err(error) if error.is_full() => self.remove_from_full(directory, &entry),
            result => result.and_then(|()| self.begin_delete()),
        }
    }

    /// Removes a file or empty directory from a full device, which takes deletes only. Extents that a power cut leaves
    /// meanwhile are found by [`check`](Self::check).
    fn remove_from_full(&mut self, directory: Inode, entry: &Entry) -> Result<(), FileError> {
        let mut batch = Batch::default();
        batch.delete(entry_key(Some(directory), &entry.name));
        batch.delete(inode_key(Some(entry.inode)));
        self.store.write(batch)?;
        self.cut_behind_length(entry.inode)
    }

    /// Removes what a name stands for, with all below it. A power cut may leave some of it.
    ///
    /// # Errors
    /// [`FileError::Missing`] and [`FileError::Store`].
    pub fn remove_all(&mut self, directory: Inode, name: &[u8]) -> Result<(), FileError> {
        let mut places = vec![(directory, name.to_vec())];
        while let Some((directory, name)) = places.last().cloned() {
            let entry =
                self.lookup(directory, &name)?.ok_or_else(|| FileError::Missing { name: escape(&name) })?;
            let below = match entry.kind {
                Kind::File => None,
                Kind::Directory => self.list(entry.inode, None, 1)?.pop(),
            };
            match below {
                Some(below) => places.push((entry.inode, below.name)),
                None => {
                    self.remove(directory, &name)?;
                    places.pop();
                }
            }
        }
        Ok(())
    }

    /// Gives a file or directory another name, also in another directory, at once. A file that has the name is replaced
    /// by a file, an empty directory by a directory.
    ///
    /// # Errors
    /// [`FileError::Missing`], [`FileError::IntoItself`], [`FileError::Directory`], [`FileError::NoDirectory`],
    /// [`FileError::NotEmpty`], [`FileError::Name`] and [`FileError::Store`].
    pub fn rename(
        &mut self,
        from: Inode,
        from_name: &[u8],
        to: Inode,
        to_name: &[u8],
    ) -> Result<(), FileError> {
        self.begin_change()?;
        let missing = || FileError::Missing { name: escape(from_name) };
        let moved = self.lookup(from, from_name)?.ok_or_else(missing)?;
        let replaced = self.lookup(to, to_name)?;
        if replaced.as_ref().is_some_and(|replaced| replaced.inode == moved.inode) {
            return Ok(());
        }
        let mut batch = self.touched(from)?;
        self.touch(to, &mut batch)?;
        if moved.kind == Kind::Directory {
            if self.is_within(to, moved.inode)? {
                return Err(FileError::IntoItself { name: escape(from_name) });
            }
            let directory = self.attributes(moved.inode)?;
            batch.put(inode_key(Some(moved.inode)), Attributes { parent: to, ..directory }.encode());
        }
        match &replaced {
            Some(Entry { kind: Kind::Directory, .. }) if moved.kind == Kind::File => {
                return Err(FileError::Directory { name: escape(to_name) });
            }
            Some(Entry { kind: Kind::File, .. }) if moved.kind == Kind::Directory => {
                return Err(FileError::NoDirectory { name: escape(to_name) });
            }
            Some(replaced) => self.discard(replaced, &mut batch)?,
            None => {}
        }
        batch.delete(entry_key(Some(from), from_name));
        batch.put(entry_key(Some(to), to_name), encode_entry(moved.kind, moved.inode));
        self.store.write(batch)?;
        self.begin_change()
    }

    /// Adds to a batch that an inode is no more, whose entry goes with it.
    pub(crate) fn discard(&mut self, entry: &Entry, batch: &mut Batch) -> Result<(), FileError> {
        match entry.kind {
            Kind::Directory if !self.list(entry.inode, None, 1)?.is_empty() => {
                return Err(FileError::NotEmpty { name: escape(&entry.name) });
            }
            Kind::Directory => {}
            Kind::File => {
                if self.attributes(entry.inode)?.length_bytes > 0 {
                    batch.put(unfinished_key(Some(entry.inode)), []);
                    self.has_unfinished = true;
                }
            }
        }
        batch.delete(inode_key(Some(entry.inode)));
        Ok(())
    }

    /// Returns a batch that records the time of a change of a directory's names.
    pub(crate) fn touched(&mut self, directory: Inode) -> Result<Batch, FileError> {
        let mut batch = Batch::default();
        self.touch(directory, &mut batch)?;
        Ok(batch)
    }

    fn touch(&mut self, directory: Inode, batch: &mut Batch) -> Result<(), FileError> {
        let attributes = self.attributes(directory)?;
        if attributes.kind != Kind::Directory {
            return Err(FileError::NoDirectory { name: format!("inode {directory}") });
        }
        if directory != Inode::ROOT {
            batch.put(
                inode_key(Some(directory)),
                Attributes { modified_ms: self.now_ms, ..attributes }.encode(),
            );
        }
        Ok(())
    }

    /// Returns whether a directory is another one, or lies in it.
    fn is_within(&mut self, directory: Inode, outer: Inode) -> Result<bool, FileError> {
        let mut inner = directory;
        while inner != outer {
            if inner == Inode::ROOT {
                return Ok(false);
            }
            inner = self.attributes(inner)?.parent;
        }
        Ok(true)
    }

    pub(crate) fn check_name(&mut self, name: &[u8]) -> Result<(), FileError> {
        let most = self.name_bytes_max();
        let is_allowed = (1..=most).contains(&(name.len() as u64))
            && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
            && !matches!(name, b"." | b"..");
        if is_allowed { Ok(()) } else { Err(FileError::Name { name: escape(name), most }) }
    }
}
