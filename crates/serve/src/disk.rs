//! Commands of any offset and length, as requests to a device.
//!
//! A command is a task with at most one request at the device (`task`).
//!
//! Two tasks over the same units of which one reads and then writes them, or trims them, run one after the other, in
//! the order of their starts. Other tasks run at the same time; the protocol promises no order, and a flush covers what
//! was replied to.
//!
//! Invariants: `in_flight` tasks have a request at the device; those in `ready` wait for room in its queue, those in
//! `blocked` for another task; `exclusive` is the number of tasks that others must wait for, blocked ones included.

use crate::command::{Action, Asked, Command, Error, Export, Extent};
use crate::task::{Next, Step, Tag, Task, data_bytes};
use crate::written::{Reserved, Written};
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Operation, SubmitError};
use std::collections::VecDeque;

/// Extents of a status; a client asks again for the rest.
const EXTENTS_MAX: usize = 1024;

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    pub tag: Tag,
    /// Operation for statistics; `None` for a status, which does not reach the device.
    pub operation: Option<Operation>,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Memory that its data took.
    pub data_bytes: usize,
    /// It had to be durable when it ended.
    pub durable: bool,
    /// When the command was read.
    pub arrived: Instant,
    /// When the device had done it.
    pub due: Instant,
    pub outcome: Result<Answer, (Error, String)>,
}

impl Finished {
    /// Returns the command, if it succeeded and reached the device.
    pub fn asked(&self) -> Option<Asked> {
        let Self { offset_bytes, length_bytes, durable, arrived: at, due, .. } = *self;
        let operation = self.operation.filter(|_| self.outcome.is_ok())?;
        Some(Asked { at, took: due.since(at), operation, offset_bytes, length_bytes, durable })
    }
}

/// What a command returns.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    /// The whole units that contain the range.
    Data(Buffer),
    Extents(Vec<Extent>),
}

/// A device that takes commands.
pub(crate) struct Disk<D> {
    device: D,
    export: Export,
    /// Trims read as zeros.
    trims_zero: bool,
    /// `None` for devices whose data is not in memory.
    written: Option<Written>,
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
    in_flight: u32,
    ready: VecDeque<usize>,
    blocked: VecDeque<usize>,
    exclusive: usize,
    finished: Vec<Finished>,
    completions: Vec<Completion>,
}

impl<D: DataDevice> Disk<D> {
    /// `memory_bytes` is the memory for the data of a device that begins as zeros and reads as zeros what is trimmed;
    /// `None` for any other device.
    pub fn new(device: D, export: Export, memory_bytes: Option<u64>) -> Self {
        let written = memory_bytes.map(|bytes| Written::new(export.size_bytes, export.unit_bytes, bytes));
        Self {
            device,
            export,
            trims_zero: written.is_some(),
            written,
            tasks: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            ready: VecDeque::new(),
            blocked: VecDeque::new(),
            exclusive: 0,
            finished: Vec::new(),
            completions: Vec::new(),
        }
    }

    pub fn device(&self) -> &D {
        &self.device
    }

    /// Cuts the power of the device.
    #[cfg(test)]
    pub fn cut_power(&mut self) {
        flashlane_device_testing::cycle_power(&mut self.device);
    }

    /// Returns the memory of the data, where it is in memory.
    pub fn held_bytes(&self) -> Option<u64> {
        self.written.as_ref().map(Written::held_bytes)
    }

    /// Returns when the oldest command in progress was read.
    pub fn oldest(&self) -> Option<Instant> {
        self.tasks.iter().flatten().map(|task| task.arrived).min()
    }

    /// Returns whether commands are in progress.
    pub fn is_busy(&self) -> bool {
        self.free.len() < self.tasks.len()
    }

    /// Begins a command. Its end comes from [`take_finished`](Self::take_finished).
    pub fn start(&mut self, tag: Tag, command: Command) {
        let arrived = self.device.now();
        let data_bytes =
            data_bytes(&self.export, &command.action, command.offset_bytes, command.length_bytes);
        let mut task = Task::new(tag, command, data_bytes, arrived);
        let (offset_bytes, length_bytes) = (task.offset_bytes, task.length_bytes);
        let refused = self.refuses(&mut task.action, offset_bytes, length_bytes);
        task.is_exclusive = self.is_exclusive(&task.action, offset_bytes, length_bytes);
        if let Some(error) = refused {
            return self.finish(task, arrived, Err(error));
        }
        let must_wait = self.must_wait(&task, self.blocked.len());
        self.exclusive += usize::from(task.is_exclusive);
        let id = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        self.tasks[id] = Some(task);
        match must_wait {
            true => self.blocked.push_back(id),
            false => self.begin(id),
        }
    }

    /// Decides how zeros are written. Returns why a command is refused.
    fn refuses(&self, action: &mut Action, offset_bytes: u64, length_bytes: u64) -> Option<(Error, String)> {
        let Action::Zero { may_trim, is_fast } = action else { return None };
        *may_trim &= self.trims_zero;
        // Units at the ends that are not whole are read and written.
        let is_whole = self.export.whole_units(offset_bytes, length_bytes) == (offset_bytes, length_bytes);
        (*is_fast && !(*may_trim && is_whole)).then(not_faster)
    }

    /// Begins a task that waits for no other. Reserves the memory for a write only now: a trim that it waited for frees
    /// it.
    fn begin(&mut self, id: usize) {
        let (task, now) = (self.tasks[id].as_mut().expect("it begins"), self.device.now());
        if let Some(written) = &mut self.written {
            let (first, whole_bytes) = self.export.whole_units(task.offset_bytes, task.length_bytes);
            let reserved = match &task.action {
                Action::Write(data) => written.reserve(first, whole_bytes, Some(data.as_slice())),
                Action::Zero { may_trim: false, .. } => written.reserve(first, whole_bytes, None),
                _ => Some(Reserved::default()),
            };
            match reserved {
                Some(reserved) => task.reserved = reserved,
                None => {
                    let error = (Error::NoSpace, "the memory for the data of the drive is full".into());
                    return self.end(id, now, Err(error));
                }
            }
        }
        self.go_on(id, now);
    }

    /// Returns whether no other task may change the same units at the same time.
    fn is_exclusive(&self, action: &Action, offset_bytes: u64, length_bytes: u64) -> bool {
        let is_aligned = self.export.whole_units(offset_bytes, length_bytes) == (offset_bytes, length_bytes);
        match *action {
            Action::Trim | Action::Zero { may_trim: true, .. } => true,
            Action::Zero { .. } | Action::Write(_) => !is_aligned,
            Action::Read | Action::Flush | Action::Status { .. } => false,
        }
    }

    /// Returns whether a task has to wait for one that runs, or for one of the first `before` blocked ones.
    fn must_wait(&self, task: &Task, before: usize) -> bool {
        if !task.changes() || self.exclusive == 0 && !task.is_exclusive {
            return false;
        }
        let (first, length) = self.export.whole_units(task.offset_bytes, task.length_bytes);
        let overlaps = |other: &Task| {
            let (from, bytes) = self.export.whole_units(other.offset_bytes, other.length_bytes);
            from < first + length && first < from + bytes
        };
        self.tasks.iter().enumerate().any(|(id, other)| {
            let Some(other) = other else { return false };
            other.changes()
                && (task.is_exclusive || other.is_exclusive)
                && overlaps(other)
                && !self.blocked.iter().skip(before).any(|&blocked| blocked == id)
        })
    }

    /// Lets the device work until a request completes, or until `until`, and begins what waits for it.
    pub fn reap(&mut self, until: Instant) {
        let mut completions = std::mem::take(&mut self.completions);
        self.device.reap(until, &mut completions);
        for completion in completions.drain(..) {
            self.in_flight -= 1;
            self.completed(&completion);
        }
        self.completions = completions;
        // Each once: the device may still be full.
        for _ in 0..self.ready.len() {
            if self.in_flight >= self.device.info().depth {
                break;
            }
            let Some(id) = self.ready.pop_front() else { break };
            self.go_on(id, self.device.now());
        }
    }

    /// Takes the commands that have ended.
    pub fn take_finished(&mut self) -> Vec<Finished> {
        std::mem::take(&mut self.finished)
    }

    /// Takes the memory of a list back, which is empty.
    pub fn give_back(&mut self, finished: Vec<Finished>) {
        debug_assert!(finished.is_empty());
        if self.finished.is_empty() {
            self.finished = finished;
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let id = completion.id.0 as usize;
        let buffer = self.device.take_buffer(completion.id);
        let task = self.tasks[id].as_mut().expect("a task with a request runs");
        if let Err(failure) = completion.outcome {
            if let (Step::Write(piece), Some(written)) = (&task.step, &mut self.written)
                && piece.edges.is_empty()
            {
                // A write that fails may have written anything; one whose units could not be read has not begun.
                written.mark(piece.whole.0, piece.whole.1);
            }
            let outcome = Err((error_of(failure), failure.to_string()));
            return self.end(id, completion.completed, outcome);
        }
        match &mut task.step {
            Step::Next => unreachable!("it has a request"),
            Step::Read => {
                let data = buffer.expect("a read returns its buffer");
                return self.end(id, completion.completed, Ok(Answer::Data(data)));
            }
            Step::Write(piece) => match piece.edges.pop() {
                Some(edge) => piece.fill(edge, buffer.expect("a read returns its buffer").as_slice()),
                None => {
                    if let Some(written) = &mut self.written {
                        // Zeros that may not be trimmed reserve room for later writes.
                        let wants_room = matches!(task.action, Action::Zero { may_trim: false, .. });
                        match buffer.filter(|_| !wants_room) {
                            Some(data) => written.store(piece.whole.0, data.as_slice()),
                            None => written.mark(piece.whole.0, piece.whole.1),
                        }
                    }
                    task.piece_written();
                }
            },
            Step::Trim { .. } => {
                let (first, length) = task.trimmed();
                if let Some(written) = &mut self.written {
                    written.clear(first, length);
                }
            }
            Step::Flush => task.flushed(),
        }
        self.go_on(id, completion.completed);
    }

    /// Submits the next request of a task, or ends it. `now` is when its last request was done.
    fn go_on(&mut self, id: usize, now: Instant) {
        if self.in_flight >= self.device.info().depth {
            return self.ready.push_back(id);
        }
        loop {
            let mut task = self.tasks[id].take().expect("it runs");
            let submitted = match task.next_request(&self.export, id as u64) {
                Next::End => {
                    let answer = self.answer(&task);
                    self.tasks[id] = Some(task);
                    return self.end(id, now, Ok(answer));
                }
                Next::Request(request, None) => self.device.submit(request),
                Next::Request(request, Some(buffer)) => {
                    self.device.submit_with(request, buffer).map_err(|(error, buffer)| {
                        if let (Step::Write(piece), Operation::Write) = (&mut task.step, request.operation) {
                            piece.data = buffer;
                        }
                        error
                    })
                }
            };
            let is_trim = matches!(task.step, Step::Trim { .. });
            match submitted {
                Ok(()) => self.in_flight += 1,
                Err(SubmitError::Full { .. }) => self.ready.push_back(id),
                Err(SubmitError::Unsupported { .. }) if is_trim => {
                    let goes_on = task.go_on_without_trims();
                    self.tasks[id] = Some(task);
                    if !goes_on {
                        return self.end(id, now, Err(not_faster()));
                    }
                    continue;
                }
                Err(error) => {
                    self.tasks[id] = Some(task);
                    let kind = match error {
                        SubmitError::ReadOnly { .. } => Error::Permission,
                        SubmitError::TooLong { .. } => Error::TooLong,
                        _ => Error::Io,
                    };
                    return self.end(id, now, Err((kind, error.to_string())));
                }
            }
            self.tasks[id] = Some(task);
            return;
        }
    }

    fn answer(&self, task: &Task) -> Answer {
        let Action::Status { is_one } = task.action else { return Answer::Done };
        let count = if is_one { 1 } else { EXTENTS_MAX };
        Answer::Extents(match &self.written {
            Some(written) => written.extents(task.offset_bytes, task.length_bytes, count),
            None => vec![Extent { length_bytes: task.length_bytes as u32, is_hole: false }],
        })
    }

    /// Ends a task, and begins those that waited for it.
    fn end(&mut self, id: usize, due: Instant, outcome: Result<Answer, (Error, String)>) {
        let task = self.tasks[id].take().expect("it runs");
        self.free.push(id);
        self.exclusive -= usize::from(task.is_exclusive);
        self.finish(task, due, outcome);
        let mut nth = 0;
        while nth < self.blocked.len() {
            let id = self.blocked[nth];
            let task = self.tasks[id].as_ref().expect("it waits");
            if self.must_wait(task, nth) {
                nth += 1;
                continue;
            }
            self.blocked.remove(nth);
            self.begin(id);
        }
    }

    fn finish(&mut self, task: Task, due: Instant, outcome: Result<Answer, (Error, String)>) {
        let operation = task.operation();
        let Task { tag, offset_bytes, length_bytes, data_bytes, durable, arrived, reserved, .. } = task;
        if let Some(written) = &mut self.written {
            written.release(reserved);
        }
        let end = Finished {
            tag,
            operation,
            offset_bytes,
            length_bytes,
            data_bytes,
            durable,
            arrived,
            due,
            outcome,
        };
        self.finished.push(end);
    }
}

fn not_faster() -> (Error, String) {
    (Error::Unsupported, "zeros are not written faster than other data".into())
}

fn error_of(failure: Failure) -> Error {
    /// Numbers of Linux.
    const NOT_PERMITTED: i32 = 1;
    const NO_SPACE: i32 = 28;
    const READ_ONLY: i32 = 30;
    const NOT_SUPPORTED: i32 = 95;
    const QUOTA: i32 = 122;
    match failure {
        Failure::Os(NO_SPACE | QUOTA) | Failure::WornOut => Error::NoSpace,
        Failure::Os(NOT_PERMITTED | READ_ONLY) => Error::Permission,
        Failure::Os(NOT_SUPPORTED) => Error::Unsupported,
        _ => Error::Io,
    }
}
