//! Block device requests other than reads and writes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Discards a range of a block device. Returns a negated error number where the device refuses.
pub(super) fn discard(file: &File, offset_bytes: u64, length_bytes: u64) -> i64 {
    const BLKDISCARD: libc::Ioctl = 0x1277;
    let range = [offset_bytes, length_bytes];
    // SAFETY: the request reads two u64 through the pointer, which is valid for them.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if result < 0 { negated(&io::Error::last_os_error()) } else { 0 }
}

/// Resets the zone at the offset. Returns a negated error number where the device refuses.
pub(super) fn reset(file: &File, offset_bytes: u64, length_bytes: u64) -> i64 {
    const BLKRESETZONE: libc::Ioctl = 0x4010_1283;
    let sectors = [offset_bytes / 512, length_bytes / 512];
    // SAFETY: the request reads two u64 through the pointer, which is valid for them.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKRESETZONE, sectors.as_ptr()) };
    if result < 0 { negated(&io::Error::last_os_error()) } else { 0 }
}

pub(super) fn negated(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
}
