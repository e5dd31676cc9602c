//! Types and values of columns, their text, and why a value is refused.

use flashlane_store::text::{escape, unescape};
use std::fmt::{self, Write};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A signed number of 64 bits.
    Integer,
    /// A binary floating-point number of 64 bits that is no NaN.
    Real,
    /// Text in UTF-8.
    Text,
    /// Bytes of any kind.
    Bytes,
    /// True or false.
    Boolean,
}

impl Type {
    /// All types.
    pub const ALL: [Self; 5] = [Self::Integer, Self::Real, Self::Text, Self::Bytes, Self::Boolean];

    /// Returns the type's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Boolean => "boolean",
        }
    }

    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the text that a value of the type may have, for messages.
    pub(crate) fn allowed(self) -> &'static str {
        match self {
            Self::Integer => "an integer of 64 bits",
            Self::Real => "a number, inf or -inf",
            Self::Text => "text in UTF-8",
            Self::Bytes => "bytes, with \\xNN for any that are no text and \\\\ for a backslash",
            Self::Boolean => "true or false",
        }
    }

    /// Reads a value of the type from its text: bytes have the escapes of [`flashlane_store::text`]. `column` is for
    /// the error.
    ///
    /// # Errors
    /// [`ValueError::Text`] and [`ValueError::NaN`].
    pub fn parse(self, column: &str, text: &str) -> Result<Value, ValueError> {
        let value = match self {
            Self::Integer => text.parse().ok().map(Value::Integer),
            Self::Real => text.parse().ok().map(Value::Real),
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Bytes => unescape(text.as_bytes()).ok().map(Value::Bytes),
            Self::Boolean => text.parse().ok().map(Value::Boolean),
        };
        match value {
            Some(Value::Real(number)) if number.is_nan() => Err(ValueError::NaN { column: column.into() }),
            Some(value) => Ok(value),
            None => {
                let (column, given) = (column.into(), text.into());
                Err(ValueError::Text { column, given, kind: self, allowed: self.allowed() })
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, where the column is nullable.
    Null,
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// True or false.
    Boolean(bool),
}

impl Value {
    /// Returns the value's type; `None` for null.
    pub fn kind(&self) -> Option<Type> {
        match self {
            Self::Null => None,
            Self::Integer(_) => Some(Type::Integer),
            Self::Real(_) => Some(Type::Real),
            Self::Text(_) => Some(Type::Text),
            Self::Bytes(_) => Some(Type::Bytes),
            Self::Boolean(_) => Some(Type::Boolean),
        }
    }
}

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The number of values of a row.
    #[error("{given} values were given, and a row has {columns}")]
    Count {
        /// Values that were given.
        given: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// The number of values of a key.
    #[error("{given} values of a key were given, and {allowed} are allowed")]
    KeyCount {
        /// Values that were given.
        given: usize,
        /// What is allowed.
        allowed: String,
    },
    /// The type of a value.
    #[error("column '{column}' is {kind}, and the value is {given}")]
    Kind {
        /// The column.
        column: String,
        /// Its type.
        kind: Type,
        /// Type of the value.
        given: Type,
    },
    /// A null in a column that has none.
    #[error("column '{column}' needs a value: it is not nullable")]
    Null {
        /// The column.
        column: String,
    },
    /// A real number that is none.
    #[error("column '{column}' cannot be NaN, which has no place in an order")]
    NaN {
        /// The column.
        column: String,
    },
    /// A text that is no value of its type.
    #[error("'{given}' is no value of column '{column}' ({kind}): {allowed} is allowed")]
    Text {
        /// The column.
        column: String,
        /// The text.
        given: String,
        /// The column's type.
        kind: Type,
        /// What is allowed.
        allowed: &'static str,
    },
}

/// Shows the text that [`Type::parse`] reads; nothing for null.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Integer(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => escape(bytes).chars().try_for_each(|c| match c {
                c if c.is_control() && c.is_ascii() => write!(f, "\\x{:02x}", u32::from(c)),
                c => f.write_char(c),
            }),
            Self::Boolean(is_true) => is_true.fmt(f),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<bool> for Value {
    fn from(is_true: bool) -> Self {
        Self::Boolean(is_true)
    }
}
