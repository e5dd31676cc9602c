//! The flash array of a drive: its dies and channels under the scheduler that fits them.
//!
//! Where every die has a bus of its own and no operation can interrupt another, they are served in order, which is
//! exact, since the bus is free whenever its die needs it; all other arrays have queues.

use super::Geometry;
use super::in_order::InOrderScheduler;
use super::media::FlashCounters;
use super::media::Media;
use super::operation::{FlashOperation, Owner, Program};
use super::queued::QueuedScheduler;
use super::scheduler::{Scheduler, ranks};
use crate::account::TimeAccount;
use crate::config::{DeferGc, DriveConfig};
use crate::energy::EnergyMeter;
use crate::event::{EventQueue, Ticket};
use crate::ids::{ChannelId, DieId, Lpn, PlaneId};
use flashlane_base::{Instant, Seed};

/// All dies and channels.
#[derive(Clone)]
pub struct FlashArray {
    scheduler: AnyScheduler,
}

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a drive has one, and asks it at every event")]
enum AnyScheduler {
    InOrder(InOrderScheduler),
    Queued(QueuedScheduler),
}

/// Calls the same on whichever scheduler it is.
macro_rules! each {
    ($self:ident, $scheduler:ident => $call:expr) => {
        match $self.scheduler {
            AnyScheduler::InOrder(ref $scheduler) => $call,
            AnyScheduler::Queued(ref $scheduler) => $call,
        }
    };
    (mut $self:ident, $scheduler:ident => $call:expr) => {
        match $self.scheduler {
            AnyScheduler::InOrder(ref mut $scheduler) => $call,
            AnyScheduler::Queued(ref mut $scheduler) => $call,
        }
    };
}

impl FlashArray {
    /// The array of a profile. Requires: `config` is validated.
    pub fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let scheduler = match serves_in_order(config, geometry) {
            true => AnyScheduler::InOrder(InOrderScheduler::new(config, geometry, seed)),
            false => AnyScheduler::Queued(QueuedScheduler::new(config, geometry, seed)),
        };
        Self { scheduler }
    }

    fn media(&self) -> &Media {
        match &self.scheduler {
            AnyScheduler::InOrder(scheduler) => &scheduler.media,
            AnyScheduler::Queued(scheduler) => &scheduler.media,
        }
    }

    /// The die of a plane.
    #[inline]
    pub fn die_of(&self, plane: PlaneId) -> DieId {
        self.media().die_of(plane)
    }

    /// What was counted so far, power cuts or not.
    pub fn counters(&self) -> FlashCounters {
        self.media().counters()
    }

    /// The energy meter, where the profile states powers.
    pub(crate) fn meter(&self) -> Option<&EnergyMeter> {
        self.media().meter()
    }

    // What a scheduler does is said at `Scheduler`.

    pub fn is_idle(&self, die: DieId, now: Instant) -> bool {
        each!(self, scheduler => scheduler.is_idle(die, now))
    }

    pub fn is_collecting(&self, die: DieId) -> bool {
        each!(self, scheduler => scheduler.is_collecting(die))
    }

    #[inline]
    pub fn enqueue(&mut self, operation: FlashOperation, now: Instant, events: &mut EventQueue) {
        each!(mut self, scheduler => scheduler.enqueue(operation, now, events));
    }

    /// Whether [`FlashArray::enqueue_run`] takes programs of one request that follow each other.
    #[inline]
    pub fn joins_programs(&self) -> bool {
        matches!(&self.scheduler, AnyScheduler::InOrder(scheduler) if scheduler.joins_programs())
    }

    /// Queues a program like `unit` for each of these places, a plane and whether the program fills its block there;
    /// those of a die are reported as one. Requires: [`FlashArray::joins_programs`].
    pub fn enqueue_run(
        &mut self,
        owner: Owner,
        unit: Program,
        places: impl Iterator<Item = (PlaneId, bool)>,
        now: Instant,
        events: &mut EventQueue,
    ) {
        let AnyScheduler::InOrder(scheduler) = &mut self.scheduler else {
            unreachable!("only dies that serve in order join programs")
        };
        scheduler.enqueue_run(owner, unit, places, now, events);
    }

    #[inline]
    pub fn die_done(
        &mut self,
        die: DieId,
        ticket: Ticket,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        each!(mut self, scheduler => scheduler.die_done(die, ticket, now, events, finished));
    }

    #[inline]
    pub fn bus_done(
        &mut self,
        channel: ChannelId,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        each!(mut self, scheduler => scheduler.bus_done(channel, now, events, finished));
    }

    pub fn resume_gc(&mut self, die: DieId, now: Instant, events: &mut EventQueue) -> bool {
        each!(mut self, scheduler => scheduler.resume_gc(die, now, events))
    }

    pub fn promote_gc(&mut self, die: DieId) {
        each!(mut self, scheduler => scheduler.promote_gc(die));
    }

    pub fn promote_readahead(&mut self, plane: PlaneId, lpn: Lpn, now: Instant, events: &mut EventQueue) {
        let die = self.die_of(plane);
        each!(mut self, scheduler => scheduler.promote_readahead(die, lpn, now, events));
    }

    pub fn cancel_readahead(&mut self, plane: PlaneId, lpn: Lpn) -> bool {
        let die = self.die_of(plane);
        each!(mut self, scheduler => scheduler.cancel_readahead(die, lpn))
    }

    pub fn release_held(&mut self, now: Instant, events: &mut EventQueue) {
        each!(mut self, scheduler => scheduler.release_held(now, events));
    }

    pub fn has_waiting_groups(&self) -> bool {
        each!(self, scheduler => scheduler.has_waiting_groups())
    }

    pub(crate) fn record_times(&mut self, now: Instant) {
        each!(mut self, scheduler => scheduler.record_times(now));
    }

    pub(crate) fn set_account(&mut self, account: TimeAccount) {
        each!(mut self, scheduler => scheduler.set_account(account));
    }

    pub(crate) fn ended_accounts(&mut self) -> Option<&mut Vec<TimeAccount>> {
        each!(mut self, scheduler => scheduler.ended_accounts())
    }

    pub(crate) fn cut_power(&mut self) {
        each!(mut self, scheduler => scheduler.cut_power());
    }
}

/// Returns whether the end of each operation is known when it is queued, so that no die needs a queue.
fn serves_in_order(config: &DriveConfig, geometry: &Geometry) -> bool {
    let (flash, cleaning, ranks) = (&config.flash, &config.cleaning, ranks(config));
    let has_own_bus = geometry.dies == geometry.channels;
    let nothing_passes = ranks.iter().all(|rank| *rank == ranks[0]);
    let nothing_interrupts = flash.suspend.is_none() && !cleaning.preemptible;
    let nothing_overlaps = !flash.cache_mode && !flash.multi_plane;
    // Reads of one page share a sense, and its programs wait for each other.
    let unit_is_page = geometry.units_per_page == 1;
    // GC keeps to its die, in one piece: without copyback it moves units over the bus, or it waits for the host's
    // operations.
    let gc_is_one_time = flash.copyback && cleaning.defer != DeferGc::BehindHost;
    // Devices with erase units (`crate::Sdf`, `crate::Zoned`) always have queues.
    let has_no_erase_units = !config.has_erase_units();
    // Programs that are joined take one time each.
    let has_one_program_time = config.own_page_times().is_none() && flash.cell.is_none();
    has_own_bus
        && nothing_passes
        && nothing_interrupts
        && nothing_overlaps
        && unit_is_page
        && gc_is_one_time
        && has_no_erase_units
        && has_one_program_time
}
