//! Cursors of SCAN.
//!
//! A cursor is a number that stands for a place in the order of keys. The server keeps the places of the last cursors,
//! so a call costs as much as the keys that it looks at, the cursors end, and no key is returned twice or left out that
//! is there all the time.
//!
//! Cursors stay below 2^53: clients in JavaScript keep them as floating-point numbers.

use flashlane_base::Random;
use std::collections::BTreeMap;

/// Most cursors that are kept, and their bytes.
const CURSORS_MAX: usize = 1 << 16;
const CURSOR_BYTES_MAX: usize = 16 << 20;

/// Places of cursors.
#[derive(Debug)]
pub struct Cursors {
    places: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    last: u64,
}

impl Cursors {
    /// Begins with a random number, so that a cursor of an earlier server is not taken for one of this.
    pub fn new(random: &mut Random) -> Self {
        Self { places: BTreeMap::new(), bytes: 0, last: random.below(1 << 32) << 20 }
    }

    /// Returns the cursor of a place.
    pub fn add(&mut self, place: Vec<u8>) -> u64 {
        self.last += 1;
        self.bytes += place.len();
        self.places.insert(self.last, place);
        while self.places.len() > CURSORS_MAX || self.bytes > CURSOR_BYTES_MAX {
            let (_, place) = self.places.pop_first().expect("there is one");
            self.bytes -= place.len();
        }
        self.last
    }

    /// Returns the place of a cursor, if it is kept.
    pub fn get(&self, cursor: u64) -> Option<&[u8]> {
        self.places.get(&cursor).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn floating_point_number_holds_a_cursor() {
        for seed in 0..1000 {
            let cursor = Cursors::new(&mut Seed(seed).source()).add(Vec::new());
            assert_eq!(cursor as f64 as u64, cursor);
            assert!(cursor < 1 << 52, "{cursor}");
        }
    }
}
