//! What a server needs of the system: many open files, and a socket that only its user reaches.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

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

/// Listens on a Unix socket that only this user can connect to. A socket on which nobody listens any more is replaced.
///
/// # Errors
/// The operating system's error; `AddrInUse` where a program listens, or the path is another file.
pub fn private_socket(path: &Path) -> io::Result<UnixListener> {
    let is_socket = path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    if is_socket
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    // The socket has its permissions from the first moment on.
    let before = umask(rustix::fs::Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn socket_is_private_and_replaces_only_a_stale_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let first = private_socket(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(private_socket(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        private_socket(&path).unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "kept").unwrap();
        assert_eq!(private_socket(&file).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    }

    #[test]
    fn open_files_are_allowed_up_to_the_limit() {
        let least = allow_open_files(1);
        assert!(allow_open_files(u64::MAX) >= least);
    }
}
