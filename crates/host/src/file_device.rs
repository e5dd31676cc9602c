//! A block device or regular file as a [`Device`]: requests in, completions out, over one of the engines.
//!
//! Each request in flight has a slot, which holds its id, its submission time, and the memory that the kernel reads or
//! writes. Slots are reused last-in first-out, so that a shallow queue touches little memory.
//!
//! A transfer that the kernel ends early is resubmitted for the rest: that completion gives the reason (no space left,
//! a medium error) or shows that the device ends there. A transfer that ended within a unit cannot continue and fails
//! as short.

use crate::claim::OtherFiles;
use crate::clock::Clock;
use crate::doubt::{Doubt, Doubts};
use crate::engine::{Done, Engine, EngineChoice, Job, THREADS_MAX, Threads, Uring, Work};
use crate::memory::Memory;
use crate::open::PageCache;
use crate::target;
use flashlane_base::{Duration, Instant};
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Operation, Readiness, Request, RequestId,
    SubmitError,
};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A real drive: a block device or a regular file, accessed without the page cache unless [`PageCache`] says otherwise.
///
/// Created by [`crate::OpenOptions::open`]. A request gets its submission time in `submit`, reaches the kernel then or
/// with the next [`Device::reap`] at the latest, and gets its completion time when `reap` finds it done. A latency thus
/// covers the time between the two calls: a caller that reaps late adds its own delay.
///
/// The device stays on the thread that opened it (it is not `Send`): the kernel ties the fastest kind of ring to one
/// thread. Dropping it waits for the requests in flight.
pub struct FileDevice {
    // Field order matters for dropping: the engine ends before the memory used by the kernel is freed.
    engine: Engine,
    memory: Memory,
    slots: Vec<Slot>,
    free: Vec<u32>,
    info: DeviceInfo,
    clock: Clock,
    file: File,
    /// Locked as long as `file` is open.
    _others: OtherFiles,
    block: bool,
    /// As in [`Setup`], and known after the first trim.
    trims: Option<bool>,
    doubts: Doubts,
    /// Buffers of completed requests, until they are taken.
    returned: BTreeMap<RequestId, Buffer>,
    device_lost: bool,
    done: Vec<Done>,
    /// Makes the device neither `Send` nor `Sync`.
    stays: PhantomData<*const ()>,
}

/// A request in flight.
#[derive(Default)]
struct Slot {
    id: RequestId,
    submitted: Instant,
    /// The rest of a transfer; `None` for other operations.
    rest: Option<Job>,
    /// Bytes transferred by earlier parts.
    done_bytes: u64,
    busy: bool,
    buffer: Option<Buffer>,
}

/// Arguments of [`FileDevice::new`].
pub(crate) struct Setup {
    pub file: File,
    /// The file, open for reads through the page cache, where these go there and writes do not.
    pub reads: Option<File>,
    /// Files that are locked with it.
    pub others: OtherFiles,
    pub info: DeviceInfo,
    pub block: bool,
    /// Whether the device supports trims; `None` for a file, whose file system reports it for a punched hole only.
    pub trims: Option<bool>,
    pub engine: EngineChoice,
    pub page_cache: PageCache,
    pub doubts: Doubts,
}

/// Length of the longest request: the kernel transfers no more at once.
pub(crate) const LENGTH_MAX_BYTES: u64 = (2 << 30) - 4096;

impl FileDevice {
    /// # Errors
    /// Neither engine can be set up.
    pub(crate) fn new(setup: Setup) -> io::Result<Self> {
        let Setup { file, reads, others, mut info, block, trims, engine, page_cache, mut doubts } = setup;
        let clock = Clock::start();
        let discards = trims == Some(true) && !info.read_only;
        let uring = match engine {
            EngineChoice::Automatic => {
                let resets = info.erase_unit_bytes > 0 && !info.read_only;
                Uring::new(&file, info.depth, discards, resets)
            }
            EngineChoice::Threads => Err(io::Error::from_raw_os_error(0)),
        };
        let engine = match uring {
            Ok(mut uring) => {
                if page_cache == PageCache::Use {
                    uring.use_page_cache(&file)?;
                } else if let Some(reads) = &reads {
                    uring.read_through_page_cache(reads)?;
                }
                Engine::Uring(Box::new(uring))
            }
            Err(e) => {
                info.depth = info.depth.min(THREADS_MAX);
                let errno = e.raw_os_error().unwrap_or(libc::EIO);
                doubts.raise(Doubt::NoIoUring { errno, depth: info.depth });
                Engine::Threads(Threads::new(file.try_clone()?, reads, clock, discards)?)
            }
        };
        // Two runs must not write the same data: a drive with deduplication would gain from it.
        let start = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos() as u64);
        Ok(Self {
            engine,
            memory: Memory::new(info.depth, start),
            slots: (0..info.depth).map(|_| Slot::default()).collect(),
            free: (0..info.depth).rev().collect(),
            info,
            clock,
            file,
            _others: others,
            block,
            trims,
            doubts,
            returned: BTreeMap::new(),
            device_lost: false,
            done: Vec::new(),
            stays: PhantomData,
        })
    }

    /// Returns the reasons to doubt measurements on this device. They belong in the result.
    pub fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    /// Returns the name of the engine: `io_uring` or `threads`.
    pub fn engine_name(&self) -> &'static str {
        match self.engine {
            Engine::Uring(_) => "io_uring",
            Engine::Threads(_) => "threads",
        }
    }

    /// Returns a path that leads to this file or device as long as it is open, whatever has its own path by now. It
    /// leads nowhere without `/proc`.
    pub fn held_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// The open file, for calls other than requests.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Checks a request before it is accepted.
    #[inline]
    fn check(&mut self, request: &Request) -> Result<(), SubmitError> {
        if self.device_lost {
            return Err(SubmitError::DeviceLost);
        }
        self.info.check(request)?;
        let trims = request.operation == Operation::Trim;
        if trims && self.trims == Some(false) {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        let transfers = matches!(request.operation, Operation::Read | Operation::Write);
        if transfers && request.length_bytes > LENGTH_MAX_BYTES {
            return Err(SubmitError::TooLong {
                length_bytes: request.length_bytes,
                longest_bytes: LENGTH_MAX_BYTES,
            });
        }
        if self.free.is_empty() {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        if trims && self.trims.is_none() { self.try_trim(request) } else { Ok(()) }
    }

    /// Finds out with the first trim of a file whether there are trims. Only a range that is trimmed anyway is punched:
    /// anywhere else, even past the end, another program may have written meanwhile.
    #[cold]
    fn try_trim(&mut self, request: &Request) -> Result<(), SubmitError> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let length_bytes = request.length_bytes.min(self.info.write_unit_bytes);
        let punched = rustix::fs::fallocate(&self.file, flags, request.offset_bytes, length_bytes);
        // The request itself reports any other error.
        let has_trims = !matches!(punched, Err(Errno::OPNOTSUPP | Errno::NOSYS));
        self.trims = Some(has_trims);
        if has_trims { Ok(()) } else { Err(SubmitError::Unsupported { operation: Operation::Trim }) }
    }

    /// Queues a request that was checked.
    #[inline]
    fn accept(&mut self, request: Request, mut buffer: Option<Buffer>) {
        let slot = self.free.pop().expect("a request is checked against the depth first");
        let (work, transfers) = match request.operation {
            Operation::Read => (Work::Read, true),
            Operation::Write => (Work::Write { durable: request.durable }, true),
            // A device opened for reading has nothing to flush and must not be changed.
            Operation::Flush if self.info.read_only => (Work::Nothing, false),
            Operation::Flush => (Work::Flush, false),
            Operation::Trim => (Work::Trim, false),
            // Only zones have an erase.
            Operation::Erase => (Work::Reset, false),
            operation => unreachable!("the kernel has no {operation}, and the check of requests refuses it"),
        };
        let (memory, registered) = match &mut buffer {
            _ if !transfers => (std::ptr::null_mut(), None),
            Some(buffer) => (buffer.as_mut_slice().as_mut_ptr(), None),
            None => {
                let write = request.operation == Operation::Write;
                self.memory.get(&mut self.engine, slot, write, request.length_bytes as usize)
            }
        };
        let (offset_bytes, length_bytes) = (request.offset_bytes, request.length_bytes);
        let job = Job { slot, work, offset_bytes, length_bytes, memory, registered };
        self.slots[slot as usize] = Slot {
            id: request.id,
            submitted: self.clock.now(),
            rest: transfers.then_some(job),
            done_bytes: 0,
            busy: true,
            buffer,
        };
        self.engine.queue(job);
    }

    /// Frees the slot of a completed job. Where a transfer ended early, queues its rest and returns `None`.
    #[inline]
    fn finish(&mut self, done: Done) -> Option<Completion> {
        let slot = &mut self.slots[done.slot as usize];
        assert!(slot.busy, "the engine ended slot {} twice", done.slot);
        let is_done = done.result == slot.rest.map_or(0, |job| job.length_bytes as i64);
        if !is_done && self.resubmit_rest(&done) {
            return None;
        }
        let slot = &mut self.slots[done.slot as usize];
        slot.busy = false;
        let (id, submitted, before) = (slot.id, slot.submitted, slot.done_bytes);
        if let Some(buffer) = slot.buffer.take() {
            self.returned.insert(id, buffer);
        }
        self.free.push(done.slot);
        let outcome = if is_done { Ok(()) } else { Err(self.failure(done.result, before)) };
        Some(Completion { id, submitted, completed: done.at, outcome })
    }

    /// Queues the rest of a transfer that ended early, on a unit boundary. Returns whether it did.
    #[cold]
    fn resubmit_rest(&mut self, done: &Done) -> bool {
        let slot = &mut self.slots[done.slot as usize];
        let Some(job) = &mut slot.rest else { return false };
        let unit_bytes = match job.work {
            Work::Read => self.info.read_unit_bytes,
            _ => self.info.write_unit_bytes,
        };
        let Ok(bytes) = u64::try_from(done.result) else { return false };
        if bytes == 0 || bytes > job.length_bytes || !bytes.is_multiple_of(unit_bytes) {
            return false;
        }
        slot.done_bytes += bytes;
        job.offset_bytes += bytes;
        job.length_bytes -= bytes;
        job.memory = job.memory.wrapping_add(bytes as usize);
        self.engine.queue(*job);
        true
    }

    /// Returns the reason for the failure of a job whose earlier parts transferred `before` bytes.
    #[cold]
    fn failure(&mut self, result: i64, before: u64) -> Failure {
        let errno = result.checked_neg().filter(|n| *n > 0).map(|n| n as i32);
        // A lost block device fails with various errors, but its size is always zero.
        let is_lost = match errno {
            Some(libc::ENODEV | libc::ENXIO | libc::ESTALE | libc::ENOMEDIUM) => true,
            Some(libc::EIO) | None if self.block => {
                !target::block_device_length(&self.file).is_ok_and(|length| length > 0)
            }
            _ => false,
        };
        self.device_lost |= is_lost;
        match errno {
            _ if is_lost => Failure::DeviceLost,
            // The block layer's error for a medium error.
            Some(libc::ENODATA) => Failure::Unreadable,
            Some(errno) => Failure::Os(errno),
            None => Failure::Short { done_bytes: (before + result as u64) as u32 },
        }
    }

    /// The engine itself failed: fails all requests in flight, and leaks their memory, which the kernel may still use.
    #[cold]
    fn fail_all(&mut self, error: &io::Error, out: &mut Vec<Completion>) {
        let (at, errno) = (self.clock.now(), error.raw_os_error().unwrap_or(libc::EIO));
        self.device_lost = true;
        self.memory.leak();
        for slot in 0..self.slots.len() {
            if self.slots[slot].busy {
                // The caller gets an empty buffer of the same length: the kernel may still write to the original.
                let length = self.slots[slot].buffer.as_ref().map(Buffer::len);
                std::mem::forget(self.slots[slot].buffer.take());
                self.slots[slot].buffer = length.map(Buffer::zeroed);
                out.extend(self.finish(Done { slot: slot as u32, result: -i64::from(errno), at }));
            }
        }
    }
}

impl Device for FileDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        self.accept(request, None);
        Ok(())
    }

    fn readiness(&mut self) -> Readiness {
        self.engine.readiness()
    }

    fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        self.clock.wait_readable(descriptors, until);
    }

    #[inline]
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.in_flight() == 0 {
            if until != Instant::FAR {
                self.clock.wait_until(until);
            }
            return;
        }
        let (mut done, before) = (std::mem::take(&mut self.done), out.len());
        loop {
            let waited = self.engine.wait(&self.clock, until, &mut done);
            let is_over = done.is_empty();
            out.extend(done.drain(..).filter_map(|done| self.finish(done)));
            if let Err(e) = waited {
                self.fail_all(&e, out);
            }
            // Where only parts of transfers have completed, keep waiting.
            if is_over || out.len() > before {
                break;
            }
        }
        self.done = done;
    }
}

impl DataDevice for FileDevice {
    /// # Panics
    /// The length of the buffer differs from that of the read or write.
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if let Err(e) = self.check(&request) {
            return Err((e, buffer));
        }
        if matches!(request.operation, Operation::Read | Operation::Write) {
            assert_eq!(buffer.len() as u64, request.length_bytes, "a buffer is as long as its request");
        }
        self.accept(request, Some(buffer));
        Ok(())
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.returned.remove(&id)
    }
}

impl Drop for FileDevice {
    /// Waits for the requests in flight, because the kernel may still write to their memory; leaks the memory where
    /// they do not complete in time.
    fn drop(&mut self) {
        let until = self.clock.now() + Duration::from_s(10);
        let mut out = Vec::new();
        while self.in_flight() > 0 && self.clock.now() < until {
            self.reap(until, &mut out);
        }
        if self.in_flight() > 0 {
            self.memory.leak();
            self.slots.drain(..).for_each(|slot| std::mem::forget(slot.buffer));
        }
        // Closing is not enough: a forked child keeps the file, and with it the lock, until it executes its program. A
        // file system without locks has none to release.
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}
