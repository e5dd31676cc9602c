//! A mounted file system whose requests are read by the thread that serves them.
//!
//! `fuser` mounts it and agrees with the kernel on the protocol. From then on requests are read from the connection
//! without waiting, and replies written to it.

use super::mount_point::MountPoint;
use super::mounted::{self, MountError, Unmounted};
use super::wire::{self, Request};
use flashlane_base::Duration;
use fuser::{Filesystem, InitFlags, KernelConfig, Session};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time;

/// Longest read or write that the kernel passes on at once.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Asynchronous requests that the kernel passes on at once, those of direct I/O among them.
const BACKGROUND_MAX: u16 = 1024;
/// Longest wait for a request while the file system is being unmounted.
const UNMOUNT_WAIT: Duration = Duration::from_ms(1);

/// What is agreed on with the kernel. The requests after that do not reach it.
struct Limits;

impl Filesystem for Limits {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        // An older kernel sends one direct request after the other.
        _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        for refused in [
            config.set_max_write(REQUEST_BYTES_MAX).err(),
            config.set_max_background(BACKGROUND_MAX).err().map(u32::from),
            config.set_congestion_threshold(BACKGROUND_MAX).err().map(u32::from),
        ] {
            assert_eq!(refused, None, "the limits are within those of fuser");
        }
        Ok(())
    }
}

/// What a read of the connection returned.
pub(super) enum Received<'a> {
    Request(Request<'a>),
    /// No request has come.
    Nothing,
    /// The file system was unmounted.
    End,
}

/// The connection of a mounted file system with the kernel.
pub(super) struct Connection {
    path: PathBuf,
    session: Session<Limits>,
    device: File,
    buffer: Vec<u8>,
}

impl Connection {
    /// Mounts a file system, which only the user of this process can reach.
    ///
    /// # Errors
    /// [`MountError`] where the system refuses it.
    pub fn mount(mount_point: &MountPoint, is_read_only: bool) -> Result<Self, MountError> {
        let session = mounted::mount(mount_point, Limits, is_read_only)?;
        let device = session
            .as_fd()
            .try_clone_to_owned()
            .and_then(|device| flashlane_host::avoid_blocking(&device).map(|()| device))
            .map_err(|error| MountError::new(mount_point, error))?;
        let buffer = vec![0; wire::buffer_bytes(REQUEST_BYTES_MAX as usize)];
        Ok(Self { path: mount_point.path().into(), session, device: device.into(), buffer })
    }

    /// Returns where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a request has come, for which it sleeps for at most `longest`.
    ///
    /// # Errors
    /// The system's error where it cannot wait.
    pub fn wait(&self, longest: Duration) -> io::Result<bool> {
        flashlane_host::is_readable(&self.device, time::Duration::from_nanos(longest.as_ns()))
    }

    /// Reads the next request, if one has come.
    ///
    /// # Errors
    /// The system's error, or that what was read is no request.
    pub fn receive(&mut self) -> io::Result<Received<'_>> {
        let length = loop {
            match self.device.read(&mut self.buffer) {
                Ok(length) => break length,
                Err(error) => match error.raw_os_error() {
                    // A signal came to us, or to the program that waited for what would have been read.
                    Some(libc::EINTR | libc::ENOENT) => {}
                    Some(libc::EAGAIN) => return Ok(Received::Nothing),
                    Some(libc::ENODEV) => return Ok(Received::End),
                    _ => return Err(error),
                },
            }
        };
        Request::decode(&self.buffer[..length])
            .map(Received::Request)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel sent no request of FUSE"))
    }

    /// Replies to request `number` with a body, or the number of an error.
    pub fn reply(&self, number: u64, reply: &Result<impl AsRef<[u8]>, i32>) {
        let (error, body) = match reply {
            Ok(body) => (0, body.as_ref()),
            Err(error) => (*error, &[][..]),
        };
        let header = wire::out_header(number, error, body.len());
        // The kernel takes all of it or nothing: the latter where the request is gone, or the file system.
        _ = (&self.device).write_vectored(&[IoSlice::new(&header), IoSlice::new(body)]);
    }

    /// Unmounts it; where something still uses it, from where it can be seen. `is_gone` says that another program has
    /// already. `serve` answers requests that come meanwhile, without waiting.
    ///
    /// # Errors
    /// The system's error where it remains mounted.
    pub fn unmount(mut self, is_gone: bool, mut serve: impl FnMut(&mut Self)) -> io::Result<Unmounted> {
        if is_gone {
            // Dropping the session would unmount what is mounted there by now.
            std::mem::forget(self.session);
            return Ok(Unmounted::Unused);
        }
        let mut unmounter = self.session.unmount_callable();
        let unmounted = flashlane_host::unmount_served(
            move || unmounter.unmount(),
            || {
                // Without the wait it spins until the file system is unmounted.
                _ = self.wait(UNMOUNT_WAIT);
                serve(&mut self);
            },
        );
        match unmounted {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                flashlane_host::unmount_dead(&self.path).map(|()| Unmounted::InUse)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Unmounted::Unused),
        }
    }
}
