//! Cursors of SCAN.
//!
//! A cursor is a number that stands for a place in the order of keys. The server keeps the places of the last cursors,
//! so a call costs as much as the keys that it looks at, the cursors end, and no key is returned twice or left out that
//! is there all the time.

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
        Self { places: BTreeMap::new(), bytes: 0, last: random.below(1 << 48) << 14 }
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
