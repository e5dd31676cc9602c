//! Why a zoned drive was not opened as lanes. Nothing was changed.

use crate::open_error::OpenError;
use std::path::PathBuf;

/// Why there are no lanes of zones to be used.
#[derive(Debug, thiserror::Error)]
pub enum ZonedError {
    /// The path cannot be opened at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is something else.
    #[error("'{}' is {found}, not a zoned block device", path.display())]
    NotZoned {
        /// As given.
        path: PathBuf,
        /// What it is, with its article.
        found: &'static str,
    },
    /// The zones do not make so many lanes.
    #[error("'{}' cannot have lanes={lanes}: it has {zones} zones that are written in order, and a lane takes one at least", path.display())]
    Lanes {
        /// As given.
        path: PathBuf,
        /// Lanes asked for.
        lanes: u32,
        /// Zones that can be units.
        zones: u64,
    },
    /// A write unit that the zones are no whole number of, or that is too long or short.
    #[error("'{}' cannot have write-unit={write_unit_bytes}: {reason}", path.display())]
    WriteUnit {
        /// As given.
        path: PathBuf,
        /// What was asked for, or a whole zone where nothing was.
        write_unit_bytes: u64,
        /// What would do.
        reason: String,
    },
}
