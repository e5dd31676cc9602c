//! Large tables of numbers, in huge pages where the system has them, and committed as they are touched.
//!
//! Memory is zeroed at first, and an entry of zero is one that was never touched: what it stands for is a matter of the
//! table's owner. So a table takes memory and time only for what a run touches of it.
//!
//! Random writes touch both tables of the translation layer at random places. With pages of 4 KiB nearly every touch
//! misses the processor's address translation too; huge pages spare that. They are a hint: a system
//! that does not take it is slower, and nothing else.
//!
//! A thread keeps the memory of its last drive for its next one, zeroed again. A sweep makes a drive for each point;
//! having the system take back a hundred megabytes and hand them out each time costs as much as a short run does, and
//! several threads that do so wait for each other, since they change one address space. The price: a table whose memory
//! was another's is zeroed whole, up to 128 MiB, however little of it is used.

use memmap2::{Advice, MmapMut, MmapOptions};
use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;

/// Tables of a drive, as many as a thread keeps.
const KEPT: usize = 2;
/// Longer ones are not kept: their cost is small beside that of their use.
const KEPT_BYTES: usize = 128 << 20;
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Longer tables have small pages: most runs touch little of such a table, and each touch would commit a huge page.
const HUGE_TABLE_BYTES: usize = 2 << 30;

std::thread_local! {
    /// Memory of dropped tables, the last one at the end.
    static SPARE: RefCell<Vec<MmapMut>> = const { RefCell::new(Vec::new()) };
}

/// A table of numbers below `u32::MAX - 1`.
pub(super) struct Table {
    /// Each number + 1, [`UNTOUCHED`] or [`EMPTY`].
    map: ManuallyDrop<MmapMut>,
    /// Entries that are used: the map may have more.
    entries: usize,
}

const UNTOUCHED: u32 = 0;
const EMPTY: u32 = u32::MAX;

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Neither set nor cleared so far.
    Untouched,
    /// Cleared.
    Empty,
    Number(u32),
}

impl Table {
    /// The entry at `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Entry {
        match self.raw()[index] {
            UNTOUCHED => Entry::Untouched,
            EMPTY => Entry::Empty,
            entry => Entry::Number(entry - 1),
        }
    }

    /// Sets an entry. Requires: `number < u32::MAX - 1`.
    #[inline]
    pub(super) fn set(&mut self, index: usize, number: u32) {
        debug_assert!(number < EMPTY - 1, "{number} has no place in a table");
        self.raw_mut()[index] = number + 1;
    }

    /// Clears an entry.
    #[inline]
    pub(super) fn clear(&mut self, index: usize) {
        self.raw_mut()[index] = EMPTY;
    }

    /// The number of entries.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// A table of `entries`, none of which is touched.
    ///
    /// # Errors
    /// The system's, where it has no address space for it.
    pub(super) fn untouched(entries: usize) -> io::Result<Self> {
        let bytes = mapped_bytes(entries);
        debug_assert!(bytes / 4 >= entries, "{bytes} bytes hold no {entries} entries");
        if let Some(mut map) = spare(bytes) {
            map[..entries * 4].fill(0);
            return Ok(Self { map: ManuallyDrop::new(map), entries });
        }
        // Without a reservation: a table may be longer than the system's memory, of which a run touches little.
        let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
        if (HUGE_PAGE_BYTES..=HUGE_TABLE_BYTES).contains(&bytes) {
            // Refused where the kernel has no huge pages: only slower.
            let _ = map.advise(Advice::HugePage);
        }
        Ok(Self { map: ManuallyDrop::new(map), entries })
    }

    // Without a check of length and alignment: the tables are looked into several times for every page that is written.
    #[inline]
    fn raw(&self) -> &[u32] {
        // SAFETY: the map is as long as all entries and lies on the boundary of a page of memory; any bits are entries.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.entries) }
    }

    #[inline]
    fn raw_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and the map has no other owner.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.entries) }
    }

    /// Fetches entry `index` into the processor's cache, where the processor can.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        if let Some(entry) = self.raw().get(index) {
            prefetch(entry);
        }
    }
}

/// Fetches a value into the processor's cache, where the processor can.
#[inline]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing into the program and cannot fault; the pointer is to a live value.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
            std::ptr::from_ref(value).cast(),
        )
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: nothing uses the map after this.
        keep(unsafe { ManuallyDrop::take(&mut self.map) });
    }
}

/// The bytes that are mapped for a number of entries: few sizes, so that memory fits again, and from a huge page on
/// whole ones, so that the system lays it on their boundaries. Nothing is committed for what is not touched.
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

    fn untouched(entries: usize) -> Table {
        Table::untouched(entries).expect("there is room")
    }

    fn kept_bytes() -> Vec<usize> {
        SPARE.with_borrow(|spare| spare.iter().map(|map| map.len()).collect())
    }

    #[test]
    fn memory_comes_back_untouched_and_no_longer_than_asked_for() {
        let mut table = untouched(1000);
        table.raw_mut().fill(7);
        let memory = table.raw().as_ptr();
        drop(table);
        let again = untouched(3);
        assert_eq!((again.raw(), again.raw().as_ptr()), (&[0; 3][..], memory));
        // Memory in use has one owner.
        let other = untouched(1000);
        assert_ne!(other.raw().as_ptr(), memory);
        drop((again, other));
        assert!((0..1000).all(|index| untouched(1000).get(index) == Entry::Untouched));
        assert_eq!(untouched(0).entries(), 0);
    }

    #[test]
    fn entry_is_untouched_until_it_is_set_or_cleared() {
        let mut table = untouched(4);
        table.set(0, 0);
        table.set(1, u32::MAX - 2);
        table.clear(2);
        let entries: Vec<Entry> = (0..4).map(|index| table.get(index)).collect();
        assert_eq!(entries, [Entry::Number(0), Entry::Number(u32::MAX - 2), Entry::Empty, Entry::Untouched]);
    }

    #[test]
    fn a_thread_keeps_the_last_tables_and_none_too_long() {
        let tables = [1, 4, 2].map(|part| untouched(KEPT_BYTES / 4 / part));
        drop(tables);
        assert_eq!(kept_bytes(), [KEPT_BYTES / 4, KEPT_BYTES / 2]);
        drop(untouched(KEPT_BYTES / 4 + 1));
        assert_eq!(kept_bytes(), [KEPT_BYTES / 4, KEPT_BYTES / 2]);
    }
}
