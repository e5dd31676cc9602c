//! Drives a plain list of accesses at a fixed depth, for probes and studies.

use crate::engine::{Client, Task, drive};
use crate::{Interruption, MeasureError};
use flashlane_base::{Duration, Instant};
use flashlane_device::{Completion, Device};
use flashlane_workload::Access;

/// Drives `accesses` in order with `depth` in flight, and passes each completion to `each` (its `submitted` includes
/// the wait for a full device). Returns the device time from the first submission to the last completion.
///
/// # Errors
/// [`MeasureError::Interrupted`] where a request is refused or fails, or the device stalls; earlier completions were
/// passed to `each`.
///
/// # Panics
/// If `depth` is zero.
pub fn closed_loop<D, I, F>(
    device: &mut D,
    accesses: I,
    depth: u32,
    each: F,
) -> Result<Duration, MeasureError>
where
    D: Device + ?Sized,
    I: IntoIterator<Item = Access>,
    F: FnMut(&Access, &Completion),
{
    watched_loop(device, accesses, depth, each, || false)
}

/// Like [`closed_loop`]; where `stopped` returns true, it ends with [`Interruption::Stopped`].
pub(crate) fn watched_loop<D, I, F, S>(
    device: &mut D,
    accesses: I,
    depth: u32,
    each: F,
    stopped: S,
) -> Result<Duration, MeasureError>
where
    D: Device + ?Sized,
    I: IntoIterator<Item = Access>,
    F: FnMut(&Access, &Completion),
    S: FnMut() -> bool,
{
    assert!(depth > 0, "a loop needs at least one request in flight");
    let started = device.now();
    let mut client = List { accesses: accesses.into_iter(), each, stopped, last: started };
    match drive(device, depth, &mut client).interruption {
        Some(interruption) => Err(Interruption::into(interruption)),
        None => Ok(client.last.since(started)),
    }
}

struct List<I, F, S> {
    accesses: I,
    each: F,
    stopped: S,
    last: Instant,
}

impl<D, I, F, S> Client<D> for List<I, F, S>
where
    D: ?Sized,
    I: Iterator<Item = Access>,
    F: FnMut(&Access, &Completion),
    S: FnMut() -> bool,
{
    #[inline]
    fn next(&mut self, _slot: u32, _device: &D) -> Option<Task> {
        self.accesses.next().map(Task::from)
    }

    #[inline]
    fn done(
        &mut self,
        _slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        _device: &D,
    ) -> Option<Duration> {
        self.last = self.last.max(completion.completed);
        (self.each)(access, &Completion { submitted: due, ..*completion });
        Some(Duration::ZERO)
    }

    fn stopped(&mut self) -> bool {
        (self.stopped)()
    }
}
