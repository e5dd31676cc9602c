//! Recording what a block device is asked: through tracefs, with the kernel's own block tracer and no other program.
//!
//! The tracing settings of the whole machine are borrowed for it and put back at the end, however it ends short of
//! SIGKILL; what one that was killed has left is put back by the next, as far as it can be known. What comes from each
//! processor is kept in files without names beside the trace and joined afterwards, so that the recording itself does
//! as little as it can; it costs two records of 48 bytes a request.
//!
//! | module | holds |
//! | --- | --- |
//! | `traced`, `tracefs` | the device and the tracing folder: what is refused, how tracing starts |
//! | `in_use` | whether somebody traces already, and what ends that |
//! | `settings` | what was changed, and that it is put back |
//! | `spool`, `merged` | the processors' streams, kept and joined |
//! | `child` | the program that is run meanwhile |

mod child;
mod error;
mod in_use;
mod merged;
mod settings;
mod spool;
mod traced;
mod tracefs;
mod undo;

pub use error::RecordError;
pub use merged::Events;
pub use undo::Undo;

use crate::clock::Clock;
use crate::interrupt::{Uninterruptible, interrupted};
use child::Child;
use flashlane_base::{Duration, Instant};
use spool::Spool;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;
use std::{fs, thread, time};
use traced::Traced;
use tracefs::Tracefs;

/// Where sysfs is.
const SYS: &str = "/sys";
/// Between two looks at streams that had nothing.
const PAUSE: time::Duration = time::Duration::from_millis(5);

/// When a recording ends. SIGINT, SIGTERM and SIGHUP (once [`crate::catch_interrupts`] was called) end any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// At a signal only.
    Interrupted,
    /// After this time.
    Elapsed(Duration),
    /// When this program, started with these arguments, has ended. Its last writes may come later: `sync` in it.
    Exited(Vec<OsString>),
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By such a signal.
    Interrupted,
    /// The time was over.
    Elapsed,
    /// The program ended.
    Exited(ExitStatus),
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The events, to be read as one binary blktrace file.
    pub events: Events,
    /// Events that the kernel had no room for.
    pub lost_events: u64,
    /// For how long.
    pub took: Duration,
    /// What ended it.
    pub ended: Ended,
    /// Whether what was kept lay on the device itself, so that keeping it was recorded, too.
    pub records_itself: bool,
}

/// A block device that can be traced, with what traces it.
#[derive(Debug)]
pub struct Recorder {
    tracefs: Tracefs,
    traced: Traced,
}

impl Recorder {
    /// Finds the block device at `device`. Of a partition its own requests are recorded, with the whole drive's
    /// addresses.
    ///
    /// # Errors
    /// Where it is no block device, or tracing is not to be had.
    pub fn find(device: &Path) -> Result<Self, RecordError> {
        let traced = Traced::find(device, Path::new(SYS))?;
        let mounts = Path::new("/proc/self/mountinfo");
        let mounts = fs::read_to_string(mounts).map_err(|e| RecordError::os(mounts, "read", e))?;
        let tracefs = Tracefs::find(&mounts)?;
        tracefs.check()?;
        traced.check()?;
        Ok(Self { tracefs, traced })
    }

    /// Records what it is asked, until `until`. Files without names in `folder` keep it: some hundred bytes a request.
    ///
    /// # Errors
    /// Where tracing is in use, the program cannot be started, or the operating system refuses a step. Settings that
    /// were changed by then are put back.
    pub fn record(&self, until: &Until, folder: &Path) -> Result<Recorded, RecordError> {
        in_use::check(&self.tracefs, Path::new(SYS))?;
        record_with(&self.tracefs, &self.traced, until, folder)
    }
}

fn record_with(
    tracefs: &Tracefs,
    traced: &Traced,
    until: &Until,
    folder: &Path,
) -> Result<Recorded, RecordError> {
    // The kernel's settings are put back, whenever a signal comes.
    let _whole = Uninterruptible::begin();
    let settings = tracefs.start(traced)?;
    let mut spool = Spool::open(tracefs, folder)?;
    let clock = Clock::start();
    let mut child = match until {
        Until::Exited(command) => Some(Child::start(command)?),
        _ => None,
    };
    let ended = loop {
        let quiet = spool.pump()? == 0;
        if interrupted() {
            break Ended::Interrupted;
        }
        if let Until::Elapsed(time) = until
            && clock.now() >= Instant::ZERO + *time
        {
            break Ended::Elapsed;
        }
        if let Some(child) = &mut child
            && let Some(status) = child.ended().map_err(|e| RecordError::os(folder, "wait beside", e))?
        {
            break Ended::Exited(status);
        }
        if quiet {
            thread::sleep(PAUSE);
        }
    };
    let took = clock.now().since(Instant::ZERO);
    settings::write(&traced.enable(), "0")?;
    while spool.pump()? > 0 {}
    let lost_events = spool.lost()?;
    // The tracer cannot be changed while its pipes are open.
    let kept = spool.into_files();
    settings.restore()?;
    // Only now: it may take its time to end, and a second Ctrl-C may not find tracing still on.
    drop(child);
    let keep = |e| RecordError::os(folder, "read back what was kept in", e);
    let events = kept.and_then(Events::join).map_err(keep)?;
    Ok(Recorded { events, lost_events, took, ended, records_itself: traced.holds(folder) })
}

#[cfg(test)]
mod tests;
