//! Where pages and copies are on the device below.
//!
//! ```text
//! | partition 0: data pages | slots | partition 1: data pages | slots | ... |
//! ```

use flashlane_base::random::splitmix64;
use flashlane_replication::Slot;

/// The layout of the device below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub partitions: u32,
    pub page_bytes: u64,
    /// Data pages of a partition.
    pub data_pages: u32,
    /// Slots of a partition.
    pub slots: u32,
}

impl Layout {
    pub fn pages(&self) -> u32 {
        self.partitions * self.data_pages
    }

    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.pages()) * self.page_bytes
    }

    /// Returns [`DeviceInfo::address_map`](flashlane_device::DeviceInfo::address_map) of the layer over a device with
    /// `below`.
    pub fn address_map(&self, below: u64) -> u64 {
        let places = u64::from(self.data_pages) << 32 | u64::from(self.slots);
        [self.page_bytes, places].into_iter().fold(below, |map, part| splitmix64(map ^ part))
    }

    fn partition_bytes(&self) -> u64 {
        (u64::from(self.data_pages) + u64::from(self.slots)) * self.page_bytes
    }

    /// Returns the partition of a page.
    pub fn partition_of(&self, page: u32) -> u32 {
        page / self.data_pages
    }

    /// Returns the offset of a page's home.
    pub fn home(&self, page: u32) -> u64 {
        let (partition, within) = (page / self.data_pages, page % self.data_pages);
        u64::from(partition) * self.partition_bytes() + u64::from(within) * self.page_bytes
    }

    /// Returns the offset of a slot.
    pub fn slot(&self, slot: Slot) -> u64 {
        let (partition, within) = (slot.0 / self.slots, slot.0 % self.slots);
        let page = u64::from(self.data_pages) + u64::from(within);
        u64::from(partition) * self.partition_bytes() + page * self.page_bytes
    }

    /// Returns the parts of a range below that are homes: page, first byte in it, length.
    pub fn pages_in(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = (u32, u64, u64)> {
        let (page_bytes, in_partition) =
            (self.page_bytes, u64::from(self.data_pages) + u64::from(self.slots));
        let end = offset_bytes + length_bytes;
        let layout = *self;
        (offset_bytes / page_bytes..end.div_ceil(page_bytes)).filter_map(move |nth| {
            let (partition, within) = (nth / in_partition, nth % in_partition);
            if partition >= u64::from(layout.partitions) || within >= u64::from(layout.data_pages) {
                return None;
            }
            let from = offset_bytes.max(nth * page_bytes);
            let to = end.min((nth + 1) * page_bytes);
            let page = partition as u32 * layout.data_pages + within as u32;
            Some((page, from - nth * page_bytes, to - from))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_slots_cover_the_device_once() {
        let layout = Layout { partitions: 3, page_bytes: 10, data_pages: 4, slots: 2 };
        let mut places: Vec<u64> = (0..layout.pages()).map(|page| layout.home(page)).collect();
        places.extend((0..6).map(|slot| layout.slot(Slot(slot))));
        places.sort_unstable();
        assert_eq!(places, (0..18).map(|nth| nth * 10).collect::<Vec<_>>());
        assert_eq!((layout.home(5), layout.partition_of(5), layout.slot(Slot(3))), (70, 1, 110));
    }

    #[test]
    fn range_below_is_divided_into_homes() {
        let layout = Layout { partitions: 3, page_bytes: 10, data_pages: 4, slots: 2 };
        let found: Vec<_> = layout.pages_in(25, 50).collect();
        assert_eq!(found, [(2, 5, 5), (3, 0, 10), (4, 0, 10), (5, 0, 5)]);
        assert_eq!(layout.pages_in(170, 20).next(), None, "slots, and bytes behind the last partition");
    }
}
