//! Serves a mounted device: requests of the kernel in, replies out, in the device's time.
//!
//! Two threads: one of `fuser`, which waits for the kernel, and the one that serves. A request goes from the first to the second
//! through a queue, and its reply from the second to the kernel. The serving thread is woken only while it sleeps, so that under
//! load a request costs no wake-up.
//!
//! Invariant: `waiting` has the replies of the commands that are in progress, by their numbers.

use super::files::{Asking, Files, Reply, Sink};
use super::mount_point::MountPoint;
use crate::command::Command;
use crate::disk::{Answer, Finished};
use crate::engine::Options;
use crate::served::{CLIENT_WAIT, Served};
use crate::task::Tag;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_host::wait_for_sockets;
use fuser::{BackgroundSession, Config, Errno, MountOption, Session};
use mio::{Events, Poll, Token, Waker};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time;

/// Requests that are begun before the device works again.
const REQUESTS: usize = 256;
/// Time in which commands that were read are answered when the server ends.
const ANSWER: Duration = Duration::from_ms(100);

/// Why a device cannot be mounted.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} cannot be mounted on: {error}; FUSE requires /dev/fuse, and the right to mount or fusermount3 (Debian: fuse3)"
)]
pub struct MountError {
    path: String,
    error: io::Error,
}

/// How a mount ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmounted {
    /// Nothing used the file any longer.
    Unused,
    /// A loop device or a program still had the file open: its further requests fail.
    InUse,
}

enum Message {
    Asking(Asking),
    /// The file system was unmounted.
    End,
}

/// The queue of requests, and the bell of the thread that serves.
struct Bell {
    is_asleep: AtomicBool,
    waker: Waker,
}

struct Queue {
    messages: Sender<Message>,
    bell: Arc<Bell>,
}

impl Queue {
    fn push(&self, message: Message) {
        // The server may have ended: the reply is dropped, which is an error of the request.
        if self.messages.send(message).is_ok() && self.bell.is_asleep.swap(false, Ordering::SeqCst) {
            // It looks again soon in any case.
            _ = self.bell.waker.wake();
        }
    }
}

impl Sink for Queue {
    fn send(&self, asking: Asking) {
        self.push(Message::Asking(asking));
    }

    fn end(&self) {
        self.push(Message::End);
    }
}

/// A mounted device.
pub struct FuseServer<D> {
    served: Served<D>,
    mount_point: PathBuf,
    session: BackgroundSession,
    messages: Receiver<Message>,
    bell: Arc<Bell>,
    poll: Poll,
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
        let path = mount_point.path();
        let failed = |error| MountError { path: path.display().to_string(), error };
        // Before the thread of the session begins, which inherits it.
        flashlane_host::avoid_own_writeback();
        let served = Served::new(device, options);
        let poll = Poll::new().map_err(failed)?;
        let waker = Waker::new(poll.registry(), Token(0)).map_err(failed)?;
        let bell = Arc::new(Bell { is_asleep: AtomicBool::new(false), waker });
        let (sender, messages) = channel();
        let queue = Queue { messages: sender, bell: Arc::clone(&bell) };
        let export = served.export().clone();
        let mut config = Config::default();
        let access = if export.is_read_only { MountOption::RO } else { MountOption::RW };
        config.mount_options = vec![
            MountOption::FSName("flashlane".into()),
            MountOption::DefaultPermissions,
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::NoExec,
            access,
        ];
        let files = Files::new(export, options.data_bytes.is_some(), flashlane_host::user(), queue);
        let session = Session::new(files, path, &config).and_then(Session::spawn).map_err(failed)?;
        Ok(Self {
            served,
            mount_point: path.into(),
            session,
            messages,
            bell,
            poll,
            waiting: BTreeMap::new(),
            commands: 0,
            is_unmounted: false,
        })
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
        &self.mount_point
    }

    /// Serves until `go_on` returns false, which is asked at least every 50 ms, or until the file system is unmounted. Requests
    /// that were read by then are answered, if the device does them within 100 ms.
    ///
    /// # Errors
    /// The system's error where it cannot wait.
    pub fn run(&mut self, mut go_on: impl FnMut(&mut Served<D>) -> bool) -> io::Result<()> {
        flashlane_host::end_sleeps_on_time();
        let mut events = Events::with_capacity(8);
        while !self.is_unmounted && go_on(&mut self.served) {
            self.turn();
            self.receive(&mut events)?;
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
        let Self { mount_point, session, messages, waiting, is_unmounted, .. } = self;
        // Requests that come from now on fail at once, and so do those without an answer: nothing waits for this thread.
        drop((messages, waiting));
        if is_unmounted {
            // By another program. Dropping the session would unmount what is mounted there by now.
            std::mem::forget(session);
            return Ok(Unmounted::Unused);
        }
        match session.umount_and_join() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                flashlane_host::unmount_dead(&mount_point).map(|()| Unmounted::InUse)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Unmounted::Unused),
        }
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

    /// Begins the requests that have come. Without any, sleeps until one comes or shortly before the device's next event.
    fn receive(&mut self, events: &mut Events) -> io::Result<()> {
        if self.begin_some() {
            return Ok(());
        }
        let wait = self.served.asleep(CLIENT_WAIT);
        if wait.is_zero() {
            return Ok(());
        }
        self.bell.is_asleep.store(true, Ordering::SeqCst);
        // One that came before the bell was set rings no more.
        if !self.begin_some() {
            wait_for_sockets(&self.poll, wait)?;
            self.begin_some();
        }
        self.bell.is_asleep.store(false, Ordering::SeqCst);
        // Takes a ring of the bell, also a late one, so that it does not end the next sleep.
        match self.poll.poll(events, Some(time::Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Begins the requests that have come. Returns whether there were any.
    fn begin_some(&mut self) -> bool {
        let mut any = false;
        for message in self.messages.try_iter().take(REQUESTS) {
            any = true;
            let Message::Asking(asking) = message else {
                self.is_unmounted = true;
                continue;
            };
            let Asking { action, offset_bytes, length_bytes, durable, reply } = asking;
            let cookie = self.commands;
            self.commands += 1;
            self.waiting.insert(cookie, reply);
            let command = Command { cookie, offset_bytes, length_bytes, durable, action };
            self.served.start(Tag { client: 0, cookie }, command);
        }
        any
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
