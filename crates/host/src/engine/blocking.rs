//! A thread for blocking ioctls beside io_uring: discards (until Linux 6.12) and zone resets. Results return through a
//! pipe that the ring reads, so that the ring remains the only place where completions arrive, and a wait for them
//! covers these too.

use super::ioctl::{discard, reset};
use super::job::{Job, Work};
use crate::thread::{STACK_BYTES, start_thread};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A call for the thread: slot, work, offset and length.
type Order = (u32, Work, u64, u64);

/// The thread, with the channel to it and the pipe from it.
pub(super) struct Blocking {
    jobs: Option<Sender<Order>>,
    results: OwnedFd,
    thread: Option<JoinHandle<()>>,
    /// Buffers for the ring to read results into, one for each job in flight. Any result may arrive in any buffer, so
    /// they do not belong to slots.
    mailboxes: Vec<[u8; MESSAGE_BYTES]>,
    /// Mailboxes without a read in flight.
    free: Vec<u32>,
}

/// Length of a message: a slot and a result.
pub(super) const MESSAGE_BYTES: usize = 12;

impl Blocking {
    pub(super) fn start(file: &File, slots: u32) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (results, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut write_end = File::from(write_end);
        let (jobs, queue) = channel::<Order>();
        let thread = start_thread("blocking", STACK_BYTES, move || {
            for (slot, work, offset_bytes, length_bytes) in queue {
                let result = match work {
                    Work::Reset => reset(&file, offset_bytes, length_bytes),
                    _ => discard(&file, offset_bytes, length_bytes),
                };
                let mut message = [0; MESSAGE_BYTES];
                message[..4].copy_from_slice(&slot.to_le_bytes());
                message[4..].copy_from_slice(&result.to_le_bytes());
                // Messages this short are written in one piece. The read end is closed only after this thread has
                // ended.
                if write_end.write_all(&message).is_err() {
                    return;
                }
            }
        })?;
        let mailboxes = vec![[0; MESSAGE_BYTES]; slots as usize];
        Ok(Self { jobs: Some(jobs), results, thread: Some(thread), mailboxes, free: (0..slots).collect() })
    }

    /// Queues a job. The ring must then read one message from [`Blocking::pipe`] into the returned mailbox.
    pub(super) fn queue(&mut self, job: Job) -> (u32, *mut u8) {
        let jobs = self.jobs.as_ref().expect("the channel is closed only on drop");
        jobs.send((job.slot, job.work, job.offset_bytes, job.length_bytes))
            .expect("the thread ends after the last job");
        let mailbox = self.free.pop().expect("there is a mailbox for each job in flight");
        (mailbox, self.mailboxes[mailbox as usize].as_mut_ptr())
    }

    pub(super) fn pipe(&self) -> RawFd {
        self.results.as_raw_fd()
    }

    /// Takes the message out of a mailbox that was read into, and returns its slot and result.
    pub(super) fn take(&mut self, mailbox: u32) -> (u32, i64) {
        self.free.push(mailbox);
        let (slot, result) = self.mailboxes[mailbox as usize].split_at(4);
        let slot = u32::from_le_bytes(slot.try_into().expect("four bytes were split off"));
        (slot, i64::from_le_bytes(result.try_into().expect("eight bytes are left")))
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
