//! Round robin over channels, packages, dies and planes, in any order (chen11, section 4.1; the orders are
//! compared by Hu et al., "Performance impact and interplay of SSD parallelism", ICS 2011).

use super::{Allocation, Array};
use crate::{OptionError, Options};

struct Striped {
    /// The plane of each chunk of a stripe.
    planes: Vec<u32>,
}

impl Allocation for Striped {
    fn plane(&self, chunk: u64) -> u32 {
        // Called for every page: most drives have a power of two of planes, and nearly all fewer than 2^32 chunks.
        let planes = self.planes.len();
        let at = match u32::try_from(chunk) {
            _ if planes.is_power_of_two() => chunk as usize & (planes - 1),
            Ok(chunk) => (chunk % planes as u32) as usize,
            Err(_) => (chunk % planes as u64) as usize,
        };
        self.planes[at]
    }

    fn stripe(&self) -> Option<&[u32]> {
        Some(&self.planes)
    }
}

pub(super) fn build(array: &Array, _: &Options) -> Result<Box<dyn Allocation>, OptionError> {
    let [_, packages, dies, planes] = array.counts;
    let weight = [packages * dies * planes, dies * planes, planes, 1];
    let place = |mut chunk: u32| {
        array.order.iter().fold(0, |plane, &level| {
            let count = array.counts[level as usize];
            let index = chunk % count;
            chunk /= count;
            plane + index * weight[level as usize]
        })
    };
    Ok(Box::new(Striped { planes: (0..array.planes()).map(place).collect() }))
}

#[cfg(test)]
mod tests {
    use super::super::Level::*;
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn stripe_advances_the_first_level_first() {
        let array = Array { counts: [3, 2, 1, 2], order: [Channel, Package, Die, Plane], seed: Seed(0) };
        let striped = build(&array, &Options::default()).unwrap();
        let planes: Vec<u32> = (0..12).map(|chunk| striped.plane(chunk)).collect();
        assert_eq!(planes, [0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11]);
        let array = Array { order: [Plane, Channel, Die, Package], ..array };
        let striped = build(&array, &Options::default()).unwrap();
        let planes: Vec<u32> = (0..6).map(|chunk| striped.plane(chunk)).collect();
        assert_eq!(planes, [0, 1, 4, 5, 8, 9]);
    }
}
