//! Periodic calls from a background thread.

use crate::thread::{STACK_BYTES, start_thread};
use flashlane_base::Duration;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time;

/// Calls a function at an interval, from its own thread, until dropped.
#[derive(Debug)]
pub struct Ticker {
    /// Closed to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `tick` every `interval` with the time since now; never, where no thread can be started.
    pub fn every(interval: Duration, mut tick: impl FnMut(Duration) + Send + 'static) -> Self {
        let (end, ended) = channel();
        let began = time::Instant::now();
        let interval = time::Duration::from_nanos(interval.as_ns());
        let run = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                tick(Duration::from_ns(began.elapsed().as_nanos() as u64));
            }
        };
        let thread = start_thread("ticker", STACK_BYTES, run).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the background work does not concern the program.
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_ends_the_calls() {
        let (called, calls) = channel();
        let ticker = Ticker::every(Duration::from_ms(1), move |since| _ = called.send(since));
        let (first, second) = (calls.recv().unwrap(), calls.recv().unwrap());
        assert!(Duration::ZERO < first && first < second);
        drop(ticker);
        // The thread has ended, and with it the sending side of the channel.
        while calls.try_recv().is_ok() {}
        assert_eq!(calls.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
    }
}
