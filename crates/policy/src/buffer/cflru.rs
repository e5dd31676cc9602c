//! Clean pages first: CFLRU (Park et al., "CFLRU: a replacement algorithm for flash memory", CASES 2006, section 3).
//!
//! The buffer keeps pages that were read, too, in one order of last use with those that were written. Its old end is
//! the *clean-first window*: room is made by dropping the oldest clean page there, which costs nothing; only where the
//! window has none does a dirty page have to go to flash, the least recently used. The window's size weighs the reads
//! that a clean page spares against the programs that a dirty one does. Every step takes constant time.

use super::{Page, PageUse, Replacement, Shape};
use crate::options::Share;
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Cflru {
    /// All pages, by last use.
    order: SlotLists,
    /// Dirty pages, by last use.
    dirty: SlotLists,
    /// Clean pages in the window, by last use.
    clean: SlotLists,
    window: Window,
}

/// The old end of the order.
struct Window {
    size: u32,
    pages: u32,
    holds: Vec<bool>,
    /// The youngest page in it.
    youngest: Option<u32>,
}

impl Cflru {
    fn push(&mut self, slot: u32, dirty: bool) {
        self.order.push_youngest(0, slot);
        if dirty {
            self.dirty.push_youngest(0, slot);
        }
        self.fill_window();
    }

    fn take(&mut self, slot: u32) {
        if self.window.holds[slot as usize] {
            self.window.holds[slot as usize] = false;
            self.window.pages -= 1;
            if self.window.youngest == Some(slot) {
                self.window.youngest = self.order.older(slot);
            }
        }
        self.order.remove(slot);
        for list in [&mut self.dirty, &mut self.clean] {
            if list.contains(slot) {
                list.remove(slot);
            }
        }
        self.fill_window();
    }

    /// Lets the next younger page into the window while it is not full: the window is always the oldest pages.
    fn fill_window(&mut self) {
        while self.window.pages < self.window.size {
            let next = match self.window.youngest {
                Some(slot) => self.order.younger(slot),
                None => self.order.oldest(0),
            };
            let Some(slot) = next else { return };
            self.window.youngest = next;
            self.window.pages += 1;
            self.window.holds[slot as usize] = true;
            if !self.dirty.contains(slot) {
                self.clean.push_youngest(0, slot);
            }
        }
    }
}

impl Replacement for Cflru {
    fn insert(&mut self, slot: u32, page: Page) {
        self.push(slot, page.dirty);
    }

    fn touch(&mut self, slot: u32, access: PageUse) {
        let dirty = access == PageUse::Write || self.dirty.contains(slot);
        self.take(slot);
        self.push(slot, dirty);
    }

    fn victim(&mut self) -> Option<u32> {
        let slot = self.dirty.oldest(0)?;
        self.take(slot);
        Some(slot)
    }

    fn drop_clean(&mut self) -> Option<u32> {
        let slot = self.clean.oldest(0)?;
        self.take(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        self.take(slot);
    }

    fn keeps_reads(&self) -> bool {
        true
    }
}

pub(super) fn build(shape: Shape, options: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    let window = options.get("window", Share(0.25), "a share of the buffer, as \"25%\"", |share| {
        share.0 > 0.0 && share.0 <= 1.0
    })?;
    let slots = shape.slots;
    let size = ((window.0 * f64::from(slots)) as u32).max(1);
    Ok(Box::new(Cflru {
        order: SlotLists::new(slots, 1),
        dirty: SlotLists::new(slots, 1),
        clean: SlotLists::new(slots, 1),
        window: Window { size, pages: 0, holds: vec![false; slots as usize], youngest: None },
    }))
}
