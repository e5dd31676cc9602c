//! Tickets of accepted operations, and the completed ones until they are taken.
//!
//! Invariants:
//! - Tickets are not reused.
//! - Every accepted operation is finished once.

use crate::operation::{Finished, Outcome, Pending, Ticket};
use flashlane_base::Instant;

/// Operations that have completed and were not taken.
#[derive(Debug, Default)]
pub(crate) struct FinishedOperations {
    finished: Vec<Finished>,
    next_ticket: u64,
    /// Operations that were accepted and have not completed.
    pending: u64,
}

impl FinishedOperations {
    /// Gives an operation its ticket.
    pub(crate) fn accept(&mut self, id: u64, submitted: Instant) -> Pending {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.pending += 1;
        Pending { ticket, id, submitted }
    }

    /// Keeps the outcome of an operation until it is taken.
    pub(crate) fn finish(&mut self, pending: Pending, completed: Instant, outcome: Outcome) {
        let Pending { ticket, id, submitted } = pending;
        assert!(self.pending > 0, "{ticket:?} completes and none is pending");
        debug_assert!(submitted <= completed, "{ticket:?} completes before it was submitted");
        debug_assert!(self.finished.iter().all(|other| other.ticket != ticket), "{ticket:?} completes twice");
        self.pending -= 1;
        self.finished.push(Finished { ticket, id, submitted, completed, outcome });
    }

    /// Returns the completed operation with this ticket.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Finished> {
        let at = self.finished.iter().position(|finished| finished.ticket == ticket)?;
        Some(self.finished.remove(at))
    }

    /// Appends all completed operations to `out`.
    pub(crate) fn take_all(&mut self, out: &mut Vec<Finished>) {
        out.append(&mut self.finished);
    }

    /// Returns whether no completed operation waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }
}
