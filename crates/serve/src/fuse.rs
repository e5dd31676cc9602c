//! A device as the one file `drive` of a mounted file system (FUSE): for `losetup`, `mkfs` and programs that want a path.
//!
//! `mount_point` checks where it is mounted, `files` answers for the directory and passes on what is asked of the file,
//! `server` carries it out. The kernel's requests are read on a thread of `fuser`; all else is done by the thread that serves.

mod files;
mod mount_point;
mod server;

pub use mount_point::{MountPoint, MountPointError};
pub use server::{FuseServer, MountError, Unmounted};
