//! Large tables of 32-bit entries, zeroed, committed as they are touched, and in huge pages where the system has them.
//!
//! Random writes touch both tables of the translation layer at random places. With pages of 4 KiB nearly every touch
//! misses the processor's address translation too; huge pages spare that. They are a hint: a system
//! that does not take it is slower, and nothing else.

use memmap2::{Advice, MmapMut};
use std::ops::{Deref, DerefMut};

pub(super) struct Table(MmapMut);

impl Table {
    /// A table of `entries` zeros.
    pub(super) fn zeroed(entries: usize) -> Self {
        let map =
            MmapMut::map_anon((entries * 4).max(1)).expect("the system has address space for the tables");
        // Refused where the kernel has no huge pages: only slower.
        let _ = map.advise(Advice::HugePage);
        Self(map)
    }

    /// Has entry `index` fetched into the processor's cache, where that can be asked for.
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

impl Deref for Table {
    type Target = [u32];
    #[inline]
    fn deref(&self) -> &[u32] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Table {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
