//! Operations: their submission and their completion.

use crate::entry::{Body, Entry, Version};
use crate::error::{ReadFailure, ScanFailure, WriteFailure};
use crate::log::Durability;
use flashlane_base::Instant;
use std::sync::Arc;

/// Identifies an operation until it completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A moment at which reads see the store: the number of the last write that they see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Snapshot(pub(crate) u64);

impl Snapshot {
    /// Returns the number of the last write that the snapshot sees.
    pub fn sequence(&self) -> u64 {
        self.0
    }
}

/// A completed operation.
#[derive(Debug)]
pub struct Finished {
    /// Ticket of the operation.
    pub ticket: Ticket,
    /// When the operation was submitted.
    pub submitted: Instant,
    /// When the operation completed.
    pub completed: Instant,
    /// Result of the operation.
    pub outcome: Outcome,
}

/// Result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Of a write: its number, which is above those of all writes before it.
    Write(Result<u64, WriteFailure>),
    /// Of a get: the value, if there is one.
    Get(Result<Option<Value>, ReadFailure>),
    /// Of a scan: entries in the order of keys.
    Scan(Result<Page, ScanFailure>),
}

/// A value that a get found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it expires, in milliseconds of the calendar; `None` for never.
    pub expiry_ms: Option<u64>,
}

/// Entries that a scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The entries.
    pub items: Vec<Item>,
    /// Where a scan for the rest begins; `None` where there is none.
    pub next: Option<Vec<u8>>,
}

/// An entry that a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The key.
    pub key: Vec<u8>,
    /// The value; `None` where it is stored in pieces, and only a get returns it.
    pub value: Option<Vec<u8>>,
    /// Bytes of the value.
    pub value_bytes: u64,
    /// When the value expires, in milliseconds of the calendar; `None` for never.
    pub expiry_ms: Option<u64>,
    /// The first block with a piece of the value that is not there: a get of the key fails. `None` where all are.
    pub missing_piece: Option<u64>,
}

/// Operations that become visible, and durable, together. Their keys lie in one slice. Of several operations on one key
/// the last one counts.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    entries: Vec<Entry>,
}

impl Batch {
    /// Stores a value.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.put_shared(key, Arc::new(value.into()), None)
    }

    /// Stores a value that is there until `expiry_ms`, in milliseconds of the calendar that
    /// [`Store::set_time`](crate::Store::set_time) sets.
    pub fn put_until(
        &mut self,
        key: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        expiry_ms: u64,
    ) -> &mut Self {
        self.put_shared(key, Arc::new(value.into()), Some(expiry_ms))
    }

    /// Stores a value that the caller keeps too, without a copy, until `expiry_ms` as [`put_until`](Self::put_until) if
    /// given.
    pub fn put_shared(
        &mut self,
        key: impl Into<Vec<u8>>,
        value: Arc<Vec<u8>>,
        expiry_ms: Option<u64>,
    ) -> &mut Self {
        self.push(key.into(), expiry_ms.map_or(0, |expiry_ms| expiry_ms.max(1)), Body::Value(value))
    }

    /// Removes a key. It need not be there.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) -> &mut Self {
        self.push(key.into(), 0, Body::Tombstone)
    }

    fn push(&mut self, key: Vec<u8>, expiry_ms: u64, body: Body) -> &mut Self {
        self.entries.push(Entry { key, version: Version { sequence: 0, expiry_ms, body } });
        self
    }

    /// Returns whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the last operation on each key, in the order of keys.
    pub(crate) fn into_entries(self) -> Vec<Entry> {
        let mut entries = self.entries;
        // Stable: operations on a key stay in their order.
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries.dedup_by(|next, kept| {
            let is_same = next.key == kept.key;
            if is_same {
                std::mem::swap(next, kept);
            }
            is_same
        });
        entries
    }
}

/// An accepted operation that has not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) submitted: Instant,
}

/// A write whose values are whole: it waits to be added to its slice's container.
#[derive(Debug)]
pub(crate) struct QueuedWrite {
    pub(crate) pending: Pending,
    pub(crate) entries: Vec<Entry>,
    pub(crate) durability: Durability,
    /// Bytes of memory while it waits: its entries, and pieces that are not stored.
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_operation_on_a_key_counts() {
        let mut batch = Batch::default();
        batch.put("b", "1").put("a", "2").delete("b").put("c", "3").put_until("a", "4", 9).put("b", "5");
        let value = |value: &str| Body::Value(Arc::new(value.into()));
        let entries = batch.into_entries().into_iter();
        let found: Vec<_> =
            entries.map(|Entry { key, version }| (key, version.expiry_ms, version.body)).collect();
        assert_eq!(
            found,
            [(b"a".to_vec(), 9, value("4")), (b"b".to_vec(), 0, value("5")), (b"c".to_vec(), 0, value("3"))]
        );
    }
}
