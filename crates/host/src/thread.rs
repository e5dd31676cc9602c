//! Starting threads where memory may be short.

use crate::has_address_space;
use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

/// Default stack of a thread: that of the standard library.
pub(crate) const STACK_BYTES: usize = 2 << 20;
/// Address space that a thread takes beside its stack until its body runs. Without it the runtime ends the program.
const BEGINNING_BYTES: usize = 4 << 20;

/// Starts a thread, and returns when its body runs. Until then nothing else of this thread takes memory.
///
/// # Errors
/// The operating system's, and [`io::ErrorKind::OutOfMemory`] where there is no address space for its beginning.
pub(crate) fn start_thread<T: Send + 'static>(
    name: impl Into<String>,
    stack_bytes: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if !has_address_space((stack_bytes + BEGINNING_BYTES) as u64) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let (begun, begins) = mpsc::channel();
    let thread = Builder::new().name(name.into()).stack_size(stack_bytes).spawn(move || {
        _ = begun.send(());
        // The receiver is not kept for as long as the body runs.
        drop(begun);
        body()
    })?;
    // The thread cannot end before it has sent.
    _ = begins.recv();
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_runs_in_a_thread_of_this_name() {
        let name = || std::thread::current().name().map(str::to_owned);
        let thread = start_thread("worker", STACK_BYTES, name).unwrap();
        assert_eq!(thread.join().unwrap().as_deref(), Some("worker"));
    }

    #[test]
    fn thread_without_address_space_is_refused() {
        let refused = start_thread("large", isize::MAX as usize / 2, || ()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
    }
}
