//! The two I/O engines: io_uring, and blocking calls on threads where io_uring is missing or refused.
//!
//! Both take jobs and return each result exactly once, in the order of completion times. Requests, rules and buffer
//! ownership are handled in `file_device`.

mod blocking;
mod cached;
mod ioctl;
mod job;
mod threads;
mod uring;

use crate::clock::Clock;
use flashlane_base::Instant;
use flashlane_device::Readiness;
use std::io;

pub(crate) use job::{Done, Job, Work};
pub(crate) use threads::{THREADS_MAX, Threads};
pub(crate) use uring::Uring;

/// Selects the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring, or threads where the kernel refuses it.
    #[default]
    Automatic,
    /// Blocking reads and writes on threads.
    Threads,
}

pub(crate) enum Engine {
    Uring(Box<Uring>),
    Threads(Threads),
}

impl Engine {
    /// Queues a job. The caller guarantees that no more jobs are in flight than the engine was created for.
    #[inline]
    pub(crate) fn queue(&mut self, job: Job) {
        match self {
            Self::Uring(uring) => uring.queue(job),
            Self::Threads(threads) => threads.queue(job),
        }
    }

    /// Appends completed jobs to `done`. Returns once there is at least one, or at `until`.
    ///
    /// # Errors
    /// The engine itself has failed: no job in flight will complete.
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

    /// Submits what is queued, and says how to wait for the next completion.
    pub(crate) fn readiness(&mut self) -> Readiness {
        match self {
            Self::Uring(uring) => uring.readiness(),
            Self::Threads(_) => Readiness::Unknown,
        }
    }

    /// Registers memory that will be used often with the kernel; returns `false` where that is not possible.
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
