//! What a server needs of the system: many open files, and a socket that only its user reaches.

use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Allows this process `count` open files, or as many as the system lets it. Returns how many are allowed.
pub fn allow_open_files(count: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = count.min(limit.maximum.unwrap_or(u64::MAX));
    let now = limit.current.unwrap_or(u64::MAX);
    if now >= wanted || setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).is_err() {
        return now;
    }
    wanted
}

/// Waiting connections of a socket.
const BACKLOG: i32 = 1024;
/// Longest wait for other servers that begin in the same directory, in steps.
const LOCK_STEPS: u32 = 100;
const LOCK_STEP: Duration = Duration::from_millis(10);

/// The file of a Unix socket that this process listens on. Dropping it removes the file, unless another one has its
/// path by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _lock = lock_directory(&self.path);
        if identity(&self.path).is_some_and(|found| self.identity == Some(found)) {
            // The next server replaces one that could not be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens on a Unix socket that only this user can connect to; accepting does not block. A socket on which nothing
/// listens any more is replaced.
///
/// # Errors
/// The operating system's error; `AddrInUse` where a program listens, the path is another file, or a stale socket is in
/// a directory that cannot be locked.
pub(crate) fn private_socket(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket()?;
    // The file gets these permissions when it is created, so that it has them from the first moment on.
    fchmod(&socket, Mode::from_raw_mode(0o600))?;
    // A server that begins at the same time sees no socket between its creation and its first wait for clients, which
    // looks stale, and removes none but the one that it looked at.
    let lock = lock_directory(path);
    if path.symlink_metadata().is_ok_and(|data| !data.file_type().is_socket()) {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "the path is in use by a file that is no socket",
        ));
    }
    if lock.is_some() && is_stale(path, &address) {
        std::fs::remove_file(path)?;
    }
    bind(&socket, &address)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path) };
    listen(&socket, BACKLOG)?;
    Ok((socket.into(), file))
}

fn stream_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Returns whether a path is a socket on which nothing listens.
fn is_stale(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket = path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    // A server that is busy lets a connection wait, which this does not do.
    let refuses = |socket: OwnedFd| connect(&socket, address) == Err(Errno::CONNREFUSED);
    is_socket && stream_socket().is_ok_and(refuses)
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|data| (data.dev(), data.ino()))
}

/// Locks the directory of a path among servers, until the result is dropped. Returns `None` where it cannot be locked.
fn lock_directory(path: &Path) -> Option<OwnedFd> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(parent, flags, Mode::empty()).ok()?;
    for _ in 0..LOCK_STEPS {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_STEP),
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    #[test]
    fn socket_is_private_and_replaces_only_a_stale_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let (_first, file) = private_socket(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(private_socket(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(file);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        let (_second, _kept) = private_socket(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let file = dir.path().join("file");
        std::fs::write(&file, "kept").unwrap();
        assert_eq!(private_socket(&file).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    }

    #[test]
    fn busy_server_is_neither_waited_for_nor_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let address = SocketAddrUnix::new(&path).unwrap();
        let busy = stream_socket().unwrap();
        bind(&busy, &address).unwrap();
        listen(&busy, 0).unwrap();
        let connected = || {
            let socket = stream_socket().unwrap();
            connect(&socket, &address).map(|()| socket)
        };
        let waiting: Vec<OwnedFd> = std::iter::from_fn(|| connected().ok()).collect();
        assert!(!waiting.is_empty() && connected().unwrap_err() == Errno::AGAIN, "its backlog is full");
        assert_eq!(private_socket(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
    }

    #[test]
    fn one_of_several_servers_replaces_a_stale_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        for round in 0..100 {
            drop(UnixListener::bind(&path).unwrap());
            let start = std::sync::Barrier::new(4);
            let begin = || {
                start.wait();
                private_socket(&path).ok()
            };
            let bound: Vec<_> = std::thread::scope(|scope| {
                let servers: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
                servers.into_iter().filter_map(|server| server.join().unwrap()).collect()
            });
            assert_eq!(bound.len(), 1, "round {round}");
            UnixStream::connect(&path).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
    }

    #[test]
    fn dropped_socket_leaves_that_of_another_server() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let first = private_socket(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = private_socket(&path).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn open_files_are_allowed_up_to_the_limit() {
        let least = allow_open_files(1);
        assert!(allow_open_files(u64::MAX) >= least);
    }
}
