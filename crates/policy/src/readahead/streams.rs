//! Sequential streams: a read that begins where a known stream ended continues it; after `trigger` such reads
//! the stream is prefetched.
//!
//! With `streams = 1` (the default) any other read ends the stream, which is how the drives of chen11 lose
//! their readahead to two interleaved readers (section 5.3). More streams are the remedy suggested there: a new stream
//! replaces the least recently continued one.
//!
//! Options: `streams`, 1 to 64, default 1; `trigger`, 1 to 64 reads in sequence, default 2.

use super::Readahead;
use crate::{OptionError, Options};
use std::ops::Range;

#[derive(Clone, Copy)]
struct Stream {
    next_byte: u64,
    reads: u32,
    fetched_to: u64,
}

struct Streams {
    /// Most recently continued first.
    known: Vec<Stream>,
    most: usize,
    trigger: u32,
    window_bytes: u64,
}

impl Readahead for Streams {
    fn observe(&mut self, bytes: Range<u64>) -> Range<u64> {
        let found = self.known.iter().position(|stream| stream.next_byte == bytes.start);
        let mut stream = match found {
            Some(index) => self.known.remove(index),
            None => {
                self.known.truncate(self.most - 1);
                Stream { next_byte: 0, reads: 0, fetched_to: 0 }
            }
        };
        stream.next_byte = bytes.end;
        stream.reads += 1;
        let mut fetch = 0..0;
        if stream.reads > self.trigger {
            let from = stream.fetched_to.max(bytes.end);
            let to = bytes.end + self.window_bytes.max(bytes.end - bytes.start);
            // Half a window at a time: fetched page by page, each fetch would come just before its read.
            if to.saturating_sub(from) * 2 >= self.window_bytes {
                fetch = from..to;
                stream.fetched_to = to;
            }
        }
        self.known.insert(0, stream);
        fetch
    }
}

pub(super) fn build(window_bytes: u64, options: &Options) -> Result<Box<dyn Readahead>, OptionError> {
    let most = options.get("streams", 1, "a count from 1 to 64", |n| (1..=64).contains(&n))?;
    let trigger = options.get("trigger", 2, "a count from 1 to 64", |n| (1..=64).contains(&n))?;
    Ok(Box::new(Streams { known: Vec::with_capacity(most), most, trigger, window_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(streams: &str) -> Box<dyn Readahead> {
        build(65536, &Options::new([("streams".into(), streams.into())])).unwrap()
    }

    fn fetches(readahead: &mut dyn Readahead, streams: u64) -> usize {
        let mut fetched = 0;
        for i in 0..64 {
            for s in 0..streams {
                let at = (s << 30) + i * 4096;
                fetched += usize::from(!readahead.observe(at..at + 4096).is_empty());
            }
        }
        fetched
    }

    #[test]
    fn interleaved_streams_beyond_the_limit_stop_prefetch() {
        assert!(fetches(&mut *made("1"), 1) > 2);
        assert_eq!(fetches(&mut *made("1"), 2), 0);
        assert!(fetches(&mut *made("2"), 2) > 4);
        assert_eq!(fetches(&mut *made("2"), 3), 0);
    }

    #[test]
    fn prefetched_ranges_are_contiguous() {
        let mut readahead = made("1");
        let mut fetched_to = 0;
        for i in 0..200_u64 {
            let range = readahead.observe(i * 4096..(i + 1) * 4096);
            if !range.is_empty() {
                assert!(fetched_to == 0 || range.start == fetched_to);
                fetched_to = range.end;
            }
        }
        assert!(fetched_to >= 200 * 4096);
    }
}
