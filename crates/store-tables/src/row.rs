//! Rows as pairs of the store.
//!
//! The key has the values of the primary key ([`crate::key`]). The value has the version of the schema with which the
//! row was written, a bit for each other column of that version (set for null, in whole bytes, the lowest bit first),
//! then the values that are there:
//!
//! | type | bytes |
//! | --- | --- |
//! | integer | of variable length, after zigzag: 2n, or −2n − 1 of a negative n |
//! | real | 8, little-endian |
//! | text, bytes | the length (variable), then themselves |
//! | boolean | 1: 0 or 1 |

use crate::key;
use crate::schema::Schema;
use crate::value::{Type, Value};
use flashlane_store::bytes::{Reader, put_bytes, put_varint};

/// Returns the key of a row.
pub(crate) fn key_of(schema: &Schema, row: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    schema.key().iter().for_each(|&nth| key::put(&mut out, &row[nth]));
    out
}

/// Returns the numbers of the columns that a value of this version has.
fn columns_of(schema: &Schema, version: u64) -> impl Iterator<Item = usize> + '_ {
    let versions = schema.first_versions.iter().enumerate();
    versions.filter(move |(nth, first)| **first <= version && !schema.key().contains(nth)).map(|(nth, _)| nth)
}

/// Returns the value of a row.
pub(crate) fn encode(schema: &Schema, row: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, schema.version);
    let columns: Vec<usize> = columns_of(schema, schema.version).collect();
    let bits = out.len();
    out.resize(bits + columns.len().div_ceil(8), 0);
    for (at, nth) in columns.into_iter().enumerate() {
        match &row[nth] {
            Value::Null => out[bits + at / 8] |= 1 << (at % 8),
            Value::Integer(number) => put_varint(&mut out, ((number << 1) ^ (number >> 63)) as u64),
            Value::Real(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Text(text) => put_bytes(&mut out, text.as_bytes()),
            Value::Bytes(bytes) => put_bytes(&mut out, bytes),
            Value::Boolean(is_true) => out.push(u8::from(*is_true)),
        }
    }
    out
}

/// Returns a row; without a value only the columns of its key, and null elsewhere. `None` where the bytes are none.
pub(crate) fn decode(schema: &Schema, mut key: &[u8], value: Option<&[u8]>) -> Option<Vec<Value>> {
    let mut row = vec![Value::Null; schema.columns().len()];
    for &nth in schema.key() {
        row[nth] = key::take(&mut key, schema.columns()[nth].kind)?;
    }
    if !key.is_empty() {
        return None;
    }
    let Some(value) = value else { return Some(row) };
    let mut reader = Reader::new(value);
    let version = reader.varint().filter(|version| (1..=schema.version).contains(version))?;
    let columns: Vec<usize> = columns_of(schema, version).collect();
    let bits = reader.take(columns.len().div_ceil(8) as u64)?;
    for (at, nth) in columns.into_iter().enumerate() {
        if bits[at / 8] >> (at % 8) & 1 == 1 {
            continue;
        }
        row[nth] = match schema.columns()[nth].kind {
            Type::Integer => {
                let zigzag = reader.varint()?;
                Value::Integer((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
            }
            Type::Real => Value::Real(f64::from_bits(reader.u64()?)),
            Type::Text => Value::Text(String::from_utf8(reader.bytes()?.to_vec()).ok()?),
            Type::Bytes => Value::Bytes(reader.bytes()?.to_vec()),
            Type::Boolean => Value::Boolean(reader.u8()? == 1),
        };
    }
    reader.is_empty().then_some(row)
}
