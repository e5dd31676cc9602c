//! Why an operation on files failed.

use flashlane_base::units::{bytes_at_most, bytes_together, exact_bytes, format_bytes};
use flashlane_store::{Loss, ReadFailure, StoreError, WriteError};

/// Why an operation on files failed. `name` is a path where one was given, otherwise a name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing with this name.
    #[error("there is no '{name}'")]
    Missing {
        /// The name.
        name: String,
    },
    /// There is something with this name.
    #[error("'{name}' is there already")]
    Exists {
        /// The name.
        name: String,
    },
    /// It is a file, where a directory is needed.
    #[error("'{name}' is a file, and no directory")]
    NoDirectory {
        /// The name.
        name: String,
    },
    /// It is a directory, where a file is needed.
    #[error("'{name}' is a directory, and no file")]
    Directory {
        /// The name.
        name: String,
    },
    /// A directory is not empty.
    #[error("directory '{name}' is not empty")]
    NotEmpty {
        /// The name.
        name: String,
    },
    /// A directory would come to lie in itself.
    #[error("directory '{name}' cannot be moved into itself")]
    IntoItself {
        /// The name.
        name: String,
    },
    /// The name is none.
    #[error(
        "'{name}' cannot be a name: allowed are 1 to {most} bytes without '/' and zero bytes, and not '.' or '..'"
    )]
    Name {
        /// The name.
        name: String,
        /// Longest name.
        most: u64,
    },
    /// The root has no name.
    #[error("'/' is the root, which cannot be created, replaced, moved or removed")]
    Root,
    /// A file would become too long.
    #[error("a file of {} is too long: at most {} are allowed", format_bytes(u64::try_from(*given).unwrap_or(u64::MAX)), bytes_at_most(*most))]
    TooLong {
        /// Its length.
        given: u128,
        /// The greatest length.
        most: u64,
    },
    /// The size of extents is none.
    #[error("extents of {} were asked for: allowed are powers of two from {} to {}",
        bytes_together([*given, *least, *most])[0], exact_bytes(*least), exact_bytes(*most))]
    ExtentBytes {
        /// The size.
        given: u64,
        /// The least one.
        least: u64,
        /// The greatest one.
        most: u64,
    },
    /// A record is none.
    #[error("{what} is damaged: it was read as it was written, and is none of a file")]
    Malformed {
        /// What it should be.
        what: String,
    },
    /// A later version wrote the files.
    #[error("the files have version {found} of their format, and {known} is the newest supported")]
    Newer {
        /// Their version.
        found: u8,
        /// The newest supported.
        known: u8,
    },
    /// A change of the files of a store that has lost keys.
    #[error(
        "the files are only read, as the store has lost keys, and a change could delete or replace what is left: {0}"
    )]
    Lossy(Box<Loss>),
    /// The records of the files lie in several slices.
    #[error(
        "slices of the store part the records of files, which must lie in one: let no slice begin between them"
    )]
    Parted,
}

impl FileError {
    /// Returns whether the device is full, and takes deletes only.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Store(StoreError::Write(WriteError::Full { .. })))
    }

    /// Returns whether something is not found in a store that has lost keys.
    pub fn may_be_lost(&self) -> bool {
        matches!(self, Self::Store(StoreError::Read(ReadFailure::MayBeLost(_))))
    }

    /// Returns the error with a path in place of a name.
    pub fn of_path(self, path: impl AsRef<[u8]>) -> Self {
        let path = flashlane_store::text::escape(path.as_ref());
        match self {
            Self::Missing { .. } => Self::Missing { name: path },
            Self::Exists { .. } => Self::Exists { name: path },
            Self::NoDirectory { .. } => Self::NoDirectory { name: path },
            Self::Directory { .. } => Self::Directory { name: path },
            Self::NotEmpty { .. } => Self::NotEmpty { name: path },
            Self::IntoItself { .. } => Self::IntoItself { name: path },
            other => other,
        }
    }
}
