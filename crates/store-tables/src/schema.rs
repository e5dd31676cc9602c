//! Columns and primary key of a table, and how they are stored.
//!
//! A schema has a version, which adding a column increments. Each row records the version with which it was written,
//! and each column the first version that has it: a row of an earlier version has null there, and is not written again.

use crate::error::SchemaError;
use crate::value::{Type, Value, ValueError};
use flashlane_store::bytes::{Reader, put_bytes, put_varint};

/// Most columns of a table.
const COLUMNS_MAX: usize = 1024;
/// Longest name of a table or column.
const NAME_BYTES_MAX: usize = 64;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub kind: Type,
    /// Whether a row may have no value for it.
    pub is_nullable: bool,
}

impl Column {
    /// Returns a column that each row has a value for.
    pub fn new(name: &str, kind: Type) -> Self {
        Self { name: name.to_owned(), kind, is_nullable: false }
    }

    /// Returns a column for which a row may have no value.
    pub fn nullable(name: &str, kind: Type) -> Self {
        Self { is_nullable: true, ..Self::new(name, kind) }
    }

    /// Reads `NAME:TYPE`, or `NAME:TYPE?` for a nullable column.
    ///
    /// # Errors
    /// [`SchemaError::Column`].
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let parts = text.split_once(':').map(|(name, kind)| match kind.strip_suffix('?') {
            Some(kind) => (name, kind, true),
            None => (name, kind, false),
        });
        let column = parts.and_then(|(name, kind, is_nullable)| {
            Some(Self { name: name.to_owned(), kind: Type::named(kind)?, is_nullable })
        });
        column.ok_or_else(|| SchemaError::Column { given: text.to_owned() })
    }

    fn check(&self, value: &Value) -> Result<(), ValueError> {
        let column = || self.name.clone();
        match (value, value.kind()) {
            (_, None) if self.is_nullable => Ok(()),
            (_, None) => Err(ValueError::Null { column: column() }),
            (_, Some(given)) if given != self.kind => {
                Err(ValueError::Kind { column: column(), kind: self.kind, given })
            }
            (Value::Real(number), _) if number.is_nan() => Err(ValueError::NaN { column: column() }),
            _ => Ok(()),
        }
    }
}

/// Columns and primary key of a table.
///
/// Invariants: names of columns differ; the key has at least one column, each once and none nullable; `first_versions`
/// has an element for each column, ascending and none above `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<Column>,
    /// Numbers of the columns of the primary key, in its order.
    key: Vec<usize>,
    pub(crate) version: u64,
    /// The first version that has each column.
    pub(crate) first_versions: Vec<u64>,
}

impl Schema {
    /// Returns a schema with these columns, and these as the primary key.
    ///
    /// # Errors
    /// [`SchemaError`] says what cannot be.
    pub fn new(columns: Vec<Column>, key: &[impl AsRef<str>]) -> Result<Self, SchemaError> {
        if !(1..=COLUMNS_MAX).contains(&columns.len()) {
            return Err(SchemaError::Columns { given: columns.len(), most: COLUMNS_MAX });
        }
        for (nth, column) in columns.iter().enumerate() {
            check_name("column", &column.name)?;
            if columns[..nth].iter().any(|other| other.name == column.name) {
                return Err(SchemaError::Twice { column: column.name.clone() });
            }
        }
        let first_versions = vec![1; columns.len()];
        let mut schema = Self { columns, key: Vec::new(), version: 1, first_versions };
        for name in key {
            let nth = schema.column(name.as_ref())?;
            if schema.columns[nth].is_nullable {
                return Err(SchemaError::NullableKey { column: name.as_ref().to_owned() });
            }
            if schema.key.contains(&nth) {
                return Err(SchemaError::Twice { column: name.as_ref().to_owned() });
            }
            schema.key.push(nth);
        }
        if schema.key.is_empty() { Err(SchemaError::NoKey) } else { Ok(schema) }
    }

    /// Adds a column, which is null in the rows that are there.
    pub(crate) fn add(&mut self, column: Column) -> Result<(), SchemaError> {
        let mut columns = self.columns.clone();
        columns.push(column.clone());
        Self::new(columns, &self.key_columns().map(|column| &column.name).collect::<Vec<_>>())?;
        if !column.is_nullable {
            return Err(SchemaError::AddedNotNull { column: column.name });
        }
        self.version += 1;
        self.columns.push(column);
        self.first_versions.push(self.version);
        Ok(())
    }

    /// Returns the columns, in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the numbers of the columns of the primary key, in its order.
    pub fn key(&self) -> &[usize] {
        &self.key
    }

    /// Returns the columns of the primary key, in its order.
    pub fn key_columns(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.key.iter().map(|&nth| &self.columns[nth])
    }

    /// Returns the number of a column.
    ///
    /// # Errors
    /// [`SchemaError::Unknown`].
    pub fn column(&self, name: &str) -> Result<usize, SchemaError> {
        self.columns.iter().position(|column| column.name == name).ok_or_else(|| SchemaError::Unknown {
            given: name.to_owned(),
            known: self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Checks the values of a row.
    pub(crate) fn check_row(&self, row: &[Value]) -> Result<(), ValueError> {
        if row.len() != self.columns.len() {
            return Err(ValueError::Count { given: row.len(), columns: self.columns.len() });
        }
        self.columns.iter().zip(row).try_for_each(|(column, value)| column.check(value))
    }

    /// Checks the values of a key.
    pub(crate) fn check_key(&self, values: &[Value]) -> Result<(), ValueError> {
        if values.len() != self.key.len() {
            let allowed = self.key.len().to_string();
            return Err(ValueError::KeyCount { given: values.len(), allowed });
        }
        self.check_leading(values)
    }

    /// Checks the first values of a key.
    pub(crate) fn check_leading(&self, values: &[Value]) -> Result<(), ValueError> {
        if values.len() > self.key.len() {
            let allowed = format!("at most {}", self.key.len());
            return Err(ValueError::KeyCount { given: values.len(), allowed });
        }
        self.key_columns().zip(values).try_for_each(|(column, value)| column.check(value))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.version);
        put_varint(&mut out, self.columns.len() as u64);
        for (column, first_version) in self.columns.iter().zip(&self.first_versions) {
            put_bytes(&mut out, column.name.as_bytes());
            let kind = Type::ALL.iter().position(|kind| *kind == column.kind).expect("all types are there");
            out.extend([kind as u8, u8::from(column.is_nullable)]);
            put_varint(&mut out, *first_version);
        }
        put_varint(&mut out, self.key.len() as u64);
        self.key.iter().for_each(|nth| put_varint(&mut out, *nth as u64));
        out
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let version = reader.varint()?;
        let count = reader.varint().filter(|count| *count <= COLUMNS_MAX as u64)?;
        let (mut columns, mut first_versions) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let name = String::from_utf8(reader.bytes()?.to_vec()).ok()?;
            let kind = *Type::ALL.get(usize::from(reader.u8()?))?;
            let is_nullable = reader.u8()? == 1;
            columns.push(Column { name, kind, is_nullable });
            first_versions.push(reader.varint()?);
        }
        let keys = reader.varint().filter(|keys| *keys <= count)?;
        let key: Option<Vec<String>> = (0..keys)
            .map(|_| {
                let nth = usize::try_from(reader.varint()?).ok()?;
                columns.get(nth).map(|column: &Column| column.name.clone())
            })
            .collect();
        let is_sound =
            first_versions.is_sorted() && first_versions.last().is_none_or(|last| *last <= version);
        let schema = Self::new(columns, &key?).ok()?;
        is_sound.then_some(Self { version, first_versions, ..schema })
    }
}

/// Checks the name of a table or column.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), SchemaError> {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(is_allowed) {
        Ok(())
    } else {
        Err(SchemaError::Name { what, given: name.to_owned() })
    }
}
