//! Primary keys as bytes whose order is that of the values.
//!
//! | type | bytes |
//! | --- | --- |
//! | integer | 8, the highest first, with the sign bit inverted |
//! | real | 8, the highest first; of a positive number with the sign bit inverted, of a negative one with all inverted. -0 is 0 |
//! | text, bytes | themselves, with `00 ff` for each `00`, then `00 00` |
//! | boolean | 1: 0 or 1 |
//!
//! Values stand one after the other. No encoding of a value is the beginning of another's, so that the first columns
//! decide before the next ones, and the encoding of the first values is the prefix of exactly the keys that have these.

use crate::value::{Type, Value};

const SIGN: u64 = 1 << 63;
/// Ends a text, and stands behind a zero byte within one.
const END: u8 = 0;
const ZERO: u8 = 0xff;

/// Appends a value of a key.
///
/// # Panics
/// If it is null or NaN.
pub fn put(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => panic!("a value of a key is not null"),
        Value::Integer(number) => out.extend_from_slice(&(*number as u64 ^ SIGN).to_be_bytes()),
        Value::Real(number) => {
            assert!(!number.is_nan(), "a value of a key is not NaN");
            // Adding zero makes zero of the negative one.
            let bits = (number + 0.0).to_bits();
            let ordered = if bits & SIGN == 0 { bits ^ SIGN } else { !bits };
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        Value::Text(text) => put_bytes(out, text.as_bytes()),
        Value::Bytes(bytes) => put_bytes(out, bytes),
        Value::Boolean(is_true) => out.push(u8::from(*is_true)),
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(ZERO);
        }
    }
    out.extend([0, END]);
}

/// Takes a value of this type from the front of a key; `None` where there is none.
pub fn take(bytes: &mut &[u8], kind: Type) -> Option<Value> {
    match kind {
        Type::Integer => take_number(bytes).map(|bits| Value::Integer((bits ^ SIGN) as i64)),
        Type::Real => {
            let ordered = take_number(bytes)?;
            let number = f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered ^ SIGN });
            (!number.is_nan()).then_some(Value::Real(number))
        }
        Type::Text => String::from_utf8(take_bytes(bytes)?).ok().map(Value::Text),
        Type::Bytes => take_bytes(bytes).map(Value::Bytes),
        Type::Boolean => {
            let (&byte, rest) = bytes.split_first().filter(|(byte, _)| **byte < 2)?;
            *bytes = rest;
            Some(Value::Boolean(byte == 1))
        }
    }
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}

fn take_bytes(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        match bytes {
            [0, END, rest @ ..] => {
                *bytes = rest;
                return Some(out);
            }
            [0, ZERO, rest @ ..] => {
                out.push(0);
                *bytes = rest;
            }
            [0, ..] | [] => return None,
            [byte, rest @ ..] => {
                out.push(*byte);
                *bytes = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn encoded(values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|value| put(&mut out, value));
        out
    }

    fn compare(a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
            (Value::Real(a), Value::Real(b)) => a.partial_cmp(b).expect("they are no NaN"),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            other => panic!("values of one column have one type: {other:?}"),
        }
    }

    fn tuple_order(a: &[Value], b: &[Value]) -> Ordering {
        let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
        unequal.unwrap_or(Ordering::Equal)
    }

    /// Values that are often equal, a prefix of one another, or at an end of their range.
    fn value(kind: Type) -> BoxedStrategy<Value> {
        match kind {
            Type::Integer => prop_oneof![Just(i64::MIN), Just(i64::MAX), -2_i64..3, any::<i64>()]
                .prop_map(Value::Integer)
                .boxed(),
            Type::Real => {
                let special =
                    [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -5e-324];
                let any = any::<f64>().prop_filter("NaN is refused", |number| !number.is_nan());
                prop_oneof![prop::sample::select(special.to_vec()), any].prop_map(Value::Real).boxed()
            }
            Type::Text => "[\0\u{1}aé]{0,4}".prop_map(Value::Text).boxed(),
            Type::Bytes => {
                let byte = prop::sample::select(vec![0, 1, 0x7f, 0xfe, 0xff]);
                prop::collection::vec(byte, 0..5).prop_map(Value::Bytes).boxed()
            }
            Type::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        }
    }

    fn two_tuples() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
        prop::collection::vec(prop::sample::select(Type::ALL.to_vec()), 1..4).prop_flat_map(|kinds| {
            let tuple: Vec<_> = kinds.into_iter().map(value).collect();
            (tuple.clone(), tuple)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn order_of_bytes_is_that_of_tuples((a, b) in two_tuples()) {
            let (of_a, of_b) = (encoded(&a), encoded(&b));
            prop_assert_eq!(of_a.cmp(&of_b), tuple_order(&a, &b), "{:02x?} and {:02x?}", of_a, of_b);
            prop_assert!(of_a == of_b || !of_a.starts_with(&of_b), "one key is the beginning of another");
        }

        #[test]
        fn keys_are_read_back((tuple, _) in two_tuples()) {
            let bytes = encoded(&tuple);
            let mut rest = &bytes[..];
            for value in &tuple {
                let kind = value.kind().expect("it is not null");
                prop_assert_eq!(take(&mut rest, kind), Some(value.clone()));
            }
            prop_assert!(rest.is_empty());
            for length in 0..bytes.len() {
                let mut rest = &bytes[..length];
                let all = tuple.iter().map(|value| take(&mut rest, value.kind().expect("it is not null")));
                prop_assert!(all.collect::<Option<Vec<_>>>().is_none(), "the first {} bytes are a key", length);
            }
        }
    }

    #[test]
    #[should_panic = "NaN"]
    fn nan_has_no_place() {
        encoded(&[Value::Real(f64::NAN)]);
    }
}
