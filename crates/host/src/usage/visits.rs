//! Mount namespaces that no process is in: kept by a file (`nsfs`), by a descriptor, or by one that is on its way
//! through a socket. What is mounted there is in use all the same.
//!
//! The kernel shows the mounts of a namespace, and leads to its files, by its threads only. So a thread of this process
//! enters each, with a root and a directory of its own, and stays there until the [`Visit`] ends. Since Linux 6.12 the
//! kernel lists all namespaces; before, those are found that a file or a descriptor of a process leads to.

use super::lookup::{names, processes, tables};
use crate::thread::{STACK_BYTES, start_thread};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// The name of the threads that enter namespaces, by which another survey knows that they do not stay.
pub(super) const THREAD_NAME: &str = "flashlane-visit";

/// A thread in a mount namespace. It leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Visit {
    /// The thread's folder, relative to that of the processes.
    pub folder: String,
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Visit {
    /// Enters a namespace.
    ///
    /// # Errors
    /// Those of `unshare(2)` and `setns(2)`: only root may enter, and only where its user namespace covers this one.
    pub(super) fn begin(namespace: File) -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let (entered, answer) = mpsc::channel();
        let visit = move || {
            let outcome = enter(&namespace);
            let is_inside = outcome.is_ok();
            let _ = entered.send(outcome.map(|()| thread_number()));
            if is_inside {
                let _ = ended.recv();
            }
        };
        let thread = start_thread(THREAD_NAME, STACK_BYTES, visit)?;
        let lost = |_| io::Error::other("the thread that enters it has ended");
        let number = answer.recv().map_err(lost).flatten()?;
        Ok(Self { folder: format!("self/task/{number}"), end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn thread_number() -> libc::pid_t {
    // SAFETY: the call takes nothing and changes nothing.
    unsafe { libc::gettid() }
}

fn enter(namespace: &File) -> io::Result<()> {
    let check = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: the calls take numbers and change this thread only, which shares its root and directory with no other
    // from then on.
    unsafe {
        check(libc::unshare(libc::CLONE_FS))?;
        check(libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNS))
    }
}

/// Returns the kernel's name of a mount namespace, `mnt:[NUMBER]`, if the path leads to one.
pub(super) fn name_at(link: &Path) -> Option<PathBuf> {
    fs::read_link(link).ok().filter(|name| is_name(name))
}

/// Returns whether this is the kernel's name of a mount namespace.
pub(super) fn is_name(name: &Path) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("mnt:["))
}

/// Opens the mount namespace at a path, if it is there.
pub(super) fn open(path: &Path, proc: &Path, name: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    (name_of(&file, proc)? == *name).then_some(file)
}

/// Returns the name of an open mount namespace.
pub(super) fn name_of(file: &File, proc: &Path) -> Option<PathBuf> {
    name_at(&proc.join("self/fd").join(file.as_raw_fd().to_string()))
}

/// Opens the mount namespaces that the kernel lists, but for this process's own; none where it lists none.
pub(super) fn listed(proc: &Path) -> Vec<File> {
    // Of <linux/nsfs.h>, which the libc crate leaves out.
    const NS_MNT_GET_NEXT: libc::Ioctl = 0x8010_b70b_u32 as libc::Ioctl;
    const NS_MNT_GET_PREV: libc::Ioctl = 0x8010_b70c_u32 as libc::Ioctl;
    let mut found = Vec::new();
    for direction in [NS_MNT_GET_NEXT, NS_MNT_GET_PREV] {
        let Ok(own) = File::open(proc.join("self/ns/mnt")) else { break };
        let mut last = own;
        while let Some(next) = beside(&last, direction) {
            found.extend(next.try_clone());
            last = next;
        }
    }
    found
}

/// Returns the namespace next to one in the kernel's order.
fn beside(namespace: &File, direction: libc::Ioctl) -> Option<File> {
    /// `struct mnt_ns_info` of <linux/nsfs.h>.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        size: u32,
        mounts: u32,
        id: u64,
    }
    let mut info = Info { size: size_of::<Info>() as u32, ..Info::default() };
    // SAFETY: the request writes one `struct mnt_ns_info` of the size that it names, and returns a new descriptor.
    let descriptor = unsafe { libc::ioctl(namespace.as_raw_fd(), direction, &raw mut info) };
    // SAFETY: the descriptor is new, and nothing else owns it.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
}

/// Returns the links to mount namespaces among the descriptors of all processes, with the namespaces' names.
pub(super) fn described(proc: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for process in processes(proc) {
        for folder in tables(proc, &process).into_iter().map(|task| proc.join(task).join("fd")) {
            let links = names(&folder).into_iter().map(|descriptor| folder.join(descriptor));
            found.extend(links.filter_map(|link| Some((name_at(&link)?, link))));
        }
    }
    found
}
