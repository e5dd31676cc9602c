//! The least length of a file on which blocks or a store can be created.

use crate::stores::{NewStore, needs_of};
use crate::target::Target;
use flashlane_block::Layout;

/// Returns the least length in whole MiB of a file for `device` that can hold blocks once its layers are formatted
/// anew; `None` where a file of `length_bytes` can, or none up to 1024 times as long.
pub fn least_length_for_blocks(device: &Target, length_bytes: u64) -> Option<u64> {
    least_length(length_bytes, |length_bytes| {
        device.planned(length_bytes).is_ok_and(|info| Layout::new(&info).is_ok())
    })
}

/// Returns the least length as [`least_length_for_blocks`] does, of a file that can hold a store.
pub fn least_length_for_store(device: &Target, length_bytes: u64, new: &NewStore) -> Option<u64> {
    least_length(length_bytes, |length_bytes| needs_of(device, length_bytes, new).is_ok())
}

/// Returns the length of the regular file of a device; `None` where it has none.
pub fn file_length(device: &Target) -> Option<u64> {
    let found = device.path()?.metadata().ok()?;
    found.is_file().then_some(found.len())
}

/// Returns the least length in whole MiB above `length_bytes` that suits; `None` where that suits, or none up to 1024
/// times it does. Requires: what is longer than one that suits, suits.
fn least_length(length_bytes: u64, suits: impl Fn(u64) -> bool) -> Option<u64> {
    const STEP: u64 = 1 << 20;
    if suits(length_bytes) {
        return None;
    }
    let short = length_bytes / STEP;
    let long = (0..=10).map(|power| (short + 1) << power).find(|&long| suits(long * STEP))?;
    // The greatest that does not suit, and one that does.
    let (mut short, mut long) = (short, long);
    while long - short > 1 {
        let middle = short.midpoint(long);
        match suits(middle * STEP) {
            true => long = middle,
            false => short = middle,
        }
    }
    Some(long * STEP)
}
