//! Numbers for names of hosts and files, in order of appearance.

use std::collections::BTreeMap;

/// Maximum number of names: a hostile trace could have a new one on every line.
const MOST: usize = 1 << 16;
/// The values allowed once the maximum is reached.
pub(crate) const TOO_MANY: &str = "one of those before it: there are 65536 already";

/// The names so far.
#[derive(Default)]
pub(crate) struct Names {
    names: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, u32>,
    /// The number returned last, which is usually the next one too.
    latest: u32,
}

impl Names {
    /// Returns the number of `name`; `None` for a new name after 65536 others.
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

    /// Returns the name of a number.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        self.names.get(number as usize).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_appearance_up_to_the_limit() {
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
