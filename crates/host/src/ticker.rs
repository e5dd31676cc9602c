//! Work that is done again and again beside that of the program.

use flashlane_base::Duration;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time;

/// Calls a function at an interval, from a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Ticker {
    /// Closed to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `tick` with the time since now, every `interval`. Where the system gives no thread, it is never called.
    pub fn every(interval: Duration, mut tick: impl FnMut(Duration) + Send + 'static) -> Self {
        let (end, ended) = channel();
        let began = time::Instant::now();
        let interval = time::Duration::from_nanos(interval.as_ns());
        let run = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                tick(Duration::from_ns(began.elapsed().as_nanos() as u64));
            }
        };
        let thread = std::thread::Builder::new().name("ticker".into()).spawn(run).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // What it does is of no consequence for the program: neither is its panic.
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_a_ticker_ends_its_calls() {
        let (called, calls) = channel();
        let ticker = Ticker::every(Duration::from_ms(1), move |since| _ = called.send(since));
        let (first, second) = (calls.recv().unwrap(), calls.recv().unwrap());
        assert!(Duration::ZERO < first && first < second);
        drop(ticker);
        // The thread has ended, and its side of the channel with it.
        while calls.try_recv().is_ok() {}
        assert_eq!(calls.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
    }
}
