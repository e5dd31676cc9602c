//! Clean pages first, then the dirty page whose erase block is least frequently erased: CFLRU/E (Yoo et al., "Page
//! Replacement Algorithms for NAND Flash Memory Storages", ICCSA 2007), as he14 compares with it (section 5.4).
//!
//! The pages least recently used are the *window*. The victim is the oldest clean page there; only where there is none
//! a dirty page has to be written: one of the lowest erase frequency, the oldest of these. A host cannot see erases.
//! he14 approximates their frequency by the probability that an access to the page is blocked; what a host can observe
//! of that is how often the device is slow near the page. So pages form groups of [`GROUP_PAGES`] neighbours, and a
//! group's probability is a moving average over the accesses to it. It is rounded to [`CLASSES`] classes when a page
//! enters the window, so that every step takes constant time.

use super::{Replacement, Shape};
use crate::options::Share;
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

/// Neighbouring pages that share a probability: 512 KiB of pages of 8 KiB, a few erase blocks.
const GROUP_PAGES: u32 = 64;
/// Classes of the probability.
const CLASSES: u32 = 16;
/// An access moves its group's probability by one in this many.
const MEMORY: f32 = 16.0;

/// The list of the pages outside the window.
const YOUNG: u32 = 0;
/// The list of the clean pages in the window. Those of dirty pages follow, a class each.
const CLEAN: u32 = 1;

struct CflruE {
    lists: SlotLists,
    frames: Vec<Frame>,
    /// Frames in the window, and the most there may be.
    window: u32,
    window_most: u32,
    /// Bit *c*: class *c* has dirty pages in the window.
    classes: u32,
    /// By group of pages: the probability that an access is slow.
    slow: Vec<f32>,
}

#[derive(Clone, Copy, Default)]
struct Frame {
    page: u32,
    dirty: bool,
    in_window: bool,
}

impl CflruE {
    /// Lets the oldest pages into the window while it is not full.
    fn fill_window(&mut self) {
        while self.window < self.window_most {
            let Some(frame) = self.lists.pop_oldest(YOUNG) else { return };
            let Frame { page, dirty, .. } = self.frames[frame as usize];
            self.frames[frame as usize].in_window = true;
            self.window += 1;
            let list = if dirty {
                let probability = self.slow[(page / GROUP_PAGES) as usize];
                let class = ((probability * CLASSES as f32) as u32).min(CLASSES - 1);
                self.classes |= 1 << class;
                CLEAN + 1 + class
            } else {
                CLEAN
            };
            self.lists.push_youngest(list, frame);
        }
    }

    fn take(&mut self, frame: u32) {
        self.lists.remove(frame);
        let state = &mut self.frames[frame as usize];
        self.window -= u32::from(std::mem::take(&mut state.in_window));
    }
}

impl Replacement for CflruE {
    fn insert(&mut self, frame: u32, page: u32, dirty: bool) {
        self.frames[frame as usize] = Frame { page, dirty, in_window: false };
        self.lists.push_youngest(YOUNG, frame);
        self.fill_window();
    }

    fn touch(&mut self, frame: u32, write: bool) {
        self.take(frame);
        self.frames[frame as usize].dirty |= write;
        self.lists.push_youngest(YOUNG, frame);
        self.fill_window();
    }

    fn victim(&mut self) -> Option<u32> {
        let mut oldest = self.lists.oldest(CLEAN);
        while oldest.is_none() && self.classes != 0 {
            let class = self.classes.trailing_zeros();
            oldest = self.lists.oldest(CLEAN + 1 + class);
            if oldest.is_none() {
                self.classes &= !(1 << class);
            }
        }
        oldest
    }

    fn remove(&mut self, frame: u32) {
        self.take(frame);
        self.fill_window();
    }

    fn observe(&mut self, page: u32, slow: bool) {
        let probability = &mut self.slow[(page / GROUP_PAGES) as usize];
        *probability += (f32::from(u8::from(slow)) - *probability) / MEMORY;
    }
}

pub(super) fn build(shape: Shape, options: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    let window = options.get("window", Share(0.25), "a share of the pool, as \"25%\"", |share| {
        share.0 > 0.0 && share.0 <= 1.0
    })?;
    Ok(Box::new(CflruE {
        lists: SlotLists::new(shape.frames, CLEAN + 1 + CLASSES),
        frames: vec![Frame::default(); shape.frames as usize],
        window: 0,
        window_most: ((window.0 * f64::from(shape.frames)) as u32).max(1),
        classes: 0,
        slow: vec![0.0; shape.pages.div_ceil(GROUP_PAGES) as usize],
    }))
}
