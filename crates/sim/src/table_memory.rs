//! Whether the system has address space for a drive's tables, checked before any is made. Later a table may still find
//! none, since other memory was allocated meanwhile.

use crate::config::DriveConfig;
use crate::nand::Geometry;
use flashlane_base::units::format_bytes;
use memmap2::MmapMut;
use std::io;

/// Why a drive was not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The caller stopped its preparation.
    #[error("stopped while the simulated drive was being prepared")]
    Stopped,
    /// Its tables have no room.
    #[error(
        "the tables of the simulated drive '{drive}' take {}, which the system does not give ({source}); give it a \
         smaller flash.blocks or a larger mapping.unit, or raise the limit (ulimit -v)",
        format_bytes(*table_bytes)
    )]
    NoRoom {
        /// Its profile's name.
        drive: String,
        /// Bytes of all tables.
        table_bytes: u64,
        /// The operating system's words.
        source: io::Error,
    },
}

/// Bytes of the tables for each mapping unit that the host sees, for each of the flash, and for each erase block; and
/// of all else that a small drive needs.
const LOGICAL_UNIT_BYTES: u64 = 4;
const UNIT_BYTES: u64 = 4;
const BLOCK_BYTES: u64 = 64;
const OTHER_BYTES: u64 = 8 << 20;

impl MakeError {
    /// Returns that the system has no room for the tables of a drive.
    pub(crate) fn no_room(config: &DriveConfig, source: io::Error) -> Self {
        Self::NoRoom { drive: config.name.clone(), table_bytes: table_bytes(config).iter().sum(), source }
    }
}

/// Maps as much as the drive's tables take, and gives it back untouched.
pub(crate) fn check(config: &DriveConfig) -> Result<(), MakeError> {
    let mapped: io::Result<Vec<MmapMut>> = table_bytes(config).into_iter().map(map).collect();
    mapped.map(drop).map_err(|source| MakeError::no_room(config, source))
}

/// Returns the bytes of the tables of a drive.
fn table_bytes(config: &DriveConfig) -> [u64; 3] {
    let geometry = Geometry::new(config);
    let blocks = u64::from(geometry.planes) * u64::from(geometry.blocks_per_plane);
    let units = if config.has_erase_units() { 0 } else { blocks * u64::from(geometry.block_units) };
    [
        u64::from(geometry.numbered_units()) * LOGICAL_UNIT_BYTES,
        units * UNIT_BYTES,
        blocks * BLOCK_BYTES + OTHER_BYTES,
    ]
}

fn map(bytes: u64) -> io::Result<MmapMut> {
    let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    MmapMut::map_anon(bytes.max(1))
}
