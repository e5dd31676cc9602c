//! Serves a mounted device: requests of the kernel in, replies out, in the device's time.
//!
//! One thread waits for the kernel and the device in turn: it reads the requests that have come, lets the device work,
//! and replies.
//!
//! Invariant: `writes` has the requests in progress whose replies say how many bytes were written.

use super::connection::{Connection, Received};
use super::files::{Asking, Files, Response};
use super::mount_point::MountPoint;
use super::mounted::{MountError, Unmounted};
use super::wire;
use crate::command::{Action, Command};
use crate::disk::{Answer, Finished};
use crate::options::Options;
use crate::served::{CLIENT_WAIT, Served};
use crate::task::Tag;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Requests that are begun before the device works again.
const REQUESTS: usize = 256;
/// Time in which commands that were read are answered when the server ends.
const ANSWER: Duration = Duration::from_ms(100);

/// A mounted device.
pub struct FuseServer<D> {
    served: Served<D>,
    files: Files,
    connection: Connection,
    writes: BTreeSet<u64>,
    is_unmounted: bool,
}

impl<D: DataDevice> FuseServer<D> {
    /// Mounts a device.
    ///
    /// # Errors
    /// [`MountError`] where the system refuses it.
    pub fn mount(mount_point: &MountPoint, device: D, options: &Options) -> Result<Self, MountError> {
        let served = Served::new(device, options);
        let export = served.export().clone();
        let connection = Connection::mount(mount_point, export.is_read_only)?;
        let files = Files::new(export, options.data_bytes.is_some(), flashlane_host::user());
        Ok(Self { served, files, connection, writes: BTreeSet::new(), is_unmounted: false })
    }

    /// Returns the device with its counts.
    pub fn served(&self) -> &Served<D> {
        &self.served
    }

    /// Returns the device with its counts.
    pub fn served_mut(&mut self) -> &mut Served<D> {
        &mut self.served
    }

    /// Returns where it is mounted.
    pub fn mount_point(&self) -> &Path {
        self.connection.path()
    }

    /// Serves until `go_on` returns false, which is asked at least every 50 ms, or until the file system is unmounted.
    /// Requests that were read by then are answered, if the device does them within 100 ms.
    ///
    /// # Errors
    /// The system's error where it cannot wait.
    pub fn run(&mut self, mut go_on: impl FnMut(&mut Served<D>) -> bool) -> io::Result<()> {
        flashlane_host::end_sleeps_on_time();
        while !self.is_unmounted && go_on(&mut self.served) {
            self.turn();
            self.receive()?;
        }
        let end = self.served.now() + ANSWER;
        while self.served.now() < end && self.served.is_busy() {
            self.turn();
        }
        Ok(())
    }

    /// Unmounts the file system; where something still uses the file, from where it can be seen.
    ///
    /// # Errors
    /// The system's error where it remains mounted.
    pub fn unmount(self) -> io::Result<Unmounted> {
        let Self { files, connection, is_unmounted, .. } = self;
        connection.unmount(is_unmounted, |connection| {
            while let Ok(Received::Request(request)) = connection.receive() {
                let number = request.number;
                match files.respond(&request) {
                    Response::Now(reply) => connection.reply(number, &reply),
                    // The device works no more.
                    Response::After(_) => connection.reply(number, &Err::<&[u8], _>(libc::EIO)),
                    Response::Never => {}
                }
            }
        })
    }

    /// Lets the device work as far as it is, and replies.
    fn turn(&mut self) {
        self.served.work(self.served.work_until());
        let mut ended = self.served.take_ended();
        for end in ended.drain(..) {
            let asked = end.asked();
            let is_write = self.writes.remove(&end.tag.cookie);
            reply(&self.connection, end, is_write, self.served.export().unit_bytes);
            if let Some(asked) = asked {
                self.served.count_reply(asked);
            }
        }
        self.served.give_back(ended);
    }

    /// Begins the requests that have come. Without any, sleeps until one comes or shortly before the device's next
    /// event.
    fn receive(&mut self) -> io::Result<()> {
        let longest = self.served.asleep(CLIENT_WAIT);
        if !longest.is_zero() && !self.connection.wait(longest)? {
            return Ok(());
        }
        for _ in 0..REQUESTS {
            match self.connection.receive()? {
                Received::Nothing => break,
                Received::End => {
                    self.is_unmounted = true;
                    break;
                }
                Received::Request(request) => {
                    let number = request.number;
                    match self.files.respond(&request) {
                        Response::Now(reply) => self.connection.reply(number, &reply),
                        Response::After(asking) => self.begin(number, asking),
                        Response::Never => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins a command. The number of its request is its cookie.
    fn begin(&mut self, cookie: u64, asking: Asking) {
        let Asking { action, offset_bytes, length_bytes, durable } = asking;
        if matches!(action, Action::Write(_)) {
            self.writes.insert(cookie);
        }
        let command = Command { cookie, offset_bytes, length_bytes, durable, action };
        self.served.start(Tag { client: 0, cookie }, command);
    }
}

/// Replies to the request of a command.
fn reply(connection: &Connection, end: Finished, is_write: bool, unit_bytes: u64) {
    let Finished { tag, offset_bytes, length_bytes, outcome, .. } = end;
    let written;
    let body = match &outcome {
        Ok(Answer::Data(data)) => {
            let start = (offset_bytes % unit_bytes) as usize;
            Ok(&data.as_slice()[start..][..length_bytes as usize])
        }
        Ok(_) if is_write => {
            written = wire::written(length_bytes as u32);
            Ok(&*written)
        }
        Ok(_) => Ok(&[][..]),
        Err((error, _)) => Err(error.number() as i32),
    };
    connection.reply(tag.cookie, &body);
}
