//! Errors: why a schema or a row is refused, and why an operation failed.

use crate::value::ValueError;
use flashlane_store::{Loss, StoreError};

/// Why there is no such schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A name of a table or column.
    #[error("'{given}' is no name of a {what}: allowed are 1 to 64 bytes of letters, digits, '_' and '-'")]
    Name {
        /// Of what it is the name.
        what: &'static str,
        /// The name.
        given: String,
    },
    /// The text of a column.
    #[error(
        "'{given}' is no column: NAME:TYPE is one, and NAME:TYPE? one that may be null; types are integer, real, text, bytes and boolean"
    )]
    Column {
        /// The text.
        given: String,
    },
    /// The number of columns.
    #[error("a table of {given} columns was asked for, and 1 to {most} are allowed")]
    Columns {
        /// Columns that were given.
        given: usize,
        /// Most columns.
        most: usize,
    },
    /// A column is there twice.
    #[error("column '{column}' is there twice")]
    Twice {
        /// Its name.
        column: String,
    },
    /// There is no primary key.
    #[error("no column of the primary key is named, and a table needs at least one")]
    NoKey,
    /// A column that is not there.
    #[error("there is no column '{given}': the table has {known}")]
    Unknown {
        /// The name.
        given: String,
        /// The columns.
        known: String,
    },
    /// A column of the key may be null.
    #[error("column '{column}' is part of the primary key, and cannot be nullable")]
    NullableKey {
        /// Its name.
        column: String,
    },
    /// A column that is added to a table cannot be null.
    #[error("column '{column}' must be nullable: the rows that are there have no value for it")]
    AddedNotNull {
        /// Its name.
        column: String,
    },
}

/// Why an operation on tables failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema, or a column that is named.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// There is such a table.
    #[error("there is a table '{table}' already")]
    Exists {
        /// Its name.
        table: String,
    },
    /// There is no such table.
    #[error("there is no table '{table}'")]
    Missing {
        /// Its name.
        table: String,
    },
    /// There is a row with this key.
    #[error("table '{table}' has a row with key {key} already")]
    Duplicate {
        /// The table.
        table: String,
        /// The values of the key.
        key: String,
    },
    /// A record or row is none.
    #[error("{what} is damaged: it was read as it was written, and is none of a table")]
    Malformed {
        /// What it should be.
        what: String,
    },
    /// A later version wrote the tables.
    #[error("the tables have version {found} of their format, and {known} is the newest supported")]
    Newer {
        /// Their version.
        found: u8,
        /// The newest supported.
        known: u8,
    },
    /// A change of the tables of a store that has lost keys, among which records of tables may be.
    #[error(
        "tables are not created, changed or dropped, as the store has lost keys, and rows of a table whose record is lost would \
         be deleted or taken over: {0}"
    )]
    Lossy(Box<Loss>),
    /// The records of the tables lie in several slices.
    #[error(
        "slices of the store part the records of tables, which must lie in one: let no slice begin between them"
    )]
    Parted,
}
