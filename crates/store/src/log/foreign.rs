//! Other data in the places of the log that writes would overwrite: pages of the ring, and marks of its end.
//!
//! A new log is blank. So a page holds zeros, a page that the log wrote, or what a power cut left of one, sector by
//! sector: the old bytes, the new ones, or any. Of a page the first sector has the header, by which it is recognised
//! where another sector is torn, and what follows is whitened ([`super::page`]): its bytes are spread as random ones. A
//! mark lies in one sector, so that none is torn within. Anything else was written by another program. It is kept, and
//! nothing is written, until its owner gives it up.
//!
//! A single wrong byte of a header, a mark or zeros is damage, as in all records ([`flashlane_device::remains`]). A
//! torn page has no checksum that holds: its magic, version and store must be right, and its numbers possible in its
//! place, so that no more than 8 bytes in a row may be any. A
//! page of other data is taken for a torn one where each of its sectors is zeros or spread as random bytes, as
//! compressed or encrypted data is: no bytes in a sector say whose they are. Within a sector that is spread, text and
//! data of few values are found from [`TEXT_MIN`] and [`WINDOW_BYTES`] bytes on.

use super::recover::{execute, read_in_chunks};
use super::{LogLayout, mark, page};
use flashlane_device::remains::{SECTOR_BYTES, WRONG_BYTES_MAX};
use flashlane_device::{Buffer, DataDevice, Request};
use std::ops::Range;

/// Least number of different bytes in a sector of random ones. These have 256 * (1 - (255/256)^512) = 221 on average,
/// with a standard deviation below 6: fewer come once in 10^17 sectors. A sector of text has below 100.
const SPREAD_MIN: usize = 170;
/// Bytes of a window of which the same is asked, every [`WINDOW_STEP`] bytes.
const WINDOW_BYTES: usize = 64;
const WINDOW_STEP: usize = 8;
/// Least number of different bytes in a window. Random ones have 57: fewer come once in 10^12 windows. One of text has
/// below 30.
const WINDOW_SPREAD_MIN: usize = 31;
/// Length of a run of printable characters that is text: random bytes are so once in 10^13 times.
const TEXT_MIN: usize = 32;

/// Data in the log's device that is not the log's, in a place where the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOverwritten {
    /// Offset of the first page with such data.
    pub offset_bytes: u64,
    /// Bytes of all such pages.
    pub bytes: u64,
}

/// Pages with other data: ranges of bytes of the device, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign(Vec<Range<u64>>);

impl Foreign {
    /// Adds a page. Requires: those that were added lie before it.
    pub(super) fn push(&mut self, page: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if last.end == page.start => last.end = page.end,
            _ => self.0.push(page),
        }
    }

    /// Returns what is there; `None` where nothing is.
    pub(crate) fn found(&self) -> Option<LogOverwritten> {
        let bytes = self.0.iter().map(|range| range.end - range.start).sum();
        self.0.first().map(|first| LogOverwritten { offset_bytes: first.start, bytes })
    }

    /// Writes zeros in their place, and waits until these are durable.
    pub(super) fn erase<L: DataDevice>(&self, device: &mut L, layout: &LogLayout) -> Result<(), String> {
        for range in &self.0 {
            for offset_bytes in range.clone().step_by(layout.page_bytes as usize) {
                let zeros = Buffer::zeroed(layout.page_bytes as usize);
                execute(device, Request::write(0, offset_bytes, layout.page_bytes), Some(zeros))?;
            }
        }
        execute(device, Request::flush(0), None).map(drop)
    }
}

/// Returns whether a page in a slot of the ring that is not sound has other data.
pub(super) fn is_foreign_page(bytes: &[u8], store: u128, layout: &LogLayout, slot: u64) -> bool {
    let wrong = page::wrong_header_bytes(bytes, store, layout, slot);
    is_foreign(bytes, wrong.map(|wrong| (page::HEADER_BYTES as usize, wrong)))
}

/// Returns whether the place of a mark has other data: its checksum covers its first bytes only.
pub(super) fn is_foreign_mark(bytes: &[u8], store: u128) -> bool {
    is_foreign(bytes, mark::wrong_bytes(bytes, store).map(|wrong| (mark::BYTES, wrong)))
}

/// Returns whether bytes that begin with a head of this length, with this number of wrong bytes, have other data.
fn is_foreign(bytes: &[u8], head: Option<(usize, usize)>) -> bool {
    let (head_bytes, wrong_in_head) = head.unwrap_or_default();
    let (first, others) = bytes.split_at(bytes.len().min(SECTOR_BYTES));
    let sectors = std::iter::once(&first[head_bytes..]).chain(others.chunks(SECTOR_BYTES));
    let not_torn = sectors.filter(|sector| !is_blank(sector) && !is_spread(sector));
    let wrong = not_torn.map(|sector| sector.iter().filter(|&&byte| byte != 0).count());
    wrong_in_head + wrong.sum::<usize>() > WRONG_BYTES_MAX
}

fn is_blank(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}

/// Returns whether bytes are spread as random ones.
fn is_spread(sector: &[u8]) -> bool {
    let is_text = |run: &[u8]| run.len() >= TEXT_MIN;
    let is_printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let mut windows = sector.windows(WINDOW_BYTES).step_by(WINDOW_STEP);
    different(sector) >= SPREAD_MIN
        && windows.all(|window| different(window) >= WINDOW_SPREAD_MIN)
        && !sector.split(|byte| !is_printable(byte)).any(is_text)
}

/// Returns the number of different bytes.
fn different(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    bytes.iter().for_each(|&byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|&&is_there| is_there).count()
}

/// Makes the ring of a new log blank, whose device may hold what its owner gave up: pages with bytes are overwritten
/// with zeros. They become durable with the header.
pub(crate) fn blank_ring<L: DataDevice>(device: &mut L, layout: &LogLayout) -> Result<(), String> {
    let mut used = Foreign::default();
    let mut unread = Vec::new();
    let span = |slot: u64| layout.page_offset(slot)..layout.page_offset(slot + 1);
    let failed = read_in_chunks(device, layout, &mut |slots: Range<u64>, buffer: Buffer| {
        let pages = buffer.as_slice().chunks(layout.page_bytes as usize);
        unread.extend(slots.zip(pages).filter(|(_, page)| !is_blank(page)).map(|(slot, _)| slot));
    });
    // What cannot be read may be readable once it is written.
    unread.extend(failed.into_iter().flatten());
    unread.sort_unstable();
    unread.into_iter().for_each(|slot| used.push(span(slot)));
    if used.found().is_some() { used.erase(device, layout) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn text_is_told_from_what_a_power_cut_leaves() {
        let mut random = Seed(3).source();
        let mut torn = vec![0; 4096];
        let layout = LogLayout::for_tests(20);
        let is_foreign_page = |bytes: &[u8], store| is_foreign_page(bytes, store, &layout, 3);
        assert!(!is_foreign_page(&torn, 7));
        for _ in 0..2000 {
            let sector = random.below(8) as usize * SECTOR_BYTES;
            let is_blank = random.chance(0.3);
            let fill = |byte: &mut u8| *byte = if is_blank { 0 } else { random.bits() as u8 };
            torn[sector..sector + SECTOR_BYTES].iter_mut().for_each(fill);
            assert!(!is_foreign_page(&torn, 7) && !is_foreign_mark(&torn, 7));
        }
        for sector in 0..8 {
            let mut page = torn.clone();
            let text = b"my precious text\n".iter().cycle();
            page[sector * SECTOR_BYTES..][..SECTOR_BYTES]
                .iter_mut()
                .zip(text)
                .for_each(|(to, &from)| *to = from);
            assert!(is_foreign_page(&page, 7) && is_foreign_mark(&page, 7), "sector {sector}");
        }
        assert!(is_foreign_page(&[0xff; 4096], 7));
        // A part of a sector.
        torn.iter_mut().for_each(|byte| *byte = random.bits() as u8);
        for (at, length) in [(0, 32), (100, 40), (480, 32), (500, 80), (4000, 96)] {
            let mut page = torn.clone();
            page[at..at + length].copy_from_slice(&b"my precious text\n".repeat(6)[..length]);
            assert!(is_foreign_page(&page, 7) && is_foreign_mark(&page, 7), "{length} bytes of text at {at}");
        }
        // Behind a mark or the header of a page.
        let mut sound = mark::encode(&layout, 7, 3).as_slice().to_vec();
        assert!(!is_foreign_mark(&sound, 7));
        sound[100] = b'm';
        assert!(!is_foreign_mark(&sound, 7), "a damaged byte behind a mark");
        for at in [40, 101, 511, 512, 4095] {
            let mut mark = sound.clone();
            mark[at] = b'y';
            assert!(is_foreign_mark(&mark, 7), "two bytes behind a mark, at 100 and {at}");
        }
        for at in [0, 511, 512, 4095] {
            let mut blank = vec![0; 4096];
            blank[at] = 0x10;
            assert!(!is_foreign_page(&blank, 7), "a damaged byte at {at}");
            blank[2000] = 0x10;
            assert!(is_foreign_page(&blank, 7), "two bytes at {at} and 2000");
        }
        for at in [0, 7, 100, 441, 4025] {
            let mut page = torn.clone();
            page[at..at + 71].iter_mut().enumerate().for_each(|(nth, byte)| *byte = 128 + (nth % 30) as u8);
            assert!(is_foreign_page(&page, 7) && is_foreign_mark(&page, 7), "binary data at {at}");
        }
    }

    #[test]
    fn one_wrong_byte_of_a_record_is_damage_and_other_data_is_kept() {
        let layout = LogLayout::for_tests(20);
        let is_foreign_page = |bytes: &[u8]| is_foreign_page(bytes, 7, &layout, 3);
        let (number, tail, durable_before) = (43, 30, 40);
        let page = page::Page { store: 7, epoch: 2, number, tail, durable_before, first_record: Some(0) };
        let mut torn = vec![0x17; 4096];
        page.encode(2000, &mut torn);
        torn[512..].fill(0);
        let mark = mark::encode(&layout, 7, 9).as_slice().to_vec();
        assert!(!is_foreign_page(&torn) && !is_foreign_mark(&mark, 7));
        for at in 0..80 {
            let mut damaged = torn.clone();
            damaged[at] ^= 0x41;
            assert!(!is_foreign_page(&damaged), "byte {at} of a torn page");
        }
        for at in 0..mark::BYTES {
            let mut damaged = mark.clone();
            damaged[at] ^= 0x41;
            assert!(!is_foreign_mark(&damaged, 7), "byte {at} of a mark");
            for length in 2..=16 {
                let mut damaged = mark.clone();
                damaged[at..at + length].fill(b'x');
                assert!(is_foreign_mark(&damaged, 7), "{length} bytes over a mark, from {at}");
            }
        }
        // Without the rest of a page its checksum and key may be any, and what follows is spread.
        for at in 0..71 {
            let mut damaged = torn.clone();
            damaged[at..at + 16].fill(b'x');
            assert!(is_foreign_page(&damaged), "16 bytes over a torn page, from {at}");
        }
    }
}
