//! Scans: the rows of a range of keys, as of one moment.

use crate::error::TableError;
use crate::schema::Schema;
use crate::value::Value;
use crate::{key, row};
use flashlane_device::DataDevice;
use flashlane_store::{Entries, KeyValueStore, end_of_prefix};

/// Which rows of a table, and which of their columns.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The first values of the key that all rows have.
    pub prefix: Vec<Value>,
    /// The first values of the key at which rows begin.
    pub from: Vec<Value>,
    /// The first values of the key before which rows end.
    pub to: Option<Vec<Value>>,
    /// Columns, in this order; all where not given.
    pub columns: Option<Vec<String>>,
    /// Most rows.
    pub limit: Option<u64>,
}

/// Rows of a table in the order of their keys.
pub struct Rows<'a, D: DataDevice, L: DataDevice> {
    entries: Entries<'a, D, L>,
    table: String,
    schema: Schema,
    /// Bytes of keys before that of the row.
    prefix_bytes: usize,
    columns: Vec<usize>,
    left: u64,
}

impl<'a, D: DataDevice, L: DataDevice> Rows<'a, D, L> {
    /// Begins a scan of the table whose keys begin with `prefix`.
    pub(crate) fn new(
        store: &'a mut KeyValueStore<D, L>,
        table: &str,
        schema: &Schema,
        prefix: &[u8],
        scan: &Scan,
    ) -> Result<Self, TableError> {
        let columns = match &scan.columns {
            None => (0..schema.columns().len()).collect(),
            Some(names) => names.iter().map(|name| schema.column(name)).collect::<Result<Vec<_>, _>>()?,
        };
        let bound = |values: &[Value]| {
            schema.check_leading(values)?;
            let mut bytes = prefix.to_vec();
            values.iter().for_each(|value| key::put(&mut bytes, value));
            Ok::<_, TableError>(bytes)
        };
        let all = bound(&scan.prefix)?;
        let start = bound(&scan.from)?.max(all.clone());
        let to = scan.to.as_ref().map(|values| bound(values)).transpose()?;
        let end = to.into_iter().chain(end_of_prefix(&all)).min();
        // Columns of the key need no value.
        let with_values = columns.iter().any(|nth| !schema.key().contains(nth));
        let entries = store.entries(&start, end.as_deref(), with_values);
        let left = scan.limit.unwrap_or(u64::MAX);
        let (table, schema) = (table.to_owned(), schema.clone());
        Ok(Self { entries, table, schema, prefix_bytes: prefix.len(), columns, left })
    }
}

impl<D: DataDevice, L: DataDevice> Iterator for Rows<'_, D, L> {
    type Item = Result<Vec<Value>, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let item = match self.entries.next()? {
            Ok(item) => item,
            Err(error) => return Some(Err(error.into())),
        };
        let row = row::decode(&self.schema, &item.key[self.prefix_bytes..], item.value.as_deref());
        Some(match row {
            Some(row) => Ok(self.columns.iter().map(|&nth| row[nth].clone()).collect()),
            None => Err(TableError::Malformed { what: format!("a row of table '{}'", self.table) }),
        })
    }
}
