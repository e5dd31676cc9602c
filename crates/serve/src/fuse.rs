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

/// Sectors of a loop device on the file: the most that the kernel allows, a page. Drives whose units are smaller, as
/// most simulated ones, have mapping units of as many bytes, and would read the rest of one for a write of less.
const LOOP_SECTOR_BYTES: u32 = 4096;

/// Returns commands that make a file system on the drive and mount it, one a line. `file` is its path as a shell reads
/// it. The blocks of the file system have a sector at least: by itself mkfs takes smaller ones for a small drive.
pub fn how_to_use(file: &str, export: &Export) -> String {
    if export.is_read_only {
        return format!("  losetup --find --show --read-only --direct-io=on {file}\n");
    }
    format!(
        "  mkfs.ext4 -q -b {LOOP_SECTOR_BYTES} {file}\n  mount \"$(losetup --find --show --direct-io=on --sector-size {LOOP_SECTOR_BYTES} \
         {file})\" DIRECTORY\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_commands_are_those_of_the_documents() {
        let export =
            Export { size_bytes: 1 << 30, unit_bytes: 512, is_read_only: false, description: String::new() };
        let printed = how_to_use("./mnt/drive", &export);
        let (mkfs, rest) = printed.trim().split_once("\n  mount \"$(").expect("two commands");
        let (losetup, _) = rest.split_once(")\" DIRECTORY").expect("the device is mounted");
        for document in [include_str!("../../../docs/serve.md"), include_str!("../../../README.md")] {
            assert!(document.contains(mkfs) && document.contains(losetup), "{printed}");
        }
    }
}
