//! Reads results from outside: a file can contain any JSON, and errors must name the field.
//!
//! serde's own errors over a JSON value have no path. [`read`] walks the value with a deserializer that knows its path
//! and checks the expected type before the visitor sees the value. Cost: one walk; a path is a list on the stack,
//! formatted only for errors. Unknown fields are skipped, and `null` reads as not-a-number where a number is expected,
//! since not-a-number is written so. In a flattened struct the path is known only to the enclosing object.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use std::fmt::{self, Display};

/// Why JSON is not a valid result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A field contradicts the schema.
    #[error("its field {field} is {found}, where {expected} is expected")]
    Field {
        /// Path of the field: `rows[2].point`.
        field: String,
        /// Its value, as JSON; shortened if long.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// A required field is missing.
    #[error("its field {field} is missing")]
    Missing {
        /// Path of the field.
        field: String,
    },
    /// The JSON is not an object.
    #[error("it is {found}, where an object is expected")]
    NoObject {
        /// The value found, as JSON.
        found: String,
    },
}

/// Reads a result, or a part of one.
///
/// # Errors
/// [`ReadError`] with the first field that is missing or contradicts the type.
pub fn read<T: DeserializeOwned>(json: &Value) -> Result<T, ReadError> {
    let root = Node { value: json, place: &Place::Root };
    T::deserialize(root).map_err(|fault| match root.placed(fault) {
        Fault::Placed(error) => error,
        Fault::Missing(field) => ReadError::Missing { field: field.to_owned() },
        Fault::Wrong(expected) => root.wrong(expected),
    })
}

/// Most characters of a value quoted in an error.
const QUOTED: usize = 60;

/// Path of a value.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// A value and its path.
#[derive(Clone, Copy)]
struct Node<'a> {
    value: &'a Value,
    place: &'a Place<'a>,
}

impl Node<'_> {
    /// Returns the error that another value is expected here.
    fn wrong(self, expected: String) -> ReadError {
        let text = self.value.to_string();
        let found = match text.char_indices().nth(QUOTED) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        match self.place {
            Place::Root => ReadError::NoObject { found },
            place => ReadError::Field { field: place.to_string(), found, expected },
        }
    }

    fn refuse<T>(self, expected: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Placed(self.wrong(expected.into())))
    }

    /// Adds the path to an error of the type.
    fn placed(self, fault: Fault) -> Fault {
        match fault {
            Fault::Missing(name) => {
                Fault::Placed(ReadError::Missing { field: Place::Field(self.place, name).to_string() })
            }
            Fault::Wrong(expected) => Fault::Placed(self.wrong(expected)),
            placed => placed,
        }
    }
}

/// An error, with the path once that is known.
#[derive(Debug)]
enum Fault {
    Missing(&'static str),
    /// The expected value.
    Wrong(String),
    Placed(ReadError),
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the field {name} is missing"),
            Self::Wrong(expected) => write!(f, "{expected} is expected"),
            Self::Placed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(expected: T) -> Self {
        Self::Wrong(expected.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Wrong(expected.to_string())
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Wrong(expected.to_string())
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::Wrong(expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::Wrong(one_of(expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match &quoted[..] {
        [one] => one.clone(),
        quoted => format!("one of {}", quoted.join(", ")),
    }
}

/// Methods for whole numbers: visitor method, type, and JSON accessor.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ident $of:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.value.$of().map($type::try_from) {
                Some(Ok(number)) => visitor.$visit(number),
                _ if self.value.as_i64().is_some() || self.value.as_u64().is_some() => {
                    self.refuse(format!("a whole number from {} to {}", $type::MIN, $type::MAX))
                }
                _ => self.refuse("a whole number"),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let read = match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(yes) => visitor.visit_bool(*yes),
            Value::String(text) => visitor.visit_str(text),
            Value::Array(items) => visitor.visit_seq(Items { node: self, items, at: 0 }),
            Value::Object(fields) => visitor.visit_map(Fields::of(self, fields)),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
        };
        read.map_err(|fault| self.placed(fault))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_boolean() { self.deserialize_any(visitor) } else { self.refuse("true or false") }
    }

    whole_numbers! {
        deserialize_u8 visit_u8 u8 as_u64;
        deserialize_u16 visit_u16 u16 as_u64;
        deserialize_u32 visit_u32 u32 as_u64;
        deserialize_u64 visit_u64 u64 as_u64;
        deserialize_i8 visit_i8 i8 as_i64;
        deserialize_i16 visit_i16 i16 as_i64;
        deserialize_i32 visit_i32 i32 as_i64;
        deserialize_i64 visit_i64 i64 as_i64;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            // JSON has no not-a-number: it is written as null.
            Value::Null => visitor.visit_f64(f64::NAN),
            Value::Number(number) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            _ => self.refuse("a number"),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_string() { self.deserialize_any(visitor) } else { self.refuse("text") }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_array() { self.deserialize_any(visitor) } else { self.refuse("a list") }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Array(items) if items.len() == length => self.deserialize_any(visitor),
            _ => self.refuse(format!("a list of {length}")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.value.is_object() { self.deserialize_any(visitor) } else { self.refuse("an object") }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self).map_err(|fault| self.placed(fault))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.value {
            Value::String(word) => visitor.visit_enum(Word(word)).map_err(|fault| self.placed(fault)),
            _ => self.refuse(one_of(words)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit unit_struct tuple_struct identifier }
}

/// The items of a list.
struct Items<'a> {
    node: Node<'a>,
    items: &'a [Value],
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.items.get(self.at) else { return Ok(None) };
        let place = Place::Item(self.node.place, self.at);
        self.at += 1;
        let node = Node { value, place: &place };
        seed.deserialize(node).map(Some).map_err(|fault| node.placed(fault))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.at)
    }
}

/// The fields of an object.
struct Fields<'a> {
    node: Node<'a>,
    fields: serde_json::map::Iter<'a>,
    value: Option<(&'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    fn of(node: Node<'a>, fields: &'a Map<String, Value>) -> Self {
        Self { node, fields: fields.iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((name, value)) = self.fields.next() else { return Ok(None) };
        self.value = Some((name, value));
        let key: StrDeserializer<'_, Fault> = name.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|fault| {
            let (name, place) = (Value::String(name.clone()), Place::Field(self.node.place, name));
            Node { value: &name, place: &place }.placed(fault)
        })
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (name, value) = self.value.take().expect("a value is requested after its name");
        let place = Place::Field(self.node.place, name);
        let node = Node { value, place: &place };
        seed.deserialize(node).map_err(|fault| node.placed(fault))
    }
}

/// The name of a variant.
struct Word<'a>(&'a str);

impl<'de> EnumAccess<'de> for Word<'_> {
    type Error = Fault;
    type Variant = NoContent;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, NoContent), Fault> {
        let word: StrDeserializer<'_, Fault> = self.0.into_deserializer();
        Ok((seed.deserialize(word)?, NoContent))
    }
}

/// A variant without content, the only sort in results.
struct NoContent;

impl<'de> de::VariantAccess<'de> for NoContent {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Fault> {
        Err(Fault::Wrong("an object".into()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(Fault::Wrong("an object".into()))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Fault> {
        Err(Fault::Wrong("an object".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figure;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum State {
        Done,
        NotRun,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        rows: Vec<Row>,
        #[serde(default)]
        added: Option<u32>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        state: State,
        counts: BTreeMap<String, u64>,
        share: f64,
    }

    #[test]
    fn wrong_field_is_named_with_what_is_expected() {
        let row = |field: &str, value: Value| {
            let mut row = json!({ "state": "done", "counts": {}, "share": 1 });
            row[field] = value;
            read::<Sample>(&json!({ "rows": [{ "state": "not-run", "counts": {}, "share": 0.5 }, row] }))
                .unwrap_err()
                .to_string()
        };
        for (error, expected) in [
            (row("share", json!("x")), "its field rows[1].share is \"x\", where a number is expected"),
            (
                row("state", json!("x")),
                "rows[1].state is \"x\", where one of \"done\", \"not-run\" is expected",
            ),
            (row("state", json!(1)), "rows[1].state is 1, where one of"),
            (row("counts", json!([])), "rows[1].counts is [], where an object is expected"),
            (row("counts", json!({ "a": -1 })), "rows[1].counts.a is -1, where a whole number from 0 to"),
            (row("counts", json!({ "a": 0.5 })), "rows[1].counts.a is 0.5, where a whole number is expected"),
        ] {
            assert!(error.contains(expected), "{error}");
        }
        let error = |json: Value| read::<Sample>(&json).unwrap_err().to_string();
        assert_eq!(error(json!({ "rows": [1] })), "its field rows[0] is 1, where an object is expected");
        assert_eq!(error(json!({ "rows": "x" })), "its field rows is \"x\", where a list is expected");
        assert_eq!(error(json!({ "rows": [{ "state": "done" }] })), "its field rows[0].counts is missing");
        assert_eq!(error(json!({})), "its field rows is missing");
        assert_eq!(error(json!([1])), "it is [1], where an object is expected");
        assert_eq!(
            error(json!({ "rows": [], "added": 1_u64 << 32 })),
            "its field added is 4294967296, where a whole number from 0 to 4294967295 is expected"
        );
    }

    #[test]
    fn unknown_fields_are_skipped_and_defaults_applied() {
        let row = json!({ "state": "done", "counts": { "a": 7 }, "share": 1, "later": [{}] });
        let sample: Sample = read(&json!({ "rows": [row], "new": { "deep": [1] } })).unwrap();
        assert_eq!(sample.added, None);
        assert_eq!(sample.rows[0].share, 1.0);
        assert_eq!(sample.rows[0].counts["a"], 7);
    }

    #[test]
    fn null_reads_as_not_a_number() {
        let row: Row = read(&json!({ "state": "done", "counts": {}, "share": f64::NAN })).unwrap();
        assert!(row.share.is_nan());
        for number in [json!(null), json!(1), json!(2.5)] {
            let value: crate::study::Value = read(&number).unwrap();
            assert_eq!(serde_json::to_value(&value).unwrap().as_f64(), number.as_f64());
        }
    }

    #[test]
    fn points_with_a_null_coordinate_are_dropped() {
        let axis = json!({ "label": "x", "unit": "" });
        let points = json!([[1, null], [2, 3.5]]);
        let figure = json!({ "id": "x", "title": "t", "x": axis, "y": axis,
            "series": [{ "name": "s", "points": points }] });
        assert_eq!(read::<Figure>(&figure).unwrap().series[0].points, [(2.0, 3.5)]);
        let mut wrong = figure.clone();
        wrong["series"][0]["points"] = json!([[1, 2], [3]]);
        let error = read::<Figure>(&wrong).unwrap_err().to_string();
        assert_eq!(error, "its field series[0].points[1] is [3], where a list of 2 is expected");
    }

    #[test]
    fn long_value_is_quoted_in_part() {
        let error = read::<Sample>(&json!({ "rows": "é".repeat(1000) })).unwrap_err().to_string();
        assert!(error.len() < 300 && error.contains("é…, where a list"), "{error}");
    }
}
