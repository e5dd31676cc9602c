//! A queue from the thread of `fuser`, which waits for the kernel, to the thread that serves. The latter is woken only
//! while it sleeps, so that under load a message costs no wake-up.

use flashlane_base::Duration;
use flashlane_host::wait_for_sockets;
use mio::{Events, Poll, Token, Waker};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, channel};
use std::time;

/// What wakes the thread that serves.
struct Bell {
    is_asleep: AtomicBool,
    waker: Waker,
}

/// The end of the queue where messages are sent.
pub struct Outbox<M> {
    messages: mpsc::Sender<M>,
    bell: Arc<Bell>,
}

impl<M> Outbox<M> {
    /// Sends a message. It is dropped where nothing serves any more.
    pub fn send(&self, message: M) {
        if self.messages.send(message).is_ok() && self.bell.is_asleep.swap(false, Ordering::SeqCst) {
            // It looks again soon in any case.
            _ = self.bell.waker.wake();
        }
    }
}

/// The end of the queue where messages are taken. Those that are left when it is dropped are dropped too.
pub struct Inbox<M> {
    messages: Receiver<M>,
    bell: Arc<Bell>,
    poll: Poll,
    events: Events,
}

impl<M> Inbox<M> {
    /// Makes a queue.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<(Outbox<M>, Self)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Token(0))?;
        let bell = Arc::new(Bell { is_asleep: AtomicBool::new(false), waker });
        let (sender, messages) = channel();
        let outbox = Outbox { messages: sender, bell: Arc::clone(&bell) };
        Ok((outbox, Self { messages, bell, poll, events: Events::with_capacity(8) }))
    }

    /// Returns the next message, if one has come.
    pub fn take(&self) -> Option<M> {
        self.messages.try_recv().ok()
    }

    /// Returns the next message, for which it sleeps for at most `longest`.
    ///
    /// # Errors
    /// The system's error where it cannot wait.
    pub fn wait(&mut self, longest: Duration) -> io::Result<Option<M>> {
        if longest.is_zero() {
            return Ok(self.take());
        }
        self.bell.is_asleep.store(true, Ordering::SeqCst);
        // For one that came before the bell was set it does not ring.
        let mut message = self.take();
        if message.is_none() {
            wait_for_sockets(&self.poll, longest)?;
            message = self.take();
        }
        self.bell.is_asleep.store(false, Ordering::SeqCst);
        // Takes a ring of the bell, also a late one, so that it does not end the next sleep.
        match self.poll.poll(&mut self.events, Some(time::Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(message),
        }
    }
}
