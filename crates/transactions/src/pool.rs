//! The buffer pool: frames with pages of the database, which a policy replaces.
//!
//! A dirty page is written before its frame takes another one. While it is written it can be used; then it stays, and
//! another page has to go, as in PostgreSQL. A page is read by one client, or by its readahead; others that
//! want it wait for that one.
//!
//! A hit costs a table access and the policy's step: 4 bytes a page of the database, 8 a frame.

#[cfg(test)]
mod tests;

use flashlane_policy::pool::Replacement;

/// In the table: the page is being read.
const READING: u32 = 1 << 31;

/// The pool of all clients.
pub(crate) struct Pool {
    policy: Box<dyn Replacement>,
    /// By page: its frame plus one, or [`READING`] and who reads it; 0 where it is not in the pool.
    table: Vec<u32>,
    frames: Vec<Frame>,
    /// Frames without a page.
    free: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Frame {
    page: u32,
    dirty: bool,
    /// Whether the page is being written, to be replaced then.
    writing: bool,
    /// Whether it was used meanwhile.
    used: bool,
    /// Whether its next use begins a window of readahead.
    marked: bool,
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the pool; it is now used.
    Here,
    /// The same, and this use begins a window of readahead.
    Marked,
    /// A client, or the readahead of one, reads it.
    ReadBy(u32),
    /// On the device.
    Away,
}

/// A frame for another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It can be used.
    Free { frame: u32 },
    /// Its page must be written first.
    Dirty { frame: u32, page: u32 },
}

impl Pool {
    /// Creates an empty pool of `frames` frames. Requires: as many as may be in use at a time, by clients and
    /// their readahead.
    pub fn new(frames: u32, pages: u32, policy: Box<dyn Replacement>) -> Self {
        Self {
            policy,
            table: vec![0; pages as usize],
            frames: vec![Frame::default(); frames as usize],
            free: (0..frames).rev().collect(),
        }
    }

    /// Uses `page` if it is in the pool; with `write` it is then dirty.
    #[inline]
    pub fn access(&mut self, page: u32, write: bool) -> Place {
        let entry = self.table[page as usize];
        if entry == 0 {
            return Place::Away;
        }
        if entry & READING != 0 {
            return Place::ReadBy(entry & !READING);
        }
        let number = entry - 1;
        let frame = &mut self.frames[number as usize];
        frame.dirty |= write;
        if frame.writing {
            frame.used = true;
        } else {
            self.policy.touch(number, write);
        }
        if std::mem::take(&mut frame.marked) { Place::Marked } else { Place::Here }
    }

    /// Pages of the database.
    pub fn pages(&self) -> u32 {
        self.table.len() as u32
    }

    /// Returns whether a page is neither in the pool nor being read.
    pub fn is_away(&self, page: u32) -> bool {
        self.table[page as usize] == 0
    }

    /// A page that is away is read ahead by `reader`, into the frame returned; `None` where it is not away, or no frame
    /// is free or clean.
    pub fn begin_ahead(&mut self, page: u32, reader: u32) -> Option<u32> {
        if !self.is_away(page) {
            return None;
        }
        let frame = self.free.pop().or_else(|| self.clean_victim())?;
        self.begin(page, reader);
        Some(frame)
    }

    /// Replaces the policy's victim, if that is clean; otherwise it stays.
    fn clean_victim(&mut self) -> Option<u32> {
        let number = self.policy.victim()?;
        let Frame { page, dirty, .. } = self.frames[number as usize];
        if dirty {
            return None;
        }
        self.policy.remove(number);
        self.table[page as usize] = 0;
        Some(number)
    }

    /// The next use of a frame begins a window of readahead.
    pub fn mark(&mut self, number: u32) {
        self.frames[number as usize].marked = true;
    }

    /// `reader`, a client or the readahead of one, begins to read `page`, which is away. Others find it there from now
    /// on.
    pub fn begin(&mut self, page: u32, reader: u32) {
        debug_assert_eq!(self.table[page as usize], 0, "page {page} is in the pool");
        self.table[page as usize] = READING | reader;
    }

    /// Makes room for another page.
    pub fn room(&mut self) -> Room {
        if let Some(frame) = self.free.pop() {
            return Room::Free { frame };
        }
        let number = self.policy.take_victim().expect("there are as many frames as may be in use");
        let frame = &mut self.frames[number as usize];
        let page = frame.page;
        if !frame.dirty {
            self.table[page as usize] = 0;
            return Room::Free { frame: number };
        }
        *frame = Frame { page, writing: true, ..Frame::default() };
        Room::Dirty { frame: number, page }
    }

    /// The page of a frame given by [`Room::Dirty`] is written. Returns whether the frame can be used; otherwise its
    /// page was used meanwhile, and stays.
    pub fn written(&mut self, number: u32) -> bool {
        let frame = &mut self.frames[number as usize];
        frame.writing = false;
        if frame.used {
            self.policy.insert(number, frame.page, frame.dirty);
            return false;
        }
        self.table[frame.page as usize] = 0;
        true
    }

    /// `page`, which was begun, is read into `frame`, and with `write` is dirty.
    pub fn read(&mut self, page: u32, frame: u32, write: bool) {
        self.table[page as usize] = frame + 1;
        self.frames[frame as usize] = Frame { page, dirty: write, ..Frame::default() };
        self.policy.insert(frame, page, write);
    }

    /// Returns the number of frames without a page.
    pub fn free_frames(&self) -> u32 {
        self.free.len() as u32
    }

    /// The device took as long as usual for `page`, or was `slow`.
    #[inline]
    pub fn observe(&mut self, page: u32, slow: bool) {
        self.policy.observe(page, slow);
    }
}
