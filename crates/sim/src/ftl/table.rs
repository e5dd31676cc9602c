//! Large tables of 32-bit entries, zeroed, in huge pages where the system has them, and committed as they are touched.
//!
//! Random writes touch both tables of the translation layer at random places. With pages of 4 KiB nearly every touch
//! misses the processor's address translation too; huge pages spare that. They are a hint: a system
//! that does not take it is slower, and nothing else.
//!
//! A thread keeps the memory of its last drive for its next one, zeroed again. A sweep makes a drive for each point;
//! having the system take back a hundred megabytes and hand them out each time costs as much as a short run does, and
//! several threads that do so wait for each other, since they change one address space. The price: a table whose memory was
//! another's is zeroed whole, up to 128 MiB, however little of it is used.

use memmap2::{Advice, MmapMut};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// Tables of a drive, as many as a thread keeps.
const KEPT: usize = 2;
/// Longer ones are not kept: their cost is small beside that of their use.
const KEPT_BYTES: usize = 128 << 20;
const HUGE_PAGE_BYTES: usize = 2 << 20;

std::thread_local! {
    /// Memory of dropped tables, the last one at the end.
    static SPARE: RefCell<Vec<MmapMut>> = const { RefCell::new(Vec::new()) };
}

pub(super) struct Table {
    map: ManuallyDrop<MmapMut>,
    /// Entries that are used: the map may have more.
    entries: usize,
}

impl Table {
    /// A table of `entries` zeros.
    pub(super) fn zeroed(entries: usize) -> Self {
        let bytes = mapped_bytes(entries);
        debug_assert!(bytes / 4 >= entries, "{bytes} bytes hold no {entries} entries");
        if let Some(mut map) = spare(bytes) {
            map[..entries * 4].fill(0);
            return Self { map: ManuallyDrop::new(map), entries };
        }
        let map = MmapMut::map_anon(bytes).expect("the system has address space for the tables");
        if bytes >= HUGE_PAGE_BYTES {
            // Refused where the kernel has no huge pages: only slower.
            let _ = map.advise(Advice::HugePage);
        }
        Self { map: ManuallyDrop::new(map), entries }
    }

    /// Fetches entry `index` into the processor's cache, where the processor can.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(entry) = self.get(index) {
            // SAFETY: a prefetch reads nothing into the program and cannot fault; the pointer is to a live entry.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                    std::ptr::from_ref(entry).cast(),
                )
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }
}

// Without a check of length and alignment: the tables are looked into several times for every page that is written.
impl Deref for Table {
    type Target = [u32];
    #[inline]
    fn deref(&self) -> &[u32] {
        // SAFETY: the map is as long as all entries and lies on the boundary of a page of memory; any bits are entries.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.entries) }
    }
}

impl DerefMut for Table {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and the map has no other owner.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.entries) }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: nothing uses the map after this.
        keep(unsafe { ManuallyDrop::take(&mut self.map) });
    }
}

/// The bytes that are mapped for a number of entries: few sizes, so that memory fits again, and from a huge page on whole ones, so that
/// the system lays it on their boundaries. Nothing is committed for what is not touched.
fn mapped_bytes(entries: usize) -> usize {
    let bytes = (entries * 4).max(4);
    if bytes > KEPT_BYTES { bytes.next_multiple_of(HUGE_PAGE_BYTES) } else { bytes.next_power_of_two() }
}

/// Memory of at least `bytes` that a dropped table left to this thread.
fn spare(bytes: usize) -> Option<MmapMut> {
    SPARE.with_borrow_mut(|spare| {
        let at = spare.iter().position(|map| map.len() >= bytes)?;
        Some(spare.remove(at))
    })
}

/// Leaves memory to this thread's next table.
fn keep(map: MmapMut) {
    if map.len() > KEPT_BYTES {
        return;
    }
    // A thread that ends keeps nothing.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        spare.push(map);
        if spare.len() > KEPT {
            spare.remove(0);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_bytes() -> Vec<usize> {
        SPARE.with_borrow(|spare| spare.iter().map(|map| map.len()).collect())
    }

    #[test]
    fn memory_comes_back_zeroed_and_no_longer_than_asked_for() {
        let mut table = Table::zeroed(1000);
        table.fill(7);
        let memory = table.as_ptr();
        drop(table);
        let again = Table::zeroed(3);
        assert_eq!((&*again, again.as_ptr()), (&[0; 3][..], memory));
        // Memory in use has one owner.
        let other = Table::zeroed(1000);
        assert_ne!(other.as_ptr(), memory);
        drop((again, other));
        assert!(Table::zeroed(1000).iter().all(|&entry| entry == 0));
        assert_eq!(Table::zeroed(0).len(), 0);
    }

    #[test]
    fn a_thread_keeps_the_last_tables_and_none_too_long() {
        let tables = [1, 4, 2].map(|part| Table::zeroed(KEPT_BYTES / 4 / part));
        drop(tables);
        assert_eq!(kept_bytes(), [KEPT_BYTES / 4, KEPT_BYTES / 2]);
        drop(Table::zeroed(KEPT_BYTES / 4 + 1));
        assert_eq!(kept_bytes(), [KEPT_BYTES / 4, KEPT_BYTES / 2]);
    }
}
