//! A list per package, in order of the last write, drained evenly: the enhanced internal parallelism of ruan12
//! (section II, Algorithm 1).
//!
//! A rewrite moves the page to its list's tail. A batch takes the same number of pages from the head of each list, one
//! from each in turn, or all pages of a shorter list. Single pages come from the lists in turn.

use super::{Page, PageUse, Queues, Replacement, Shape};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

struct Parallel {
    /// One list per package.
    lists: SlotLists,
    packages: u32,
    /// The package of each slot.
    package: Vec<u32>,
    /// The list of the next single page.
    next: u32,
}

impl Replacement for Parallel {
    fn insert(&mut self, slot: u32, page: Page) {
        self.package[slot as usize] = page.package;
        self.lists.push_youngest(page.package, slot);
    }

    fn touch(&mut self, slot: u32, _: PageUse) {
        self.lists.remove(slot);
        self.lists.push_youngest(self.package[slot as usize], slot);
    }

    fn victim(&mut self) -> Option<u32> {
        for _ in 0..self.packages {
            let list = self.next;
            self.next = (list + 1) % self.packages;
            let oldest = self.lists.pop_oldest(list);
            if oldest.is_some() {
                return oldest;
            }
        }
        None
    }

    fn batch(&mut self, most: u32, out: &mut Vec<u32>) {
        for _ in 0..most / self.packages {
            out.extend((0..self.packages).filter_map(|list| self.lists.pop_oldest(list)));
        }
    }

    fn remove(&mut self, slot: u32) {
        self.lists.remove(slot);
    }

    fn queues(&self) -> Queues {
        Queues::EachPackage
    }
}

pub(super) fn build(shape: Shape, _: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    let packages = shape.packages.ok_or(OptionError::Unsuited {
        policy: "parallel",
        reason: "it keeps a list per package, but here a page's package is chosen only when the page leaves",
    })?;
    Ok(Box::new(Parallel {
        lists: SlotLists::new(shape.slots, packages),
        packages,
        package: vec![0; shape.slots as usize],
        next: 0,
    }))
}
