//! The io_uring engine: each request is an entry in the ring.
//!
//! The file is registered, and so is memory that is reused: this saves a reference count and the pinning of pages for
//! each request. The waiting thread runs completions itself (DEFER_TASKRUN) instead of being interrupted by them. A
//! kernel that refuses a flag gets the same ring without it; only the timeout of io_uring_enter (Linux 5.11) is
//! required.
//!
//! # When a request reaches the drive
//! Completions arrive in batches. If a caller answered each with a new request and all of them were submitted by the
//! next wait, the drive would go idle between two batches: at depth 32 that cost 13% of the IOPS on a virtual disk.
//! Requests are therefore submitted while they are queued, in batches of at most a 32nd of those in flight, which saves
//! system calls only at high depth. A single request in flight is submitted by the wait for it, in one call.
//!
//! # When a request counts as completed
//! The clock is read once for all completions found together, after they were found. An entry that was already in the
//! ring thus gets the time when the caller could first see it, never an earlier one, and entries found together were
//! seen together: no latency is too short, and none is too long by more than the few ns of the loop.

use super::blocking::{Blocking, MESSAGE_BYTES};
use super::cached::{Cached, CachedCalls};
use super::job::{Done, Job, Work};
use crate::clock::Clock;
use flashlane_base::{Duration, Instant};
use flashlane_device::Readiness;
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::event::EventfdFlags;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Marks an entry that reads the result of a blocking call; the other bits are the index of its mailbox.
const MAILBOX: u64 = 1 << 63;

/// Queued entries are submitted when they are this share (1 in …) of all in flight.
const HANDED_OVER_SHARE: u32 = 32;

const FILE: Fixed = Fixed(0);
/// The file, open through the page cache if reads go there.
const FILE_FOR_READS: Fixed = Fixed(1);

pub(crate) struct Uring {
    // Declared before `blocking`, so that it is dropped first: no read into a mailbox may outlive the mailbox.
    ring: IoUring,
    blocking: Option<Blocking>,
    /// For a file of which calls go through the page cache.
    cached: Option<CachedCalls>,
    /// Whether trims are discards on a block device.
    discards: bool,
    /// Entries not yet submitted to the kernel.
    queued: u32,
    /// Entries that have not completed, including queued ones.
    in_flight: u32,
    /// Whether memory can be registered (Linux 5.19, within the limit of locked memory).
    registers: bool,
    /// Signalled for each completion, once a user has asked for it.
    event: Option<OwnedFd>,
}

impl Uring {
    /// Creates a ring for `depth` jobs on `file`. `discards`: trims are discards on a block device. `resets`: the
    /// device has zones.
    ///
    /// # Errors
    /// io_uring is missing, forbidden or too old.
    pub(crate) fn new(file: &File, depth: u32, discards: bool, resets: bool) -> io::Result<Self> {
        let ring = build(depth)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        ring.submitter().register_files(&[file.as_raw_fd(), file.as_raw_fd()])?;
        let registers = ring.submitter().register_buffers_sparse(2 * depth).is_ok();
        let blocking = (discards || resets).then(|| Blocking::start(file, depth)).transpose()?;
        Ok(Self { ring, blocking, cached: None, discards, queued: 0, in_flight: 0, registers, event: None })
    }

    /// Makes short calls in the calling thread from now on: `file`, that of the ring, is open through the page cache.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(crate) fn use_page_cache(&mut self, file: &File) -> io::Result<()> {
        self.cached = Some(CachedCalls::new(file, Cached::ReadsAndWrites)?);
        Ok(())
    }

    /// Reads through the page cache from now on: `file` is that of the ring, opened so.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(crate) fn read_through_page_cache(&mut self, file: &File) -> io::Result<()> {
        self.ring.submitter().register_files_update(FILE_FOR_READS.0, &[file.as_raw_fd()])?;
        self.cached = Some(CachedCalls::new(file, Cached::Reads)?);
        Ok(())
    }

    /// See [`super::Engine::register`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn register(&mut self, index: u16, memory: *mut u8, length_bytes: usize) -> bool {
        if !self.registers {
            return false;
        }
        let memory = libc::iovec { iov_base: memory.cast(), iov_len: length_bytes };
        // SAFETY: the caller keeps the memory valid while it is registered.
        let update =
            unsafe { self.ring.submitter().register_buffers_update(u32::from(index), &[memory], None) };
        self.registers = update.is_ok();
        self.registers
    }

    #[inline]
    pub(crate) fn queue(&mut self, job: Job) {
        if self.cached.as_mut().is_some_and(|cached| cached.make(&job)) {
            return;
        }
        let blocks = match job.work {
            Work::Trim => self.discards,
            work => work == Work::Reset,
        };
        let entry = match &mut self.blocking {
            Some(blocking) if blocks => {
                let (mailbox, memory) = blocking.queue(job);
                let read = opcode::Read::new(Fd(blocking.pipe()), memory, MESSAGE_BYTES as u32);
                // A pipe has no offset, which is given as all ones.
                read.offset(u64::MAX).build().user_data(MAILBOX | u64::from(mailbox))
            }
            _ => entry(&job).user_data(u64::from(job.slot)),
        };
        // SAFETY: the job's creator keeps its memory valid until it is done, and the ring is drained before the
        // mailboxes are dropped.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the ring has an entry for each request that may be in flight");
        self.queued += 1;
        self.in_flight += 1;
        if self.in_flight > 1 && self.queued * HANDED_OVER_SHARE >= self.in_flight {
            // Entries that the kernel cannot take now are submitted by the next wait, which also handles the error.
            self.queued -= self.ring.submitter().submit().unwrap_or(0) as u32;
        }
    }

    #[inline]
    pub(crate) fn wait(&mut self, clock: &Clock, until: Instant, done: &mut Vec<Done>) -> io::Result<()> {
        if self.cached.as_mut().is_some_and(|cached| cached.take(clock, done)) {
            if self.in_flight > 0 {
                self.enter(clock, Instant::ZERO)?;
                self.drain(clock, done)?;
            }
            return Ok(());
        }
        loop {
            self.enter(clock, until)?;
            if self.drain(clock, done)? || (until != Instant::FAR && clock.now() >= until) {
                return Ok(());
            }
        }
    }

    /// See [`super::Engine::readiness`]. The ring signals an event for each completion from the first call on. Its own
    /// descriptor would not do: with DEFER_TASKRUN it stays silent until this thread enters the kernel.
    pub(crate) fn readiness(&mut self) -> Readiness {
        if self.in_flight == 0 && !self.cached.as_ref().is_some_and(CachedCalls::has_made) {
            return Readiness::Unknown;
        }
        if self.event.is_none() {
            self.event = self.register_event().ok();
        }
        let Some(event) = &self.event else { return Readiness::Unknown };
        // What was signalled before is found below, and what comes later is signalled anew.
        let _ = rustix::io::read(event, &mut [0; 8]);
        let descriptor = event.as_raw_fd();
        let entered = self.enter_without_wait();
        if entered.is_err() || self.queued > 0 || !self.ring.completion().is_empty() {
            return Readiness::Ready;
        }
        let has_made = self.cached.as_ref().is_some_and(CachedCalls::has_made);
        if has_made { Readiness::Ready } else { Readiness::Descriptor(descriptor) }
    }

    fn register_event(&self) -> io::Result<OwnedFd> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        self.ring.submitter().register_eventfd(event.as_raw_fd())?;
        Ok(event)
    }

    /// Submits queued entries, and lets completions that are due enter the ring.
    fn enter_without_wait(&mut self) -> io::Result<()> {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no argument is passed.
        let entered = unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, 0, flags, None) };
        self.queued -= entered? as u32;
        Ok(())
    }

    /// Submits queued entries and waits for a completion, or until shortly before `until`.
    #[inline]
    fn enter(&mut self, clock: &Clock, until: Instant) -> io::Result<()> {
        let entered = if until == Instant::FAR {
            self.ring.submitter().submit_and_wait(1)
        } else {
            let left = until.since(clock.now());
            if left > Clock::SPIN {
                self.enter_for(left.saturating_sub(Clock::SPIN))
            } else {
                // Timers are late, so poll near the end instead of sleeping.
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: no argument is passed.
                unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, 0, flags, None) }
            }
        };
        match entered.map_err(|e| (e.raw_os_error(), e)) {
            Ok(submitted) => self.queued -= submitted as u32,
            // The wait timed out or was interrupted; this call submitted nothing.
            Err((Some(libc::ETIME | libc::EINTR), _)) => {}
            // The kernel is short of memory or of completion entries: reap completions before the retry.
            Err((Some(libc::EAGAIN | libc::EBUSY), _)) => std::thread::yield_now(),
            Err((_, e)) => return Err(e),
        }
        Ok(())
    }

    fn enter_for(&self, time: Duration) -> io::Result<usize> {
        let time =
            Timespec::new().sec(time.as_ns() / 1_000_000_000).nsec((time.as_ns() % 1_000_000_000) as u32);
        self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time))
    }

    /// Appends completed jobs to `done`. Returns whether there were any.
    ///
    /// # Errors
    /// A result could not be read, so its slot is unknown.
    #[inline]
    fn drain(&mut self, clock: &Clock, done: &mut Vec<Done>) -> io::Result<bool> {
        let before = done.len();
        let completions = self.ring.completion();
        if completions.is_empty() {
            return Ok(false);
        }
        let at = clock.now();
        for completion in completions {
            let (mut slot, mut result) = (completion.user_data(), i64::from(completion.result()));
            if slot & MAILBOX != 0 {
                if result != MESSAGE_BYTES as i64 {
                    return Err(io::Error::from_raw_os_error(libc::EIO));
                }
                let blocking = self.blocking.as_mut().expect("only blocking calls have mailboxes");
                let (of, outcome) = blocking.take((slot & !MAILBOX) as u32);
                (slot, result) = (u64::from(of), outcome);
            }
            done.push(Done { slot: slot as u32, result, at });
        }
        let found = done.len() - before;
        self.in_flight -= found as u32;
        Ok(found > 0)
    }
}

impl Drop for Uring {
    /// The kernel destroys a closed ring asynchronously. Unregistering the file releases its lock, and the claim of a
    /// block device, at once.
    fn drop(&mut self) {
        let _ = self.ring.submitter().unregister_files();
        if self.registers {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

/// Creates the ring with the best flags that the kernel accepts.
fn build(depth: u32) -> io::Result<IoUring> {
    let mut deferred = IoUring::builder();
    deferred.setup_single_issuer().setup_defer_taskrun();
    let mut cooperative = IoUring::builder();
    cooperative.setup_coop_taskrun();
    let plain = IoUring::builder();
    // Linux 6.1, 5.19, and before.
    let refused = |e: &io::Error| e.raw_os_error() == Some(libc::EINVAL);
    match deferred.build(depth) {
        Err(e) if refused(&e) => match cooperative.build(depth) {
            Err(e) if refused(&e) => plain.build(depth),
            other => other,
        },
        other => other,
    }
}

#[inline]
fn entry(job: &Job) -> squeue::Entry {
    let (offset, length, memory) = (job.offset_bytes, job.length_bytes as u32, job.memory);
    let flags = |durable| if durable { libc::RWF_DSYNC } else { 0 };
    let read_from = if job.is_cached_read() { FILE_FOR_READS } else { FILE };
    match (job.work, job.registered) {
        (Work::Read, Some(index)) => {
            opcode::ReadFixed::new(read_from, memory, length, index).offset(offset).build()
        }
        (Work::Read, None) => opcode::Read::new(read_from, memory, length).offset(offset).build(),
        (Work::Write { durable }, Some(index)) => opcode::WriteFixed::new(FILE, memory, length, index)
            .offset(offset)
            .rw_flags(flags(durable))
            .build(),
        (Work::Write { durable }, None) => {
            opcode::Write::new(FILE, memory, length).offset(offset).rw_flags(flags(durable)).build()
        }
        (Work::Flush, _) => opcode::Fsync::new(FILE).flags(FsyncFlags::DATASYNC).build(),
        (Work::Trim, _) => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            opcode::Fallocate::new(FILE, job.length_bytes).offset(offset).mode(mode).build()
        }
        (Work::Reset, _) => unreachable!("a ring for zones has the thread that resets them"),
        (Work::Nothing, _) => opcode::Nop::new().build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results come back in any order, into any mailbox being read into; slots are reused at once.
    #[test]
    fn blocking_jobs_complete_exactly_once() {
        const SLOTS: u32 = 6;
        let file = tempfile::tempfile().unwrap();
        let clock = Clock::start();
        // A regular file refuses discards: each ends with an error, quickly.
        let Ok(mut uring) = Uring::new(&file, SLOTS, true, false) else {
            return println!("skipped: no io_uring here");
        };
        let (mut free, mut left): (Vec<u32>, u32) = ((0..SLOTS).collect(), 20_000);
        let mut done = Vec::new();
        while left > 0 || free.len() < SLOTS as usize {
            while left > 0
                && let Some(slot) = free.pop()
            {
                left -= 1;
                let (memory, registered) = (std::ptr::null_mut(), None);
                let job =
                    Job { slot, work: Work::Trim, offset_bytes: 0, length_bytes: 4096, memory, registered };
                uring.queue(job);
            }
            let until = clock.now() + Duration::from_s(5);
            uring.wait(&clock, until, &mut done).unwrap();
            assert!(!done.is_empty(), "a job never completes");
            for Done { slot, result, .. } in done.drain(..) {
                assert_eq!(result, -i64::from(libc::ENOTTY));
                assert!(!free.contains(&slot), "slot {slot} completed twice");
                free.push(slot);
            }
        }
    }

    /// Flushes complete on a thread of the kernel, reads of a fresh file often in their submission.
    #[test]
    fn descriptor_is_readable_until_each_completion_is_taken() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let clock = Clock::start();
        let Ok(mut uring) = Uring::new(&file, 4, false, false) else {
            return println!("skipped: no io_uring here");
        };
        assert_eq!(uring.readiness(), Readiness::Unknown, "nothing is in flight");
        let mut memory = [[0_u8; 4096]; 4];
        let (mut done, mut waits) = (Vec::new(), 0);
        for round in 0..500_u64 {
            let count = 1 + round % 4;
            for (slot, memory) in (0..count).zip(&mut memory) {
                let work = if (round + slot) % 3 == 0 { Work::Flush } else { Work::Read };
                let (memory, registered) = (memory.as_mut_ptr(), None);
                let offset_bytes = (round * 5 + slot) % 256 * 4096;
                let slot = slot as u32;
                uring.queue(Job { slot, work, offset_bytes, length_bytes: 4096, memory, registered });
            }
            while (done.len() as u64) < count {
                let before = done.len();
                match uring.readiness() {
                    Readiness::Unknown => panic!("a ring tells"),
                    Readiness::Ready => {}
                    Readiness::Descriptor(descriptor) => {
                        let until = clock.now() + Duration::from_s(20);
                        clock.wait_readable(&[descriptor], until);
                        assert!(
                            clock.now() < until,
                            "round {round}: {before} of {count} completions were seen"
                        );
                        waits += 1;
                    }
                }
                uring.wait(&clock, Instant::ZERO, &mut done).unwrap();
            }
            done.clear();
        }
        assert!(waits > 0, "some completion is waited for");
    }
}
