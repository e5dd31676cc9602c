//! What can be wrong with a wish, and how one that was taken may fail.

use crate::header::Place;
use flashlane_base::units::exact_bytes;
use flashlane_device::{Failure, SubmitError};

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
    /// The block of this id is just being put or deleted.
    #[error("block {id} is being {doing}")]
    Busy {
        /// The id.
        id: u64,
        /// What happens to it.
        doing: &'static str,
    },
    /// No block can have this id.
    #[error(
        "there can be no block {id}: the highest id is {most}. Where fresh ids are used up, a lower one that is free can \
         still be chosen"
    )]
    NoSuchId {
        /// The id.
        id: u64,
        /// The highest.
        most: u64,
    },
    /// No unit is left.
    #[error("{0}")]
    Full(Box<Full>),
    /// Units are damaged, and from where on fresh ids are given out could not be made durable.
    #[error(
        "no superblock can be written, which would have to say that fresh ids are above those of damaged units; \
         delete a block, or have damaged units discarded"
    )]
    NoSuperblock,
    /// The payload was made for a device of another shape.
    #[error("the payload is one of {} at most, blocks here have {}", exact_bytes(*given_bytes), exact_bytes(*block_bytes))]
    OtherLayout {
        /// Bytes that the payload has room for.
        given_bytes: u64,
        /// Bytes of a block.
        block_bytes: u64,
    },
    /// The device was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// The device is no longer there.
    #[error("the device has vanished")]
    Gone,
}

/// Why no unit is left for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Units of the device.
    pub units: u64,
    /// Blocks that are stored or on their way.
    pub blocks: u64,
    /// Units that are damaged, and left as they are.
    pub damaged: u64,
    /// Units that are bad.
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
                "erase the damaged units ('flashlane sdf rm DEVICE --damaged'), or delete blocks, to make room"
            ),
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
        /// Units that hold nothing that can be told: one of them may have held it.
        damaged_units: u64,
    },
    /// Bytes beyond the block's end.
    #[error(
        "{} from byte {offset_bytes} of block {id} are not all there: it has {}",
        exact_bytes(*length_bytes), exact_bytes(*block_bytes)
    )]
    OutOfRange {
        /// The id.
        id: u64,
        /// The first byte asked for.
        offset_bytes: u64,
        /// Bytes asked for.
        length_bytes: u64,
        /// Bytes of the block.
        block_bytes: u64,
    },
    /// The device is no longer there.
    #[error("the device has vanished")]
    Gone,
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
    /// Which ids were given out could not be made durable.
    #[error("no superblock can be written, which would have to say which ids were given out")]
    NoSuperblock,
    /// The device was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// The device is no longer there.
    #[error("the device has vanished")]
    Gone,
}

/// Why a put that was taken failed. No such block is there; what its writes may have left is erased in time, and where even
/// that fails it may be there once the device is opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutFailure {
    /// The device failed to write it, wherever it was tried.
    #[error("the block could not be written, the last time to unit {} of lane {}: {failure}", .place.unit, .place.lane)]
    Write {
        /// Where it was tried last.
        place: Place,
        /// What the device said.
        failure: Failure,
    },
    /// The device refused the write.
    #[error("the device refused the block: {0}")]
    Refused(SubmitError),
    /// Units went bad while it waited, and none is left.
    #[error("no unit is left for the block")]
    NoUnit,
}

/// Why a get that was taken failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetFailure {
    /// The bytes are not those that were written.
    #[error(
        "block {id} is unreadable: the bytes from {offset_bytes} on are not those that were written (unit {} of lane {})",
        .place.unit, .place.lane
    )]
    Damaged {
        /// The id.
        id: u64,
        /// Where in the block the first granule with a wrong checksum begins.
        offset_bytes: u64,
        /// Where it lies.
        place: Place,
    },
    /// The device could not read them.
    #[error("block {id} is unreadable: {failure} (unit {} of lane {})", .place.unit, .place.lane)]
    Unreadable {
        /// The id.
        id: u64,
        /// Where it lies.
        place: Place,
        /// What the device said.
        failure: Failure,
    },
    /// The device refused the read.
    #[error("block {id} is unreadable: the device refuses it (unit {} of lane {}): {refusal}", .place.unit, .place.lane)]
    Refused {
        /// The id.
        id: u64,
        /// Where it lies.
        place: Place,
        /// What the device said.
        refusal: SubmitError,
    },
}

/// Why a delete that was taken failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteFailure {
    /// The device vanished before it was done; the block may still be there.
    #[error("the device vanished before the block was erased")]
    Gone,
    /// The unit could not be erased. The block is not given out any more, and may be there again once the device was
    /// opened anew.
    #[error("the block's unit could not be erased: {failure}")]
    Erase {
        /// What the device said.
        failure: Failure,
    },
    /// The block is there as before.
    #[error(
        "the block is kept: no unit is left for a superblock, which would have to say that its id was given out"
    )]
    NoUnit,
}
