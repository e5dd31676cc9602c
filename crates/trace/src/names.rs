//! Names made into numbers, in the order in which they appear: hosts, files.

use std::collections::BTreeMap;

/// Names that are kept: a hostile trace could have one of its own on every line.
const MOST: usize = 1 << 16;
/// What is allowed where there are so many.
pub(crate) const TOO_MANY: &str = "one of those before it: there are 65536 already";

/// The names so far.
#[derive(Default)]
pub(crate) struct Names {
    names: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, u32>,
    /// The number asked for last: mostly it is the next one, too.
    latest: u32,
}

impl Names {
    /// The number of `name`; none where there are 65536 others already.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> Option<u32> {
        if self.get(self.latest).is_none_or(|known| known != name) {
            self.latest = self.look_up(name)?;
        }
        Some(self.latest)
    }

    fn look_up(&mut self, name: &[u8]) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        if self.names.len() == MOST {
            return None;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_vec());
        self.numbers.insert(name.to_vec(), number);
        Some(number)
    }

    /// The name of this number.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        self.names.get(number as usize).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_as_they_appear_and_only_so_many() {
        let mut names = Names::default();
        let numbers = [&b"a"[..], b"b", b"b", b"a", b"c"].map(|name| names.number(name));
        assert_eq!(numbers, [0, 1, 1, 0, 2].map(Some));
        assert_eq!((names.get(1), names.get(3)), (Some(&b"b"[..]), None));
        for number in 3..MOST {
            assert_eq!(names.number(number.to_string().as_bytes()), Some(number as u32));
        }
        assert_eq!((names.number(b"one too many"), names.number(b"c")), (None, Some(2)));
    }
}
