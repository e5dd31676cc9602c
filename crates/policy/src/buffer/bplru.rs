//! Whole erase blocks, the least recently written first: BPLRU (Kim and Ahn, "BPLRU: a buffer management scheme for
//! improving random writes in flash storage", FAST 2008, section 3).
//!
//! Pages are grouped by the run of addresses that fills an erase block. A write to any page makes its group the
//! youngest; the oldest group leaves as a whole, in the order of its pages. *LRU compensation*: a group that was
//! written from its first page to its last, in order, will hardly be written again soon and becomes the oldest. *Page
//! padding* (option `padding`, off unless set): pages of a leaving group that are not buffered are read from flash and
//! written with it, so that block-mapped drives need not merge; on the page-mapped drives of this simulator it only
//! costs.

use super::{Pad, Page, PageUse, Replacement, Shape};
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};
use std::collections::BTreeMap;

/// No page is expected: the group was not written in order.
const NOT_IN_ORDER: u32 = u32::MAX;

struct Bplru {
    block_pages: u32,
    padding: bool,
    /// The group of each run of addresses with buffered pages.
    groups: BTreeMap<u32, u32>,
    free: Vec<u32>,
    /// For each group its run of addresses, and the page that continues it in order.
    state: Vec<(u32, u32)>,
    /// Groups, by last write.
    order: SlotLists,
    /// The slots of each group, and in a last list those of the leaving group.
    pages: SlotLists,
    /// The logical page of each slot.
    number: Vec<u32>,
    pads: Vec<Pad>,
}

impl Bplru {
    fn leaving(&self) -> u32 {
        self.state.len() as u32
    }

    fn group_of(&mut self, run: u32) -> u32 {
        if let Some(&group) = self.groups.get(&run) {
            self.order.remove(group);
            return group;
        }
        let group = self.free.pop().expect("as many groups as slots");
        self.groups.insert(run, group);
        self.state[group as usize] = (run, 0);
        group
    }

    /// Puts a group into the order after a write to its page at `place`.
    fn written(&mut self, group: u32, place: u32, again: bool) {
        let next = &mut self.state[group as usize].1;
        // The second half of the page written last is still in order.
        if *next != place + u32::from(again) {
            *next = NOT_IN_ORDER;
        } else {
            *next = place + 1;
        }
        if *next == self.block_pages {
            self.order.push_oldest(0, group);
        } else {
            self.order.push_youngest(0, group);
        }
    }

    /// Chooses the oldest group to leave: its slots, in the order of their pages.
    fn choose(&mut self) -> bool {
        let Some(group) = self.order.pop_oldest(0) else { return false };
        let (run, _) = self.state[group as usize];
        self.groups.remove(&run);
        self.free.push(group);
        let mut slots: Vec<u32> = std::iter::from_fn(|| self.pages.pop_oldest(group)).collect();
        // Copies of one page stay in the order in which they came.
        slots.sort_by_key(|&slot| self.number[slot as usize]);
        if self.padding {
            let first = run * self.block_pages;
            let (mut beside, mut next) = (slots[0], 0);
            for number in first..first.saturating_add(self.block_pages) {
                let mut is_here = false;
                while slots.get(next).is_some_and(|&slot| self.number[slot as usize] == number) {
                    (beside, is_here) = (slots[next], true);
                    next += 1;
                }
                if !is_here {
                    self.pads.push(Pad { number, beside });
                }
            }
        }
        let leaving = self.leaving();
        slots.into_iter().for_each(|slot| self.pages.push_youngest(leaving, slot));
        true
    }
}

impl Replacement for Bplru {
    fn insert(&mut self, slot: u32, page: Page) {
        self.number[slot as usize] = page.number;
        let (run, place) = (page.number / self.block_pages, page.number % self.block_pages);
        let group = self.group_of(run);
        self.pages.push_youngest(group, slot);
        self.written(group, place, false);
    }

    fn touch(&mut self, slot: u32, _: PageUse) {
        let number = self.number[slot as usize];
        // A slot that is leaving is in no group, though a new group may have later pages of its run.
        if let Some(&group) = self.groups.get(&(number / self.block_pages)) {
            self.order.remove(group);
            self.written(group, number % self.block_pages, true);
        }
    }

    fn victim(&mut self) -> Option<u32> {
        if self.pages.oldest(self.leaving()).is_none() && !self.choose() {
            return None;
        }
        self.pages.pop_oldest(self.leaving())
    }

    /// Whole groups: the oldest, and further ones as long as no more than `most` pages leave.
    fn batch(&mut self, most: u32, out: &mut Vec<u32>) {
        while let Some(slot) = self.victim() {
            out.push(slot);
            while let Some(slot) = self.pages.pop_oldest(self.leaving()) {
                out.push(slot);
            }
            if out.len() as u32 + self.block_pages > most {
                return;
            }
        }
    }

    fn remove(&mut self, slot: u32) {
        self.pages.remove(slot);
        let run = self.number[slot as usize] / self.block_pages;
        if let Some(&group) = self.groups.get(&run)
            && self.pages.oldest(group).is_none()
        {
            self.groups.remove(&run);
            self.order.remove(group);
            self.free.push(group);
        }
    }

    fn pads(&mut self, out: &mut Vec<Pad>) {
        out.append(&mut self.pads);
    }
}

pub(super) fn build(shape: Shape, options: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    let padding = options.get("padding", false, "true or false", |_| true)?;
    let slots = shape.slots;
    Ok(Box::new(Bplru {
        block_pages: shape.block_pages,
        padding,
        groups: BTreeMap::new(),
        free: (0..slots).rev().collect(),
        state: vec![(0, 0); slots as usize],
        order: SlotLists::new(slots, 1),
        pages: SlotLists::new(slots, slots + 1),
        number: vec![0; slots as usize],
        pads: Vec::new(),
    }))
}
