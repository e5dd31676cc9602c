//! Discards and resets of zones on a block device, beside io_uring: the kernel offers them as blocking calls only (the
//! former until Linux 6.12), so one thread makes the calls, and the results come back through a pipe that the ring reads.
//! The ring thus stays the one place where completions arrive, and a wait for them covers these too.

use super::ioctl::{discard, reset};
use super::job::{Job, Work};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// What is asked of the thread: a slot, and what to do where.
type Order = (u32, Work, u64, u64);

/// The thread, and the way to and from it.
pub(super) struct Blocking {
    jobs: Option<Sender<Order>>,
    results: OwnedFd,
    thread: Option<JoinHandle<()>>,
    /// Places for the ring to read results into, as many as there can be jobs. Any result may arrive in any place that is
    /// read into, so that they belong to no slot.
    mailboxes: Vec<[u8; MESSAGE_BYTES]>,
    /// Those that nothing is read into.
    free: Vec<u32>,
}

/// A slot and a result.
pub(super) const MESSAGE_BYTES: usize = 12;

impl Blocking {
    pub(super) fn start(file: &File, slots: u32) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (results, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut write_end = File::from(write_end);
        let (jobs, queue) = channel::<Order>();
        let thread = std::thread::Builder::new().name("blocking".into()).spawn(move || {
            for (slot, work, offset_bytes, length_bytes) in queue {
                let result = match work {
                    Work::Reset => reset(&file, offset_bytes, length_bytes),
                    _ => discard(&file, offset_bytes, length_bytes),
                };
                let mut message = [0; MESSAGE_BYTES];
                message[..4].copy_from_slice(&slot.to_le_bytes());
                message[4..].copy_from_slice(&result.to_le_bytes());
                // Messages this short are written whole. The read end is closed only after this thread ended.
                if write_end.write_all(&message).is_err() {
                    return;
                }
            }
        })?;
        let mailboxes = vec![[0; MESSAGE_BYTES]; slots as usize];
        Ok(Self { jobs: Some(jobs), results, thread: Some(thread), mailboxes, free: (0..slots).collect() })
    }

    /// Hands over a job; the ring must then read one message from [`Blocking::pipe`] into the mailbox returned.
    pub(super) fn queue(&mut self, job: Job) -> (u32, *mut u8) {
        let jobs = self.jobs.as_ref().expect("the way to the thread is closed only when this is dropped");
        jobs.send((job.slot, job.work, job.offset_bytes, job.length_bytes))
            .expect("the thread ends after the last job");
        let mailbox = self.free.pop().expect("as many results are awaited as jobs are in flight");
        (mailbox, self.mailboxes[mailbox as usize].as_mut_ptr())
    }

    pub(super) fn pipe(&self) -> RawFd {
        self.results.as_raw_fd()
    }

    /// Takes the message out of a mailbox that was read into: which slot's job has ended, and how.
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
