//! The mark of the log's end: how far the log was durable when it was last closed.
//!
//! Pages say of earlier ones that these were durable, and no page says it of the last group. So the loss of the log's
//! end looks like a tail that a power cut tore: where the last groups were damaged, or the device was cut and made as
//! long as before. After a close nothing may be missing, and a mark outside the ring says so. It stands behind the
//! header, in two places that are written in turn.
//!
//! # Why a mark is never wrong
//! A mark says that the pages below `n` were durable. Pages are overwritten only behind a durable tail above them, and
//! each opening that writes begins at the end of the chain, which is at `n` or behind it. So the chain of every later
//! opening reaches `n`, whatever was written since, and whether that is torn: a mark stays true, and need not be taken
//! back when the log is used again. There are no states between *closed* and *in use* that a power cut could leave
//! wrong:
//!
//! - *closed*: all pages are below the mark, and the loss of any is noticed;
//! - *in use*, or *cut by power*: the loss of pages below the mark is noticed, and of those behind it what later pages
//!   notice;
//! - *while a mark is written*: the place that is written may be torn, and then says nothing; the other has the last
//!   mark.
//!
//! # Invariants
//! 1. A mark is written while nothing is in flight, once all pages below it are durable, and durably.
//! 2. Marks do not go back: each is above both that are there, and replaces the lower one.
//! 3. At most one of the two places is torn. Two that cannot be read are damage.

use super::foreign::{Foreign, is_foreign_mark};
use super::recover::execute;
use super::{LogLayout, header::MARKS};
use crate::bytes::Reader;
use flashlane_device::{Buffer, DataDevice, Request};

const MAGIC: u64 = u64::from_le_bytes(*b"flashend");
const VERSION: u32 = 1;
/// Bytes before the mark's checksum, and behind it: store and page.
const CHECKED_FROM: usize = 12;
pub(super) const BYTES: usize = 40;
/// Attempts at reading a mark.
const ATTEMPTS: u32 = 3;

/// The marks of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Pages below were durable.
    pub(super) durable_to: u64,
    /// The place of the next mark: that of the lower one.
    pub(super) next_place: u64,
}

/// Returns a mark as a page.
pub(super) fn encode(layout: &LogLayout, store: u128, durable_to: u64) -> Buffer {
    let mut checked = VERSION.to_le_bytes().to_vec();
    checked.extend_from_slice(&store.to_le_bytes());
    checked.extend_from_slice(&durable_to.to_le_bytes());
    let mut buffer = Buffer::zeroed(layout.page_bytes as usize);
    let (magic, rest) = buffer.as_mut_slice().split_at_mut(8);
    magic.copy_from_slice(&MAGIC.to_le_bytes());
    let (checksum, rest) = rest.split_at_mut(4);
    checksum.copy_from_slice(&crc32c::crc32c(&checked).to_le_bytes());
    rest[..checked.len()].copy_from_slice(&checked);
    debug_assert_eq!(CHECKED_FROM + checked.len(), BYTES);
    buffer
}

/// Returns the number of wrong bytes of a mark: none where it is sound, one where it is with another value of this one.
/// `None` where more are.
pub(super) fn wrong_bytes(bytes: &[u8], store: u128) -> Option<usize> {
    let mut mark = *bytes.first_chunk::<BYTES>()?;
    if decode(&mark, store).is_some() {
        return Some(0);
    }
    let mut is_wrong = |at: usize| {
        let found = mark[at];
        let is_sound = (0..=u8::MAX).any(|byte| {
            mark[at] = byte;
            decode(&mark, store).is_some()
        });
        mark[at] = found;
        is_sound
    };
    (0..BYTES).any(&mut is_wrong).then_some(1)
}

/// Returns whether bytes begin as a mark of any log.
pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// Returns the page that a mark of this store names.
fn decode(bytes: &[u8], store: u128) -> Option<u64> {
    let mut reader = Reader::new(bytes);
    let is_mark = reader.u64()? == MAGIC;
    let checksum = reader.u32()?;
    let is_sound = crc32c::crc32c(bytes.get(CHECKED_FROM..BYTES)?) == checksum;
    let is_own = reader.u32()? == VERSION && reader.u128()? == store;
    reader.u64().filter(|_| is_mark && is_sound && is_own)
}

/// Reads the marks of a log that has them, and adds those places to `foreign` that have other data. `None` where
/// neither can be read.
pub(super) fn read<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    store: u128,
    foreign: &mut Foreign,
) -> Option<Marks> {
    let mut one = |place: u64| {
        let offset_bytes = layout.mark_offset(place);
        let request = Request::read(0, offset_bytes, layout.page_bytes);
        let mut page = || execute(device, request, Some(Buffer::zeroed(layout.page_bytes as usize))).ok()?;
        let page = (0..ATTEMPTS).find_map(|_| page())?;
        let found = decode(page.as_slice(), store);
        if is_foreign_mark(page.as_slice(), store) {
            foreign.push(offset_bytes..offset_bytes + layout.page_bytes);
        }
        found
    };
    let found: [Option<u64>; MARKS as usize] = [one(0), one(1)];
    let durable_to = found.into_iter().flatten().max()?;
    Some(Marks { durable_to, next_place: u64::from(found[0] > found[1]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_device_testing::MemoryDisk;

    #[test]
    fn higher_mark_counts_and_the_lower_one_is_replaced() {
        let mut disk = MemoryDisk::new(1 << 20, 512, Seed(1));
        let layout = LogLayout::for_tests(20);
        let put = |disk: &mut MemoryDisk, place: u64, durable_to: u64| {
            let request = Request::write(0, layout.mark_offset(place), layout.page_bytes);
            execute(disk, request, Some(encode(&layout, 7, durable_to))).unwrap();
        };
        assert_eq!(read(&mut disk, &layout, 7, &mut Foreign::default()), None);
        put(&mut disk, 0, 3);
        assert_eq!(
            read(&mut disk, &layout, 7, &mut Foreign::default()),
            Some(Marks { durable_to: 3, next_place: 1 })
        );
        put(&mut disk, 1, 5);
        assert_eq!(
            read(&mut disk, &layout, 7, &mut Foreign::default()),
            Some(Marks { durable_to: 5, next_place: 0 })
        );
        assert_eq!(read(&mut disk, &layout, 8, &mut Foreign::default()), None, "of another store");
        let at = layout.mark_offset(1) as usize;
        for byte in 0..BYTES {
            let (mut damaged, mut foreign) = (disk.clone(), Foreign::default());
            damaged.bytes_mut()[at + byte] ^= 4;
            let rest = Some(Marks { durable_to: 3, next_place: 1 });
            assert_eq!(read(&mut damaged, &layout, 7, &mut foreign), rest, "byte {byte}");
            assert_eq!(foreign.found(), None, "byte {byte} of our mark");
        }
    }
}
