//! A served device: commands in, their ends out, with counts, whatever protocol the commands come by.
//!
//! A server starts commands, lets the device work until [`work_until`](Served::work_until), takes the commands that
//! ended and replies to them, and sleeps for [`asleep`](Served::asleep). So every server keeps the device's time in the
//! same way.

use crate::activity::Activity;
use crate::command::{Asked, Command, Export};
use crate::disk::{Disk, Finished};
use crate::options::Options;
use crate::stats::Stats;
use crate::task::Tag;
use flashlane_base::{Duration, Histogram, Instant};
use flashlane_device::{Counters, DataDevice, DeviceInfo};
use flashlane_host::Clock;

/// Longest wait for a real device before clients are looked at.
const DEVICE_WAIT: Duration = Duration::from_us(50);
/// Longest wait for clients before the end of the server is looked for, and an idle simulation advanced.
pub(crate) const CLIENT_WAIT: Duration = Duration::from_ms(50);

/// A command with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The command.
    pub asked: Asked,
    /// From the device's end of it until the reply was handed out.
    pub late: Duration,
}

/// A device that is served.
pub struct Served<D> {
    disk: Disk<D>,
    export: Export,
    total: Stats,
    recent: Stats,
    activity: Activity,
    /// Commands that succeeded, in the order of their ends, where they are kept.
    asked: Option<Vec<Asked>>,
    /// Commands that succeeded, in the order of their replies, and how many to keep.
    replied: Vec<Replied>,
    replied_max: usize,
}

impl<D: DataDevice> Served<D> {
    /// Serves a device without erase units, and with one lane.
    pub(crate) fn new(device: D, options: &Options) -> Self {
        let info = device.info();
        assert!(info.erase_unit_bytes == 0 && info.lanes == 1, "a served device takes writes anywhere");
        let export = export_of(info, options);
        Self {
            disk: Disk::new(device, export.clone(), options.data_bytes),
            export,
            total: Stats::new(Histogram::new),
            recent: Stats::new(Histogram::coarse),
            activity: Activity::default(),
            asked: None,
            replied: Vec::new(),
            replied_max: 0,
        }
    }

    /// Keeps commands that succeed from now on, until they are taken.
    pub fn keep_asked(&mut self) {
        self.asked.get_or_insert_default();
    }

    /// Takes the kept commands, in the order in which they ended.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        self.asked.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps the first `most` commands that succeed, each once its reply was handed out.
    pub fn keep_replied(&mut self, most: usize) {
        self.replied_max = most;
    }

    /// Takes the kept commands, in the order of their replies.
    pub fn take_replied(&mut self) -> Vec<Replied> {
        self.replied_max = 0;
        std::mem::take(&mut self.replied)
    }

    /// Returns when the oldest command in progress was read; `None` without any. Commands that end later were not read
    /// before.
    pub fn oldest(&self) -> Option<Instant> {
        self.disk.oldest()
    }

    /// Returns the export.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Returns what the device reports of itself.
    pub fn info(&self) -> &DeviceInfo {
        self.disk.device().info()
    }

    /// Returns the time of the device.
    pub fn now(&self) -> Instant {
        self.disk.device().now()
    }

    /// Returns the counters of the device.
    pub fn counters(&self) -> Counters {
        self.disk.device().counters()
    }

    /// Returns the memory of the data of a simulated device.
    pub fn held_bytes(&self) -> Option<u64> {
        self.disk.held_bytes()
    }

    /// Returns the counts since the start.
    pub fn total(&self) -> &Stats {
        &self.total
    }

    /// Returns when commands were in progress.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns the counts since the last call.
    pub fn take_recent(&mut self) -> Stats {
        std::mem::replace(&mut self.recent, Stats::new(Histogram::coarse))
    }

    /// Returns whether commands are in progress.
    pub fn is_busy(&self) -> bool {
        self.disk.is_busy()
    }

    /// Begins a command. Its end comes from [`take_ended`](Self::take_ended).
    pub(crate) fn start(&mut self, tag: Tag, command: Command) {
        self.activity.begin(self.now());
        self.disk.start(tag, command);
    }

    /// Lets the device work until a request completes, or until `until`.
    pub(crate) fn work(&mut self, until: Instant) {
        self.disk.reap(until);
    }

    /// Returns until when to let the device work: as far as it is, or where it does not know its next event, until
    /// something completes or clients have to be looked at.
    pub(crate) fn work_until(&self) -> Instant {
        let now = self.now();
        match self.next_event() {
            None if self.is_busy() => now + DEVICE_WAIT,
            _ => now,
        }
    }

    /// Returns how long to sleep before the device has work, at most `longest`; zero to look again at once.
    pub(crate) fn asleep(&self, longest: Duration) -> Duration {
        let until_event = match self.next_event() {
            Some(event) => event.since(self.now()),
            None if self.is_busy() => Duration::ZERO,
            None => longest,
        };
        // The end of a sleep is late by some microseconds.
        until_event.saturating_sub(Clock::SPIN).min(longest)
    }

    fn next_event(&self) -> Option<Instant> {
        self.disk.device().next_event()
    }

    /// Takes the commands that have ended, and counts them.
    pub(crate) fn take_ended(&mut self) -> Vec<Finished> {
        let ended = self.disk.take_finished();
        if let Some(last) = ended.iter().map(|end| end.due).max() {
            self.activity.end(last, self.disk.is_busy());
        }
        for end in &ended {
            let Some(operation) = end.operation else { continue };
            let done = end.asked();
            let took = done.map(|asked| asked.took);
            self.total.count(operation, end.length_bytes, took);
            self.recent.count(operation, end.length_bytes, took);
            if let (Some(asked), Some(done)) = (&mut self.asked, done) {
                asked.push(done);
            }
        }
        ended
    }

    /// Takes the memory of a list back, which is empty.
    pub(crate) fn give_back(&mut self, ended: Vec<Finished>) {
        self.disk.give_back(ended);
    }

    /// Counts the lateness of the reply to a command, which was handed out now.
    pub(crate) fn count_reply(&mut self, asked: Asked) {
        let late = self.now().since(asked.at + asked.took);
        self.total.lateness.record(late);
        self.recent.lateness.record(late);
        if self.replied.len() < self.replied_max {
            self.replied.push(Replied { asked, late });
        }
    }

    /// Cuts the power of the device.
    #[cfg(test)]
    pub(crate) fn cut_power(&mut self) {
        self.disk.cut_power();
    }
}

/// Returns what clients see of a device.
fn export_of(info: &DeviceInfo, options: &Options) -> Export {
    let (read, write) = (info.read_unit_bytes, info.write_unit_bytes);
    // Both are powers of two on nearly every device.
    let unit_bytes = if write.is_multiple_of(read) { write } else { read * write };
    Export {
        size_bytes: info.capacity_bytes / unit_bytes * unit_bytes,
        unit_bytes,
        is_read_only: info.read_only || options.read_only,
        description: options.description.clone(),
    }
}
