//! Claims an open target for this process: by a lock that other Flashlanes respect, and of a file by asking the kernel
//! whether it is open anywhere else.
//!
//! A target has the same bytes under other identities: a file of an overlay is a file of a layer too, and the file
//! under a loop device holds the device's bytes. A writer locks the target in its layers exclusively, and what lies
//! below it shared: two loop devices over disjoint parts of one file do not exclude each other, but a writer of the
//! file excludes both.
//!
//! `/proc` shows neither programs outside the namespace of this one (a container's host), nor users in the kernel. The
//! kernel, however, grants a write lease (`fcntl(2)`) only on a file that is open once, so one is taken and given back
//! at once.

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Interval between two tries.
pub(crate) const PAUSE: Duration = Duration::from_millis(25);
/// Number of tries for the lock. The device manager locks a block device briefly after a writer closes it, and the
/// kernel closes a killed program's files only after its rings are destroyed.
pub(crate) const LOCK_TRIES: u32 = 40;
/// Number of tries for a lease. A starting process shares its parent's files briefly, and another Flashlane opens the
/// file while it waits for the lock.
const LEASE_TRIES: u32 = 20;

/// Outcome of a try for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Held,
    /// Another process holds it.
    Busy,
    /// The file system does not support locks.
    Unsupported,
}

/// Tries to lock `file` against a second Flashlane: exclusively for writers, shared for readers.
pub(crate) fn lock(file: &File, writes: bool) -> Lock {
    let operation = match writes {
        false => FlockOperation::NonBlockingLockShared,
        true => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        return match rustix::fs::flock(file, operation) {
            Ok(()) => Lock::Held,
            Err(Errno::WOULDBLOCK) => Lock::Busy,
            Err(Errno::INTR) => continue,
            Err(_) => Lock::Unsupported,
        };
    }
}

/// Files that hold the bytes of a target under other identities, open for reading.
#[derive(Debug, Default)]
pub(crate) struct OtherFiles {
    /// The target itself, in the layers of an overlay.
    pub same: Vec<File>,
    /// Files below the target.
    pub below: Vec<File>,
}

impl OtherFiles {
    /// Tries to lock them for a writer of the target. A file system without locks excludes nobody.
    pub(crate) fn lock(&self) -> Lock {
        let mut locks = self.same.iter().map(|file| lock(file, true));
        let mut shared = self.below.iter().map(|file| lock(file, false));
        let is_busy = locks.any(|lock| lock == Lock::Busy) || shared.any(|lock| lock == Lock::Busy);
        if is_busy { Lock::Busy } else { Lock::Held }
    }
}

/// Returns whether a regular file is and remains open elsewhere. Returns false where this
/// cannot be known: of another user's file, and on a file system without leases.
pub(crate) fn is_open_elsewhere(file: &File) -> bool {
    (0..LEASE_TRIES).all(|nth| {
        if nth > 0 {
            std::thread::sleep(PAUSE);
        }
        is_open_now(file)
    })
}

fn is_open_now(file: &File) -> bool {
    // Of <linux/fcntl.h>, which the libc crate leaves out.
    const F_SETSIG: libc::c_int = 10;
    let call = |operation, value: libc::c_int| {
        // SAFETY: these operations take a number and change the state of an open descriptor only.
        unsafe { libc::fcntl(file.as_raw_fd(), operation, value) }
    };
    // A program that opens the file during the lease makes the kernel send a signal, by default one that ends this
    // process.
    if call(F_SETSIG, libc::SIGURG) != 0 {
        return false;
    }
    if call(libc::F_SETLEASE, libc::F_WRLCK) == 0 {
        call(libc::F_SETLEASE, libc::F_UNLCK);
        return false;
    }
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}
