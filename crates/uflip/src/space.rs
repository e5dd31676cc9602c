//! The space of experiments: sequential writes get fresh space, one after another, until the device is used up
//! (uflip09, section 4.2); all others run anywhere.

use flashlane_base::Random;

/// The area that the benchmark uses, and the part that sequential writes have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    area_bytes: u64,
    taken_bytes: u64,
}

/// Targets begin on multiples of this, so that two do not share an erase unit of the drives of the paper's time.
const ALIGN_BYTES: u64 = 4 << 20;

impl Space {
    pub(crate) fn new(area_bytes: u64) -> Self {
        Self { area_bytes, taken_bytes: 0 }
    }

    pub(crate) fn area_bytes(&self) -> u64 {
        self.area_bytes
    }

    /// Takes space that no sequential write has used since the state was last enforced; `None` where too little is
    /// left.
    ///
    /// # Panics
    /// Where the whole area is smaller.
    pub(crate) fn take(&mut self, length_bytes: u64) -> Option<u64> {
        assert!(length_bytes <= self.area_bytes, "{length_bytes} bytes of {}", self.area_bytes);
        let offset_bytes = self.taken_bytes;
        let end = offset_bytes + length_bytes;
        if end > self.area_bytes {
            return None;
        }
        self.taken_bytes = end.next_multiple_of(self.align_bytes());
        Some(offset_bytes)
    }

    /// Makes all space fresh, after the state was enforced again.
    pub(crate) fn reset(&mut self) {
        self.taken_bytes = 0;
    }

    /// Returns a random place for a run that needs no fresh space.
    pub(crate) fn anywhere(&self, length_bytes: u64, random: &mut Random) -> u64 {
        let align = self.align_bytes();
        random.below((self.area_bytes - length_bytes) / align + 1) * align
    }

    /// Smaller in a small area, which alignment would otherwise use up.
    fn align_bytes(&self) -> u64 {
        ALIGN_BYTES.min((self.area_bytes / 256).next_power_of_two()).max(crate::options::IO_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn taken_spaces_do_not_overlap(area in (64_u64 << 20)..(4 << 30), lengths in prop::collection::vec(1_u64..(64 << 20), 1..50)) {
            let mut space = Space::new(area);
            let mut end = 0;
            for length in lengths {
                match space.take(length) {
                    Some(offset) => {
                        prop_assert!(offset >= end && offset + length <= area);
                        end = offset + length;
                    }
                    None => {
                        prop_assert!(end + length + ALIGN_BYTES > area, "{} {} {}", end, length, area);
                        space.reset();
                        end = 0;
                    }
                }
            }
            let anywhere = space.anywhere(1 << 20, &mut Seed(1).source());
            prop_assert!(anywhere + (1 << 20) <= area);
        }
    }
}
