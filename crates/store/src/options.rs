//! Options of a store: those it is created with, and those of an opening.

use crate::builder::Shape;
use crate::error::OptionsError;
use crate::merging::{MERGE_BLOCKS, PART_BLOCKS};
use flashlane_base::Duration;
use flashlane_block::BlockOptions;
use flashlane_policy::{Options, merge};

/// What a store is created with. It is recorded with the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    /// The first key of each slice; that of the first one is empty.
    pub bounds: Vec<Vec<u8>>,
}

impl Slices {
    /// Parts the keys into `count` slices, evenly by their first two bytes.
    ///
    /// # Panics
    /// If `count` is 0, or above 65536.
    pub fn even(count: u32) -> Self {
        assert!((1..=1 << 16).contains(&count), "keys cannot be parted into {count} slices by two bytes");
        let bound = |nth: u32| ((u64::from(nth) << 16) / u64::from(count)) as u16;
        let bytes = |nth: u32| if nth == 0 { Vec::new() } else { bound(nth).to_be_bytes().to_vec() };
        Self { bounds: (0..count).map(bytes).collect() }
    }

    pub(crate) fn check(&self, key_bytes_max: u64) -> Result<(), OptionsError> {
        let bounds = &self.bounds;
        if let Some(nth) = (0..bounds.len().max(1)).find(|&nth| match nth {
            0 => bounds.first().is_none_or(|first| !first.is_empty()),
            nth => bounds[nth - 1] >= bounds[nth],
        }) {
            return Err(OptionsError::Bounds { nth });
        }
        let most = key_bytes_max.min(1024);
        match bounds.iter().position(|bound| bound.len() as u64 > most) {
            None => Ok(()),
            Some(nth) => Err(OptionsError::LongBound { nth, bytes: bounds[nth].len() as u64, most }),
        }
    }
}

/// How an opened store behaves. None of it is stored.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Options of the block layer.
    pub blocks: BlockOptions,
    /// Bytes of memory for containers, indexes, filters, waiting writes, buffers of merges, and the cache of reads.
    pub memory_bytes: u64,
    /// Whether what gets and scans read by short reads is kept in the memory that the others leave.
    pub cache_reads: bool,
    /// Name of the merge policy.
    pub merge: String,
    /// Options of the merge policy.
    pub merge_options: Options,
    /// Bytes that a merge reads at once.
    pub merge_chunk_bytes: u64,
    /// Outputs of a merge that are written at once at least; more where the memory for merges allows.
    pub merge_writes: u32,
    /// Blocks that a merge writes at most, where it can be done by parts; at least 4.
    pub merge_blocks_max: u64,
    /// Longest delay of the acknowledgement of a write where flushing and merging lag behind.
    pub write_delay_max: Duration,
    /// Whether opening goes on without blocks that are missing, or that cannot be recognised, as their ends cannot be
    /// read, and without the records of the log from a damaged page on: keys in them are missing, and older values of
    /// theirs may be found. [`Store::loss`](crate::Store::loss) tells of them. Where there are any, nothing is written.
    pub without_damaged_blocks: bool,
    /// Blocks that are kept free for merges: values are refused once fewer are left. At least 12.
    pub reserve_blocks: u64,
}

impl StoreOptions {
    /// Fewest bytes of memory: two containers and the buffers of one merge.
    fn memory_bytes_min(&self, shape: &Shape) -> u64 {
        (4 + u64::from(self.merge_writes)) * shape.block_bytes
    }

    /// Returns the merge policy, if all options suit a store of this shape.
    pub(crate) fn check(&self, shape: &Shape, slices: u64) -> Result<Box<dyn merge::Merge>, OptionsError> {
        let policy = merge::FAMILY.build(&self.merge, &self.merge_options)?;
        let least_bytes = self.memory_bytes_min(shape);
        if self.memory_bytes < least_bytes {
            let (given_bytes, block_bytes) = (self.memory_bytes, shape.block_bytes);
            return Err(OptionsError::Memory { given_bytes, slices, block_bytes, least_bytes });
        }
        let blocks_of_merges = [
            ("merge_blocks_max", self.merge_blocks_max, PART_BLOCKS),
            ("reserve_blocks", self.reserve_blocks, MERGE_BLOCKS + PART_BLOCKS),
        ];
        match blocks_of_merges.into_iter().find(|(_, given, least)| given < least) {
            Some((option, given, least)) => Err(OptionsError::FewBlocks { option, given, least }),
            None => Ok(policy),
        }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            blocks: BlockOptions::default(),
            memory_bytes: 1 << 30,
            cache_reads: true,
            merge: "by-size".into(),
            merge_options: Options::default(),
            merge_chunk_bytes: 512 << 10,
            merge_writes: 2,
            merge_blocks_max: u64::MAX,
            write_delay_max: Duration::from_ms(100),
            without_damaged_blocks: false,
            reserve_blocks: 24,
        }
    }
}
