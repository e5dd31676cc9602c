//! Pages of the log as bytes.
//!
//! The payload is *whitened*: combined with a stream of numbers that follows from a hash of the payload, which the
//! header holds. A page that a power cut tore may be written anew later, with other records, and be torn again: its
//! sectors are then a mixture of two writes. If both had bytes in common (zeros at the end, or a value that was written
//! again), the mixture could be the first page as a whole, and a write would come back after the store was opened
//! without it. Whitened pages with other records, or of another number or epoch, differ in every sector, so the
//! checksum refuses every mixture.

use crate::bytes::Reader;
use crate::filter::hash_key;
use crate::log::LogLayout;
use flashlane_base::random::{SPLITMIX64_STEP, splitmix64};
use flashlane_device::remains::WRONG_BYTES_MAX;
use std::ops::Range;

const MAGIC: u64 = u64::from_le_bytes(*b"flashlog");
/// Version of the format that this program writes, and the newest that it reads.
const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: u64 = 80;
const NO_RECORD: u32 = u32::MAX;
/// The numbers of a header, from the page's own on: those of which some are impossible.
const NUMBERS: Range<usize> = 40..72;

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) store: u128,
    pub(super) epoch: u64,
    pub(super) number: u64,
    /// Pages below are not needed.
    pub(super) tail: u64,
    /// Pages below were durable when this one was written.
    pub(super) durable_before: u64,
    /// Where the first record begins that does not begin in an earlier page.
    pub(super) first_record: Option<u32>,
}

/// Returns the bytes of a page behind its header.
pub(super) fn payload_bytes(layout: &LogLayout) -> u64 {
    layout.page_bytes - HEADER_BYTES
}

/// Returns the number of wrong bytes in the header of a page in a slot of the ring, as far as that is known without the
/// checksum, which a torn page does not have: magic, version and store, and numbers that are impossible there but for
/// one byte. `None` where more are wrong. A sound page of another store, as versions that did not blank the ring left,
/// has none.
pub(super) fn wrong_header_bytes(bytes: &[u8], store: u128, layout: &LogLayout, slot: u64) -> Option<usize> {
    let mut header = *bytes.first_chunk::<{ HEADER_BYTES as usize }>()?;
    let of_other = u128::from_le_bytes(header[16..32].try_into().expect("sixteen bytes"));
    if of_other != store && Page::decode(bytes, of_other).is_some() {
        return Some(0);
    }
    let expected = [&MAGIC.to_le_bytes()[..], &VERSION.to_le_bytes(), &store.to_le_bytes()].concat();
    let found = [&header[..8], &header[12..32]].concat();
    // A blank page has no header: its zeros count.
    let mut wrong = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
    if wrong <= WRONG_BYTES_MAX && !is_possible(&header, layout, slot) {
        wrong += 1;
        let mut is_wrong = |at: usize| {
            let found = header[at];
            let is_right = (0..=u8::MAX).any(|byte| {
                header[at] = byte;
                is_possible(&header, layout, slot)
            });
            header[at] = found;
            is_right
        };
        if !NUMBERS.into_iter().any(&mut is_wrong) {
            return None;
        }
    }
    (wrong <= WRONG_BYTES_MAX).then_some(wrong)
}

/// Returns whether a page with the numbers of this header can be in a slot of the ring.
fn is_possible(header: &[u8; HEADER_BYTES as usize], layout: &LogLayout, slot: u64) -> bool {
    let mut fields = Reader::new(&header[NUMBERS]);
    let mut number = || fields.u64().expect("the header has all fields");
    let [number, tail, durable_before] = [number(), number(), number()];
    let mut length = || fields.u32().expect("the header has all fields");
    let (used, first_record) = (length(), length());
    number % layout.pages == slot
        && tail <= durable_before
        && durable_before <= number
        && number - tail <= layout.pages
        && u64::from(used) <= payload_bytes(layout)
        && (first_record == NO_RECORD || first_record <= used)
}

/// Returns whether bytes begin as a page of any log.
pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// Returns the part of a page behind its header.
pub(super) fn payload_of(page: &mut [u8]) -> &mut [u8] {
    &mut page[HEADER_BYTES as usize..]
}

impl Page {
    /// Completes `out`, a whole page, whose payload begins with `used` bytes that were written there.
    pub(super) fn encode(&self, used: usize, out: &mut [u8]) {
        let (payload, unused) = payload_of(out).split_at_mut(used);
        unused.fill(0);
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&self.store.to_le_bytes());
        for number in [self.epoch, self.number, self.tail, self.durable_before] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        header.extend_from_slice(&self.first_record.unwrap_or(NO_RECORD).to_le_bytes());
        let key = hash_key(&header) ^ hash_payload(payload);
        header.extend_from_slice(&key.to_le_bytes());
        debug_assert_eq!(header.len() as u64, HEADER_BYTES);
        out[..header.len()].copy_from_slice(&header);
        whiten(key, payload_of(out));
        let checksum = crc32c::crc32c(out);
        out[8..12].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a page of the store with this id. `None` where it is none, or was torn or damaged.
    pub(super) fn decode(bytes: &[u8], store: u128) -> Option<(Self, Vec<u8>)> {
        let mut reader = Reader::new(bytes);
        if reader.u64()? != MAGIC {
            return None;
        }
        let checksum = reader.u32()?;
        let expected = [&bytes[..8], &[0; 4]].iter().fold(0, |sum, part| crc32c::crc32c_append(sum, part));
        if crc32c::crc32c_append(expected, &bytes[12..]) != checksum || reader.u32()? != VERSION {
            return None;
        }
        let page_store = reader.u128()?;
        let [epoch, number, tail, durable_before] =
            [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
        let (used, first_record, key) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let mut payload = reader.rest().to_vec();
        if used as usize > payload.len() {
            return None;
        }
        whiten(key, &mut payload);
        payload.truncate(used as usize);
        let first_record = (first_record != NO_RECORD).then_some(first_record);
        let is_sound =
            first_record.is_none_or(|first| first <= used) && tail <= number && durable_before <= number;
        let page = Self { store, epoch, number, tail, durable_before, first_record };
        (page_store == store && is_sound).then_some((page, payload))
    }
}

/// Hashes a payload by products of 128 bits, as wyhash does, in two chains that do not wait for each other: a page is
/// read by the key in its header, so the hash is not part of the format.
fn hash_payload(bytes: &[u8]) -> u64 {
    const SECRETS: [[u64; 2]; 2] =
        [[0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db], [0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3]];
    let mut chains = [0, bytes.len() as u64];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let (halves, _) = block.as_chunks::<16>();
        for ((chain, half), [first, second]) in chains.iter_mut().zip(halves).zip(SECRETS) {
            let both = u128::from_le_bytes(*half);
            let low = both as u64 ^ first ^ *chain;
            let product = u128::from(low) * u128::from((both >> 64) as u64 ^ second ^ chain.rotate_left(32));
            *chain = (product ^ (product >> 64)) as u64;
        }
    }
    chains[0] ^ chains[1].rotate_left(32) ^ hash_key(rest)
}

/// Combines bytes with the stream of this key; a second time restores them. Numbers as SplitMix64 makes them.
fn whiten(key: u64, bytes: &mut [u8]) {
    let mut state = key;
    let mut next = || {
        let number = splitmix64(state);
        state = state.wrapping_add(SPLITMIX64_STEP);
        number
    };
    let (pieces, rest) = bytes.as_chunks_mut();
    for piece in pieces {
        *piece = (u64::from_le_bytes(*piece) ^ next()).to_le_bytes();
    }
    rest.iter_mut().zip(next().to_le_bytes()).for_each(|(byte, own)| *byte ^= own);
}
