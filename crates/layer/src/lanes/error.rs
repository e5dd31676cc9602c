//! Why a device was not formatted with lanes, or its lanes not opened. Nothing was changed.

use super::constants::{OLDEST_VERSION, UNITS_MAX, VERSION};
use super::flaw::Flaw;
use flashlane_base::shell::quoted;
use flashlane_base::units::{exact_bytes, typed_bytes};
use flashlane_device::{Failure, SubmitError};

/// Why there are no usable lanes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LanesError {
    /// The device below cannot be divided.
    #[error("'{device}' cannot be divided into lanes: {reason}")]
    Below {
        /// The device.
        device: String,
        /// The reason.
        reason: String,
    },
    /// A setting of the shape is invalid.
    #[error("lanes cannot have {key}={}: {reason}", if *key == "channels" { given.to_string() } else { typed_bytes(*given) })]
    Shape {
        /// The setting.
        key: &'static str,
        /// Its value, in bytes or lanes.
        given: u64,
        /// The reason and the allowed values.
        reason: String,
    },
    /// Not even one unit per lane fits.
    #[error(
        "{} are too few for lanes: one unit a lane and their table take {}; make the device longer, or choose fewer lanes \
         (channels) or smaller units (unit)",
        exact_bytes(*device_bytes), exact_bytes(*needed_bytes)
    )]
    TooSmall {
        /// Length of the device, in whole sectors of 4096 bytes.
        device_bytes: u64,
        /// Length needed.
        needed_bytes: u64,
    },
    /// There are more units than are kept in memory.
    #[error("{units} units are more than the {UNITS_MAX} that are kept in memory: choose larger ones")]
    TooManyUnits {
        /// Number of units.
        units: u64,
    },
    /// The device carries no superblock and no table.
    #[error(
        "'{device}' is not divided into lanes: neither its beginning nor its end says so. 'format=yes' divides it, and \
         all that is on it is lost"
    )]
    NotFormatted {
        /// The device below.
        device: String,
    },
    /// There is a table of units, but no superblock.
    #[error(
        "'{device}' has a table of units but no superblock, neither at its beginning nor at its end or any earlier end. It \
         may still hold blocks. If the device was shortened, make it as long as it was; 'format=yes' divides it again, and \
         all data on it is lost"
    )]
    NoSuperblock {
        /// The device below.
        device: String,
    },
    /// The device was divided into lanes over or without a layer that moves addresses, or over one with other settings.
    #[error(
        "the lanes of '{device}' were made where other layers move its addresses: over 'replicated(…)' or without it, or \
         over one with other partitions or space. Give the device as it was when it was divided; nothing here is damaged"
    )]
    OtherLayers {
        /// The device below.
        device: String,
    },
    /// Both superblocks are lost, but there are blocks.
    #[error(
        "'{device}' holds blocks of Flashlane, but no superblock of their lanes is left at its beginning or its end. Do not \
         format it: the blocks can be read with the shape of the lanes, as 'lanes({device}{})'{}",
        shape.as_deref().unwrap_or(",channels=…,unit=…,read-unit=…"),
        if shape.is_some() { "" } else { " with the values given when it was divided" }
    )]
    OnlyBlocks {
        /// The device below.
        device: String,
        /// The shape of the lanes as settings, each after a comma, where a superblock of the blocks has it.
        shape: Option<String>,
    },
    /// Both superblocks are lost, and there are blocks, but not where the given shape puts them.
    #[error(
        "'{device}' holds blocks of Flashlane, but no superblock of their lanes is left at its beginning or its end, and they \
         do not lie where the given shape puts them. Do not format it: {}",
        match found {
            Some(found) if found == given => "a superblock of the blocks has this shape, so that the device began or ended \
                at another place when it was divided. Open it from that beginning to that end, such as the partition or the \
                image file that it was".to_owned(),
            Some(found) => format!("a superblock of the blocks has the shape of 'lanes({device}{found})'"),
            None => "open it with the values given when it was divided, and from the same beginning to the same end".to_owned(),
        }
    )]
    OtherPlaces {
        /// The device below.
        device: String,
        /// The given shape as settings, each after a comma.
        given: String,
        /// The shape, where a superblock of the blocks has it.
        found: Option<String>,
    },
    /// Both superblocks are lost, the lanes are found in the given shape, and the device is opened for writing.
    #[error(
        "'{device}' is not written to: no superblock of its lanes is left, and they are read in the given shape, which the \
         headers of the blocks confirm. 'repair=overwrite' ('flashlane sdf fsck DEVICE --repair --destroy-data') rewrites the \
         lanes' records, and any data that has replaced them is lost"
    )]
    Recovered {
        /// The device below.
        device: String,
    },
    /// Foreign data has replaced records of the lanes, and the device is opened for writing.
    #[error(
        "'{device}' is not written to: it has lanes, but {} of their records {} been overwritten with other data, the first from \
         byte {at} on, which holds {found}. The lanes can be opened read-only. 'repair=overwrite' ('flashlane sdf fsck DEVICE \
         --repair --destroy-data') rewrites the records, and the other data there is lost",
        records, if *records == 1 { "has" } else { "have" }
    )]
    Foreign {
        /// The device below.
        device: String,
        /// Number of records replaced.
        records: u64,
        /// Offset of the first byte of the first one that is not ours.
        at: u64,
        /// The bytes there.
        found: String,
    },
    /// No sector of the table is left to confirm the superblock, or the records of lost sectors are recovered from the
    /// blocks; and the device is opened for writing.
    #[error(
        "'{device}' is not written to: it has a superblock of lanes, but {}. The lanes can be opened read-only. {}",
        match is_partial {
            false => "no sector of their table of units is left to confirm it",
            true => "sectors of their table of units are lost, and their units' states are read from the headers of the blocks",
        },
        match unreadable {
            0 => "'repair=overwrite' ('flashlane sdf fsck DEVICE --repair --destroy-data') rewrites the table, and any data \
                  that has replaced it is lost".to_owned(),
            _ => format!("{unreadable} sectors of the table could not be read: try again once the device reads them"),
        }
    )]
    NoTable {
        /// The device below.
        device: String,
        /// Whether other sectors of the table are left.
        is_partial: bool,
        /// Number of sector copies that the device cannot read.
        unreadable: u64,
    },
    /// The device cannot read one superblock, and the other is unusable.
    #[error(
        "cannot tell whether '{device}' has lanes: the superblock at its beginning {first}, the one at its end {last}. Try \
         again once the device reads them"
    )]
    Unreadable {
        /// The device below.
        device: String,
        /// Flaw of the first superblock.
        first: Flaw,
        /// Flaw of the copy.
        last: Flaw,
    },
    /// A repair was requested for a device opened read-only.
    #[error("the lanes of '{device}' cannot be repaired: the device is opened read-only")]
    ReadOnly {
        /// The device below.
        device: String,
    },
    /// The records were rewritten, but are damaged again.
    #[error("the lanes of '{device}' are not repaired: their records were rewritten, but are damaged again")]
    NotRepaired {
        /// The device below.
        device: String,
    },
    /// Both superblocks are unusable.
    #[error(
        "the lanes of '{device}' cannot be opened: the superblock at its beginning {first}, the one at its end {last}. \
         'format=yes' divides the device again, and all data on it is lost"
    )]
    Damaged {
        /// The device below.
        device: String,
        /// Flaw of the first superblock.
        first: Flaw,
        /// Flaw of the copy.
        last: Flaw,
    },
    /// The lanes were formatted by a later Flashlane.
    #[error(
        "the lanes of '{device}' are of version {version}; this program reads versions {OLDEST_VERSION} to {VERSION}"
    )]
    Newer {
        /// The device below.
        device: String,
        /// Version of the lanes.
        version: u32,
    },
    /// The lanes have another shape than requested.
    #[error(
        "'{device}' has lanes with {key}={found}, not {requested}; leave the setting out to use these lanes, or add \
         'format=yes' to divide the device again: all data on it is lost"
    )]
    OtherShape {
        /// The device below.
        device: String,
        /// The setting that differs.
        key: &'static str,
        /// The requested value.
        requested: String,
        /// The value of the lanes.
        found: String,
    },
    /// The device is shorter than when it was formatted.
    #[error(
        "'{device}' had {} when it was divided into lanes, and has {} now. Make it as long as it was, and all data but the \
         part cut off is found again: of a file, 'truncate -s {recorded_bytes} {}' does that. Only where all of that data may \
         be lost, 'format=yes' divides what is left",
        exact_bytes(*recorded_bytes), exact_bytes(*found_bytes), quoted(device)
    )]
    Shorter {
        /// The device below.
        device: String,
        /// Length when formatted.
        recorded_bytes: u64,
        /// Length now.
        found_bytes: u64,
    },
    /// The device refused a request.
    #[error("cannot {action}: {error}")]
    Refused {
        /// The step that failed.
        action: &'static str,
        /// The refusal.
        error: SubmitError,
    },
    /// A request to the device failed.
    #[error("cannot {action}: {failure}")]
    Failed {
        /// The step that failed.
        action: &'static str,
        /// The failure.
        failure: Failure,
    },
}

impl LanesError {
    /// Returns whether the lanes were not opened because the device could not read their records, which may be sound.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::NoTable { unreadable: 1.., .. })
    }
}
