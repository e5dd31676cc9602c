//! The formats, one per file.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod disksim;
pub(crate) mod iolog;
pub(crate) mod mqsim;
pub(crate) mod msr;
pub(crate) mod spc;
pub(crate) mod tencent;

use crate::Record;
use flashlane_base::{Instant, Operation};

/// Returns a record with only time, device and operation set.
#[inline]
pub(crate) const fn blank(at_ns: u64, device: u32, operation: Operation) -> Record {
    Record {
        at: Instant::from_ns(at_ns),
        took: None,
        device,
        operation,
        offset_bytes: 0,
        length_bytes: 0,
        durable: false,
    }
}

/// Returns a block device's name in Linux's notation: major and minor number.
pub(crate) fn device_name(number: u32) -> String {
    format!("{},{}", number >> 20, number & 0xf_ffff)
}
