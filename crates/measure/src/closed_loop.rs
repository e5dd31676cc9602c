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
pub fn closed_loop(
    device: &mut dyn Device,
    accesses: impl IntoIterator<Item = Access>,
    depth: u32,
    mut each: impl FnMut(&Access, &Completion),
) -> Result<Duration, MeasureError> {
    watched_loop(device, &mut accesses.into_iter(), depth, &mut each, &mut || false)
}

/// Like [`closed_loop`]; where `stopped` returns true, it ends with [`Interruption::Stopped`].
pub(crate) fn watched_loop(
    device: &mut dyn Device,
    accesses: &mut dyn Iterator<Item = Access>,
    depth: u32,
    each: &mut dyn FnMut(&Access, &Completion),
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Duration, MeasureError> {
    assert!(depth > 0, "a loop needs at least one request in flight");
    let started = device.now();
    let mut client = List { accesses, each, stopped, last: started };
    match drive(device, depth, &mut client).interruption {
        Some(interruption) => Err(Interruption::into(interruption)),
        None => Ok(client.last.since(started)),
    }
}

struct List<'a> {
    accesses: &'a mut dyn Iterator<Item = Access>,
    each: &'a mut dyn FnMut(&Access, &Completion),
    stopped: &'a mut dyn FnMut() -> bool,
    last: Instant,
}

impl Client for List<'_> {
    #[inline]
    fn next(&mut self, _slot: u32, _device: &dyn Device) -> Option<Task> {
        self.accesses.next().map(Task::from)
    }

    #[inline]
    fn done(
        &mut self,
        _slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        _device: &dyn Device,
    ) -> Option<Duration> {
        self.last = self.last.max(completion.completed);
        (self.each)(access, &Completion { submitted: due, ..*completion });
        Some(Duration::ZERO)
    }

    fn stopped(&mut self) -> bool {
        (self.stopped)()
    }
}
