//! The tables of a store: created, found, listed, dropped.
//!
//! Records, by kind behind the face's mark; each change of them is one batch:
//!
//! | kind | rest of the key | value |
//! | --- | --- | --- |
//! | `h` | | the header: version of the format, the next table's id |
//! | `s` | name of a table | its id, and its schema |
//!
//! Dropping a table deletes its schema, and then the rows: deletes only, which a full device takes. What a power cut
//! leaves of the rows no table shows, since ids are given out once. The next create or drop finds rows whose id no
//! table has, at the cost of reading one row of each table, and deletes them.

use crate::error::TableError;
use crate::schema::{Column, Schema, check_name};
use crate::table::Table;
use flashlane_device::DataDevice;
use flashlane_store::bytes::{Reader, put_varint};
use flashlane_store::space::Space;
use flashlane_store::{Batch, Durability, KeyValueStore, end_of_prefix};
use std::collections::BTreeSet;

/// Version of the format.
const VERSION: u8 = 1;
const SPACE: Space = Space::Tables;
const HEADER: u8 = b'h';
const SCHEMA: u8 = b's';
/// Rows that are deleted at once.
const ROWS_AT_ONCE: usize = 1024;

/// The tables of a store.
pub struct Tables<'a, D, L> {
    store: &'a mut KeyValueStore<D, L>,
    /// Id of the next table.
    next_id: u32,
}

impl<'a, D: DataDevice, L: DataDevice> Tables<'a, D, L> {
    /// Opens the tables of a store, which need not have any. Writes nothing.
    ///
    /// # Errors
    /// [`TableError::Parted`], [`TableError::Newer`] and [`TableError::Store`].
    pub fn open(store: &'a mut KeyValueStore<D, L>) -> Result<Self, TableError> {
        let [least, greatest] = SPACE.records().map(|key| store.store().slice_of(&key));
        if least != greatest {
            return Err(TableError::Parted);
        }
        let next_id = match store.get(&SPACE.record(HEADER, b""))? {
            None => 1,
            Some(header) => decode_header(&header)?,
        };
        Ok(Self { store, next_id })
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`TableError::Lossy`], [`TableError::Exists`], [`TableError::Schema`] for its name, and [`TableError::Store`].
    pub fn create(&mut self, name: &str, schema: Schema) -> Result<(), TableError> {
        self.check_whole()?;
        check_name("table", name)?;
        if self.find(name)?.is_some() {
            return Err(TableError::Exists { table: name.to_owned() });
        }
        self.finish_drops()?;
        let id = self.next_id;
        let mut batch = Batch::default();
        batch.put(SPACE.record(HEADER, b""), encode_header(id + 1));
        batch.put(SPACE.record(SCHEMA, name.as_bytes()), encode_schema(id, &schema));
        self.store.write(batch)?;
        self.next_id = id + 1;
        Ok(())
    }

    /// Adds a nullable column to a table. Rows that are there have null for it, and are not written.
    ///
    /// # Errors
    /// [`TableError::Lossy`], [`TableError::Missing`], [`TableError::Schema`] and [`TableError::Store`].
    pub fn add_column(&mut self, name: &str, column: Column) -> Result<(), TableError> {
        self.check_whole()?;
        let (id, mut schema) = self.found(name)?;
        schema.add(column)?;
        Ok(self.store.put(&SPACE.record(SCHEMA, name.as_bytes()), &encode_schema(id, &schema))?)
    }

    /// Removes a table and all its rows.
    ///
    /// # Errors
    /// [`TableError::Lossy`], [`TableError::Missing`] and [`TableError::Store`].
    pub fn drop_table(&mut self, name: &str) -> Result<(), TableError> {
        self.check_whole()?;
        self.found(name)?;
        self.store.delete(&SPACE.record(SCHEMA, name.as_bytes()))?;
        self.finish_drops()
    }

    /// Returns the names of all tables, with their schemas, in the order of names.
    ///
    /// # Errors
    /// [`TableError::Store`] and [`TableError::Malformed`].
    pub fn list(&mut self) -> Result<Vec<(String, Schema)>, TableError> {
        Ok(self.all()?.into_iter().map(|(name, _, schema)| (name, schema)).collect())
    }

    /// Returns name, id and schema of all tables.
    fn all(&mut self) -> Result<Vec<(String, u32, Schema)>, TableError> {
        let prefix = SPACE.record(SCHEMA, b"");
        let mut tables = Vec::new();
        for item in self.store.entries(&prefix, end_of_prefix(&prefix).as_deref(), true) {
            let item = item?;
            let name = String::from_utf8_lossy(Space::rest(&item.key)).into_owned();
            let (id, schema) = decode_schema(&name, &item.value.unwrap_or_default())?;
            tables.push((name, id, schema));
        }
        Ok(tables)
    }

    /// Returns a table.
    ///
    /// # Errors
    /// [`TableError::Missing`], [`TableError::Malformed`] and [`TableError::Store`].
    pub fn table(&mut self, name: &str) -> Result<Table<'_, D, L>, TableError> {
        let (id, schema) = self.found(name)?;
        Ok(Table::new(self.store, name, schema, SPACE.bulk(&id.to_be_bytes())))
    }

    /// Refuses changes of records where some may be lost: ids come from the header, and rows are deleted whose table
    /// has no record.
    fn check_whole(&self) -> Result<(), TableError> {
        match self.store.loss() {
            None => Ok(()),
            Some(loss) => Err(TableError::Lossy(Box::new(loss))),
        }
    }

    fn found(&mut self, name: &str) -> Result<(u32, Schema), TableError> {
        self.find(name)?.ok_or_else(|| TableError::Missing { table: name.to_owned() })
    }

    fn find(&mut self, name: &str) -> Result<Option<(u32, Schema)>, TableError> {
        // A longer name is none of a table, and may be no key.
        if check_name("table", name).is_err() {
            return Ok(None);
        }
        let record = self.store.get(&SPACE.record(SCHEMA, name.as_bytes()))?;
        record.map(|record| decode_schema(name, &record)).transpose()
    }

    /// Deletes the rows of dropped tables. What is deleted needs no more safety: if a power cut takes it, it is done
    /// again.
    fn finish_drops(&mut self) -> Result<(), TableError> {
        let ids: BTreeSet<u32> = self.all()?.into_iter().map(|(_, id, _)| id).collect();
        let (mut next, end) = (SPACE.bulk(b""), SPACE.records()[0].clone());
        while let Some(row) = self.store.scan(&next, Some(&end), 1)?.items.first() {
            let malformed = || TableError::Malformed { what: "the key of a row".into() };
            let id = *Space::rest(&row.key).first_chunk().ok_or_else(malformed)?;
            let rows = SPACE.bulk(&id);
            let behind = end_of_prefix(&rows).expect("the mark is not all ones");
            if !ids.contains(&u32::from_be_bytes(id)) {
                self.delete_rows(&rows, &behind)?;
            }
            next = behind;
        }
        Ok(())
    }

    fn delete_rows(&mut self, start: &[u8], end: &[u8]) -> Result<(), TableError> {
        loop {
            let some = self.store.entries(start, Some(end), false).take(ROWS_AT_ONCE);
            let keys = some.map(|item| item.map(|item| item.key)).collect::<Result<Vec<_>, _>>()?;
            if keys.is_empty() {
                return Ok(());
            }
            self.store.delete_all(keys, Durability::Memory)?;
        }
    }
}

fn encode_header(next_id: u32) -> Vec<u8> {
    [&[VERSION][..], &next_id.to_le_bytes()].concat()
}

fn decode_header(bytes: &[u8]) -> Result<u32, TableError> {
    let mut reader = Reader::new(bytes);
    let malformed = || TableError::Malformed { what: "the header of the tables".into() };
    match reader.u8().ok_or_else(malformed)? {
        0..=VERSION => reader.u32().ok_or_else(malformed),
        found => Err(TableError::Newer { found, known: VERSION }),
    }
}

fn encode_schema(id: u32, schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, u64::from(id));
    out.extend(schema.encode());
    out
}

fn decode_schema(name: &str, bytes: &[u8]) -> Result<(u32, Schema), TableError> {
    let mut reader = Reader::new(bytes);
    let id = reader.varint().and_then(|id| u32::try_from(id).ok());
    match (id, Schema::decode(&mut reader)) {
        (Some(id), Some(schema)) if reader.is_empty() => Ok((id, schema)),
        _ => Err(TableError::Malformed { what: format!("the schema of table '{name}'") }),
    }
}
