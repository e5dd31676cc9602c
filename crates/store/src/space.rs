//! Spaces of keys, so that plain keys, tables and files share a store without meeting.
//!
//! Keys that begin with [`MARK`] belong to a face of the store, which the byte behind names; all other keys are plain.
//! A face keeps its bulk below `MARK face 'd'` and its records about the bulk above, so that a program can part the
//! bulk into slices and leave the records in one. `docs/layout.md` has the keys of each face.
//!
//! [`Slices::even`](crate::Slices::even) parts keys by two bytes, so that all keys of all faces lie in one slice.

use crate::bytes::end_of_prefix;

/// Begins the keys of all faces. Values of the server's other types begin with the same bytes.
pub const MARK: &[u8] = b"\0FL";

/// A face of the store that has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Tables.
    Tables,
    /// Files.
    Files,
}

/// Kind of the keys of a face's bulk: rows, or bytes of files.
const BULK: u8 = b'd';

impl Space {
    /// Returns the key of the face with this kind and rest. Kinds of records are above that of the bulk.
    ///
    /// # Panics
    /// If the kind is not above that of the bulk.
    pub fn record(self, kind: u8, rest: &[u8]) -> Vec<u8> {
        assert!(kind > BULK, "kind {kind} of a record is not above that of the bulk");
        self.key(kind, rest)
    }

    /// Returns the key of a part of the face's bulk.
    pub fn bulk(self, rest: &[u8]) -> Vec<u8> {
        self.key(BULK, rest)
    }

    fn key(self, kind: u8, rest: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(MARK.len() + 2 + rest.len());
        key.extend_from_slice(MARK);
        key.extend([self.byte(), kind]);
        key.extend_from_slice(rest);
        key
    }

    /// Returns the bytes of a key behind those that [`record`](Self::record) and [`bulk`](Self::bulk) put before it.
    pub fn rest(key: &[u8]) -> &[u8] {
        key.get(MARK.len() + 2..).unwrap_or_default()
    }

    /// Returns the least and the greatest key that a record may have: where both lie in one slice, all records do.
    pub fn records(self) -> [Vec<u8>; 2] {
        [self.key(BULK + 1, b""), self.key(u8::MAX, b"")]
    }

    fn byte(self) -> u8 {
        match self {
            Self::Tables => b't',
            Self::Files => b'f',
        }
    }
}

/// Returns whether a key belongs to a face, and is no plain one.
pub fn is_of_a_face(key: &[u8]) -> bool {
    key.starts_with(MARK)
}

/// A range of keys without those of faces: a scan of it, and where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainRange {
    /// First key.
    pub start: Vec<u8>,
    /// Where it ends; `None` for the end of all keys.
    pub end: Option<Vec<u8>>,
    /// Where the plain keys of the range go on behind those of faces; `None` where there are none.
    pub next: Option<Vec<u8>>,
}

/// Returns the first part of a range that has plain keys only.
pub fn plain_range(start: &[u8], end: Option<&[u8]>) -> PlainRange {
    let behind = end_of_prefix(MARK).expect("the mark is not all ones");
    let range = |start: &[u8], end: Option<&[u8]>, next: Option<Vec<u8>>| PlainRange {
        start: start.to_vec(),
        end: end.map(<[u8]>::to_vec),
        next,
    };
    if start >= MARK {
        range(start.max(&behind), end, None)
    } else if end.is_some_and(|end| end <= MARK) {
        range(start, end, None)
    } else {
        let next = end.is_none_or(|end| end > &behind[..]).then(|| behind.clone());
        range(start, Some(MARK), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ranges_have_all_plain_keys_and_no_others() {
        let keys: [&[u8]; 9] =
            [b"", b"\0", b"\0FK\xff", b"\0FL", b"\0FLtd", b"\0FL\xff", b"\0FM", b"\0FMx", b"key"];
        let ends = keys.iter().map(|key| Some(*key)).chain([None]);
        for (start, end) in keys.iter().flat_map(|start| ends.clone().map(move |end| (*start, end))) {
            let is_between = |key: &[u8], start: &[u8], end: Option<&[u8]>| {
                key >= start && end.is_none_or(|end| key < end)
            };
            let mut found: Vec<&&[u8]> = Vec::new();
            let mut next = Some(start.to_vec());
            while let Some(start) = next {
                let part = plain_range(&start, end);
                let of_part = keys.iter().filter(|key| is_between(key, &part.start, part.end.as_deref()));
                found.extend(of_part);
                next = part.next;
            }
            let expected: Vec<&&[u8]> =
                keys.iter().filter(|key| is_between(key, start, end) && !is_of_a_face(key)).collect();
            assert_eq!(found, expected, "from {start:?} to {end:?}");
        }
    }

    #[test]
    fn bulk_lies_below_all_records() {
        for space in [Space::Tables, Space::Files] {
            let [least, greatest] = space.records();
            assert!(space.bulk(&[0xff; 20]) < least);
            assert!(least <= space.record(b'e', b"") && space.record(b'z', &[0xff; 20]) < greatest);
            assert_eq!(Space::rest(&space.record(b'z', b"name")), b"name");
        }
    }
}
