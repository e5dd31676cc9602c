//! File systems that this process serves itself.

use crate::usage::mounts;
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether the file system that is mounted last on `path` is served by a program through FUSE, with this name
/// as its source. The path itself may lead nowhere any more.
pub fn is_served_by(path: &Path, source: &str) -> bool {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let (Ok(folder), Some(name)) = (folder.canonicalize(), path.file_name()) else { return false };
    let at = folder.join(name);
    let mounts = mounts(Path::new("/proc"));
    let last = mounts.iter().rev().find(|mount| mount.at == at);
    last.is_some_and(|mount| mount.file_system.starts_with("fuse") && mount.source == Path::new(source))
}

/// Unmounts a file system that is no longer served, from where it can be seen. What has it open keeps it until then.
///
/// # Errors
/// The system's error where it remains mounted.
pub fn unmount_dead(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name ends in a zero and outlives the call.
    if unsafe { libc::umount2(name.as_ptr(), libc::MNT_DETACH) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Err(error);
    }
    // A user who may not unmount may have mounted it all the same, through this program.
    let mut helper = Command::new("fusermount3");
    helper.args(["-u", "-z", "--"]).arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    match helper.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(error),
    }
}

/// Marks this thread, and those that it starts from now on, as serving a file system: when memory is scarce, the kernel
/// does not make it wait until data is written that it has to write itself.
pub fn avoid_own_writeback() {
    // Refused without CAP_SYS_RESOURCE. Then it may have to wait for itself, if file systems lie on what it serves:
    // only root can mount such.
    _ = rustix::process::configure_io_flusher_behavior(true);
}

/// Runs `unmount` on another thread, and until it has ended `serve` again and again on this one: the system may ask the
/// file system that it unmounts. `serve` MUST return soon.
pub fn unmount_served<T: Send>(unmount: impl FnOnce() -> T + Send, mut serve: impl FnMut()) -> T {
    std::thread::scope(|scope| {
        let unmounting = scope.spawn(unmount);
        while !unmounting.is_finished() {
            serve();
        }
        unmounting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes reads of a descriptor return at once with [`io::ErrorKind::WouldBlock`] where there is nothing to read.
///
/// # Errors
/// The system's error.
pub fn avoid_blocking(descriptor: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    Ok(rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK)?)
}

/// Returns the user and group whose rights this process has.
pub fn user() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
