//! Errors: why an operation is refused, and how an accepted one may fail.

use crate::layout::{Geometry, UnitAddress, Unsuitable};
use flashlane_base::units::bytes_together;
use flashlane_device::{Failure, SubmitError};

const SEQUENCES_USED_UP: &str = "sequence numbers are used up: a unit's header claims one that no sequence of writes \
    reaches, so nothing more is written. The blocks can be read; get them and store them on a newly formatted device";

/// Why a put was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// A block has this id.
    #[error(
        "block {id} is there already: blocks are written once, and its id is free again once it is deleted"
    )]
    Exists {
        /// The id.
        id: u64,
    },
    /// The block of this id is being put or deleted.
    #[error("block {id} is being {doing}")]
    Busy {
        /// The id.
        id: u64,
        /// Whether it is being put or deleted.
        doing: &'static str,
    },
    /// The id is above the highest one.
    #[error("there can be no block {id}: choose an id up to {max}; those above are kept for fresh ids")]
    IdTooHigh {
        /// The id.
        id: u64,
        /// The highest id that can be chosen.
        max: u64,
    },
    /// No fresh id is left: an earlier version stored a block with one of the highest ids.
    #[error(
        "fresh ids are used up: a block has, or had, one of the highest ids. Choose a lower one that is free ('--id'); on \
         a newly formatted device there are fresh ids again"
    )]
    IdsUsedUp,
    /// A header claims one of the highest sequence numbers, so that no further write could be told from older ones.
    #[error("{SEQUENCES_USED_UP}")]
    SequencesUsedUp,
    /// No unit is left.
    #[error("{0}")]
    Full(Box<Full>),
    /// Units are damaged, and the id gap above those that they may have held could not be made durable.
    #[error(
        "no superblock can be written, which must first record that fresh ids are above those of damaged units; \
         delete a block, or discard the damaged units"
    )]
    NoSuperblock,
    /// The payload was made for a device of another shape.
    #[error(
        "the payload was made for blocks of up to {}, and those of this device hold {}",
        bytes_together([*given_bytes, *block_bytes])[0], bytes_together([*given_bytes, *block_bytes])[1]
    )]
    OtherLayout {
        /// Most bytes of the payload.
        given_bytes: u64,
        /// Most bytes of a block of the device.
        block_bytes: u64,
    },
    /// The device was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// The device is no longer there.
    #[error("the device has vanished")]
    DeviceLost,
}

/// How the units of a full device are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Units of the device.
    pub units: u64,
    /// Blocks that are stored or being put.
    pub blocks: u64,
    /// Damaged units, which are left as they are.
    pub damaged: u64,
    /// Bad units.
    pub bad: u64,
}

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { units, blocks, damaged, bad } = self;
        let of =
            |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
        write!(f, "the device is full: of {units} units {}", of(*blocks, "holds a block", "hold blocks"))?;
        if *damaged > 0 {
            write!(
                f,
                ", {}",
                of(*damaged, "is damaged and kept as it is", "are damaged and kept as they are")
            )?;
        }
        if *bad > 0 {
            write!(f, ", {}", of(*bad, "is bad", "are bad"))?;
        }
        write!(f, ", and the rest are kept for the superblock; ")?;
        match damaged {
            0 => write!(f, "delete blocks to make room"),
            _ => write!(
                f,
                "erase the damaged units ('flashlane sdf rm DEVICE --damaged --destroy-data'), or delete blocks, to make room"
            ),
        }
    }
}

/// States how long a block is, which bytes are beyond its end, and which are allowed.
fn beyond(offset_bytes: u64, length_bytes: u64, block_bytes: u64) -> String {
    match block_bytes.checked_sub(offset_bytes) {
        None => {
            let [block, offset] = bytes_together([block_bytes, offset_bytes]);
            format!("{block}, and offset {offset} is beyond it; allowed: offsets up to {block}")
        }
        Some(left) => {
            let [block, length, offset, left] =
                bytes_together([block_bytes, length_bytes, offset_bytes, left]);
            format!(
                "{block}, and {length} from offset {offset} go beyond it; allowed: at most {left} from there"
            )
        }
    }
}

/// Why a get was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    /// There is no such block.
    #[error("there is no block {id}{}", damaged(*.damaged_units))]
    NotFound {
        /// The id.
        id: u64,
        /// Damaged units, of which one may have held it.
        damaged_units: u64,
    },
    /// Bytes beyond the block's end.
    #[error("block {id} has {}", beyond(*offset_bytes, *length_bytes, *block_bytes))]
    OutOfRange {
        /// The id.
        id: u64,
        /// The first byte requested.
        offset_bytes: u64,
        /// Number of bytes requested.
        length_bytes: u64,
        /// Bytes of the block.
        block_bytes: u64,
    },
    /// The device is no longer there.
    #[error("the device has vanished")]
    DeviceLost,
}

fn damaged(units: u64) -> String {
    match units {
        0 => String::new(),
        1 => " (one unit is damaged, and may have held it)".into(),
        units => format!(" ({units} units are damaged, and one of them may have held it)"),
    }
}

/// Why a delete was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// There is no such block.
    #[error("there is no block {id}")]
    NotFound {
        /// The id.
        id: u64,
    },
    /// A header claims one of the highest sequence numbers, so that no further write could be told from older ones.
    #[error("{SEQUENCES_USED_UP}")]
    SequencesUsedUp,
    /// No superblock could be written that records which ids were given out.
    #[error("no superblock can be written, which must first record the ids that were given out")]
    NoSuperblock,
    /// The device was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// The device is no longer there.
    #[error("the device has vanished")]
    DeviceLost,
}

/// Why an accepted put failed. No such block is stored. Copies that its writes may have left were erased before it
/// completed; where that failed too, the block may be there when the device is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutFailure {
    /// The device failed to write it to each unit that was tried.
    #[error("the block could not be written, the last time to unit {} of lane {}: {failure}", .address.unit, .address.lane)]
    Write {
        /// The unit that was tried last.
        address: UnitAddress,
        /// The device's answer.
        failure: Failure,
    },
    /// The device refused the write.
    #[error("the device refused the block: {0}")]
    Refused(SubmitError),
    /// Units went bad while it waited, until none was left.
    #[error("no unit is left for the block")]
    NoUnit,
}

impl PutFailure {
    /// Returns whether no space is left below, in a file system or a quota: no unit is at fault.
    pub fn is_out_of_space(&self) -> bool {
        matches!(self, Self::Write { failure, .. } if lacks_space(*failure))
    }

    /// States what the failure says of the device as a whole, and what to do.
    pub fn verdict(&self) -> String {
        match self.is_out_of_space() {
            true => format!("{self}; nothing that was stored is lost: make room there, then write again"),
            false => format!("the device fails: {self}; stop, and copy what can be read"),
        }
    }
}

/// Returns whether a write failed since no space is left below, whatever unit it was to.
pub(crate) fn lacks_space(failure: Failure) -> bool {
    // ENOSPC and EDQUOT of Linux.
    matches!(failure, Failure::Os(28 | 122))
}

/// Why an accepted get failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetFailure {
    /// The bytes are not those that were written.
    #[error(
        "block {id} is unreadable: the bytes from {offset_bytes} on are not those that were written (unit {} of lane {})",
        .address.unit, .address.lane
    )]
    Damaged {
        /// The id.
        id: u64,
        /// Offset in the block of the first granule with a wrong checksum.
        offset_bytes: u64,
        /// The unit that holds it.
        address: UnitAddress,
    },
    /// The device could not read them.
    #[error("block {id} is unreadable: {failure} (unit {} of lane {})", .address.unit, .address.lane)]
    Unreadable {
        /// The id.
        id: u64,
        /// The unit that holds it.
        address: UnitAddress,
        /// The device's answer.
        failure: Failure,
    },
    /// The device refused the read.
    #[error("block {id} is unreadable: the device refuses it (unit {} of lane {}): {refusal}", .address.unit, .address.lane)]
    Refused {
        /// The id.
        id: u64,
        /// The unit that holds it.
        address: UnitAddress,
        /// The device's answer.
        refusal: SubmitError,
    },
}

/// Why an accepted delete failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteFailure {
    /// The device vanished before the unit was erased; the block may still be there.
    #[error("the device vanished before the block was erased")]
    DeviceLost,
    /// The unit could not be erased. The block can no longer be read, and may be there again when the device is opened
    /// again.
    #[error("the block's unit could not be erased: {failure}")]
    Erase {
        /// The device's answer.
        failure: Failure,
    },
    /// The block is stored as before.
    #[error(
        "the block is kept: no superblock can be written, which must first record that its id was given out"
    )]
    NoUnit,
}

/// Why a device could not be formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The device cannot hold blocks.
    #[error(transparent)]
    Unsuitable(Unsuitable),
    /// The device was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// No copy of the superblock could be written.
    #[error("no unit of the device takes the superblock: {0}")]
    Failed(PutFailure),
}

fn unread(units: u64) -> String {
    format!("{units} {} could not be read", if units == 1 { "unit" } else { "units" })
}

/// Why the blocks of a device could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The device cannot hold blocks.
    #[error(transparent)]
    Unsuitable(#[from] Unsuitable),
    /// No unit has a header or footer of this layer.
    #[error("'{device}' holds no blocks: none of its {written} written units begins or ends as one of ours")]
    NotFormatted {
        /// The device's name.
        device: String,
        /// Units that are wholly written.
        written: u64,
    },
    /// A later version of this program formatted it.
    #[error("'{device}' was formatted by version {found} of the layout, and {known} is the newest supported")]
    Newer {
        /// The device's name.
        device: String,
        /// Its version.
        found: u32,
        /// The newest supported.
        known: u32,
    },
    /// It was formatted with another shape.
    #[error(
        "'{device}' was formatted as {formatted}, and is now {given}: open it as it was, with every lane in its place"
    )]
    OtherGeometry {
        /// The device's name.
        device: String,
        /// Its shape when it was formatted.
        formatted: Geometry,
        /// Its shape now.
        given: Geometry,
    },
    /// None of the superblock's copies can be read. [`BlockOptions::without_superblock`](crate::BlockOptions) opens the
    /// blocks all the same if their headers suffice.
    #[error(
        "'{device}' holds blocks, and no copy of the superblock can be read. {}",
        if *unreadable > 0 {
            format!(
                "A copy may be in what the device does not read, {}: nothing is written before it does",
                unread(*unreadable)
            )
        } else if *can_rebuild {
            "Do not format it: 'flashlane sdf ls', 'get' and 'fsck' read the blocks that are left, and 'flashlane sdf fsck \
             DEVICE --repair --destroy-data' writes the superblock anew from their headers".to_owned()
        } else {
            "Nor do the headers of its units say which of them count: they are damaged, or of several formattings, or it is \
             not known whether the units were erased since. 'flashlane sdf format' would lose them all"
                .to_owned()
        }
    )]
    NoSuperblock {
        /// The device's name.
        device: String,
        /// Whether the headers of the blocks that are left suffice to open them.
        can_rebuild: bool,
        /// Units of which the device cannot read the header or the footer.
        unreadable: u64,
    },
    /// The device cannot read the header or the footer of some units, and the others hold no blocks.
    #[error(
        "whether '{device}' holds blocks is not known: {}, of {written} that are written, and none of the others begins \
         or ends as one of ours. Nothing is written before the device reads them",
        unread(*unreadable)
    )]
    Unreadable {
        /// The device's name.
        device: String,
        /// Units of which it cannot read the header or the footer.
        unreadable: u64,
        /// Units that are wholly written.
        written: u64,
    },
    /// The device refused a read or is lost.
    #[error("'{device}' cannot be read: {reason}")]
    Device {
        /// The device's name.
        device: String,
        /// The device's answer.
        reason: String,
    },
}
