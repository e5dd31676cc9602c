//! The client of a replay: issues the trace's requests and records completions.

use super::backlog::{BUSY, Backlogs};
use super::fit::{Fit, LONGEST};
use super::options::{Pace, ReplayOptions};
use super::recording::{Finished, Recording};
use super::slowdown::Passage;
use super::timing::{Clock, Thinking, Turn};
use crate::RunOptions;
use crate::engine::{Client, Task};
use crate::options::{Progress, Watch};
use crate::recorder::time_split;
use flashlane_base::{Duration, Instant, Operation};
use flashlane_device::{Completion, Device, SubmitError};
use flashlane_trace::Record;
use flashlane_workload::Access;
use std::collections::VecDeque;

/// Requests read ahead from the trace, for [`Device::prefetch`]: at 100 ns per simulated request enough to hide a
/// memory access.
const AHEAD: usize = 4;

pub(super) struct Replayer<'r, 'a> {
    records: &'r mut dyn Iterator<Item = Record>,
    pub(super) fit: Fit,
    pub(super) clock: Clock,
    timing: Timing,
    ahead: VecDeque<Next>,
    slots: Vec<Slot>,
    in_flight: usize,
    /// When a slot last became free after all were in use.
    full_until: Instant,
    /// Requests that arrived while all slots were in use.
    pub(super) waited: u64,
    /// Of requests with time stamps.
    pub(super) backlogs: Backlogs,
    pub(super) passage: Passage,
    /// Whether the replay's own lateness is measured: on real devices, where requests have arrival times.
    lateness: bool,
    /// Whether the device records where the time of requests goes.
    time_splits: bool,
    pub(super) recording: Recording,
    watch: Option<Watch<'a>>,
}

/// When the next request arrives.
enum Timing {
    /// At its time stamp.
    Open { started: Instant },
    /// When a slot is free.
    Closed,
    /// A recorded pause after another one completed.
    Think(Box<Thinking>),
}

/// A request of the trace.
#[derive(Clone, Copy)]
struct Next {
    access: Access,
    durable: bool,
    /// Arrival on the recorded clock, since the first request.
    recorded_at: Duration,
    took: Option<Duration>,
    /// Position in the trace, from 1.
    number: u64,
}

/// State of a request in flight.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// When it could have been submitted.
    eligible: Instant,
    turn: Turn,
    took: Option<Duration>,
    /// Its position in the backlog, from 1.
    behind: u64,
    /// Its number among those with time stamps.
    passage: u64,
}

impl<'r, 'a> Replayer<'r, 'a> {
    pub(super) fn new(
        device: &dyn Device,
        records: &'r mut dyn Iterator<Item = Record>,
        how: &ReplayOptions,
        slots: u32,
        options: RunOptions<'a>,
    ) -> Self {
        let started = device.now();
        let (timing, speed) = match how.pace {
            Pace::Open { speed } => (Timing::Open { started }, speed),
            Pace::Closed { .. } => (Timing::Closed, 1.0),
            Pace::Think { speed } => (Timing::Think(Box::new(Thinking::new(started))), speed),
        };
        let mut replayer = Self {
            records,
            fit: Fit::new(device.info().clone(), how),
            clock: Clock::new(speed),
            lateness: !device.info().simulated && !matches!(timing, Timing::Closed),
            timing,
            ahead: VecDeque::with_capacity(AHEAD),
            slots: vec![Slot::default(); slots as usize],
            in_flight: 0,
            full_until: Instant::ZERO,
            waited: 0,
            backlogs: Backlogs::default(),
            passage: Passage::default(),
            recording: Recording::new(started, options.samples, how.seed.derive("samples").source()),
            watch: options.watch,
            time_splits: options.time_splits,
        };
        replayer.read_ahead(device);
        replayer.set_next();
        replayer
    }

    /// Reads requests from the trace until enough are ahead.
    #[inline]
    fn read_ahead(&mut self, device: &dyn Device) {
        while self.ahead.len() < AHEAD {
            let Some(record) = self.records.next() else { return };
            let recorded_at = self.clock.since_first(record.at);
            let Some(access) = self.fit.fit(&record) else { continue };
            let (number, after) = (self.fit.fitted.records, self.clock.scaled(recorded_at));
            if after > LONGEST && !matches!(self.timing, Timing::Closed) {
                self.fit.refuse(number, access, super::Unfitting::Late { after });
                continue;
            }
            if access.length_bytes > 0 {
                device.prefetch(access.offset_bytes, access.length_bytes);
            }
            let durable = record.durable && access.operation == Operation::Write;
            self.ahead.push_back(Next { access, durable, recorded_at, took: record.took, number });
        }
    }

    /// Passes the new next request to the timing.
    #[inline]
    fn set_next(&mut self) {
        if let (Timing::Think(thinking), Some(next)) = (&mut self.timing, self.ahead.front()) {
            thinking.set_next(next.recorded_at, &self.clock);
        }
    }

    #[inline]
    fn due(&self) -> Option<Instant> {
        let next = self.ahead.front()?;
        match &self.timing {
            Timing::Open { started } => Some(*started + self.clock.scaled(next.recorded_at)),
            Timing::Closed => None,
            Timing::Think(thinking) => thinking.arrival(),
        }
    }

    /// The request of `slot` has ended.
    #[inline]
    fn free_slot(&mut self, slot: u32, at: Instant) {
        if self.in_flight == self.slots.len() {
            self.full_until = at;
        }
        self.in_flight -= 1;
        if let Timing::Think(thinking) = &mut self.timing {
            thinking.completed(self.slots[slot as usize].turn, at);
        }
    }
}

impl Client for Replayer<'_, '_> {
    #[inline]
    fn arrival(&self) -> Option<Instant> {
        self.due()
    }

    #[inline]
    fn next(&mut self, slot: u32, device: &dyn Device) -> Option<Task> {
        let due = match self.timing {
            Timing::Closed => Instant::FAR,
            _ => self.due().filter(|due| *due <= device.now())?,
        };
        let Next { access, durable, recorded_at, took, number } = *self.ahead.front()?;
        let turn = (recorded_at + took.unwrap_or(Duration::ZERO), number);
        if let Timing::Think(thinking) = &mut self.timing {
            thinking.issued(turn);
            self.fit.fitted.untimed += u64::from(took.is_none());
        }
        let must_wait = due < self.full_until;
        let (behind, passage) = match self.timing {
            Timing::Open { started } => {
                let (arrived, is_behind) = (due.since(started), must_wait || self.in_flight > BUSY as usize);
                (self.backlogs.submitted(arrived, is_behind), self.passage.submitted(arrived))
            }
            _ => (0, 0),
        };
        self.slots[slot as usize] = Slot { eligible: due.max(self.full_until), turn, took, behind, passage };
        self.waited += u64::from(must_wait);
        self.in_flight += 1;
        self.ahead.pop_front();
        self.read_ahead(device);
        self.set_next();
        Some(Task { durable, due, ..access.into() })
    }

    #[inline]
    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        self.free_slot(slot, completion.completed);
        let Slot { eligible, took, behind, passage, .. } = self.slots[slot as usize];
        if let Timing::Open { started } = self.timing {
            self.passage.completed(passage, completion.completed.since(started));
        }
        if behind > 0 {
            let arrived = due.since(self.recording.started);
            self.backlogs.completed(behind, arrived, completion.completed.since(due));
        }
        let eligible = self.lateness.then_some(eligible);
        let split = if self.time_splits { time_split(device, completion, due) } else { None };
        self.recording.record(&Finished { access, due, completion, eligible, took, split });
        Some(Duration::ZERO)
    }

    fn refused(&mut self, slot: u32, access: &Access, error: SubmitError, device: &dyn Device) -> bool {
        // Other errors are not caused by this request alone.
        let leave_out = matches!(
            error,
            SubmitError::Unsupported { .. } | SubmitError::Rule { .. } | SubmitError::TooLong { .. }
        );
        if leave_out {
            let (_, number) = self.slots[slot as usize].turn;
            self.fit.refuse(number, *access, error.into());
            self.free_slot(slot, device.now());
        }
        leave_out
    }

    fn stopped(&mut self) -> bool {
        let Recording { requests, flushes, last, started, .. } = self.recording;
        let progress =
            Progress { requests: requests + flushes, elapsed: last.since(started), ..Progress::default() };
        self.watch.as_mut().is_some_and(|watch| watch(&progress).is_break())
    }
}
