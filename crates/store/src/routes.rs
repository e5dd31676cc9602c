//! What the requests to the block layer are for.

use crate::operation::Ticket;
use flashlane_block::Ticket as BlockTicket;
use std::collections::BTreeMap;

/// Purpose of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Get(Ticket),
    GetPiece {
        get: Ticket,
        nth: usize,
    },
    Scan {
        scan: Ticket,
        cursor: usize,
        structure_version: u64,
    },
    MergeRead {
        slice: u32,
        cursor: usize,
    },
    MergeWrite {
        slice: u32,
        nth: u32,
        id: u64,
    },
    Flush {
        slice: u32,
        creation: u64,
        id: u64,
    },
    Piece {
        write: Ticket,
        id: u64,
    },
    /// Of a block of this slice; `None` for a piece.
    Delete {
        slice: Option<u32>,
        id: u64,
    },
}

/// The requests in flight.
#[derive(Debug, Default)]
pub(crate) struct Routes(BTreeMap<BlockTicket, Purpose>);

impl Routes {
    /// Notes a request.
    pub(crate) fn add(&mut self, ticket: BlockTicket, purpose: Purpose) {
        let previous = self.0.insert(ticket, purpose);
        assert!(previous.is_none(), "{ticket:?} is used twice");
    }

    /// Returns whether a block is being deleted.
    pub(crate) fn has_deletes(&self) -> bool {
        self.0.values().any(|purpose| matches!(purpose, Purpose::Delete { .. }))
    }

    /// Returns what a request that has ended was for.
    pub(crate) fn take(&mut self, ticket: BlockTicket) -> Purpose {
        self.0.remove(&ticket).expect("a request of the store")
    }
}
