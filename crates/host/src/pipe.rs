//! Pipes with a name, which wait for somebody to read them.

use crate::interrupt::interrupted;
use rustix::fs::{OFlags, fcntl_setfl};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::{io, thread, time};

/// Between two looks for a reader.
const PAUSE: time::Duration = time::Duration::from_millis(10);

/// Opens a pipe for writing once somebody reads it; nothing if that is [`interrupted`]. Ctrl-C does not end the
/// system's own wait.
///
/// # Errors
/// What the operating system says; also where it is no pipe, or none any more.
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let pipe = loop {
        match File::options().write(true).custom_flags(flags).open(path) {
            // Nobody reads it; or it is a socket, which is not opened so.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                is_pipe(&path.metadata()?)?;
                if interrupted() {
                    return Ok(None);
                }
                thread::sleep(PAUSE);
            }
            opened => break opened?,
        }
    };
    is_pipe(&pipe.metadata()?)?;
    fcntl_setfl(&pipe, OFlags::empty())?;
    Ok(Some(pipe))
}

fn is_pipe(meta: &Metadata) -> io::Result<()> {
    if meta.file_type().is_fifo() { Ok(()) } else { Err(io::Error::other("it is no pipe")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn a_pipe_is_opened_once_it_is_read_and_waits_for_its_reader_to_take_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = open_pipe(&path).unwrap().unwrap();
        // More than it holds: what is not taken yet is waited for, and no error.
        let text = vec![b'x'; 1 << 20];
        let read = thread::scope(|scope| {
            let read = scope.spawn(|| reader.wait_with_output().unwrap().stdout);
            pipe.write_all(&text).unwrap();
            drop(pipe);
            read.join().unwrap()
        });
        assert_eq!(read, text);
    }

    #[test]
    fn what_is_no_pipe_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "precious").unwrap();
        assert!(open_pipe(&path).unwrap_err().to_string().contains("no pipe"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        // The system says of a socket what it says of a pipe that nobody reads.
        let socket = dir.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open_pipe(&socket).unwrap_err().to_string().contains("no pipe"));
    }
}
