//! What a block of the store says of itself, at its end: whether it is a patch or a piece, and all that opening needs.
//!
//! ```text
//! patch: groups | index | filter | fields, statement, expiry | trailer        piece: bytes of a value | fields | trailer
//! ```
//! The trailer names the lengths of the parts before it, so that one read of a block's tail finds them. The block layer
//! checks the bytes; here only their form is checked. `docs/layout.md` lists the fields.

use crate::bytes::{Reader, put_bytes, put_list, put_varint};
use crate::expiring::Expiring;
use crate::filter::Filter;
use crate::index::Index;
use crate::statement::Statement;

const MAGIC: u64 = u64::from_le_bytes(*b"flashkv\x01");
/// Newest version of the format that this program reads. It writes it where entries expire, so that older programs read
/// all other blocks.
pub(crate) const VERSION: u32 = 3;
/// The version whose patches do not say when entries expire.
const VERSION_WITHOUT_EXPIRY: u32 = 2;
/// The version whose patches have no statement.
const VERSION_WITHOUT_STATEMENT: u32 = 1;
pub(crate) const TRAILER_BYTES: u64 = 24;
const PATCH: u8 = 1;
const PIECE: u8 = 2;
/// Most bytes of a patch's fields beside keys, bounds and lists.
const FIXED_FIELDS_BYTES: u64 = 192;
/// Bytes of a piece's fields.
const PIECE_FIELDS_BYTES: u64 = 17;

/// Where a patch comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A container, which is one patch.
    Container,
    /// A merge.
    Merge {
        /// Number of the merge.
        number: u64,
        /// Number of this output, from 0.
        output: u32,
        /// Whether it is the last one.
        is_last: bool,
        /// Blocks that were merged.
        inputs: Vec<u64>,
    },
}

/// The fields of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) slice: u32,
    /// The slice's first key.
    pub(crate) lower: Vec<u8>,
    /// The first key of the next slice; empty for the last one.
    pub(crate) upper: Vec<u8>,
    pub(crate) level: u8,
    pub(crate) run: u64,
    /// Number of the patch in the order in which containers are frozen and merges begin.
    pub(crate) creation: u64,
    /// The lowest and highest of the writes that it stands for: those of a container's records, or of a merge's inputs,
    /// whether or not their entries are left. Every freed record of the log is covered by a patch of its slice, in
    /// stores whose log has version 3.
    pub(crate) sequences: (u64, u64),
    pub(crate) entries: u64,
    pub(crate) tombstones: u64,
    /// Bytes of all entries.
    pub(crate) entry_bytes: u64,
    pub(crate) origin: Origin,
    /// Blocks that are superseded, and may come back since the device failed to erase them.
    pub(crate) stale: Vec<u64>,
    /// Pieces that entries refer to, in order.
    pub(crate) pieces: Vec<u64>,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// A patch's fields, index and filter, and what it says of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchFooter {
    pub(crate) fields: Fields,
    /// `None` where it did not fit, or an older version wrote the patch.
    pub(crate) statement: Option<Statement>,
    /// Empty also where it did not fit.
    pub(crate) expiring: Expiring,
    pub(crate) index: Index,
    pub(crate) filter: Filter,
}

/// What the end of a block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Footer {
    Patch(Box<PatchFooter>),
    Piece,
}

/// The tail of a block could not be read as a footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FooterError {
    /// The footer is longer than the tail: it needs this many bytes.
    Longer(u64),
    /// The block is none of this program's, or damaged.
    Foreign,
    /// It is of a later version.
    Newer(u32),
    /// It belongs to another store.
    OtherStore,
}

impl Fields {
    /// Returns whether it stands for all writes of another patch of the slice.
    pub(crate) fn covers_writes_of(&self, other: &Self) -> bool {
        self.sequences.0 <= other.sequences.0 && other.sequences.1 <= self.sequences.1
    }

    /// Returns the bytes that fields and the statement behind them take at most.
    pub(crate) fn bytes_max(block_bytes: u64, bounds_bytes: u64, keys_bytes: u64, list_entries: u64) -> u64 {
        FIXED_FIELDS_BYTES + bounds_bytes + keys_bytes + 8 * list_entries + Statement::bytes_max(block_bytes)
    }

    fn encode(&self, store: u128, out: &mut Vec<u8>) {
        out.push(PATCH);
        out.extend_from_slice(&store.to_le_bytes());
        out.extend_from_slice(&self.slice.to_le_bytes());
        out.push(self.level);
        for number in [self.run, self.creation, self.sequences.0, self.sequences.1] {
            put_varint(out, number);
        }
        for number in [self.entries, self.tombstones, self.entry_bytes] {
            put_varint(out, number);
        }
        match &self.origin {
            Origin::Container => out.push(0),
            Origin::Merge { number, output, is_last, inputs } => {
                out.push(1 + u8::from(*is_last));
                put_varint(out, *number);
                put_varint(out, (*output).into());
                put_list(out, inputs);
            }
        }
        put_list(out, &self.stale);
        put_list(out, &self.pieces);
        for key in [&self.lower, &self.upper, &self.first, &self.last] {
            put_bytes(out, key);
        }
    }

    /// Reads what follows the store's id.
    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (slice, level) = (reader.u32()?, reader.u8()?);
        let (run, creation) = (reader.varint()?, reader.varint()?);
        let sequences = (reader.varint()?, reader.varint()?);
        let (entries, tombstones, entry_bytes) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let origin = match reader.u8()? {
            0 => Origin::Container,
            last @ 1..=2 => Origin::Merge {
                number: reader.varint()?,
                output: u32::try_from(reader.varint()?).ok()?,
                is_last: last == 2,
                inputs: reader.list()?,
            },
            _ => return None,
        };
        let (stale, pieces) = (reader.list()?, reader.list()?);
        let [lower, upper, first, last] =
            [reader.bytes()?, reader.bytes()?, reader.bytes()?, reader.bytes()?].map(<[u8]>::to_vec);
        Some(Self {
            slice,
            lower,
            upper,
            level,
            run,
            creation,
            sequences,
            entries,
            tombstones,
            entry_bytes,
            origin,
            stale,
            pieces,
            first,
            last,
        })
    }
}

impl PatchFooter {
    /// Returns the end of a patch's block.
    pub(crate) fn encode(&self, store: u128) -> Vec<u8> {
        let mut out = Vec::new();
        self.index.encode(&mut out);
        let index_bytes = out.len();
        self.filter.encode(&mut out);
        let filter_bytes = out.len() - index_bytes;
        self.fields.encode(store, &mut out);
        out.push(self.statement.is_some().into());
        if let Some(statement) = &self.statement {
            statement.encode(&mut out);
        }
        if !self.expiring.is_empty() {
            self.expiring.encode(&mut out);
        }
        let version = if self.expiring.is_empty() { VERSION_WITHOUT_EXPIRY } else { VERSION };
        let fields_bytes = out.len() - index_bytes - filter_bytes;
        put_trailer(&mut out, [index_bytes, filter_bytes, fields_bytes], version);
        out
    }
}

/// Returns the end of a piece's block.
pub(crate) fn encode_piece(store: u128) -> Vec<u8> {
    let mut out = vec![PIECE];
    out.extend_from_slice(&store.to_le_bytes());
    put_trailer(&mut out, [0, 0, PIECE_FIELDS_BYTES as usize], VERSION_WITHOUT_EXPIRY);
    out
}

/// Bytes at the end of a piece that are none of its value's.
pub(crate) const PIECE_END_BYTES: u64 = PIECE_FIELDS_BYTES + TRAILER_BYTES;

fn put_trailer(out: &mut Vec<u8>, lengths: [usize; 3], version: u32) {
    lengths.iter().for_each(|&length| out.extend_from_slice(&(length as u32).to_le_bytes()));
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&MAGIC.to_le_bytes());
}

/// Returns whether a block with these last bytes belongs to a store: any store, in any version of the format.
pub fn is_block_of_a_store(tail: &[u8]) -> bool {
    tail.ends_with(&MAGIC.to_le_bytes())
}

/// Bytes at the end of a block that [`is_block_of_a_store`] asks for.
pub const MARK_BYTES: u64 = size_of_val(&MAGIC) as u64;

impl Footer {
    /// Reads the footer from the last bytes of a block of the store with this id.
    pub(crate) fn decode(tail: &[u8], store: u128) -> Result<Self, FooterError> {
        let split = tail.len().checked_sub(TRAILER_BYTES as usize).ok_or(FooterError::Foreign)?;
        let (before, trailer) = tail.split_at(split);
        let mut reader = Reader::new(trailer);
        let mut number = || u64::from(reader.u32().expect("a trailer has four numbers"));
        let [index_bytes, filter_bytes, fields_bytes, version] = [number(), number(), number(), number()];
        if reader.u64() != Some(MAGIC) {
            return Err(FooterError::Foreign);
        }
        if !(u64::from(VERSION_WITHOUT_STATEMENT)..=u64::from(VERSION)).contains(&version) {
            return Err(FooterError::Newer(version as u32));
        }
        let all = index_bytes + filter_bytes + fields_bytes;
        let Some(from) = (before.len() as u64).checked_sub(all) else {
            return Err(FooterError::Longer(all + TRAILER_BYTES));
        };
        let mut parts = Reader::new(&before[from as usize..]);
        let mut part = |bytes| parts.take(bytes).expect("the parts lie within the tail");
        let (index, filter, fields) = (part(index_bytes), part(filter_bytes), part(fields_bytes));
        let mut fields = Reader::new(fields);
        let kind = fields.u8().ok_or(FooterError::Foreign)?;
        if fields.u128().ok_or(FooterError::Foreign)? != store {
            return Err(FooterError::OtherStore);
        }
        match kind {
            PIECE => Ok(Self::Piece),
            PATCH => Self::patch(index, filter, fields, version as u32).ok_or(FooterError::Foreign),
            _ => Err(FooterError::Foreign),
        }
    }

    fn patch(index: &[u8], filter: &[u8], mut reader: Reader<'_>, version: u32) -> Option<Self> {
        let (index, filter) = (Index::decode(index)?, Filter::decode(filter)?);
        let fields = Fields::decode(&mut reader)?;
        let statement = match version > VERSION_WITHOUT_STATEMENT && reader.u8()? == 1 {
            true => Some(Statement::decode(&mut reader)?),
            false => None,
        };
        let expiring = match version > VERSION_WITHOUT_EXPIRY {
            true => Expiring::decode(&mut reader)?,
            false => Expiring::default(),
        };
        Some(Self::Patch(Box::new(PatchFooter { fields, statement, expiring, index, filter })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexBuilder;

    pub(super) fn footer() -> PatchFooter {
        let mut index = IndexBuilder::default();
        index.push(0, None, b"alpha");
        index.push(512, Some(b"beta"), b"gamma");
        let origin = Origin::Merge { number: 9, output: 2, is_last: true, inputs: vec![4, 1 << 40] };
        let fields = Fields {
            slice: 3,
            lower: b"a".to_vec(),
            upper: Vec::new(),
            level: 2,
            run: 8,
            creation: 77,
            sequences: (5, u64::MAX),
            entries: 6,
            tombstones: 1,
            entry_bytes: 600,
            origin,
            stale: vec![12],
            pieces: vec![13, 14],
            first: b"alpha".to_vec(),
            last: b"omega".to_vec(),
        };
        let statement = Some(crate::statement::tests::statement());
        let mut times = crate::expiring::ExpiryTimes::default();
        [70, 90, 1 << 40].into_iter().for_each(|time| times.add(time));
        let (index, filter) = (index.finish(700, 0), Filter::new(&[1, 2], 8192));
        PatchFooter { fields, statement, expiring: times.finish(), index, filter }
    }

    #[test]
    fn footers_are_read_back_from_any_tail_that_holds_them() {
        let patch = footer();
        let bytes = patch.encode(5);
        for before in [0, 1, 100] {
            let tail = [vec![7; before], bytes.clone()].concat();
            assert_eq!(Footer::decode(&tail, 5), Ok(Footer::Patch(Box::new(patch.clone()))));
        }
        for (cut, length) in
            (1..bytes.len() - TRAILER_BYTES as usize).map(|cut| (&bytes[cut..], bytes.len() as u64))
        {
            assert_eq!(Footer::decode(cut, 5), Err(FooterError::Longer(length)));
        }
        let piece = encode_piece(5);
        assert_eq!((Footer::decode(&piece, 5), piece.len() as u64), (Ok(Footer::Piece), PIECE_END_BYTES));
    }

    #[test]
    fn blocks_of_others_are_refused() {
        let bytes = footer().encode(5);
        assert_eq!(Footer::decode(&bytes, 6), Err(FooterError::OtherStore));
        assert_eq!(Footer::decode(&[0; 100], 5), Err(FooterError::Foreign));
        assert_eq!(Footer::decode(&[0; 5], 5), Err(FooterError::Foreign));
        let mut newer = bytes.clone();
        let at = newer.len() - 12;
        newer[at] = 4;
        assert_eq!(Footer::decode(&newer, 5), Err(FooterError::Newer(4)));
    }

    #[test]
    fn bytes_of_fields_are_within_their_bound() {
        let mut fields = footer().fields;
        (fields.run, fields.creation, fields.entries, fields.entry_bytes) =
            (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        fields.tombstones = u64::MAX;
        fields.sequences.0 = u64::MAX;
        let mut out = Vec::new();
        fields.encode(u128::MAX, &mut out);
        assert!(out.len() as u64 <= Fields::bytes_max(0, 1, 10, 5), "{} bytes", out.len());
    }
}
