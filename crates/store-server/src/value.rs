//! Values of Redis' types as values of the store.
//!
//! A string is stored as it is, so that `flashlane store get` and programs of the library read it, and the server reads
//! what they stored. Anything else begins with [`MARK`] and its kind, and a string that begins with it is marked too:
//!
//! ```text
//! MARK | 's' | a string that begins with MARK
//! MARK | 'h' | for each field of a hash, in order: length of the field (4 bytes), length of its value (4), field, value
//! ```
//! Bytes that have another form are a string.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Begins a value that is not a plain string.
const MARK: &[u8] = b"\0FL";
const STRING: u8 = b's';
const HASH: u8 = b'h';

/// Fields of a hash, with their values.
pub type Hash = BTreeMap<Vec<u8>, Vec<u8>>;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes, which the store shares.
    String(Arc<Vec<u8>>),
    /// A hash, which has at least one field.
    Hash(Rc<Hash>),
}

/// A value, and when it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value.
    pub value: Value,
    /// Milliseconds since 1970 at which it expires; `None` for never.
    pub expiry_ms: Option<u64>,
}

impl Value {
    /// Returns a string.
    pub fn string(bytes: impl Into<Vec<u8>>) -> Self {
        Self::String(Arc::new(bytes.into()))
    }

    /// Returns the type's name.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Hash(_) => "hash",
        }
    }

    /// Returns the bytes that are stored.
    pub fn encode(&self) -> Arc<Vec<u8>> {
        match self {
            Self::String(bytes) if bytes.starts_with(MARK) => {
                Arc::new([MARK, &[STRING], bytes.as_slice()].concat())
            }
            Self::String(bytes) => bytes.clone(),
            Self::Hash(hash) => {
                let bytes: usize = hash.iter().map(|(field, value)| 8 + field.len() + value.len()).sum();
                let mut out = Vec::with_capacity(MARK.len() + 1 + bytes);
                out.extend_from_slice(MARK);
                out.push(HASH);
                for (field, value) in hash.iter() {
                    for length in [field.len(), value.len()] {
                        let length = u32::try_from(length).expect("requests are shorter than 4 GiB");
                        out.extend_from_slice(&length.to_le_bytes());
                    }
                    out.extend_from_slice(field);
                    out.extend_from_slice(value);
                }
                Arc::new(out)
            }
        }
    }

    /// Returns the value that these bytes stand for.
    pub fn decode(bytes: Vec<u8>) -> Self {
        match bytes.strip_prefix(MARK) {
            Some([STRING, string @ ..]) if string.starts_with(MARK) => Self::string(string),
            Some([HASH, fields @ ..]) => match decode_hash(fields) {
                Some(hash) => Self::Hash(Rc::new(hash)),
                None => Self::String(Arc::new(bytes)),
            },
            _ => Self::String(Arc::new(bytes)),
        }
    }

    /// Returns the type's name, given the first stored bytes.
    pub fn type_of(bytes: &[u8]) -> &'static str {
        match bytes.strip_prefix(MARK) {
            Some([HASH, fields @ ..]) if decode_hash(fields).is_some() => "hash",
            _ => "string",
        }
    }
}

fn decode_hash(mut bytes: &[u8]) -> Option<Hash> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (field_bytes, rest) = bytes.split_first_chunk()?;
        let (value_bytes, rest) = rest.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*field_bytes) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_bytes) as usize)?;
        fields.push((field.to_vec(), value.to_vec()));
        bytes = rest;
    }
    let is_sound = !fields.is_empty() && fields.is_sorted_by(|a, b| a.0 < b.0);
    is_sound.then(|| fields.into_iter().collect())
}

impl Entry {
    /// Returns whether it is there no more at `now_ms`.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expiry_ms.is_some_and(|expiry_ms| expiry_ms <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back() {
        let hash: Hash = [(b"a".to_vec(), vec![0; 300]), (Vec::new(), Vec::new())].into();
        let strings = [&b""[..], b"a", b"\0FL", b"\0FLs", b"\0FLh", b"\0FLs\0FLx", b"\0F", b"\0FLq"];
        for value in strings.map(Value::string).into_iter().chain([Value::Hash(Rc::new(hash))]) {
            let bytes = value.encode();
            assert_eq!(Value::type_of(&bytes), value.type_name());
            assert_eq!(Value::decode(bytes.to_vec()), value);
        }
        assert_eq!(*Value::string(*b"plain").encode(), b"plain");
    }

    #[test]
    fn other_bytes_are_a_string() {
        let hash: Hash = [(b"a".to_vec(), b"b".to_vec()), (b"c".to_vec(), b"d".to_vec())].into();
        let whole = Value::Hash(Rc::new(hash)).encode();
        for length in (0..whole.len()).filter(|length| *length != 14) {
            let value = Value::decode(whole[..length].to_vec());
            assert_eq!(value, Value::string(&whole[..length]), "the first {length} bytes");
        }
    }
}
