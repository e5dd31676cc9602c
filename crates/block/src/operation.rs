//! Operations: as the caller submits them, as they wait on a lane or are in flight, and as they complete.

use crate::block_bytes::BlockBytes;
use crate::error::{DeleteFailure, GetFailure, PutFailure};
use crate::header::{Content, Header, Superblock};
use crate::layout::{Layout, Region, UnitAddress};
use crate::payload::{Payload, write_header_and_footer};
use crate::units::{Cause, Holds};
use flashlane_base::Instant;
use flashlane_device::Buffer;

/// Identifies an operation until it completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A completed operation.
#[derive(Debug)]
pub struct Finished {
    /// Ticket of the operation.
    pub ticket: Ticket,
    /// Id of the block.
    pub id: u64,
    /// When the operation was accepted: the first put or delete waits before that for leftovers to be erased.
    pub submitted: Instant,
    /// When the operation completed.
    pub completed: Instant,
    /// Result of the operation.
    pub outcome: Outcome,
}

/// Result of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// Of a put: the block is durable, or no such block is stored. The payload is returned for the next put.
    Put(Result<(), PutFailure>, Payload),
    /// Of a get: the bytes, whose checksums matched.
    Get(Result<BlockBytes, GetFailure>),
    /// Of a delete: the unit is erased, and a power cut does not bring the block back.
    Delete(Result<(), DeleteFailure>),
}

/// An accepted operation that has not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) id: u64,
    pub(crate) submitted: Instant,
}

/// A read of whole granules of a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockRead {
    pub(crate) pending: Pending,
    pub(crate) address: UnitAddress,
    pub(crate) first_granule: u32,
    pub(crate) granules: u32,
    /// The bytes requested, within the granules.
    pub(crate) skip_bytes: usize,
    pub(crate) length_bytes: usize,
    pub(crate) is_retry: bool,
}

/// A unit to be written.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Block(BlockWrite),
    Superblock(SuperblockWrite),
}

/// A block to be written.
#[derive(Clone, Debug)]
pub(crate) struct BlockWrite {
    pub(crate) pending: Pending,
    pub(crate) payload: Payload,
    pub(crate) sequence: u64,
    /// Checksums of the payload's granules, for this sequence number.
    pub(crate) checksums: Box<[u32]>,
    pub(crate) attempts: u32,
    /// Whether it is counted among the writes that waited for an erase.
    pub(crate) has_waited: bool,
}

/// A copy of the superblock to be written.
#[derive(Clone, Debug)]
pub(crate) struct SuperblockWrite {
    pub(crate) superblock: Superblock,
    pub(crate) buffer: Buffer,
    pub(crate) sequence: u64,
    pub(crate) attempts: u32,
    pub(crate) region: Region,
}

/// A device request in flight, and what it is for.
#[derive(Clone, Debug)]
pub(crate) enum InFlight {
    Read(BlockRead),
    Write { address: UnitAddress, write: Write },
    Erase { address: UnitAddress, cause: Cause },
}

impl Write {
    /// Returns what the unit holds once it is written.
    pub(crate) fn holds(&self) -> Holds {
        match self {
            Self::Block(block) => Holds::Block(block.pending.id),
            Self::Superblock(_) => Holds::Superblock,
        }
    }

    pub(crate) fn is_block(&self) -> bool {
        matches!(self, Self::Block(_))
    }

    /// Counts an attempt that failed, and returns how many have.
    pub(crate) fn count_attempt(&mut self) -> u32 {
        let (Self::Block(BlockWrite { attempts, .. }) | Self::Superblock(SuperblockWrite { attempts, .. })) =
            self;
        *attempts += 1;
        *attempts
    }

    /// Writes header and footer for the unit at `address`, and takes the buffer for the device.
    pub(crate) fn take_with_header(
        &mut self,
        layout: &Layout,
        format_id: u128,
        address: UnitAddress,
        erases: Option<u32>,
    ) -> Buffer {
        match self {
            Self::Block(BlockWrite { pending, payload, sequence, checksums, .. }) => {
                let content = Content::Block {
                    id: pending.id,
                    length_bytes: payload.len(),
                    checksums: checksums.clone(),
                };
                payload.take_with_header(&Header { format_id, sequence: *sequence, address, erases, content })
            }
            Self::Superblock(SuperblockWrite { buffer, sequence, superblock, .. }) => {
                let content = Content::Superblock(superblock.clone());
                let header = Header { format_id, sequence: *sequence, address, erases, content };
                write_header_and_footer(buffer, layout, &header);
                std::mem::take(buffer)
            }
        }
    }

    /// Puts the buffer back that went to the device.
    pub(crate) fn restore(&mut self, returned: Buffer) {
        match self {
            Self::Block(block) => block.payload.restore(returned),
            Self::Superblock(superblock) => superblock.buffer = returned,
        }
    }
}
