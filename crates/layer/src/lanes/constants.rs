//! Sizes, limits and versions of the layout on the device.

/// Length of a superblock and of a sector of the table, each written at once.
pub const SECTOR_BYTES: u64 = 4096;

/// Number of records in a sector of the table.
pub const RECORDS: u64 = 253;

/// Largest number of units kept in memory. 128 TiB have this number of 8 MiB.
pub const UNITS_MAX: u64 = 1 << 24;

/// The version that formatting writes. Since version 2 the table's slots lie at both ends of the device; since version
/// 3 formatting clears the head of each unit.
pub const VERSION: u32 = 3;

/// The oldest version supported; it keeps its layout when written. Both slots of the table lie at the beginning.
pub const OLDEST_VERSION: u32 = 1;
