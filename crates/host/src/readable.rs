//! Waiting for input from a pipe or a terminal without missing Ctrl-C or the work of a device.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Returns whether a read of `input` would return at once, after waiting for that up to `longest`. A file is always
/// readable, and so is a pipe whose other end is closed.
///
/// # Errors
/// The operating system's error. An interrupted wait is not one.
pub fn is_readable(input: impl AsFd, longest: Duration) -> io::Result<bool> {
    let longest = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&longest)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pipe_is_readable_once_written_or_closed() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!is_readable(&reader, Duration::ZERO).unwrap());
        writer.write_all(b"x").unwrap();
        assert!(is_readable(&reader, Duration::from_secs(60)).unwrap());
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert!(is_readable(&reader, Duration::from_secs(60)).unwrap());
    }
}
