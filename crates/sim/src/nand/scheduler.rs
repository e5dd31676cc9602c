//! What a scheduler of flash operations does: it decides when the operations that wait at dies and channels begin.

use super::operation::FlashOperation;
use crate::account::TimeAccount;
use crate::config::DriveConfig;
use crate::event::{EventQueue, Ticket};
use crate::ids::{ChannelId, DieId, Lpn};
use flashlane_base::Instant;
use flashlane_policy::scheduling::{Class, RANKS};

/// The rank that the scheduling policy gives to operations of each class.
pub(super) fn ranks(config: &DriveConfig) -> [usize; RANKS] {
    let scheduling = &config.scheduling;
    let policy = config.policies.scheduling.build(&scheduling.policy, &scheduling.options.options());
    let policy = policy.expect("validation built every policy once");
    Class::ALL.map(|class| policy.rank(class))
}

/// A scheduler. Every operation that is enqueued ends once; those that something waits for
/// ([`Owner::waits`](super::Owner::waits)) are appended to `finished` then.
pub(super) trait Scheduler {
    /// Queues an operation at its die, which begins it as soon as it can; a program that waits for others with
    /// the first that does not.
    fn enqueue(&mut self, operation: FlashOperation, now: Instant, events: &mut EventQueue);

    /// `die` is done ([`crate::event::Event::DieDone`]). Operations that are finished are appended to `finished`.
    fn die_done(
        &mut self,
        die: DieId,
        ticket: Ticket,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    );

    /// The bus of `channel` is done, as above. Only schedulers that schedule [`crate::event::Event::BusDone`] are
    /// called.
    fn bus_done(
        &mut self,
        _channel: ChannelId,
        _now: Instant,
        _events: &mut EventQueue,
        _finished: &mut Vec<FlashOperation>,
    ) {
        unreachable!("this scheduler has no events of buses")
    }

    /// Whether a die neither works nor has anything waiting, except GC that waits for the die to be idle.
    fn is_idle(&self, die: DieId, now: Instant) -> bool;

    /// Whether a die garbage-collects or erases, or something of this waits there.
    fn is_collecting(&self, die: DieId) -> bool;

    /// Resumes interrupted GC of an idle die. Returns false where there is none.
    fn resume_gc(&mut self, _die: DieId, _now: Instant, _events: &mut EventQueue) -> bool {
        false
    }

    /// Ends the deferral of a die's GC behind the host: it goes before operations that are queued from now on.
    fn promote_gc(&mut self, _die: DieId) {}

    /// Gives the readahead of a mapping unit, where it waits at `die`, the rank of a host read. Schedulers without
    /// ranks have nothing to do.
    fn promote_readahead(&mut self, _die: DieId, _lpn: Lpn, _now: Instant, _events: &mut EventQueue) {}

    /// Takes back the readahead of a mapping unit, where it waits at `die`. Returns false where none waits there: it
    /// may have begun. Schedulers without ranks starve no readahead, so they take none back.
    fn cancel_readahead(&mut self, _die: DieId, _lpn: Lpn) -> bool {
        false
    }

    /// Whether a program waits for its group.
    fn has_waiting_groups(&self) -> bool {
        false
    }

    /// Lets no program wait for its group any longer.
    fn release_held(&mut self, _now: Instant, _events: &mut EventQueue) {}

    /// Keeps the accounts of operations from now on: `set_account` sets the account with which the next one begins.
    fn record_times(&mut self, now: Instant);

    fn set_account(&mut self, account: TimeAccount);

    /// The accounts of operations that were appended to `finished`, in the same order; `None` where none are kept.
    fn ended_accounts(&mut self) -> Option<&mut Vec<TimeAccount>>;

    /// Power is cut: all operations are lost, the counters stay.
    fn cut_power(&mut self);
}
