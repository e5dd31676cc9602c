//! A table: its rows are inserted, replaced, read, deleted and scanned.

use crate::error::TableError;
use crate::row;
use crate::scan::{Rows, Scan};
use crate::schema::Schema;
use crate::value::Value;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_store::{KeyValueStore, Loader};
use std::ops::RangeInclusive;

/// A table of a store.
pub struct Table<'a, D, L> {
    store: &'a mut KeyValueStore<D, L>,
    name: String,
    schema: Schema,
    /// Begins the keys of all rows.
    prefix: Vec<u8>,
}

impl<'a, D: DataDevice, L: DataDevice> Table<'a, D, L> {
    pub(crate) fn new(
        store: &'a mut KeyValueStore<D, L>,
        name: &str,
        schema: Schema,
        prefix: Vec<u8>,
    ) -> Self {
        Self { store, name: name.to_owned(), schema, prefix }
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the table's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Adds a row, with a value for each column in their order.
    ///
    /// # Errors
    /// [`TableError::Duplicate`] where there is a row with this key; [`TableError::Value`] and [`TableError::Store`].
    pub fn insert(&mut self, row: &[Value]) -> Result<(), TableError> {
        let (key, value) = pair(&self.schema, &self.prefix, row)?;
        if self.store.contains(&key)? {
            let values: Vec<String> = self.schema.key().iter().map(|&nth| row[nth].to_string()).collect();
            return Err(TableError::Duplicate { table: self.name.clone(), key: values.join(", ") });
        }
        Ok(self.store.put(&key, &value)?)
    }

    /// Adds a row, or replaces that with the same key.
    ///
    /// # Errors
    /// [`TableError::Value`] and [`TableError::Store`].
    pub fn upsert(&mut self, row: &[Value]) -> Result<(), TableError> {
        let (key, value) = pair(&self.schema, &self.prefix, row)?;
        Ok(self.store.put(&key, &value)?)
    }

    /// Returns the row with this key, if there is one.
    ///
    /// # Errors
    /// [`TableError::Value`], [`TableError::Store`] and [`TableError::Malformed`].
    pub fn get(&mut self, key: &[Value]) -> Result<Option<Vec<Value>>, TableError> {
        let key = self.key(key)?;
        let Some(value) = self.store.get(&key)? else { return Ok(None) };
        match row::decode(&self.schema, &key[self.prefix.len()..], Some(&value)) {
            Some(row) => Ok(Some(row)),
            None => Err(TableError::Malformed { what: format!("a row of table '{}'", self.name) }),
        }
    }

    /// Deletes the row with this key. Returns whether there was one.
    ///
    /// # Errors
    /// [`TableError::Value`] and [`TableError::Store`].
    pub fn delete(&mut self, key: &[Value]) -> Result<bool, TableError> {
        let key = self.key(key)?;
        let is_there = self.store.contains(&key)?;
        if is_there {
            self.store.delete(&key)?;
        }
        Ok(is_there)
    }

    /// Returns the rows of a range of keys one after the other, as of now.
    ///
    /// # Errors
    /// [`TableError::Schema`] and [`TableError::Value`] where columns or values of the range are none of the table.
    pub fn scan(&mut self, scan: &Scan) -> Result<Rows<'_, D, L>, TableError> {
        Rows::new(self.store, &self.name, &self.schema, &self.prefix, scan)
    }

    /// Begins to store many rows at once.
    pub fn loader(&mut self) -> RowLoader<'_, D, L> {
        RowLoader { loader: self.store.loader(), schema: &self.schema, prefix: &self.prefix }
    }

    fn key(&self, key: &[Value]) -> Result<Vec<u8>, TableError> {
        self.schema.check_key(key)?;
        let mut bytes = self.prefix.clone();
        key.iter().for_each(|value| crate::key::put(&mut bytes, value));
        Ok(bytes)
    }
}

fn pair(schema: &Schema, prefix: &[u8], row: &[Value]) -> Result<(Vec<u8>, Vec<u8>), TableError> {
    schema.check_row(row)?;
    let key = [prefix, &row::key_of(schema, row)].concat();
    Ok((key, row::encode(schema, row)))
}

/// Stores rows with many writes in flight, each in place of an earlier one with its key: see [`Loader`].
pub struct RowLoader<'a, D: DataDevice, L: DataDevice> {
    loader: Loader<'a, D, L>,
    schema: &'a Schema,
    prefix: &'a [u8],
}

impl<D: DataDevice, L: DataDevice> RowLoader<'_, D, L> {
    /// Returns the table's schema.
    pub fn schema(&self) -> &Schema {
        self.schema
    }

    /// Hands a row over. Returns false where it was not taken since earlier ones have to complete:
    /// [`wait`](Self::wait), then offer it again.
    ///
    /// # Errors
    /// [`TableError::Value`] and [`TableError::Store`]: this row is refused, and others may be taken.
    pub fn offer(&mut self, row: &[Value]) -> Result<bool, TableError> {
        let (key, value) = pair(self.schema, self.prefix, row)?;
        Ok(self.loader.offer(&key, &value)?)
    }

    /// Lets the devices work until a write completes, for at most `longest`. Returns false where nothing is in flight.
    ///
    /// # Errors
    /// [`TableError::Store`]: a row that was taken is not stored.
    pub fn wait(&mut self, longest: Duration) -> Result<bool, TableError> {
        Ok(self.loader.wait(longest)?)
    }

    /// Returns the number of rows that are stored, from the first one on without a gap.
    pub fn stored(&self) -> u64 {
        self.loader.stored()
    }

    /// Returns the number of all rows that are stored: see [`Loader::stored_in_all`].
    pub fn stored_in_all(&self) -> RangeInclusive<u64> {
        self.loader.stored_in_all()
    }

    /// Returns whether every row that was taken is stored.
    pub fn is_done(&self) -> bool {
        self.loader.is_done()
    }

    /// Waits until every row that was taken is stored, and returns their number. On a full device it is lower.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn finish(self) -> Result<u64, TableError> {
        Ok(self.loader.finish()?)
    }
}
