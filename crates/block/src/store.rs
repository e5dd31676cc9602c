//! Blocks with calls that wait: each returns when its operation has completed.
//!
//! A thin loop over [`Blocks`], for programs that do one thing at a time. Programs that keep several lanes busy use
//! [`Blocks`] itself.

use crate::blocks::Blocks;
use crate::error::{
    DeleteError, DeleteFailure, FormatError, GetError, GetFailure, OpenError, PutError, PutFailure,
};
use crate::operation::Outcome;
use crate::options::BlockOptions;
use crate::payload::Payload;
use crate::status::BlockInfo;
use flashlane_base::units::exact_bytes;
use flashlane_device::DataDevice;

/// Immutable blocks under 64-bit ids, with calls that return when the block is stored, read or erased.
///
/// ```
/// use flashlane_block::BlockStore;
/// use flashlane_base::Seed;
/// use flashlane_device_testing::MemoryLanes;
///
/// // Two lanes of eight erase units of 64 KiB, in memory.
/// let device = MemoryLanes::new(2, 8, 64 << 10, 512, Seed(1));
/// let mut store = BlockStore::format(device, 1)?;
/// let id = store.put(b"hello")?;
/// assert_eq!(store.get(id)?, b"hello");
/// store.delete(id)?;
/// assert!(store.get(id).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlockStore<D> {
    blocks: Blocks<D>,
    /// Buffer of the last put, reused by the next one.
    payload: Option<Payload>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// More bytes than a block holds. Nothing has changed.
    #[error("{} were given, and a block of this device holds {} at most", exact_bytes(*given_bytes), exact_bytes(*block_bytes))]
    TooLong {
        /// Bytes that were given.
        given_bytes: u64,
        /// Most bytes of a block.
        block_bytes: u64,
    },
    /// The put was refused. Nothing has changed.
    #[error(transparent)]
    Put(#[from] PutError),
    /// The put failed: no such block is stored.
    #[error(transparent)]
    PutFailed(#[from] PutFailure),
    /// The get was refused.
    #[error(transparent)]
    Get(#[from] GetError),
    /// The block could not be read, or its bytes are not those that were put.
    #[error(transparent)]
    GetFailed(#[from] GetFailure),
    /// The delete was refused. Nothing has changed.
    #[error(transparent)]
    Delete(#[from] DeleteError),
    /// The delete failed: [`DeleteFailure`] says whether the block may still be there.
    #[error(transparent)]
    DeleteFailed(#[from] DeleteFailure),
}

impl<D: DataDevice> BlockStore<D> {
    /// Makes `device` hold blocks, none so far, and erases whatever it holds. `format_id` identifies this formatting
    /// and MUST differ from that of any before on the same device: see [`Blocks::format`].
    ///
    /// # Errors
    /// [`FormatError`] where the device cannot hold blocks or its units cannot be written.
    pub fn format(device: D, format_id: u128) -> Result<Self, FormatError> {
        Ok(Blocks::format(device, format_id, BlockOptions::default())?.into())
    }

    /// Opens the blocks on `device`. Nothing is written before the first put or delete.
    ///
    /// # Errors
    /// [`OpenError`] where there are none, or the device has changed.
    pub fn open(device: D) -> Result<Self, OpenError> {
        Ok(Blocks::open(device, BlockOptions::default())?.into())
    }

    /// Stores `bytes` as a block and returns its id, which no block on this device had before. When it returns, the
    /// block is durable: a power cut does not take it.
    ///
    /// # Errors
    /// [`StoreError::TooLong`], [`StoreError::Put`] and [`StoreError::PutFailed`].
    pub fn put(&mut self, bytes: &[u8]) -> Result<u64, StoreError> {
        let (given_bytes, block_bytes) = (bytes.len() as u64, self.blocks.block_bytes());
        if given_bytes > block_bytes {
            return Err(StoreError::TooLong { given_bytes, block_bytes });
        }
        let mut payload = self.payload.take().unwrap_or_else(|| self.blocks.payload());
        payload.copy_from(bytes);
        let id = self.blocks.next_id();
        let ticket = match self.blocks.put(id, payload) {
            Ok(ticket) => ticket,
            Err((error, payload)) => {
                self.payload = Some(payload);
                return Err(error.into());
            }
        };
        match self.blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Put(result, payload)) => {
                self.payload = Some(payload);
                result?;
                Ok(id)
            }
            other => unreachable!("an accepted put ends as one, not as {other:?}"),
        }
    }

    /// Returns the bytes of block `id`, after checking that they are those that were put.
    ///
    /// # Errors
    /// [`StoreError::Get`] and [`StoreError::GetFailed`].
    pub fn get(&mut self, id: u64) -> Result<Vec<u8>, StoreError> {
        let length_bytes = self.blocks.info(id).map_or(0, |info| info.length_bytes);
        let ticket = self.blocks.get(id, 0, length_bytes)?;
        match self.blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Get(result)) => Ok(result?.as_slice().to_vec()),
            other => unreachable!("an accepted get ends as one, not as {other:?}"),
        }
    }

    /// Deletes block `id`. When it returns, the erase unit is erased, and a power cut does not bring the block back.
    ///
    /// # Errors
    /// [`StoreError::Delete`] and [`StoreError::DeleteFailed`].
    pub fn delete(&mut self, id: u64) -> Result<(), StoreError> {
        let ticket = self.blocks.delete(id)?;
        match self.blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Delete(result)) => Ok(result?),
            other => unreachable!("an accepted delete ends as one, not as {other:?}"),
        }
    }

    /// Returns the blocks that are stored, by id.
    pub fn list(&self) -> impl Iterator<Item = BlockInfo> + '_ {
        self.blocks.list()
    }

    /// Returns the most bytes of a block.
    pub fn block_bytes(&self) -> u64 {
        self.blocks.block_bytes()
    }

    /// Returns the blocks for calls that do not wait.
    pub fn into_blocks(self) -> Blocks<D> {
        self.blocks
    }

    /// Returns the device. Units that are still to be erased stay so.
    pub fn into_device(self) -> D {
        self.blocks.into_device()
    }
}

impl<D: DataDevice> From<Blocks<D>> for BlockStore<D> {
    fn from(blocks: Blocks<D>) -> Self {
        Self { blocks, payload: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_device_testing::{MemoryFaults, MemoryLanes, cycle_power};
    use std::collections::BTreeMap;

    /// Returns the blocks that a power cut leaves at this moment.
    fn after_a_power_cut(store: &BlockStore<MemoryLanes>) -> BlockStore<MemoryLanes> {
        let mut device = store.blocks.device().clone();
        cycle_power(&mut device);
        BlockStore::open(device).expect("it was formatted")
    }

    #[test]
    fn returned_calls_survive_power_cuts_and_failing_units() {
        let (mut put, mut deleted, mut failed) = (0, 0, 0);
        for seed in 0..40 {
            let device = MemoryLanes::new(3, 10, 4096, 512, Seed(seed));
            // Half of the devices are sound.
            let unit_fails = if seed % 2 == 0 { 0.0 } else { 0.05 };
            let device = device.with_faults(MemoryFaults { unit_fails, ..MemoryFaults::default() });
            let Ok(mut store) = BlockStore::format(device, 1) else { continue };
            let mut random = Seed(seed).derive("operations").source();
            let mut stored: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            for _ in 0..40 {
                let known = stored.keys().copied().nth(random.below(stored.len().max(1) as u64) as usize);
                if let Some(id) = known.filter(|_| random.chance(0.4)) {
                    stored.remove(&id);
                    match store.delete(id) {
                        Ok(()) => {
                            deleted += 1;
                            let mut cut = after_a_power_cut(&store);
                            assert!(matches!(cut.get(id), Err(StoreError::Get(_))), "block {id} is back");
                        }
                        Err(_) => failed += 1,
                    }
                } else {
                    let bytes = vec![random.bits() as u8; random.below(store.block_bytes() + 1) as usize];
                    match store.put(&bytes) {
                        Ok(id) => {
                            put += 1;
                            assert_eq!(stored.insert(id, bytes), None, "id {id} was given twice");
                        }
                        Err(error) => {
                            let full = matches!(error, StoreError::Put(PutError::Full { .. }));
                            assert!(full || unit_fails > 0.0, "{error}");
                            failed += 1;
                        }
                    }
                }
                let mut cut = after_a_power_cut(&store);
                for (&id, bytes) in &stored {
                    assert!(store.get(id).expect("it was put") == *bytes, "block {id} has other bytes");
                    assert!(cut.get(id).expect("it was durable") == *bytes, "block {id} has other bytes");
                }
            }
        }
        assert!(put > 400 && deleted > 200 && failed > 0, "put {put}, deleted {deleted}, failed {failed}");
    }
}
