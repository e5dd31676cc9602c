//! Serves a mounted device: requests of the kernel in, replies out, in the device's time.
//!
//! Two threads: one of `fuser`, which waits for the kernel, and the one that serves. A request goes from the first to
//! the second through a queue, and its reply from the second to the kernel.
//!
//! Invariant: `waiting` has the replies of the commands that are in progress, by their numbers.

use super::files::{Asking, Files, Reply, Sink};
use super::mount_point::MountPoint;
use super::mounted::{MountError, Mounted, Unmounted};
use super::queue::{Inbox, Outbox};
use crate::command::Command;
use crate::disk::{Answer, Finished};
use crate::options::Options;
use crate::served::{CLIENT_WAIT, Served};
use crate::task::Tag;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use fuser::Errno;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Requests that are begun before the device works again.
const REQUESTS: usize = 256;
/// Time in which commands that were read are answered when the server ends.
const ANSWER: Duration = Duration::from_ms(100);

enum Message {
    Asking(Asking),
    /// The file system was unmounted.
    End,
}

impl Sink for Outbox<Message> {
    fn send(&self, asking: Asking) {
        self.send(Message::Asking(asking));
    }

    fn end(&self) {
        self.send(Message::End);
    }
}

/// A mounted device.
pub struct FuseServer<D> {
    served: Served<D>,
    mounted: Mounted,
    inbox: Inbox<Message>,
    waiting: BTreeMap<u64, Reply>,
    commands: u64,
    is_unmounted: bool,
}

impl<D: DataDevice> FuseServer<D> {
    /// Mounts a device.
    ///
    /// # Errors
    /// [`MountError`] where the system refuses it.
    pub fn mount(mount_point: &MountPoint, device: D, options: &Options) -> Result<Self, MountError> {
        let (outbox, inbox) = Inbox::new().map_err(|error| MountError::new(mount_point, error))?;
        let served = Served::new(device, options);
        let export = served.export().clone();
        let is_read_only = export.is_read_only;
        let files = Files::new(export, options.data_bytes.is_some(), flashlane_host::user(), outbox);
        let mounted = Mounted::new(mount_point, files, is_read_only)?;
        Ok(Self { served, mounted, inbox, waiting: BTreeMap::new(), commands: 0, is_unmounted: false })
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
        self.mounted.path()
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
        let Self { mounted, inbox, waiting, is_unmounted, .. } = self;
        // Requests that come from now on fail at once, and so do those without an answer: nothing waits for this
        // thread.
        drop((inbox, waiting));
        mounted.unmount(is_unmounted)
    }

    /// Lets the device work as far as it is, and replies.
    fn turn(&mut self) {
        self.served.work(self.served.work_until());
        let mut ended = self.served.take_ended();
        for end in ended.drain(..) {
            let asked = end.asked();
            let reply = self.waiting.remove(&end.tag.cookie).expect("a command has a reply");
            send(reply, end, self.served.export().unit_bytes);
            if let Some(asked) = asked {
                self.served.count_reply(asked);
            }
        }
        self.served.give_back(ended);
    }

    /// Begins the requests that have come. Without any, sleeps until one comes or shortly before the device's next
    /// event.
    fn receive(&mut self) -> io::Result<()> {
        let first = match self.inbox.take() {
            None => self.inbox.wait(self.served.asleep(CLIENT_WAIT))?,
            first => first,
        };
        let Some(first) = first else { return Ok(()) };
        self.begin(first);
        for _ in 1..REQUESTS {
            let Some(message) = self.inbox.take() else { break };
            self.begin(message);
        }
        Ok(())
    }

    fn begin(&mut self, message: Message) {
        let Message::Asking(asking) = message else {
            self.is_unmounted = true;
            return;
        };
        let Asking { action, offset_bytes, length_bytes, durable, reply } = asking;
        let cookie = self.commands;
        self.commands += 1;
        self.waiting.insert(cookie, reply);
        let command = Command { cookie, offset_bytes, length_bytes, durable, action };
        self.served.start(Tag { client: 0, cookie }, command);
    }
}

/// Replies to a request.
fn send(reply: Reply, end: Finished, unit_bytes: u64) {
    let Finished { offset_bytes, length_bytes, outcome, .. } = end;
    match (reply, outcome) {
        (Reply::Read(reply), Ok(Answer::Data(data))) => {
            let start = (offset_bytes % unit_bytes) as usize;
            reply.data(&data.as_slice()[start..][..length_bytes as usize]);
        }
        (Reply::Write(reply), Ok(_)) => reply.written(length_bytes as u32),
        (Reply::Empty(reply), Ok(_)) => reply.ok(),
        (Reply::Read(_), Ok(Answer::Done | Answer::Extents(_))) => unreachable!("a read returns data"),
        (Reply::Read(reply), Err((error, _))) => reply.error(number(error)),
        (Reply::Write(reply), Err((error, _))) => reply.error(number(error)),
        (Reply::Empty(reply), Err((error, _))) => reply.error(number(error)),
    }
}

fn number(error: crate::command::Error) -> Errno {
    Errno::from_i32(error.number() as i32)
}
