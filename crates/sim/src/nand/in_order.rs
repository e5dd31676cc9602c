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
    /// What pages of a run that are joined come to for each die, and which dies have some, in the order of their first.
    shares: Vec<Share>,
    sharing: Vec<u32>,
}

/// A die's part in a run of pages.
#[derive(Clone, Copy, Default)]
struct Share {
    pages: u32,
    array: Duration,
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
            shares: vec![Share::default(); dies as usize],
            sharing: Vec::new(),
        }
    }

    /// Whether programs of one request that follow each other on a die are one operation.
    pub(super) fn joins_programs(&self) -> bool {
        self.joins[0]
    }

    /// Adds a page that takes the array for so long to the share of `die` in a run.
    #[inline]
    pub(super) fn share(&mut self, die: u32, array: Duration) {
        let share = &mut self.shares[die as usize];
        if share.pages == 0 {
            self.sharing.push(die);
        }
        share.pages += 1;
        share.array += array;
    }

    /// Puts each die's share in a run behind the other operations of the die; a page of it is like `page` and holds the
    /// bus for `bus`.
    pub(super) fn push_shares(
        &mut self,
        page: &Operation,
        bus: Duration,
        now: Instant,
        events: &mut EventQueue,
    ) {
        let mut sharing = std::mem::take(&mut self.sharing);
        for die in sharing.drain(..) {
            let Share { pages, array } = std::mem::take(&mut self.shares[die as usize]);
            let all = Operation { pages, bus_bytes: page.bus_bytes * u64::from(pages), ..*page };
            self.push(die, &all, array + bus * u64::from(pages), now, events);
        }
        self.sharing = sharing;
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
            last.pages += operation.pages;
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
