//! Files on the store: paths, directories, extents, holes, rename.
//!
//! A file has a number, its *inode*. Its bytes lie in *extents* of a fixed size, one pair of the store each, by number
//! of the inode and of the extent; what is not there is zeros. Directories have an entry for each name, which holds an
//! inode, so that a rename moves one entry whatever it names. `records.rs` lists the pairs, `files.rs` says what a
//! power cut leaves.
//!
//! ```
//! use flashlane_base::Seed;
//! use flashlane_device_testing::{MemoryDisk, MemoryLanes};
//! use flashlane_store::{KeyValueStore, Slices};
//! use flashlane_store_files::Files;
//!
//! let (device, log) = (MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1)), MemoryDisk::new(1 << 20, 512, Seed(1)));
//! let mut store = KeyValueStore::create(device, log, 1, Slices::even(1))?;
//! let mut files = Files::open(&mut store)?;
//! let (top, name) = files.place("/notes")?;
//! let notes = files.make_directory(top, &name)?;
//! let file = files.create(notes, b"today")?;
//! files.write(file, 0, b"rain")?;
//! files.rename(notes, b"today", top, b"yesterday")?;
//! let found = files.find("/yesterday")?;
//! assert_eq!(files.read(found.inode, 0, 100)?, b"rain");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod error;
mod extents;
mod files;
mod path;
mod records;
#[cfg(test)]
mod tests;
mod tree;
mod writer;

pub use check::Check;
pub use error::FileError;
pub use files::{EXTENT_BYTES, Files};
pub use records::{Attributes, Entry, Inode, Kind};
pub use writer::Writer;
