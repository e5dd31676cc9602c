//! The backing of a loop device, as the loop driver reports it.

use super::lookup::{node, split};
use super::machine::{FileId, Number, Storage};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// The backing of a loop device.
pub(super) struct Status {
    pub storage: Storage,
    /// Device number of the file system that holds the file (or the device's node).
    pub file_system: Number,
    pub offset_bytes: u64,
    /// Whether less is presented than the rest of the file.
    pub is_limited: bool,
}

/// `struct loop_info64` of <linux/loop.h>.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232);

const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;

/// Returns `None` where the device has no node, cannot be opened, or has no backing.
pub(super) fn status(name: &str, number: Number) -> Option<Status> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let device = File::options().read(true).custom_flags(flags).open(node(name, number)?).ok()?;
    // SAFETY: all bytes zero is a value of this structure of numbers.
    let mut info: LoopInfo64 = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one `struct loop_info64`, whose layout `info` has.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    if result < 0 {
        return None;
    }
    let file_system = split(info.device);
    let storage = match info.rdevice {
        0 => Storage::File(FileId { file_system, inode: info.inode }),
        device => Storage::Block(split(device)),
    };
    Some(Status { storage, file_system, offset_bytes: info.offset, is_limited: info.size_limit != 0 })
}
