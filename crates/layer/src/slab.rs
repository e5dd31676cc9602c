//! Entries with keys that are never used twice: a key outlives its entry and then finds nothing. Constant time.

/// The key of an entry; its number fits a request id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

impl Key {
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The entries.
#[derive(Clone)]
pub(crate) struct Slab<T> {
    /// The generation of each place, and its entry.
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn insert(&mut self, entry: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.1 = Some(entry);
        Key(u64::from(place.0) << 32 | u64::from(index))
    }

    pub fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index()).filter(|place| place.0 == key.generation())?;
        place.1.as_ref()
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index()).filter(|place| place.0 == key.generation())?;
        place.1.as_mut()
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index()).filter(|place| place.0 == key.generation())?;
        let entry = place.1.take()?;
        place.0 = place.0.wrapping_add(1);
        self.free.push(key.index() as u32);
        Some(entry)
    }

    /// Removes all entries and returns them.
    pub fn drain(&mut self) -> Vec<T> {
        let keys = (0_u64..).zip(&self.places).filter(|(_, (_, entry))| entry.is_some());
        let keys: Vec<Key> =
            keys.map(|(at, (generation, _))| Key(u64::from(*generation) << 32 | at)).collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_removed_entry_finds_nothing() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        let c = slab.insert('c');
        assert_eq!((slab.get(a), slab.get(b), slab.get(c), slab.len()), (None, Some(&'b'), Some(&'c'), 2));
        assert_eq!((slab.remove(a), slab.get_mut(a)), (None, None));
        assert_eq!(slab.drain().len(), 2);
        assert!(slab.is_empty() && slab.get(c).is_none());
    }
}
