//! Dies that serve in order: where each has a bus of its own and nothing overtakes, interrupts or overlaps, the end of
//! an operation is known when it is asked for, and the operations of a die need one place in the event queue between
//! them.

use super::operation::{Kind, Operation, Owner};
use crate::config::DriveConfig;
use crate::event::{Event, EventQueue};
use flashlane_base::{Duration, Instant};
use std::collections::VecDeque;

/// All dies of a drive whose dies serve in order.
#[derive(Clone)]
pub(super) struct InOrder {
    lines: Vec<Line>,
    /// Whether cleaning that is due waits for the next operation.
    lazy: bool,
    /// Whether pages of one request that follow each other on a die may be reported with the last of them: where the
    /// drive does nothing with a single page of a write, of a read.
    joins: [bool; 2],
}

/// What a die has before it.
#[derive(Clone, Default)]
struct Line {
    free_at: Instant,
    /// Cleaning that goes before the next operation.
    due: Duration,
    under_way: VecDeque<(Instant, Operation)>,
}

impl InOrder {
    pub(super) fn new(config: &DriveConfig, dies: u32) -> Self {
        let flash = &config.flash;
        let unbuffered = config.buffer.is_none();
        let correct = flash.read_retry.0 == 0.0 && flash.uncorrectable.0 == 0.0;
        Self {
            lines: vec![Line::default(); dies as usize],
            lazy: config.cleaning.lazy,
            joins: [
                unbuffered,
                unbuffered && correct && config.link.whole_reads && config.readahead.is_none(),
            ],
        }
    }

    /// Whether a die neither works nor has anything waiting.
    pub(super) fn is_idle(&self, die: u32, now: Instant) -> bool {
        let line = &self.lines[die as usize];
        line.free_at <= now && line.under_way.is_empty() && line.due.is_zero()
    }

    /// Puts an operation that takes `time` behind the others of its die.
    #[inline]
    pub(super) fn push(
        &mut self,
        die: u32,
        operation: &Operation,
        time: Duration,
        now: Instant,
        events: &mut EventQueue,
    ) {
        let line = &mut self.lines[die as usize];
        if self.lazy && operation.due {
            line.due += time;
            return;
        }
        let ends = line.free_at.max(now) + line.due + time;
        (line.free_at, line.due) = (ends, Duration::ZERO);
        if let Some((last_ends, last)) = line.under_way.back_mut()
            && last.owner == operation.owner
            && joined(self.joins, last.kind, operation.kind, operation.owner)
        {
            *last_ends = ends;
            last.pages += 1;
            last.bus_bytes += operation.bus_bytes;
            return;
        }
        if line.under_way.is_empty() {
            events.schedule(ends, Event::Array(die));
        }
        line.under_way.push_back((ends, *operation));
    }

    /// The operation of `die` that has ended now, if it was not joined by another since its event was scheduled.
    #[inline]
    pub(super) fn pop(&mut self, die: u32, now: Instant, events: &mut EventQueue) -> Option<Operation> {
        let under_way = &mut self.lines[die as usize].under_way;
        let ended = under_way.front().is_some_and(|(ends, _)| *ends <= now);
        let done = if ended { under_way.pop_front() } else { None };
        if let Some((ends, _)) = under_way.front() {
            events.schedule(*ends, Event::Array(die));
        }
        done.map(|(_, operation)| operation)
    }
}

fn joined([programs, reads]: [bool; 2], last: Kind, next: Kind, owner: Owner) -> bool {
    matches!(owner, Owner::Request(_))
        && match (last, next) {
            (Kind::Program, Kind::Program) => programs,
            (Kind::Read, Kind::Read) => reads,
            _ => false,
        }
}
