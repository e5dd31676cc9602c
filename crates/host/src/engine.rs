//! The two ways to move bytes: io_uring, and plain calls on threads where io_uring is missing or refused.
//!
//! Both take jobs and give back results, each exactly once, in the order of their completion times. Neither
//! knows of requests, rules or buffers' owners: that is `file_device`'s part.

mod blocking;
mod ioctl;
mod job;
mod threads;
mod uring;

use crate::clock::Clock;
use flashlane_base::Instant;
use std::io;

pub(crate) use job::{Done, Job, Work};
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
