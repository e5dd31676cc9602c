//! A cache of groups that gets have read, so that reading a key again, or one beside it, takes no device.
//!
//! A group is known by its block and its place in it. Blocks are written once and their ids do not come again, so a
//! cached group is that of the device for as long as any patch names it: overwrites, deletes and merges change which
//! groups are looked up, and nothing has to be invalidated. Groups of deleted blocks are not looked up any more, and go
//! as others come.
//!
//! Merges neither use nor fill it, and reads above [`READ_BYTES_MAX`] are not kept, be they of one group or, for a
//! scan, of several: these cost the transfer more than the request, and a few displace many. Replacement is that of
//! `quick_cache`, a variant of S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023).
//! Hashes are not seeded, so a run repeats.
//!
//! Invariant: groups, with [`ENTRY_BYTES`] for each, take no more memory than the capacity, which is what the other
//! parts of the store leave of its memory. The cache gives way to them at once.

use quick_cache::unsync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

/// Longest read of which groups are kept.
pub(crate) const READ_BYTES_MAX: u64 = 64 << 10;
/// Memory of a group beside its bytes: its entry in lists and table, and the headers of its allocation.
const ENTRY_BYTES: u64 = 96;
/// Bytes of a group on average, from which the number of groups that are remembered for a while after they went
/// follows.
const GROUP_BYTES_EXPECTED: u64 = 4096;
/// The capacity changes by this share of the most, so that it does not with each write.
const STEPS: u64 = 64;

/// A block, and the offset of a group in it.
type Place = (u64, u64);

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<Place, Arc<[u8]>> for Bytes {
    fn weight(&self, _: &Place, group: &Arc<[u8]>) -> u64 {
        group.len() as u64 + ENTRY_BYTES
    }
}

/// Groups that were read.
pub(crate) struct GroupCache {
    groups: Groups,
    bytes_max: u64,
}

type Groups = Cache<Place, Arc<[u8]>, Bytes, FxBuildHasher, DefaultLifecycle<Place, Arc<[u8]>>>;

fn empty(bytes_max: u64) -> Groups {
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity((bytes_max / GROUP_BYTES_EXPECTED) as usize);
    options.weight_capacity(bytes_max);
    let options = options.build().expect("both capacities are given");
    Cache::with_options(options, Bytes, FxBuildHasher, DefaultLifecycle::default())
}

impl GroupCache {
    /// A cache of at most `bytes_max` bytes; of none it keeps nothing.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { groups: empty(bytes_max), bytes_max }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.groups.weight()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Sets how much memory it may take, and gives up what exceeds that.
    pub(crate) fn set_capacity(&mut self, bytes: u64) {
        let step_bytes = self.bytes_max.div_ceil(STEPS).max(1);
        let bytes = bytes / step_bytes * step_bytes;
        if bytes != self.groups.capacity() {
            if self.groups.is_empty() {
                // Changes are by ratios, which lose what a capacity near zero says.
                self.groups = empty(self.bytes_max);
            }
            self.groups.set_capacity(bytes);
        }
        assert!(self.groups.weight() <= bytes, "the cache exceeds {bytes} bytes");
    }

    /// Returns a group of this block, if it is kept.
    pub(crate) fn get(&self, block: u64, offset_bytes: u64) -> Option<&Arc<[u8]>> {
        self.groups.get(&(block, offset_bytes))
    }

    /// Keeps a group that was read, whose checksums match.
    pub(crate) fn insert(&mut self, block: u64, offset_bytes: u64, group: &[u8]) {
        let bytes = group.len() as u64;
        if bytes <= READ_BYTES_MAX && bytes + ENTRY_BYTES <= self.groups.capacity() {
            self.groups.insert((block, offset_bytes), group.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn memory_is_bounded_whatever_the_capacity_becomes() {
        let (mut cache, mut random, mut hits) = (GroupCache::new(1 << 20), Seed(1).source(), 0);
        for step in 0..50_000_u64 {
            if step % 100 == 0 {
                let capacity = random.below(1 << 20);
                cache.set_capacity(capacity);
                assert!(cache.memory_bytes() <= capacity, "step {step}");
            }
            let place = (random.below(40), 4096 * random.below(20));
            let group = vec![place.0 as u8; 100 + random.below(3000) as usize];
            match cache.get(place.0, place.1) {
                Some(found) => {
                    assert_eq!(found[0], place.0 as u8);
                    hits += 1;
                }
                None => cache.insert(place.0, place.1, &group),
            }
        }
        assert!(hits > 10_000, "{hits} hits");
        cache.set_capacity(0);
        assert!(cache.is_empty());
        cache.insert(1, 0, &[7]);
        assert!(cache.is_empty() && cache.memory_bytes() == 0);
    }

    #[test]
    fn long_groups_are_not_kept() {
        let mut cache = GroupCache::new(1 << 20);
        cache.insert(1, 0, &vec![7; READ_BYTES_MAX as usize + 1]);
        assert_eq!(cache.get(1, 0), None);
        cache.insert(1, 0, &vec![7; READ_BYTES_MAX as usize]);
        assert!(cache.get(1, 0).is_some() && cache.get(1, 1).is_none() && cache.get(2, 0).is_none());
    }
}
