//! Segmented LRU, the policy of DFTL (Gupta et al., ASPLOS 2009, section 3.1; Karedla et al., IEEE Computer 1994):
//! lines used once are in a probationary segment, those used again in a protected one of bounded length, whose least
//! recently used line returns to the probationary segment when it is full. So a scan replaces nothing that is used
//! repeatedly. Cost: constant.

use super::Replacement;
use crate::options::Share;
use crate::slot_lists::SlotLists;
use crate::{OptionError, Options};

const PROBATIONARY: u32 = 0;
const PROTECTED: u32 = 1;

struct Segmented {
    segments: SlotLists,
    is_protected: Vec<bool>,
    protected: u32,
    most_protected: u32,
}

impl Segmented {
    fn take(&mut self, slot: u32) {
        self.segments.remove(slot);
        self.protected -= u32::from(std::mem::take(&mut self.is_protected[slot as usize]));
    }
}

impl Replacement for Segmented {
    fn insert(&mut self, slot: u32) {
        self.segments.push_youngest(PROBATIONARY, slot);
    }

    fn touch(&mut self, slot: u32) {
        self.take(slot);
        if self.protected == self.most_protected
            && let Some(oldest) = self.segments.oldest(PROTECTED)
        {
            self.take(oldest);
            self.segments.push_youngest(PROBATIONARY, oldest);
        }
        self.is_protected[slot as usize] = true;
        self.protected += 1;
        self.segments.push_youngest(PROTECTED, slot);
    }

    fn victim(&mut self) -> Option<u32> {
        let slot = self.segments.oldest(PROBATIONARY).or_else(|| self.segments.oldest(PROTECTED))?;
        self.take(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        self.take(slot);
    }
}

pub(super) fn build(slots: u32, options: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    let valid = |Share(share)| (0.01..=0.99).contains(&share);
    let Share(share) = options.get("protected", Share(0.5), "1% to 99%", valid)?;
    Ok(Box::new(Segmented {
        segments: SlotLists::new(slots, 2),
        is_protected: vec![false; slots as usize],
        protected: 0,
        most_protected: ((share * f64::from(slots)) as u32).max(1),
    }))
}
