//! The data of a device in a sparse file: lane after lane, holes where nothing was written.

use flashlane_device::Lane;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Zeros that are written at a time where the file system makes no holes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The data of a device's lanes in a file.
#[derive(Clone, Debug)]
pub(crate) struct FileBytes {
    file: Arc<File>,
    lane_bytes: u64,
    /// Error number of the last call that failed.
    error: Option<i32>,
}

impl FileBytes {
    /// Empties `file`, and gives it the length of `lanes` lanes.
    ///
    /// # Errors
    /// Those of the operating system; another program that has the file as its bytes.
    pub(crate) fn over(file: Arc<File>, lanes: u32, lane_bytes: u64) -> io::Result<Self> {
        let length_bytes = lane_bytes.checked_mul(lanes.into()).ok_or(io::ErrorKind::FileTooLarge)?;
        // Before it is emptied, which another program would not survive.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.set_len(0)?;
        file.set_len(length_bytes)?;
        Ok(Self { file, lane_bytes, error: None })
    }

    pub(crate) fn read(&mut self, lane: Lane, offset_bytes: u64, out: &mut [u8]) {
        let result = self.file.read_exact_at(out, self.at(lane, offset_bytes));
        self.note(result);
    }

    pub(crate) fn write(&mut self, lane: Lane, offset_bytes: u64, bytes: &[u8]) {
        let result = self.file.write_all_at(bytes, self.at(lane, offset_bytes));
        self.note(result);
    }

    pub(crate) fn clear(&mut self, lane: Lane, offset_bytes: u64, length_bytes: u64) {
        if length_bytes == 0 {
            return; // which the system refuses
        }
        let at = self.at(lane, offset_bytes);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let result = match fallocate(&*self.file, hole, at, length_bytes) {
            Err(rustix::io::Errno::OPNOTSUPP) => self.write_zeros(at, length_bytes),
            result => result.map_err(io::Error::from),
        };
        self.note(result);
    }

    pub(crate) fn take_error(&mut self) -> Option<i32> {
        self.error.take()
    }

    fn at(&self, lane: Lane, offset_bytes: u64) -> u64 {
        u64::from(lane.0) * self.lane_bytes + offset_bytes
    }

    fn write_zeros(&self, at: u64, length_bytes: u64) -> io::Result<()> {
        let step = ZEROS.len() as u64;
        (0..length_bytes).step_by(ZEROS.len()).try_for_each(|done| {
            let length = step.min(length_bytes - done) as usize;
            self.file.write_all_at(&ZEROS[..length], at + done)
        })
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            // A file that somebody has cut short meanwhile has no number: it is an error of the device.
            self.error = Some(error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn zeros_take_no_space_and_lanes_are_apart() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bytes");
        std::fs::write(&path, "what was there").expect("it can be written");
        let open = || Arc::new(File::options().read(true).write(true).open(&path).expect("it is ours"));
        let mut bytes = FileBytes::over(open(), 2, 1 << 20).expect("its bytes may be lost");
        let mut found = [1; 8192];
        bytes.read(Lane(0), 0, &mut found);
        assert_eq!(found, [0; 8192], "it begins empty");
        bytes.write(Lane(1), 4096, &[7; 4096]);
        bytes.read(Lane(1), 0, &mut found);
        assert_eq!((found[4095], found[4096], found[8191]), (0, 7, 7));
        bytes.read(Lane(0), 4096, &mut found);
        assert_eq!(found, [0; 8192]);
        let metadata = || std::fs::metadata(&path).expect("it is there");
        assert_eq!(metadata().len(), 2 << 20);
        bytes.clear(Lane(1), 4096, 4096);
        bytes.clear(Lane(1), 0, 0);
        assert_eq!((metadata().len(), metadata().blocks()), (2 << 20, 0));
        assert_eq!(bytes.take_error(), None);

        let second = FileBytes::over(open(), 2, 1 << 20);
        assert_eq!(second.map(|_| ()).map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock));
        File::options().write(true).open(&path).and_then(|file| file.set_len(100)).expect("it is ours");
        bytes.read(Lane(0), 0, &mut found);
        assert_eq!((bytes.take_error(), bytes.take_error()), (Some(5), None));
    }
}
