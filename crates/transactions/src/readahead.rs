//! The operating system's readahead below the pool: where a client's misses follow each other, pages are read in
//! windows, and the next window is read while the last is used.
//!
//! After Linux's on-demand readahead (`mm/readahead.c`), for each client and relation. A miss on the page behind the
//! last one missed, or on a relation's first, reads a small window; one behind the last window, or a use of its marked
//! page, reads the next, two or four times as large, up to the largest. Other misses read their page alone and leave
//! the window as it is.
//!
//! Unlike Linux, a window ends before a page that is in the pool or being read, and where no frame is free or clean;
//! pages found in the pool do not count as read before (context readahead); and a client's windows last as long as it
//! does, not as an open file.
//!
//! A client has one window in flight at most, beside the page that it waits for. Invariant: the pages of a reader are
//! in the pool's table as read by it, and each has a frame.

use crate::pool::Pool;
use crate::recording::Header;
use flashlane_workload::Access;
use std::collections::BTreeMap;

/// The operating system's pages, in which it counts.
const SYSTEM_PAGE_BYTES: u64 = 4096;

pub(crate) struct Readahead {
    page_bytes: u64,
    /// Pages of the largest window; 0 where nothing is read ahead.
    largest: u32,
    /// First page, and the one after the last, of each relation.
    relations: Vec<(u32, u32)>,
    /// By client and relation.
    streams: BTreeMap<(u32, usize), Stream>,
    /// By client.
    readers: Vec<Reader>,
}

#[derive(Clone, Copy, Default)]
struct Stream {
    /// The page after the last that was missed.
    after_miss: u32,
    /// The page after its last window.
    next: u32,
    /// Pages of its last window; 0 before the first.
    window: u32,
}

/// Reads the windows of a client. Its number in the pool's table is the client's plus the number of clients.
#[derive(Default)]
struct Reader {
    first: u32,
    /// The frames of the pages from `first` on; none where nothing is in flight.
    frames: Vec<u32>,
    /// The page whose use begins the next window.
    mark: u32,
    /// Clients that wait for one of its pages.
    followers: Vec<u32>,
}

impl Readahead {
    pub fn new(header: &Header, clients: u32, bytes: u64) -> Self {
        let page_bytes = u64::from(header.page_bytes);
        let relations = header.relations.iter();
        let relations = relations.map(|of| (of.first_page, of.first_page + of.pages));
        Self {
            page_bytes,
            largest: (bytes / page_bytes) as u32,
            relations: relations.collect(),
            streams: BTreeMap::new(),
            readers: (0..clients).map(|_| Reader::default()).collect(),
        }
    }

    /// A client misses a page. Returns whether that begins a window, for which [`Readahead::request`] is to be
    /// submitted; otherwise the page is to be read alone.
    pub fn misses(&mut self, client: u32, page: u32, pool: &mut Pool) -> bool {
        let Some(relation) = self.relation_of(page) else { return false };
        let is_first = self.relations[relation].0 == page;
        let stream = self.streams.entry((client, relation)).or_default();
        let before = *stream;
        stream.after_miss = page + 1;
        let (size, mark) = if !is_first && before.window > 0 && before.next == page {
            (self.larger(before.window), page)
        } else if is_first || before.after_miss == page {
            // The rest is read while the first page is used.
            (self.first_window(), page + 1)
        } else {
            return false;
        };
        self.begin(client, relation, page, size, mark, pool)
    }

    /// A client uses a marked page. Returns as [`Readahead::misses`] does.
    pub fn reaches_mark(&mut self, client: u32, page: u32, pool: &mut Pool) -> bool {
        let Some(relation) = self.relation_of(page) else { return false };
        let stream = self.streams.get(&(client, relation)).copied().unwrap_or_default();
        let within = page + 1..=page.saturating_add(self.largest);
        // Where another client read the page ahead, the window goes on behind what is there.
        let next = match within.contains(&stream.next) {
            true => Some(stream.next),
            false => within.clone().find(|&page| page < pool.pages() && pool.is_away(page)),
        };
        let Some(next) = next else { return false };
        let size = self.larger(stream.window.max(next - page));
        self.begin(client, relation, next, size, next, pool)
    }

    fn begin(
        &mut self,
        client: u32,
        relation: usize,
        first: u32,
        size: u32,
        mark: u32,
        pool: &mut Pool,
    ) -> bool {
        let number = self.readers.len() as u32 + client;
        let reader = &mut self.readers[client as usize];
        if !reader.frames.is_empty() {
            return false;
        }
        let end = self.relations[relation].1.min(first.saturating_add(size));
        (reader.first, reader.mark) = (first, mark);
        reader.frames.extend((first..end).map_while(|page| pool.begin_ahead(page, number)));
        if reader.frames.is_empty() {
            return false;
        }
        let next = first + reader.frames.len() as u32;
        let stream = self.streams.entry((client, relation)).or_default();
        (stream.next, stream.window) = (next, size);
        true
    }

    /// Returns whether a number in the pool's table is that of a reader.
    pub fn is_reader(&self, number: u32) -> bool {
        number as usize >= self.readers.len()
    }

    /// The number of a client's reader.
    pub fn reader_of(&self, client: u32) -> u32 {
        self.readers.len() as u32 + client
    }

    /// A client waits for a page that a reader reads.
    pub fn follow(&mut self, number: u32, client: u32) {
        let reader = self.reader(number);
        assert!(!reader.frames.is_empty(), "a reader whose page is waited for reads");
        reader.followers.push(client);
    }

    /// The request of a reader that has begun.
    pub fn request(&mut self, number: u32) -> Access {
        let page_bytes = self.page_bytes;
        let reader = self.reader(number);
        Access::read(u64::from(reader.first) * page_bytes, reader.frames.len() as u64 * page_bytes)
    }

    /// The request of a reader has completed: its pages are in the pool. Returns the clients that waited for one.
    pub fn completed(&mut self, number: u32, pool: &mut Pool) -> Vec<u32> {
        let reader = self.reader(number);
        for (page, frame) in (reader.first..).zip(reader.frames.drain(..)) {
            pool.read(page, frame, false);
            if page == reader.mark {
                pool.mark(frame);
            }
        }
        std::mem::take(&mut reader.followers)
    }

    fn reader(&mut self, number: u32) -> &mut Reader {
        let clients = self.readers.len();
        &mut self.readers[number as usize - clients]
    }

    fn relation_of(&self, page: u32) -> Option<usize> {
        if self.largest == 0 {
            return None;
        }
        let relation = self.relations.partition_point(|&(first, _)| first <= page).checked_sub(1)?;
        (page < self.relations[relation].1).then_some(relation)
    }

    /// Pages of the first window of a client that reads a page of the database at a time.
    fn first_window(&self) -> u32 {
        let (read, most) = (self.system_pages(1).next_power_of_two(), self.system_pages(self.largest));
        let size = match read {
            _ if read <= most / 32 => 4 * read,
            _ if read <= most / 4 => 2 * read,
            _ => most,
        };
        self.database_pages(size)
    }

    /// Pages of the window that follows one of `window` pages.
    fn larger(&self, window: u32) -> u32 {
        let (last, most) = (self.system_pages(window), self.system_pages(self.largest));
        let size = if last < most / 16 { 4 * last } else { 2 * last };
        self.database_pages(size.min(most))
    }

    fn system_pages(&self, pages: u32) -> u64 {
        (u64::from(pages) * self.page_bytes).div_ceil(SYSTEM_PAGE_BYTES)
    }

    fn database_pages(&self, system_pages: u64) -> u32 {
        (system_pages * SYSTEM_PAGE_BYTES / self.page_bytes).clamp(1, u64::from(self.largest)) as u32
    }
}
