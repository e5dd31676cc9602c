//! Errors: why an operation is refused, and how an accepted one may fail.

use crate::loss::Loss;
use crate::text::escape;
use flashlane_base::units::{bytes_at_most, bytes_together, exact_bytes};
use flashlane_block::{DeleteError, FormatError, GetError, GetFailure, PutFailure};
use flashlane_device::Failure;
use std::fmt;

/// Formats a size of a sentence that names another one too.
fn beside(bytes: u64, other_bytes: u64) -> String {
    let [bytes, _] = bytes_together([bytes, other_bytes]);
    bytes
}

/// Why no store could be created. The devices may have changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The blocks could not be formatted.
    #[error(transparent)]
    Blocks(#[from] FormatError),
    /// The device is too small to take a value.
    #[error(
        "'{device}' has room for {blocks} blocks, and a store needs at least {least} (slices: {slices}), of which some are kept for merges; allowed: {} of erase units, or erase units of at most {} (of lanes: unit=…)",
        exact_bytes(*least_bytes),
        exact_bytes(*unit_bytes)
    )]
    DeviceTooSmall {
        /// The device's name.
        device: String,
        /// Blocks for which it has room.
        blocks: u64,
        /// Fewest blocks.
        least: u64,
        /// Slices of the store.
        slices: u64,
        /// Fewest bytes of a device with these erase units.
        least_bytes: u64,
        /// Largest erase units with which a device of this size would do.
        unit_bytes: u64,
    },
    /// The log's device has erase units.
    #[error("'{device}' has erase units, and a log needs a device or file without them")]
    LogHasEraseUnits {
        /// The device's name.
        device: String,
    },
    /// The log's device is too small.
    #[error("'{device}' has {}, and a log of this store needs at least {}", beside(*given_bytes, *least_bytes), beside(*least_bytes, *given_bytes))]
    LogTooSmall {
        /// The device's name.
        device: String,
        /// Its capacity.
        given_bytes: u64,
        /// The least capacity.
        least_bytes: u64,
    },
    /// The log's device failed.
    #[error("the log cannot be written to '{device}': {reason}")]
    Log {
        /// The device's name.
        device: String,
        /// The device's answer.
        reason: String,
    },
}

/// An option is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Slices are no ascending list of first keys.
    #[error("the first keys of slices must ascend, and begin with the empty key: number {nth} does not")]
    Bounds {
        /// The first one that is wrong.
        nth: usize,
    },
    /// A first key is too long.
    #[error("first key {nth} has {}, and at most {} are allowed", beside(*bytes, *most), beside(*most, *bytes))]
    LongBound {
        /// Which one.
        nth: usize,
        /// Its length.
        bytes: u64,
        /// Longest first key.
        most: u64,
    },
    /// The memory is too small.
    #[error("{} of memory were given, and {slices} slices with blocks of {} need at least {}",
        beside(*given_bytes, *least_bytes), exact_bytes(*block_bytes), beside(*least_bytes, *given_bytes))]
    Memory {
        /// Bytes that were given.
        given_bytes: u64,
        /// Number of slices.
        slices: u64,
        /// Bytes of a block.
        block_bytes: u64,
        /// Fewest bytes.
        least_bytes: u64,
    },
    /// Too few blocks are given to merges.
    #[error("{option} is {given}, and at least {least} blocks are needed")]
    FewBlocks {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        given: u64,
        /// The least value.
        least: u64,
    },
    /// The merge policy is unknown, or an option of it is refused.
    #[error(transparent)]
    Merge(#[from] flashlane_policy::OptionError),
    /// Blocks are too small for entries.
    #[error("blocks of {} are too small for a store: {} are needed", beside(*block_bytes, *least_bytes), beside(*least_bytes, *block_bytes))]
    SmallBlocks {
        /// Bytes of a block.
        block_bytes: u64,
        /// Fewest bytes.
        least_bytes: u64,
    },
}

/// Why a store could not be opened. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The blocks could not be opened.
    #[error(transparent)]
    Blocks(#[from] flashlane_block::OpenError),
    /// The log's device holds no log.
    #[error("'{device}' holds no log of a store")]
    NoLog {
        /// The device's name.
        device: String,
    },
    /// The log is of a later version.
    #[error("the log on '{device}' has version {found} of its format, and {known} is the newest supported")]
    NewerLog {
        /// The device's name.
        device: String,
        /// Its version.
        found: u32,
        /// The newest supported.
        known: u32,
    },
    /// Both copies of the log's header are damaged or overwritten.
    #[error("'{device}' holds the log of a store, and both copies of its header are damaged or overwritten")]
    LogHeaderDamaged {
        /// The device's name.
        device: String,
    },
    /// The log's device is shorter than when the store was created.
    #[error(
        "'{device}' has {}, and its log reaches to {}: the device was cut, and acknowledged writes may be lost",
        beside(*given_bytes, *least_bytes), beside(*least_bytes, *given_bytes)
    )]
    LogTooShort {
        /// The device's name.
        device: String,
        /// Its capacity.
        given_bytes: u64,
        /// The end of the log.
        least_bytes: u64,
    },
    /// No page of the log is free, where one always is.
    #[error(
        "the log on '{device}' has no free page, as if the device had been cut: acknowledged writes may be lost"
    )]
    LogFull {
        /// The device's name.
        device: String,
    },
    /// The log belongs to other blocks.
    #[error(
        "the log is that of store {log:#034x}, and the blocks are those of {blocks:#034x}: open the two that belong together"
    )]
    OtherStore {
        /// Id in the log.
        log: u128,
        /// Id of the blocks.
        blocks: u128,
    },
    /// The log is a copy from before the device's: patches hold writes that come after its end.
    #[error(
        "the log on '{log}' ends with write {last}, and block {block} of the device holds write {found}: the log is an \
         older copy, and acknowledged writes would be lost; open device and log as they were at one moment"
    )]
    LogOlder {
        /// The log's device.
        log: String,
        /// The last write in the log.
        last: u64,
        /// A block with a later one.
        block: u64,
        /// That write.
        found: u64,
    },
    /// The device is a copy from before the log's, or has lost blocks: writes that the log does not need to hold any
    /// more are missing.
    #[error(
        "write {write} is in no block of the device, and the log on '{log}' does not hold it any more: the device is an older \
         copy, or has lost a block, and acknowledged writes would be lost; open device and log as they were at one moment"
    )]
    DeviceOlder {
        /// The log's device.
        log: String,
        /// A write that is missing.
        write: u64,
    },
    /// A patch says of which patches the store consisted, and others are there.
    #[error(
        "block {block} was written when the store had {stated} patches, and {found} of these are on the device: it has lost \
         blocks, and acknowledged writes would be lost"
    )]
    PatchesMissing {
        /// The block that says so.
        block: u64,
        /// Patches of the store.
        stated: u64,
        /// Those that are there.
        found: u64,
    },
    /// A value of the log is in a block that is not on the device, so both are of different moments.
    #[error(
        "write {write} is in the log on '{log}', and block {block} with its value is not on the device: one of both is an older \
         copy, and acknowledged writes would be lost; open device and log as they were at one moment"
    )]
    PieceMissing {
        /// The log's device.
        log: String,
        /// The write.
        write: u64,
        /// The missing block.
        block: u64,
    },
    /// A page of the log that holds acknowledged writes is damaged.
    #[error(
        "page {page} of the log on '{device}' is damaged, and pages up to {durable_to} were durable: acknowledged writes are lost"
    )]
    LogDamaged {
        /// The device's name.
        device: String,
        /// Number of the page in the stream.
        page: u64,
        /// Pages below were durable.
        durable_to: u64,
    },
    /// Neither mark of the log's end can be read.
    #[error(
        "both marks of the end of the log on '{device}' are damaged: whether acknowledged writes at its end are lost cannot be \
         told"
    )]
    LogMarksDamaged {
        /// The device's name.
        device: String,
    },
    /// The device cannot read a page of the log.
    #[error("page {page} of the log on '{device}' cannot be read, and may hold acknowledged writes")]
    LogUnreadable {
        /// The device's name.
        device: String,
        /// Number of the page in the stream.
        page: u64,
    },
    /// The end of a block cannot be read.
    #[error("block {id} cannot be opened as part of the store: {reason}")]
    Block {
        /// The block.
        id: u64,
        /// Why.
        reason: String,
    },
    /// The end of a block, which says what it holds, cannot be read.
    #[error("what block {id} holds cannot be told: {reason}")]
    BlockDamaged {
        /// The block.
        id: u64,
        /// Why.
        reason: String,
    },
    /// A block is not one that a store writes.
    #[error("block {id} is not part of the store: it is neither a patch nor a piece")]
    ForeignBlock {
        /// The block.
        id: u64,
    },
    /// Blocks of the store are missing.
    #[error(
        "merge {merge} of slice {slice} lacks output {output}, though inputs of it are gone: blocks of the store are lost"
    )]
    MissingOutput {
        /// The slice.
        slice: u32,
        /// Number of the merge.
        merge: u64,
        /// The output.
        output: u32,
    },
}

impl OpenError {
    /// Returns whether the log is damaged.
    pub fn is_of_log(&self) -> bool {
        use OpenError::{LogDamaged, LogFull, LogHeaderDamaged, LogMarksDamaged, LogTooShort, LogUnreadable};
        matches!(
            self,
            LogDamaged { .. }
                | LogFull { .. }
                | LogHeaderDamaged { .. }
                | LogMarksDamaged { .. }
                | LogTooShort { .. }
                | LogUnreadable { .. }
        )
    }
}

/// Why a write was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The batch has no operations.
    #[error("the batch has no operations")]
    Empty,
    /// A key is too long.
    #[error("the key has {}, and at most {} are allowed on this device", beside(*given_bytes, *most_bytes), beside(*most_bytes, *given_bytes))]
    KeyTooLong {
        /// Its length.
        given_bytes: u64,
        /// Longest key.
        most_bytes: u64,
    },
    /// The keys of a batch lie in several slices.
    #[error("the keys of a batch must lie in one slice: there are some in {first} and {second}")]
    SeveralSlices {
        /// A slice.
        first: u32,
        /// Another one.
        second: u32,
    },
    /// The batch exceeds a patch, or a quarter of the log.
    #[error("the batch takes {}, and at most {} are allowed", beside(*given_bytes, *most_bytes), beside(*most_bytes, *given_bytes))]
    BatchTooLarge {
        /// Its bytes.
        given_bytes: u64,
        /// Most bytes.
        most_bytes: u64,
    },
    /// Writes wait that take all memory for them, or what is in flight may give blocks back that the write needs: reap,
    /// then try again.
    #[error("writes of {} wait already, or merges are making room: reap, then try again", exact_bytes(*waiting_bytes))]
    Busy {
        /// Bytes of the writes that wait.
        waiting_bytes: u64,
    },
    /// The device is full, or fails.
    #[error("{}", no_room(*blocks_free, *blocks_needed, *room_bytes, failure.as_ref()))]
    Full {
        /// Blocks that are free.
        blocks_free: u64,
        /// Blocks that must be free for the write, with those kept for deletes and merges.
        blocks_needed: u64,
        /// Bytes of the largest value that has room now; 0 where even small ones have none.
        room_bytes: u64,
        /// Why the last block could not be written: then the device fails, and may be far from full.
        failure: Option<PutFailure>,
    },
    /// The log takes no more records.
    #[error("the log failed, so nothing more is written: {0}")]
    Log(Failure),
    /// Other data is in the log's device, where the write would overwrite it now or later.
    #[error(
        "{} of other data are in the log, the first at byte {offset_bytes}, and are not overwritten: copy them, and give them up by \
         a salvage",
        exact_bytes(*bytes)
    )]
    LogOverwritten {
        /// Offset of the first page with such data in the log's device.
        offset_bytes: u64,
        /// Bytes of all such pages.
        bytes: u64,
    },
    /// The device was opened for reading, or without blocks that are damaged.
    #[error("the device was opened read-only")]
    ReadOnly,
}

/// States why a write has no room.
fn no_room(blocks_free: u64, blocks_needed: u64, room_bytes: u64, failure: Option<&PutFailure>) -> String {
    let needs = format!(
        "the write needs {blocks_needed} free blocks, with those kept for deletes and merges, and {blocks_free} are free"
    );
    match failure {
        Some(failure) => format!("{}; {needs}", failure.verdict()),
        None if room_bytes > 0 => format!(
            "the device is full: {needs}; store a value of at most {}, delete keys, or use a larger device",
            bytes_at_most(room_bytes)
        ),
        None => format!("the device is full: {needs}; delete keys, or use a larger device"),
    }
}

/// States why a write that waited got no room.
fn blocked(failure: Option<&PutFailure>) -> String {
    failure.map_or_else(
        || "earlier writes wait for room on a full device; delete keys to make room".to_owned(),
        PutFailure::verdict,
    )
}

/// Why an accepted write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// The log failed. The write may be there when the store is opened again.
    #[error("the log failed: {0}")]
    Log(Failure),
    /// It waited for room in log or memory, and nothing that is in flight can make any. The write has changed nothing.
    #[error("the write found no room: {}", blocked(failure.as_ref()))]
    NoRoom {
        /// Why the last block could not be written, if it could not.
        failure: Option<PutFailure>,
    },
    /// A piece of a large value could not be stored. The write has changed nothing.
    #[error("a piece of the value could not be stored: {reason}")]
    Piece {
        /// Why.
        reason: String,
    },
}

/// Why a read failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// A block could not be read.
    #[error(transparent)]
    Block(#[from] GetFailure),
    /// A block that is needed is missing.
    #[error("block {id} is missing")]
    Missing {
        /// The block.
        id: u64,
    },
    /// The read was refused: the device is no longer there, or the block is shorter than its patch.
    #[error(transparent)]
    Refused(GetError),
    /// A block was read as it was written, and holds no entries where they should be.
    #[error("block {id} holds no entries of the store at byte {offset_bytes}")]
    Malformed {
        /// The block.
        id: u64,
        /// Offset in the block.
        offset_bytes: u64,
    },
    /// The key is not there, in a store that has lost keys.
    #[error("the key is not found, and may be lost: {0}")]
    MayBeLost(Box<Loss>),
}

impl From<GetError> for ReadFailure {
    fn from(error: GetError) -> Self {
        match error {
            GetError::NotFound { id, .. } => Self::Missing { id },
            GetError::OutOfRange { .. } | GetError::DeviceLost => Self::Refused(error),
        }
    }
}

/// Keys of which a scan cannot tell whether they are there: the part of a patch that may hold the newest version of
/// them cannot be read. A get finds those that were written or deleted again since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first key.
    pub from: Vec<u8>,
    /// The key behind them, above `from`: a scan goes on here.
    pub to: Vec<u8>,
}

impl Gap {
    /// Returns the gap of one key.
    pub fn of_key(key: Vec<u8>) -> Self {
        let to = [&key[..], &[0]].concat();
        Self { from: key, to }
    }
}

/// Why a scan failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFailure {
    /// The read that failed.
    pub failure: ReadFailure,
    /// The keys that it was to return, with which the scan begins; `None` where they are not known.
    pub gap: Option<Gap>,
}

impl std::error::Error for ScanFailure {}

impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Gap { from, to }) = &self.gap {
            let (from, to) = (escape(from), escape(to));
            write!(f, "the keys from '{from}' on and below '{to}' cannot be read: ")?;
        }
        self.failure.fmt(f)
    }
}

impl From<ReadFailure> for ScanFailure {
    fn from(failure: ReadFailure) -> Self {
        Self { failure, gap: None }
    }
}

/// Why a call that waits failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The write was refused. Nothing has changed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The write failed.
    #[error(transparent)]
    WriteFailed(#[from] WriteFailure),
    /// The read failed.
    #[error(transparent)]
    Read(#[from] ReadFailure),
    /// The scan failed.
    #[error(transparent)]
    Scan(#[from] ScanFailure),
}

/// Why a store was not salvaged, or its loss not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SalvageError {
    /// The store was opened for reading, or its log has failed.
    #[error("the store cannot be written")]
    ReadOnly,
    /// The log is damaged, and a salvage keeps it.
    #[error("a salvage gives up blocks, and the log is damaged: {0}")]
    Log(Box<OpenError>),
    /// The log is of a version that has no place for the statement of a loss.
    #[error("the log is of an older version, whose header does not record what is given up")]
    OldLog,
    /// The header of the log has too little room for the statement of a loss.
    #[error("the header of the log has {} for the statement of what is given up, which is too little", exact_bytes(*room_bytes))]
    NoRoom {
        /// Bytes that are left in the header.
        room_bytes: u64,
    },
    /// Other data is in the place of one copy of the log's header.
    #[error("other data is in the place of one copy of the log's header, and is kept")]
    HeaderOverwritten,
    /// The header of the log could not be written. Nothing was given up.
    #[error("the header of the log cannot be written: {reason}")]
    Header {
        /// The device's answer.
        reason: String,
    },
    /// Other data in the log could not be erased. Nothing was given up.
    #[error("other data in the log cannot be erased: {reason}")]
    Foreign {
        /// The device's answer.
        reason: String,
    },
    /// Damaged units could not be erased. The loss is stated; a further salvage tries it again.
    #[error("damaged units cannot be erased: {0}")]
    Units(#[from] DeleteError),
}
