//! A device as the one file `drive` of a mounted file system (FUSE): for `losetup`, `mkfs` and programs that want a
//! path.
//!
//! `mount_point` checks where it is mounted, `connection` reads the kernel's requests and sends replies, which `wire`
//! decodes and encodes; `files` answers for the directory and the file's attributes, and `server` carries out what is
//! asked of the file. All of it is done by the thread that serves, since a switch between threads takes as long as a
//! request. `mounted` and `queue` are for other file systems of ours, whose requests a thread of `fuser` reads.

mod connection;
mod files;
mod mount_point;
mod mounted;
mod queue;
mod server;
mod wire;

use crate::command::Export;

pub use mount_point::{MountPoint, MountPointError};
pub use mounted::{MountError, Mounted, Unmounted};
pub use queue::{Inbox, Outbox};
pub use server::FuseServer;

/// Returns commands that make a file system on the drive and mount it, one a line. `file` is its path as a shell reads
/// it.
pub fn how_to_use(file: &str, export: &Export) -> String {
    if export.is_read_only {
        return format!("  losetup --find --show --read-only --direct-io=on {file}\n");
    }
    // The kernel's loop device has sectors of 512 to 4096 bytes.
    let sector_bytes = export.unit_bytes.clamp(512, 4096).next_power_of_two();
    format!(
        "  mkfs.ext4 -q {file}\n  mount \"$(losetup --find --show --direct-io=on --sector-size {sector_bytes} {file})\" DIRECTORY\n"
    )
}
