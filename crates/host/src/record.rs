//! Records the requests of a block device through tracefs, with the kernel's block tracer and no other program.
//!
//! A recording changes tracing settings of the whole machine and restores them at the end, unless it is ended by
//! SIGKILL; the next recording then restores what it can determine. The events of each processor are kept in unnamed
//! files in the trace's folder and merged afterwards, to keep the overhead low: a request costs two records of 48
//! bytes.
//!
//! | module | holds |
//! | --- | --- |
//! | `traced`, `tracefs` | the device and the tracing folder: refusals, and the start of tracing |
//! | `in_use` | whether tracing is already in use, and the commands that end it |
//! | `settings` | the changed settings, and their restoration |
//! | `spool`, `merged` | the processors' streams, spooled and merged |
//! | `child` | the program run during the recording |
//! | `postgres` | the other recorder: page accesses of a PostgreSQL, by transaction |

mod child;
mod error;
mod in_use;
mod merged;
mod postgres;
mod settings;
mod spool;
mod traced;
mod tracefs;
mod undo;

pub use error::RecordError;
pub use merged::Events;
pub use postgres::{
    Accessed, Database, PageAccess, PageCounts, PageName, PageTransaction, PageTransactions, PagesRecorded,
    PostgresError, PostgresRecorder, Relation,
};
pub use undo::Undo;

use crate::clock::Clock;
use crate::interrupt::{Uninterruptible, interrupted};
use child::Child;
use flashlane_base::{Duration, Instant};
use spool::Spool;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;
use std::{thread, time};
use traced::Traced;
use tracefs::Tracefs;

/// Mount point of sysfs.
const SYS: &str = "/sys";
/// Interval between polls of idle streams.
const PAUSE: time::Duration = time::Duration::from_millis(5);

/// When a recording ends. SIGINT, SIGTERM and SIGHUP (after [`crate::catch_interrupts`]) always end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// At a signal only.
    Interrupted,
    /// After this time.
    Elapsed(Duration),
    /// When this program, given with its arguments, has exited. Run `sync` in it to include its last writes.
    Exited(Vec<OsString>),
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A stopping signal came.
    Interrupted,
    /// The time elapsed.
    Elapsed,
    /// The program exited.
    Exited(ExitStatus),
}

/// The result of a recording.
#[derive(Debug)]
pub struct Recorded {
    /// The events, which read as one binary blktrace file.
    pub events: Events,
    /// Events lost because the kernel's buffers were full.
    pub lost_events: u64,
    /// Duration of the recording.
    pub took: Duration,
    /// What ended it.
    pub ended: Ended,
    /// Whether the spool files were on the recorded device, so that their writes were recorded too.
    pub records_itself: bool,
}

/// A traceable block device, with the tracer's folder.
#[derive(Debug)]
pub struct Recorder {
    tracefs: Tracefs,
    traced: Traced,
}

impl Recorder {
    /// Finds the block device at `device`. For a partition, only its own requests are recorded, with addresses on the
    /// whole drive.
    ///
    /// # Errors
    /// The path is not a block device, or tracing is not available.
    pub fn find(device: &Path) -> Result<Self, RecordError> {
        let traced = Traced::find(device, Path::new(SYS))?;
        let tracefs = Tracefs::mounted()?;
        tracefs.check()?;
        traced.check()?;
        Ok(Self { tracefs, traced })
    }

    /// Records the device's requests until `until`. Unnamed files in `folder` hold the events: about a hundred bytes a
    /// request.
    ///
    /// # Errors
    /// Tracing is in use, the program cannot be started, or the operating system reports an error. Changed settings are
    /// restored.
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
    // A signal must not prevent the restoration of the kernel's settings.
    let _whole = Uninterruptible::begin();
    let settings = tracefs.start(traced)?;
    let mut spool = Spool::open(tracefs, folder)?;
    let mut ending = Ending::begin(until)?;
    let ended = loop {
        let quiet = spool.pump()? == 0;
        if let Some(ended) = ending.reached()? {
            break ended;
        }
        if quiet {
            thread::sleep(PAUSE);
        }
    };
    let took = ending.elapsed();
    settings::write(&traced.enable(), "0")?;
    while spool.pump()? > 0 {}
    let lost_events = spool.lost()?;
    // The tracer cannot be changed while its pipes are open.
    let kept = spool.into_files();
    settings.restore()?;
    // Only now, because the child may take long to end, and a second Ctrl-C then must not leave tracing on.
    drop(ending);
    let keep = |e| RecordError::os(folder, "read back what was kept in", e);
    let events = kept.and_then(Events::join).map_err(keep)?;
    Ok(Recorded { events, lost_events, took, ended, records_itself: traced.holds(folder) })
}

/// The end of a recording in progress.
#[derive(Debug)]
struct Ending<'a> {
    until: &'a Until,
    clock: Clock,
    child: Option<Child>,
}

impl<'a> Ending<'a> {
    /// Starts the clock, and the program if there is one.
    fn begin(until: &'a Until) -> Result<Self, RecordError> {
        let clock = Clock::start();
        let child = match until {
            Until::Exited(command) => Some(Child::start(command)?),
            _ => None,
        };
        Ok(Self { until, clock, child })
    }

    fn reached(&mut self) -> Result<Option<Ended>, RecordError> {
        if interrupted() {
            return Ok(Some(Ended::Interrupted));
        }
        if matches!(self.until, Until::Elapsed(time) if self.elapsed() >= *time) {
            return Ok(Some(Ended::Elapsed));
        }
        let Some(child) = &mut self.child else { return Ok(None) };
        Ok(child.ended()?.map(Ended::Exited))
    }

    fn elapsed(&self) -> Duration {
        self.clock.now().since(Instant::ZERO)
    }
}

#[cfg(test)]
mod tests;
