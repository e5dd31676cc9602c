//! Why a zoned drive was not opened. Nothing was changed.

use crate::open_error::OpenError;
use std::path::PathBuf;

/// Why a zoned drive cannot be divided into lanes as requested.
#[derive(Debug, thiserror::Error)]
pub enum ZonedError {
    /// The path cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The path is not a zoned block device.
    #[error("'{}' is {found}, not a zoned block device", path.display())]
    NotZoned {
        /// As given.
        path: PathBuf,
        /// Type of the path, with its article.
        found: &'static str,
    },
    /// The number of lanes is zero or larger than the number of zones.
    #[error("'{}' cannot have lanes={lanes}: it has {zones} zones that are written in order, and each lane needs at least one", path.display())]
    Lanes {
        /// As given.
        path: PathBuf,
        /// Requested number of lanes.
        lanes: u32,
        /// Number of zones that can be units.
        zones: u64,
    },
    /// The write unit does not divide a zone, or is too long or too short.
    #[error("'{}' cannot have write-unit={write_unit_bytes}: {reason}", path.display())]
    WriteUnit {
        /// As given.
        path: PathBuf,
        /// The requested write unit, or a whole zone by default.
        write_unit_bytes: u64,
        /// The reason and the allowed values.
        reason: String,
    },
}
