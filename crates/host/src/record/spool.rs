//! Spools the processors' streams during a recording into unnamed files, until they are merged.

use super::error::RecordError;
use super::settings::read;
use super::tracefs::{Tracefs, lost};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length of the longest read; the kernel returns a page at a time.
const READ_BYTES: usize = 64 << 10;

#[derive(Debug)]
struct Stream {
    folder: PathBuf,
    pipe: File,
    kept: File,
    lost_before: u64,
}

/// The streams of all processors.
#[derive(Debug)]
pub(super) struct Spool {
    streams: Vec<Stream>,
    buffer: Vec<u8>,
}

impl Spool {
    /// Opens every pipe. The spool files in `folder` have no name, so the file system frees them even after a crash.
    pub(super) fn open(tracefs: &Tracefs, folder: &Path) -> Result<Self, RecordError> {
        let open = |processor: PathBuf| {
            let path = processor.join("trace_pipe");
            let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            let pipe = pipe.map_err(|e| RecordError::os(&path, "open", e))?;
            let kept = tempfile::tempfile_in(folder).map_err(|source| RecordError::Os {
                path: folder.into(),
                action: "make a file in",
                source,
            })?;
            let lost_before = lost(&read(&processor.join("stats"))?);
            Ok(Stream { folder: processor, pipe, kept, lost_before })
        };
        let streams = tracefs.processors()?.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { streams, buffer: vec![0; READ_BYTES] })
    }

    /// Reads each processor's pipe once. Returns the number of bytes read.
    pub(super) fn pump(&mut self) -> Result<u64, RecordError> {
        let mut taken = 0;
        for stream in &mut self.streams {
            let path = || stream.folder.join("trace_pipe");
            match stream.pipe.read(&mut self.buffer) {
                Ok(count) => {
                    let kept = stream.kept.write_all(&self.buffer[..count]);
                    kept.map_err(|source| RecordError::Os {
                        path: path(),
                        action: "keep what comes from",
                        source,
                    })?;
                    taken += count as u64;
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(RecordError::os(&path(), "read", e)),
            }
        }
        Ok(taken)
    }

    /// Returns the events lost since the spool was opened.
    pub(super) fn lost(&self) -> Result<u64, RecordError> {
        self.streams.iter().try_fold(0, |sum, stream| {
            let now = lost(&read(&stream.folder.join("stats"))?);
            Ok(sum + now.saturating_sub(stream.lost_before))
        })
    }

    /// Returns the spool files, rewound.
    pub(super) fn into_files(self) -> io::Result<Vec<File>> {
        let rewind = |mut stream: Stream| stream.kept.rewind().map(|()| stream.kept);
        self.streams.into_iter().map(rewind).collect()
    }
}
