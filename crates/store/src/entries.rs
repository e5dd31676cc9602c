//! The entries of a range of keys at one moment, one after the other.

use crate::error::{Gap, ReadFailure, ScanFailure, StoreError};
use crate::operation::{Item, Outcome, Snapshot};
use crate::store::Store;
use flashlane_device::DataDevice;

/// Most entries of a scan.
const ITEMS: u64 = 1024;
/// Bytes after which a scan ends.
const SCAN_BYTES: u64 = 4 << 20;

/// An iterator over entries in the order of keys, as of the moment in which it was made. It reads ahead by one scan.
/// Keys that cannot be read are one error, with their [`Gap`], behind which it goes on; so is a key whose value has
/// lost a piece, also where values are not read.
pub struct Entries<'a, D: DataDevice, L: DataDevice> {
    store: &'a mut Store<D, L>,
    snapshot: Snapshot,
    end: Option<Vec<u8>>,
    /// Where the next scan begins; `None` where there is none, or one has failed and does not say where to go on.
    next: Option<Vec<u8>>,
    found: std::vec::IntoIter<Item>,
    with_values: bool,
}

impl<'a, D: DataDevice, L: DataDevice> Entries<'a, D, L> {
    pub(crate) fn new(
        store: &'a mut Store<D, L>,
        start: &[u8],
        end: Option<&[u8]>,
        with_values: bool,
    ) -> Self {
        let snapshot = store.snapshot();
        let (next, end) = (Some(start.to_vec()), end.map(<[u8]>::to_vec));
        Self { store, snapshot, end, next, found: Vec::new().into_iter(), with_values }
    }

    fn scan(&mut self, start: &[u8]) -> Result<(), ScanFailure> {
        let ticket = self.store.scan(start, self.end.as_deref(), ITEMS, SCAN_BYTES, Some(self.snapshot));
        match self.store.outcome(ticket) {
            Outcome::Scan(result) => {
                let page = result.inspect_err(|failure| {
                    let behind = failure.gap.as_ref().map(|gap| gap.to.clone());
                    self.next = behind.filter(|key| self.end.as_ref().is_none_or(|end| key < end));
                })?;
                (self.found, self.next) = (page.items.into_iter(), page.next);
                Ok(())
            }
            other => unreachable!("a scan ends as one, not as {other:?}"),
        }
    }

    /// Reads a value that a scan does not return, as it is stored in pieces.
    fn complete(&mut self, item: Item) -> Result<Item, ScanFailure> {
        if let Some(id) = item.missing_piece {
            return Err(without(item.key, ReadFailure::Missing { id }));
        }
        if item.value.is_some() || !self.with_values {
            return Ok(item);
        }
        let ticket = self.store.get(&item.key, Some(self.snapshot));
        match self.store.outcome(ticket) {
            Outcome::Get(Ok(value)) => Ok(Item { value: value.map(|value| value.bytes), ..item }),
            Outcome::Get(Err(failure)) => Err(without(item.key, failure)),
            other => unreachable!("a get ends as one, not as {other:?}"),
        }
    }
}

impl<D: DataDevice, L: DataDevice> Iterator for Entries<'_, D, L> {
    type Item = Result<Item, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.found.next() {
                return Some(self.complete(item).map_err(StoreError::from));
            }
            let start = self.next.take()?;
            if let Err(failure) = self.scan(&start) {
                return Some(Err(failure.into()));
            }
        }
    }
}

impl<D: DataDevice, L: DataDevice> Drop for Entries<'_, D, L> {
    fn drop(&mut self) {
        self.store.release(self.snapshot);
    }
}

/// Returns the failure of a scan that lacks one key.
fn without(key: Vec<u8>, failure: ReadFailure) -> ScanFailure {
    ScanFailure { failure, gap: Some(Gap::of_key(key)) }
}

#[cfg(test)]
mod tests {
    use crate::bytes::end_of_prefix;

    #[test]
    fn end_of_prefix_is_above_all_its_keys_and_below_the_next() {
        assert_eq!(end_of_prefix(b"user:"), Some(b"user;".to_vec()));
        assert_eq!(end_of_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(end_of_prefix(b"\xff"), None);
        assert_eq!(end_of_prefix(b""), None);
    }
}
