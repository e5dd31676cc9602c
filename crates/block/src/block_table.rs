//! The table of blocks: which ids are stored, being put or being deleted.
//!
//! Invariants:
//! - An id is being deleted in at most one way: it is never stored or being put at the same time.
//! - An id that is stored and being put is a block that is repaired: the new copy replaces the older one.
//! - `readers` counts the gets of a block that have not completed. A block that is being deleted keeps its entry, and
//!   its unit, until the delete completes.

use crate::block_bytes::BlockBytes;
use crate::error::GetFailure;
use crate::header::granule_checksum;
use crate::layout::UnitAddress;
use crate::operation::{BlockRead, Pending};
use flashlane_device::Buffer;
use std::collections::{BTreeMap, BTreeSet};

/// A block on the device.
#[derive(Clone, Debug)]
pub(crate) struct StoredBlock {
    pub(crate) address: UnitAddress,
    pub(crate) length_bytes: u64,
    pub(crate) sequence: u64,
    /// Checksum of each granule.
    pub(crate) checksums: Box<[u32]>,
    readers: u32,
}

impl StoredBlock {
    pub(crate) fn new(address: UnitAddress, length_bytes: u64, sequence: u64, checksums: Box<[u32]>) -> Self {
        Self { address, length_bytes, sequence, checksums, readers: 0 }
    }
}

/// All blocks, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockTable {
    stored: BTreeMap<u64, StoredBlock>,
    putting: BTreeSet<u64>,
    deleting: BTreeMap<u64, (Pending, StoredBlock)>,
}

impl BlockTable {
    /// Adds a block that was found on the device. Of two with one id the newer counts; returns the unit of the older.
    pub(crate) fn found(&mut self, id: u64, block: StoredBlock) -> Option<UnitAddress> {
        assert!(self.putting.is_empty() && self.deleting.is_empty(), "block {id} is found after the opening");
        match self.stored.get(&id) {
            Some(other) if other.sequence > block.sequence => Some(block.address),
            _ => self.stored.insert(id, block).map(|older| older.address),
        }
    }

    /// Returns a stored block.
    pub(crate) fn get(&self, id: u64) -> Option<&StoredBlock> {
        self.stored.get(&id)
    }

    /// Returns the stored blocks, by id.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u64, &StoredBlock)> + '_ {
        self.stored.iter().map(|(&id, block)| (id, block))
    }

    pub(crate) fn stored_count(&self) -> u64 {
        self.stored.len() as u64
    }

    pub(crate) fn putting_count(&self) -> u64 {
        self.putting.len() as u64
    }

    pub(crate) fn is_putting(&self, id: u64) -> bool {
        self.putting.contains(&id)
    }

    pub(crate) fn is_deleting(&self, id: u64) -> bool {
        self.deleting.contains_key(&id)
    }

    /// Returns whether no block is being put or deleted.
    pub(crate) fn has_no_changes(&self) -> bool {
        self.putting.is_empty() && self.deleting.is_empty()
    }

    /// Returns the highest id on the device, of blocks that are being deleted too.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.stored.last_key_value().map(|(&id, _)| id).max(self.highest_deleting())
    }

    /// Returns the highest id that is being deleted.
    pub(crate) fn highest_deleting(&self) -> Option<u64> {
        self.deleting.last_key_value().map(|(&id, _)| id)
    }

    /// A put was accepted, or a repair of a stored block.
    pub(crate) fn start_put(&mut self, id: u64) {
        assert!(!self.deleting.contains_key(&id), "block {id} is put while it is deleted");
        let is_new = self.putting.insert(id);
        assert!(is_new, "block {id} is put twice");
    }

    /// The block is durable. Returns the unit of the copy that it replaces, where it was repaired.
    pub(crate) fn put_completed(&mut self, id: u64, block: StoredBlock) -> Option<UnitAddress> {
        let was_putting = self.putting.remove(&id);
        assert!(was_putting, "block {id} is written and was not put");
        let older = self.stored.insert(id, block)?;
        assert_eq!(older.readers, 0, "block {id} is read while it is repaired");
        Some(older.address)
    }

    pub(crate) fn put_failed(&mut self, id: u64) {
        let was_putting = self.putting.remove(&id);
        assert!(was_putting, "the put of block {id} fails and was not accepted");
    }

    /// A get of a stored block was accepted.
    pub(crate) fn add_reader(&mut self, id: u64) {
        self.stored.get_mut(&id).expect("a get is of a stored block").readers += 1;
    }

    /// A get has completed. Returns whether it was the last one that a delete waits for.
    pub(crate) fn reader_left(&mut self, id: u64) -> bool {
        let (block, is_deleting) = match self.stored.get_mut(&id) {
            Some(block) => (block, false),
            None => (&mut self.deleting.get_mut(&id).expect("a block that is read has an entry").1, true),
        };
        assert!(block.readers > 0, "block {id} has no readers");
        block.readers -= 1;
        is_deleting && block.readers == 0
    }

    /// A delete was accepted. Returns the block's unit, and whether gets still read it.
    pub(crate) fn start_delete(&mut self, id: u64, pending: Pending) -> (UnitAddress, bool) {
        assert!(!self.putting.contains(&id), "block {id} is deleted while it is put");
        let block = self.stored.remove(&id).expect("a delete is of a stored block");
        let (address, has_readers) = (block.address, block.readers > 0);
        let other = self.deleting.insert(id, (pending, block));
        assert!(other.is_none(), "block {id} is deleted twice");
        (address, has_readers)
    }

    /// A delete has ended, and the block is no longer given out. Returns its operation.
    pub(crate) fn delete_ended(&mut self, id: u64) -> Pending {
        let (pending, block) = self.deleting.remove(&id).expect("a delete that ends was accepted");
        assert_eq!(block.readers, 0, "block {id} is erased while it is read");
        pending
    }

    /// A delete failed, and the block is stored as before. Returns the operation.
    pub(crate) fn delete_undone(&mut self, id: u64) -> Pending {
        let (pending, block) = self.deleting.remove(&id).expect("a delete that fails was accepted");
        let other = self.stored.insert(id, block);
        assert!(other.is_none(), "block {id} is stored twice");
        pending
    }

    /// Returns the bytes of a read if their checksums match.
    pub(crate) fn checked(
        &self,
        read: &BlockRead,
        buffer: Buffer,
        format_id: u128,
        granule_bytes: u64,
    ) -> Result<BlockBytes, GetFailure> {
        match self.first_mismatch(read, buffer.as_slice(), format_id, granule_bytes) {
            None => Ok(BlockBytes::new(buffer, read.skip_bytes..read.skip_bytes + read.length_bytes)),
            Some(granule) => {
                let offset_bytes = u64::from(granule) * granule_bytes;
                Err(GetFailure::Damaged { id: read.pending.id, offset_bytes, address: read.address })
            }
        }
    }

    /// Returns the first granule of a read whose checksum does not match.
    fn first_mismatch(
        &self,
        read: &BlockRead,
        bytes: &[u8],
        format_id: u128,
        granule_bytes: u64,
    ) -> Option<u32> {
        let id = read.pending.id;
        let deleting = || self.deleting.get(&id).map(|(_, block)| block);
        let block = self.stored.get(&id).or_else(deleting).expect("a block that is read has an entry");
        assert_eq!(block.address, read.address, "block {id} was read from another unit");
        let granules = bytes.chunks(granule_bytes as usize).zip(read.first_granule..);
        granules
            .map(|(granule, nth)| (granule_checksum(format_id, block.sequence, nth, granule), nth))
            .find_map(|(sum, nth)| (sum != block.checksums[nth as usize]).then_some(nth))
    }
}
