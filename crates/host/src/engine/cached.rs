//! Writes to the page cache, made in the calling thread.
//!
//! The ring hands a write through the page cache to a kernel thread where the file system cannot tell whether it would block
//! (ext4, and block devices). For a short write the two thread switches take longer than the copy. So short writes are made by a
//! system call when they are queued, and complete with the next wait.
//!
//! The call waits where the kernel holds back writers, since too much of memory is not yet written to devices. Longer writes, and
//! those that are durable when they complete, go to the ring.

use super::job::{Done, Job, Work};
use crate::clock::Clock;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Longest write that the calling thread makes: copying it takes about as long as a hand-over to a kernel thread.
const LENGTH_MAX_BYTES: u64 = 256 << 10;

pub(super) struct CachedWrites {
    file: File,
    /// Slots and results of writes that were made, in their order.
    made: Vec<(u32, i64)>,
}

impl CachedWrites {
    /// Writes to this file, which is open through the page cache.
    pub(super) fn new(file: &File) -> std::io::Result<Self> {
        Ok(Self { file: file.try_clone()?, made: Vec::new() })
    }

    /// Makes a job that is a short write. Returns whether it was one.
    pub(super) fn make(&mut self, job: &Job) -> bool {
        if job.work != (Work::Write { durable: false }) || job.length_bytes > LENGTH_MAX_BYTES {
            return false;
        }
        let length = job.length_bytes as usize;
        // SAFETY: the job's memory is valid for its length, and used by this job only until it is done.
        let bytes = unsafe { std::slice::from_raw_parts(job.memory, length) };
        let result = loop {
            match self.file.write_at(bytes, job.offset_bytes) {
                Ok(written) => break written as i64,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        };
        self.made.push((job.slot, result));
        true
    }

    /// Appends the writes that were made to `done`. Returns whether there were any.
    pub(super) fn take(&mut self, clock: &Clock, done: &mut Vec<Done>) -> bool {
        if self.made.is_empty() {
            return false;
        }
        let at = clock.now();
        done.extend(self.made.drain(..).map(|(slot, result)| Done { slot, result, at }));
        true
    }
}
