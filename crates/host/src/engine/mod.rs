//! The two ways to move bytes: io_uring, and plain calls on threads where io_uring is missing or refused.
//!
//! Both take jobs and give back results, each exactly once, in the order of their completion times. Neither
//! knows of requests, rules or buffers' owners: that is `file_device`'s part.

mod blocking;
mod threads;
mod uring;

use crate::clock::Clock;
use flashlane_base::Instant;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

pub(crate) use threads::{THREADS_MAX, Threads};
pub(crate) use uring::Uring;

/// Which way to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, and threads where the kernel refuses it.
    #[default]
    Automatic,
    /// Plain reads and writes on threads.
    Threads,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    Write {
        durable: bool,
    },
    /// fdatasync.
    Flush,
    /// Punch a hole, or discard on a block device.
    Trim,
    /// Set the write pointer of a zone back to its start.
    Reset,
    /// Complete, and change nothing.
    Nothing,
}

/// A unit of work for an engine.
///
/// Requires: `memory` is valid for `length_bytes` and left alone until the job's result is back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Comes back with the result.
    pub slot: u32,
    pub work: Work,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub memory: *mut u8,
    /// The memory's index in the engine's table of registered memory.
    pub registered: Option<u16>,
}

/// The end of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub slot: u32,
    /// Bytes transferred, or a negated error number: as the kernel gives it.
    pub result: i64,
    pub at: Instant,
}

pub(crate) enum Engine {
    Uring(Box<Uring>),
    Threads(Threads),
}

impl Engine {
    /// Takes a job. At most as many may be under way as the engine was made for.
    #[inline]
    pub(crate) fn queue(&mut self, job: Job) {
        match self {
            Self::Uring(uring) => uring.queue(job),
            Self::Threads(threads) => threads.queue(job),
        }
    }

    /// Appends to `done` what has ended; returns once there is something, or at `until`.
    ///
    /// # Errors
    /// The engine itself has failed: nothing that is under way will come back.
    #[inline]
    pub(crate) fn wait(&mut self, clock: &Clock, until: Instant, done: &mut Vec<Done>) -> io::Result<()> {
        match self {
            Self::Uring(uring) => uring.wait(clock, until, done),
            Self::Threads(threads) => {
                threads.wait(clock, until, done);
                Ok(())
            }
        }
    }

    /// Tells the kernel of memory that will be used often; `false` where that is not possible.
    ///
    /// # Safety
    /// The memory must stay valid until it is replaced under the same index or the engine is dropped.
    pub(crate) unsafe fn register(&mut self, index: u16, memory: *mut u8, length_bytes: usize) -> bool {
        match self {
            // SAFETY: passed on.
            Self::Uring(uring) => unsafe { uring.register(index, memory, length_bytes) },
            Self::Threads(_) => false,
        }
    }
}

/// Tells a block device that bytes are no longer needed; a negated error number where it refuses.
fn discard(file: &File, offset_bytes: u64, length_bytes: u64) -> i64 {
    const BLKDISCARD: libc::Ioctl = 0x1277;
    let range = [offset_bytes, length_bytes];
    // SAFETY: the request reads two u64 through the pointer, which is valid for them.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if result < 0 { negated(&io::Error::last_os_error()) } else { 0 }
}

/// Resets the zone that lies there; a negated error number where the device refuses.
fn reset(file: &File, offset_bytes: u64, length_bytes: u64) -> i64 {
    const BLKRESETZONE: libc::Ioctl = 0x4010_1283;
    let sectors = [offset_bytes / 512, length_bytes / 512];
    // SAFETY: the request reads two u64 through the pointer, which is valid for them.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKRESETZONE, sectors.as_ptr()) };
    if result < 0 { negated(&io::Error::last_os_error()) } else { 0 }
}

fn negated(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
}
