//! The number of distinct bytes that a trace touches, in bounded memory.
//!
//! One bit per granule, in pages of bits that are allocated on first use. Granules begin at 4 KiB; where there would be
//! more than [`PAGES_MOST`] pages, besides one for each later device, the granule size doubles. The result is exact to
//! a granule: never too low, and too high by less than two granules per contiguous range.

use std::collections::BTreeMap;

/// Bytes of a page of bits: 4096 granules, 16 MiB of a device at first.
const PAGE_BYTES: usize = 512;
const PAGE_BITS: u64 = PAGE_BYTES as u64 * 8;
/// 16 MiB: 512 GiB of fully touched device before granules grow.
const PAGES_MOST: usize = 1 << 15;

type Page = Box<[u64; PAGE_BYTES / 8]>;

/// The touched granules.
pub(crate) struct Footprint {
    granule_bytes: u64,
    pages: BTreeMap<(u32, u64), Page>,
    /// Devices first seen with [`PAGES_MOST`] pages in use.
    devices_late: usize,
}

impl Footprint {
    pub fn new() -> Self {
        Self { granule_bytes: 4096, pages: BTreeMap::new(), devices_late: 0 }
    }

    /// Marks a range, which MUST NOT be empty.
    pub fn touch(&mut self, device: u32, offset_bytes: u64, length_bytes: u64) {
        let mut at = offset_bytes;
        let end = offset_bytes + length_bytes;
        while at < end {
            let granule = at / self.granule_bytes;
            let (page, first) = (granule / PAGE_BITS, granule % PAGE_BITS);
            let key = (device, page);
            if self.pages.len() >= PAGES_MOST && !self.pages.contains_key(&key) && !self.has_room(device) {
                self.coarsen();
                continue;
            }
            let bits = self.pages.entry(key).or_insert_with(blank);
            let last_granule = (end - 1) / self.granule_bytes;
            let last = (last_granule - page * PAGE_BITS).min(PAGE_BITS - 1);
            set(&mut bits[..], first, last);
            match (page + 1)
                .checked_mul(PAGE_BITS)
                .and_then(|granule| granule.checked_mul(self.granule_bytes))
            {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Returns whether `device` may have another page beyond the limit: its first one, which coarser granules would not
    /// avoid.
    fn has_room(&mut self, device: u32) -> bool {
        let is_first = self.pages.range((device, 0)..=(device, u64::MAX)).next().is_none();
        self.devices_late += usize::from(is_first);
        is_first || self.pages.len() < PAGES_MOST + self.devices_late
    }

    /// Returns the bytes touched, in whole granules.
    pub fn bytes(&self) -> u64 {
        let ones = |page: &Page| page.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pages.values().map(ones).sum::<u64>().saturating_mul(self.granule_bytes)
    }

    pub fn granule_bytes(&self) -> u64 {
        self.granule_bytes
    }

    /// Doubles the granule size.
    fn coarsen(&mut self) {
        self.granule_bytes *= 2;
        for ((device, page), fine) in std::mem::take(&mut self.pages) {
            let coarse = self.pages.entry((device, page / 2)).or_insert_with(blank);
            let half = (page % 2) * PAGE_BITS / 2;
            for (place, word) in fine.iter().enumerate().filter(|(_, word)| **word != 0) {
                for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
                    let to = half + (place as u64 * 64 + bit) / 2;
                    set(&mut coarse[..], to, to);
                }
            }
        }
    }
}

fn blank() -> Page {
    Box::new([0; PAGE_BYTES / 8])
}

/// Sets the bits from `first` to `last`.
fn set(bits: &mut [u64], first: u64, last: u64) {
    let (low, high) = ((first / 64) as usize, (last / 64) as usize);
    let from = u64::MAX << (first % 64);
    let to = u64::MAX >> (63 - last % 64);
    if low == high {
        bits[low] |= from & to;
        return;
    }
    bits[low] |= from;
    bits[low + 1..high].fill(u64::MAX);
    bits[high] |= to;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn granules_grow_to_bound_memory() {
        let mut footprint = Footprint::new();
        for page in 0..PAGES_MOST as u64 + 100 {
            footprint.touch(0, page << 40, 4096);
        }
        assert!(footprint.pages.len() <= PAGES_MOST);
        let touched = (PAGES_MOST as u64 + 100) * 4096;
        assert!(footprint.bytes() >= touched, "never too low");
        assert!(footprint.bytes() <= (PAGES_MOST as u64 + 100) * footprint.granule_bytes());
        footprint.touch(0, 0, 1 << 63);
        assert!(footprint.bytes() >= 1 << 63);
    }

    /// Cloud traces have thousands of volumes, more than there are pages.
    #[test]
    fn many_devices_are_counted_exactly() {
        let devices = 2 * PAGES_MOST as u32;
        let mut footprint = Footprint::new();
        for device in 0..devices {
            footprint.touch(device, 1 << 30, 8192);
        }
        assert_eq!((footprint.bytes(), footprint.granule_bytes()), (u64::from(devices) * 8192, 4096));
        for device in 0..devices {
            footprint.touch(device, 1 << 40, 4096);
        }
        assert!(footprint.pages.len() <= PAGES_MOST + devices as usize);
        footprint.touch(0, 0, 1 << 63);
        assert!(footprint.bytes() >= 1 << 63);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn footprint_matches_a_set_of_pages(ranges in prop::collection::vec((0_u32..3, 0_u64..1 << 30, 1_u64..1 << 17), 1..12)) {
            let (mut footprint, mut set) = (Footprint::new(), BTreeSet::new());
            for (device, offset, length) in ranges {
                footprint.touch(device, offset, length);
                set.extend((offset / 4096..=(offset + length - 1) / 4096).map(|page| (device, page)));
            }
            prop_assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
        }
    }
}
