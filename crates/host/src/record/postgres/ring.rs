//! Decodes the pages of a processor's ring buffer, as `trace_pipe_raw` returns them.
//!
//! A page is the time of its first event, the length of its data with flags, and the data: events with a word in front
//! of them that holds length and distance in time (`include/linux/ring_buffer.h` of Linux, on 64-bit machines).

/// Length of the time and of the length with flags.
pub(super) const HEAD_BYTES: usize = 16;

/// Flag of a page's length: events before this page were lost.
const MISSED: u64 = 1 << 31;
const LENGTH: u64 = (1 << 20) - 1;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a distance in time beside a length.
const DELTA_BITS: u32 = 27;
/// Bits of a whole time; those above are the page's.
const STAMP_BITS: u32 = 59;

/// The events of one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    at_ns: u64,
    missed: bool,
    data: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads the head of a page; `None` where the bytes are no whole page.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, data) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [at, length] = [&head[..8], &head[8..]]
            .map(|word| u64::from_ne_bytes(word.try_into().expect("half of sixteen bytes")));
        let data = data.get(..(length & LENGTH) as usize)?;
        Some(Self { at_ns: at, missed: length & MISSED != 0, data })
    }

    /// Whether events before this page were lost.
    pub(super) fn missed(&self) -> bool {
        self.missed
    }

    pub(super) fn at_ns(&self) -> u64 {
        self.at_ns
    }
}

/// Times and contents of the events, in order.
impl<'a> Iterator for Page<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let head = self.word()?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            match kind {
                PADDING if delta == 0 => return None,
                PADDING => {
                    self.at_ns = self.at_ns.wrapping_add(delta);
                    let length = self.word()? as usize;
                    self.skip(length.saturating_sub(4))?;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.at_ns = self.at_ns.wrapping_add(high + delta);
                }
                TIME_STAMP => {
                    let stamp = (u64::from(self.word()?) << DELTA_BITS) + delta;
                    self.at_ns = stamp & ((1 << STAMP_BITS) - 1) | self.at_ns >> STAMP_BITS << STAMP_BITS;
                }
                _ => {
                    self.at_ns = self.at_ns.wrapping_add(delta);
                    let length = match kind {
                        0 => (self.word()? as usize).saturating_sub(4).next_multiple_of(4),
                        words => words as usize * 4,
                    };
                    return Some((self.at_ns, self.skip(length)?));
                }
            }
        }
    }
}

impl<'a> Page<'a> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.data.split_first_chunk::<4>()?;
        self.data = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.data.split_at_checked(length)?;
        self.data = rest;
        Some(skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds a page from times and contents.
    fn page(missed: bool, events: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let first = events.first().map_or(0, |(at, _)| *at);
        let (mut now, mut data) = (first, Vec::new());
        let word = |data: &mut Vec<u8>, word: u32| data.extend(word.to_ne_bytes());
        for (at, content) in events {
            let mut delta = at - now;
            if delta >> DELTA_BITS != 0 {
                word(&mut data, TIME_EXTEND | (delta as u32 & ((1 << DELTA_BITS) - 1)) << 5);
                word(&mut data, (delta >> DELTA_BITS) as u32);
                delta = 0;
            }
            let words = content.len().div_ceil(4) as u32;
            if words == 0 || words > 28 {
                word(&mut data, (delta as u32) << 5);
                word(&mut data, content.len() as u32 + 4);
            } else {
                word(&mut data, words | (delta as u32) << 5);
            }
            data.extend(content);
            data.resize(data.len().next_multiple_of(4), 0);
            now = *at;
        }
        let flags = if missed { MISSED } else { 0 };
        let mut page = first.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_ne_bytes());
        page.extend(data);
        page.resize(page.len().max(4096), 0);
        page
    }

    #[test]
    fn stamps_extensions_and_padding_are_followed() {
        let mut data = Vec::new();
        for word in [
            1 | 5 << 5,
            77,
            PADDING | 3 << 5,
            8,
            0,
            TIME_EXTEND | 1 << 5,
            2,
            1,
            78,
            TIME_STAMP | 9 << 5,
            4,
            1 | 1 << 5,
            79,
            PADDING,
            80,
        ] {
            data.extend(word.to_ne_bytes());
        }
        let mut bytes = 1000_u64.to_ne_bytes().to_vec();
        bytes.extend((data.len() as u64).to_ne_bytes());
        bytes.extend(data);
        let events: Vec<_> = Page::parse(&bytes).unwrap().map(|(at, event)| (at, event[0])).collect();
        let extended = 1000 + 5 + 3 + 1 + (2 << 27);
        assert_eq!(events, [(1005, 77), (extended, 78), ((4 << 27) + 9 + 1, 79)]);
    }

    proptest! {
        #[test]
        fn events_of_a_page_are_returned(
            missed: bool,
            steps in prop::collection::vec((0..1_u64 << 40, prop::collection::vec(any::<u8>(), 1..200)), 0..12),
        ) {
            let mut now = 0;
            let events: Vec<_> = steps.into_iter().map(|(step, content)| {
                now += step;
                (now, content)
            }).collect();
            let bytes = page(missed, &events);
            let page = Page::parse(&bytes).unwrap();
            prop_assert_eq!(page.missed(), missed);
            let found: Vec<_> = page.map(|(at, event)| (at, event.to_vec())).collect();
            prop_assert_eq!(found.len(), events.len());
            for ((at, found), (expected_at, expected)) in found.iter().zip(&events) {
                prop_assert_eq!(at, expected_at);
                prop_assert!(found.starts_with(expected) && found.len() < expected.len() + 4);
            }
        }

        #[test]
        fn any_bytes_end_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(page) = Page::parse(&bytes) {
                prop_assert!(page.count() <= bytes.len());
            }
        }
    }
}
