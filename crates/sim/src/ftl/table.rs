//! Large tables of numbers, which take memory and time only for what a run touches of them.
//!
//! Memory is zeroed at first, and an entry of zero is one that was never touched: what it stands for is a matter of the
//! table's owner.
//!
//! Random writes touch both tables of the translation layer at random places. With pages of 4 KiB nearly every touch
//! misses the processor's address translation too; huge pages spare that. They are a hint: a system
//! that does not take it is slower, and nothing else. But a thousand touches commit a thousand huge pages, 2 GB for the
//! tables of a drive of 1 TB. So a table beyond [`KEPT_BYTES`] is [`Sparse`] until that takes a 32nd of its memory.
//!
//! A thread keeps the memory of its last drive for its next one, zeroed again. A sweep makes a drive for each point;
//! having the system take back a hundred megabytes and hand them out each time costs as much as a short run does, and
//! several threads that do so wait for each other, since they change one address space. The price: a table whose memory
//! was another's is zeroed whole, up to 128 MiB, however little of it is used.

use super::sparse::{SLOT_BYTES, Sparse};
use memmap2::{Advice, MmapMut, MmapOptions};
use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;

/// Tables of a drive, as many as a thread keeps.
const KEPT: usize = 2;
/// Longer ones are not kept: their cost is small beside that of their use.
const KEPT_BYTES: usize = 128 << 20;
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Part of the memory of a table that its touched entries may take while they are apart.
const SPARSE_PART: usize = 32;
/// Most memory that they take at first: having it from the beginning spares the search for a new place of each.
const FIRST_SPARSE_BYTES: usize = 32 << 20;

std::thread_local! {
    /// Memory of dropped tables, the last one at the end.
    static SPARE: RefCell<Vec<MmapMut>> = const { RefCell::new(Vec::new()) };
}

/// A table of numbers below `u32::MAX - 1`.
pub(super) struct Table {
    /// Each number + 1, [`UNTOUCHED`] or [`EMPTY`]. Untouched as long as there is `sparse`.
    map: ManuallyDrop<MmapMut>,
    /// Entries that are used: the map may have more.
    entries: usize,
    /// The touched entries in their place, while they are few.
    sparse: Option<Sparse>,
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
        let entry = match &self.sparse {
            None => self.raw()[index],
            Some(sparse) => sparse.get(index as u32),
        };
        match entry {
            UNTOUCHED => Entry::Untouched,
            EMPTY => Entry::Empty,
            entry => Entry::Number(entry - 1),
        }
    }

    /// Sets an entry. Requires: `number < u32::MAX - 1`.
    #[inline]
    pub(super) fn set(&mut self, index: usize, number: u32) {
        debug_assert!(number < EMPTY - 1, "{number} has no place in a table");
        self.set_entry(index, number + 1);
    }

    /// Clears an entry.
    #[inline]
    pub(super) fn clear(&mut self, index: usize) {
        self.set_entry(index, EMPTY);
    }

    #[inline]
    fn set_entry(&mut self, index: usize, entry: u32) {
        if let Some(sparse) = &mut self.sparse {
            sparse.set(index as u32, entry);
            if sparse.is_full() {
                self.make_room();
            }
        } else {
            self.raw_mut()[index] = entry;
        }
    }

    /// Makes room for another touched entry: with more slots, or with the entries all in their own places.
    #[cold]
    fn make_room(&mut self) {
        let Some(sparse) = &mut self.sparse else { return };
        if sparse.bytes() * 2 <= self.map.len() / SPARSE_PART && sparse.grow().is_ok() {
            return;
        }
        let Some(sparse) = self.sparse.take() else { return };
        advise_huge_pages(&self.map);
        sparse.each(|index, entry| self.raw_mut()[index as usize] = entry);
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
            return Ok(Self { map: ManuallyDrop::new(map), entries, sparse: None });
        }
        // An entry's number must fit into a slot.
        let is_sparse = bytes > KEPT_BYTES && entries < u32::MAX as usize;
        let map = zeroed(bytes)?;
        let first = (bytes / SPARSE_PART).min(FIRST_SPARSE_BYTES) / SLOT_BYTES;
        let sparse =
            is_sparse.then(|| Sparse::with_slots((first / 2 + 1).next_power_of_two())).transpose()?;
        if !is_sparse && bytes >= HUGE_PAGE_BYTES {
            advise_huge_pages(&map);
        }
        Ok(Self { map: ManuallyDrop::new(map), entries, sparse })
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
        if let Some(sparse) = &self.sparse {
            sparse.prefetch(index as u32);
        } else if let Some(entry) = self.raw().get(index) {
            prefetch(entry);
        }
    }
}

/// Maps zeros, without a reservation: a table may be longer than the system's memory, of which a run touches little.
pub(super) fn zeroed(bytes: usize) -> io::Result<MmapMut> {
    MmapOptions::new().len(bytes).no_reserve_swap().map_anon()
}

pub(super) fn advise_huge_pages(map: &MmapMut) {
    // Refused where the kernel has no huge pages: only slower.
    let _ = map.advise(Advice::HugePage);
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
    use flashlane_base::Seed;
    use std::collections::BTreeMap;

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
    fn table_is_the_same_before_and_after_it_is_dense() {
        let entries = KEPT_BYTES / 4 * 2;
        let mut table = untouched(entries);
        assert!(table.sparse.is_some());
        let (mut r, mut plain) = (Seed(3).source(), BTreeMap::new());
        let mut touched_when_dense = 0;
        while touched_when_dense == 0 || plain.len() < touched_when_dense * 5 / 4 {
            let index = r.below(entries as u64) as usize;
            if r.below(4) == 0 {
                table.clear(index);
                plain.insert(index, Entry::Empty);
            } else {
                let number = r.below(u64::from(EMPTY) - 1) as u32;
                table.set(index, number);
                plain.insert(index, Entry::Number(number));
            }
            if touched_when_dense == 0 && table.sparse.is_none() {
                touched_when_dense = plain.len();
            }
        }
        let others: Vec<usize> = (0..100_000).map(|_| r.below(entries as u64) as usize).collect();
        for &index in plain.keys().chain(&others) {
            assert_eq!(table.get(index), plain.get(&index).copied().unwrap_or(Entry::Untouched), "{index}");
        }
        // Half of the slots.
        assert_eq!(touched_when_dense, KEPT_BYTES * 2 / SPARSE_PART / SLOT_BYTES / 2);
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
