//! Serves a mounted volume: the kernel's requests, one after the other, on the thread that owns the store.
//!
//! While no request comes, the store flushes and merges.

use crate::face::{Face, Message};
use crate::volume::Volume;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_serve::{Inbox, MountError, MountPoint, Mounted, Unmounted};
use flashlane_store_files::{FileError, Files};
use std::io;

/// Longest wait for a request before the end of the server is looked for.
const WAIT: Duration = Duration::from_ms(50);
/// Longest wait for the devices before requests are looked for.
const WORK: Duration = Duration::from_us(50);

/// The files of a store, mounted.
pub struct StoreMount<'a, D: 'static, L: 'static> {
    volume: Volume<'a, D, L>,
    mounted: Mounted,
    inbox: Inbox<Message<D, L>>,
    requests: u64,
    is_unmounted: bool,
}

impl<'a, D: DataDevice + 'static, L: DataDevice + 'static> StoreMount<'a, D, L> {
    /// Prepares files to be mounted: unless they are only read, removes those that an earlier mount had removed while
    /// they were open. Mounts them.
    ///
    /// # Errors
    /// [`FileError`] where the files cannot be read or changed; [`MountError`] where the system refuses the mount.
    pub fn new(
        mount_point: &MountPoint,
        files: Files<'a, D, L>,
        is_read_only: bool,
    ) -> Result<Result<Self, MountError>, FileError> {
        let mut volume = Volume::new(files, is_read_only)?;
        let mounted =
            Inbox::new().map_err(|error| MountError::new(mount_point, error)).and_then(|(outbox, inbox)| {
                let face = Face::new(&mut volume, flashlane_host::user(), outbox);
                Ok((Mounted::new(mount_point, face, is_read_only)?, inbox))
            });
        Ok(mounted.map(|(mounted, inbox)| Self { volume, mounted, inbox, requests: 0, is_unmounted: false }))
    }

    /// Serves until `go_on` returns false, which is asked at least every 50 ms, or until the file system is unmounted.
    ///
    /// # Errors
    /// The system's error where it cannot wait.
    pub fn run(&mut self, mut go_on: impl FnMut() -> bool) -> io::Result<()> {
        while !self.is_unmounted && go_on() {
            let message = match self.inbox.take() {
                None if self.volume.work(WORK) => None,
                None => self.inbox.wait(WAIT)?,
                message => message,
            };
            match message {
                None => {}
                Some(Message::End) => self.is_unmounted = true,
                Some(Message::Work(work)) => {
                    self.volume.set_time(flashlane_host::calendar_ms());
                    self.requests += 1;
                    work(&mut self.volume);
                }
            }
        }
        Ok(())
    }

    /// Returns the number of requests that were served.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Unmounts the file system; where something still uses it, from where it can be seen. All changes are safe from
    /// power cuts then.
    ///
    /// # Errors
    /// The system's error where it remains mounted, or where changes could not be made safe.
    pub fn unmount(mut self) -> io::Result<Unmounted> {
        // Requests that come from now on fail at once: nothing waits for this thread.
        drop(self.inbox);
        let unmounted = self.mounted.unmount(self.is_unmounted);
        let safe = self.volume.end().and_then(|()| self.volume.sync());
        safe.map_err(|error| io::Error::from_raw_os_error(error.code()))?;
        unmounted
    }
}
