//! Blocking positioned reads and writes, with a thread for each request in flight: the fallback where io_uring is
//! missing or refused.
//!
//! Threads start as the queue depth grows and end with the engine. A completion gets its time under the lock that also
//! queues it, so completions come back in the order of their times.

use super::ioctl::{discard, negated, reset};
use super::job::{Done, Job, Work};
use crate::clock::Clock;
use crate::thread::{STACK_BYTES, start_thread};
use flashlane_base::Instant;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Largest number of requests in flight, each of which takes a thread.
pub(crate) const THREADS_MAX: u32 = 64;

pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    file: File,
    /// The file, open through the page cache, if reads go there.
    reads: Option<File>,
    /// Whether trims are discards on a block device.
    discards: bool,
    clock: Clock,
    state: Mutex<State>,
    /// Signals a queued job, or the end of the engine.
    work: Condvar,
    /// Signals a completed job.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    done: Vec<Done>,
    idle: usize,
    closing: bool,
}

// SAFETY: a job's memory belongs to the job until it is done (see `Job`), on any thread.
unsafe impl Send for State {}

impl Threads {
    /// # Errors
    /// No thread can be started.
    pub(crate) fn new(file: File, reads: Option<File>, clock: Clock, discards: bool) -> io::Result<Self> {
        let state = Mutex::default();
        let (work, ended) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { file, reads, discards, clock, state, work, ended });
        let mut threads = Self { shared, threads: Vec::new() };
        threads.start()?;
        Ok(threads)
    }

    fn start(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let name = format!("io-{}", self.threads.len());
        self.threads.push(start_thread(name, STACK_BYTES, move || shared.serve())?);
        Ok(())
    }

    pub(crate) fn queue(&mut self, job: Job) {
        let mut state = self.shared.lock();
        state.jobs.push_back(job);
        let enough = state.idle >= state.jobs.len();
        drop(state);
        if !enough {
            // Where no more threads can be started, the existing ones do the work later.
            let _ = self.start();
        }
        self.shared.work.notify_one();
    }

    pub(crate) fn wait(&mut self, clock: &Clock, until: Instant, done: &mut Vec<Done>) {
        let mut state = self.shared.lock();
        while state.done.is_empty() {
            let left = until.since(clock.now());
            state = if until == Instant::FAR {
                self.shared.ended.wait(state).expect("no thread panics under the lock")
            } else if left.is_zero() {
                return;
            } else {
                let left = std::time::Duration::from_nanos(left.as_ns());
                self.shared.ended.wait_timeout(state, left).expect("no thread panics under the lock").0
            };
        }
        done.append(&mut state.done);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics under the lock")
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                let result = self.run(&job);
                state = self.lock();
                state.done.push(Done { slot: job.slot, result, at: self.clock.now() });
                self.ended.notify_one();
            } else if state.closing {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state).expect("no thread panics under the lock");
                state.idle -= 1;
            }
        }
    }

    fn run(&self, job: &Job) -> i64 {
        let file = self.reads.as_ref().filter(|_| job.is_cached_read()).unwrap_or(&self.file).as_raw_fd();
        let (offset, length) = (job.offset_bytes as libc::off_t, job.length_bytes as usize);
        loop {
            let result = match job.work {
                // SAFETY: the job's memory is valid for its length, and used by this job only until it is done.
                Work::Read => (unsafe { libc::pread(file, job.memory.cast(), length, offset) }) as i64,
                Work::Write { durable } => {
                    let from = libc::iovec { iov_base: job.memory.cast(), iov_len: length };
                    let flags = if durable { libc::RWF_DSYNC } else { 0 };
                    // SAFETY: as for reads.
                    (unsafe { libc::pwritev2(file, &raw const from, 1, offset, flags) }) as i64
                }
                // SAFETY: no memory is involved.
                Work::Flush => i64::from(unsafe { libc::fdatasync(file) }),
                Work::Trim if self.discards => {
                    return discard(&self.file, job.offset_bytes, job.length_bytes);
                }
                Work::Trim => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    // SAFETY: no memory is involved.
                    i64::from(unsafe { libc::fallocate(file, mode, offset, length as libc::off_t) })
                }
                Work::Reset => return reset(&self.file, job.offset_bytes, job.length_bytes),
                Work::Nothing => 0,
            };
            if result >= 0 {
                return result;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return negated(&error);
            }
        }
    }
}
