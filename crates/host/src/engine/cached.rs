//! Calls to the page cache, made in the calling thread.
//!
//! The ring hands a write through the page cache to a kernel thread where the file system cannot tell whether it would
//! block (ext4, and block devices). For a short write the two thread switches take longer than the copy. So short
//! writes are made by a system call when they are queued, and complete with the next wait. So do short reads of what
//! the page cache has: a call is less work than an entry of the ring and its completion. Reads of anything else go to
//! the ring, which waits for the device.
//!
//! A write waits where the kernel holds back writers, since too much of memory is not yet written to devices. Longer
//! writes, and those that are durable when they complete, go to the ring.

use super::job::{Done, Job, Work};
use crate::clock::Clock;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Longest transfer in the calling thread: copying it takes about as long as a hand-over to a kernel thread.
const LENGTH_MAX_BYTES: u64 = 256 << 10;

/// Which calls go through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cached {
    Reads,
    ReadsAndWrites,
}

pub(super) struct CachedCalls {
    file: File,
    calls: Cached,
    /// Slots and results of calls that were made, in their order.
    made: Vec<(u32, i64)>,
}

impl CachedCalls {
    /// Makes calls on this file, which is open through the page cache.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(super) fn new(file: &File, calls: Cached) -> std::io::Result<Self> {
        Ok(Self { file: file.try_clone()?, calls, made: Vec::new() })
    }

    /// Makes a job that is a short write, or a short read of what the page cache has. Returns whether it was one.
    pub(super) fn make(&mut self, job: &Job) -> bool {
        if job.length_bytes > LENGTH_MAX_BYTES {
            return false;
        }
        let result = match job.work {
            Work::Read => self.read(job),
            Work::Write { durable: false } if self.calls == Cached::ReadsAndWrites => Some(self.write(job)),
            _ => None,
        };
        self.made.extend(result.map(|result| (job.slot, result)));
        result.is_some()
    }

    /// Returns nothing where the page cache lacks a part.
    fn read(&self, job: &Job) -> Option<i64> {
        let length = job.length_bytes as usize;
        // SAFETY: the job's memory is valid for its length, and used by this job only until it is done.
        let bytes = unsafe { std::slice::from_raw_parts_mut(job.memory, length) };
        loop {
            let mut parts = [IoSliceMut::new(bytes)];
            let flags = ReadWriteFlags::NOWAIT;
            match rustix::io::preadv2(self.file.as_fd(), &mut parts, job.offset_bytes, flags) {
                Ok(read) => return (read == length).then_some(read as i64),
                Err(Errno::INTR) => {}
                // Where it is no lack of pages, the ring reports the error.
                Err(_) => return None,
            }
        }
    }

    fn write(&self, job: &Job) -> i64 {
        // SAFETY: as for reads.
        let bytes = unsafe { std::slice::from_raw_parts(job.memory, job.length_bytes as usize) };
        loop {
            match self.file.write_at(bytes, job.offset_bytes) {
                Ok(written) => return written as i64,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
    }

    /// Returns whether calls were made that have not been taken.
    pub(super) fn has_made(&self) -> bool {
        !self.made.is_empty()
    }

    /// Appends the calls that were made to `done`. Returns whether there were any.
    pub(super) fn take(&mut self, clock: &Clock, done: &mut Vec<Done>) -> bool {
        if self.made.is_empty() {
            return false;
        }
        let at = clock.now();
        done.extend(self.made.drain(..).map(|(slot, result)| Done { slot, result, at }));
        true
    }
}
