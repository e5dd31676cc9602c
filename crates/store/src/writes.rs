//! Writes that have not completed: those whose pieces are being stored, those that wait for room, and those in the log.
//!
//! Invariants: `waiting_bytes` is the sum of the writes with pieces and of those in the queues of slices, without the
//! pieces that are stored, and `waiting_pieces` counts those that are not; writes in the log stand in its order.

use crate::log::Durability;
use crate::operation::{Pending, QueuedWrite, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Pieces of a write that are being stored at once.
pub(crate) const PIECES_IN_FLIGHT: usize = 4;

/// A write in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    pub(crate) pending: Pending,
    pub(crate) slice: u32,
    pub(crate) sequence: u64,
    /// Page behind its record.
    pub(crate) end_page: u64,
}

/// A write with values in pieces.
#[derive(Debug)]
struct PieceWrite {
    write: QueuedWrite,
    /// Pieces that are not handed over yet, and their ids.
    left: VecDeque<(u64, Vec<u8>)>,
    /// The bytes of each piece in flight, by its id.
    in_flight: BTreeMap<u64, u64>,
    stored: Vec<u64>,
    /// Why a piece could not be stored.
    failure: Option<String>,
}

/// A write whose pieces have ended.
#[derive(Debug)]
pub(crate) struct PiecesEnded {
    pub(crate) write: QueuedWrite,
    /// The pieces that are stored.
    pub(crate) stored: Vec<u64>,
    /// Why a piece could not be stored.
    pub(crate) failure: Option<String>,
}

/// Writes that have not completed.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    waiting_bytes: u64,
    /// Pieces that are not stored, and their bytes.
    waiting_pieces: u64,
    waiting_piece_bytes: u64,
    /// Writes in the log that complete when it is written to a page, in its order.
    system: VecDeque<Logged>,
    /// Those that complete when it is durable.
    device: VecDeque<Logged>,
    pieces: BTreeMap<Ticket, PieceWrite>,
    /// Merges are to give blocks back, as a write found too few.
    is_relief_requested: bool,
    /// Spare blocks that the last value would have needed, if it was refused.
    wanted_blocks: u64,
    /// The store when merges were last begun for a value that found no room; `None` once one is admitted.
    relieved_at: Option<Relief>,
}

/// What of a store decides whether merges may make room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relief {
    pub(crate) blocks_free: u64,
    /// Number of the last write: values are refused, so a later one deletes.
    pub(crate) last_write: u64,
    /// The oldest snapshot, which needs what was deleted since.
    pub(crate) snapshot: Option<u64>,
}

impl Writes {
    /// Returns whether no write waits for anything.
    pub(crate) fn are_settled(&self) -> bool {
        self.waiting_bytes == 0 && self.system.is_empty() && self.device.is_empty()
    }

    /// Returns the bytes of the writes that wait for pieces or in queues.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Returns the blocks that the writes need that wait: one for each piece, and those that the rest fills.
    pub(crate) fn waiting_blocks(&self, block_bytes: u64) -> u64 {
        self.waiting_pieces + (self.waiting_bytes - self.waiting_piece_bytes).div_ceil(block_bytes)
    }

    /// A write begins to wait.
    pub(crate) fn add_waiting(&mut self, bytes: u64) {
        self.waiting_bytes += bytes;
    }

    /// A write waits no longer.
    pub(crate) fn remove_waiting(&mut self, bytes: u64) {
        assert!(bytes <= self.waiting_bytes, "a write that ends its wait is counted");
        self.waiting_bytes -= bytes;
    }

    // Room.

    /// Notes how many spare blocks a value needed that was refused; 0 for one that was not.
    pub(crate) fn set_wanted_blocks(&mut self, blocks: u64) {
        self.wanted_blocks = blocks;
    }

    pub(crate) fn wanted_blocks(&self) -> u64 {
        self.wanted_blocks
    }

    /// Merges are to begin to make room for a value. Returns whether more blocks are free than when they last did, or
    /// anything else changed: without that they give nothing back, and waiting for them would not end.
    pub(crate) fn relief_begins(&mut self, now: Relief) -> bool {
        self.relieved_at.replace(now).is_none_or(|before| {
            now.blocks_free > before.blocks_free
                || (now.last_write, now.snapshot) != (before.last_write, before.snapshot)
        })
    }

    /// A value has room.
    pub(crate) fn relief_ends(&mut self) {
        self.relieved_at = None;
    }

    /// Requests that merges give blocks back.
    pub(crate) fn request_relief(&mut self) {
        self.is_relief_requested = true;
    }

    /// Returns whether that was requested since the last call.
    pub(crate) fn take_relief_request(&mut self) -> bool {
        std::mem::take(&mut self.is_relief_requested)
    }

    // Pieces.

    /// Adds a write whose pieces are to be stored first.
    pub(crate) fn add_pieces(&mut self, write: QueuedWrite, pieces: VecDeque<(u64, Vec<u8>)>) {
        self.waiting_pieces += pieces.len() as u64;
        self.waiting_piece_bytes += pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let (ticket, in_flight, stored) = (write.pending.ticket, BTreeMap::new(), Vec::new());
        self.pieces.insert(ticket, PieceWrite { write, left: pieces, in_flight, stored, failure: None });
    }

    /// Returns the next piece to be stored, which is in flight from now on, if one may be.
    pub(crate) fn next_piece(&mut self, ticket: Ticket) -> Option<(u64, Vec<u8>)> {
        let write = self.pieces.get_mut(&ticket).expect("a write with pieces");
        if write.in_flight.len() >= PIECES_IN_FLIGHT || write.failure.is_some() {
            return None;
        }
        let (id, bytes) = write.left.pop_front()?;
        write.in_flight.insert(id, bytes.len() as u64);
        Some((id, bytes))
    }

    /// A piece was stored, or failed. The write waits with its other bytes only: those of a piece are on the device,
    /// and never enter a container.
    pub(crate) fn piece_ended(&mut self, ticket: Ticket, id: u64, result: Result<(), String>) {
        let write = self.pieces.get_mut(&ticket).expect("a write with pieces");
        let bytes = write.in_flight.remove(&id).expect("a piece that ends is in flight");
        match result {
            Ok(()) => write.stored.push(id),
            Err(reason) => write.failure = Some(reason),
        }
        self.forget_piece(ticket, bytes);
    }

    /// The bytes of a piece wait no longer.
    fn forget_piece(&mut self, ticket: Ticket, bytes: u64) {
        self.pieces.get_mut(&ticket).expect("a write with pieces").write.bytes -= bytes;
        self.waiting_pieces -= 1;
        self.waiting_piece_bytes -= bytes;
        self.remove_waiting(bytes);
    }

    /// Removes a write whose pieces are stored, or failed and none is in flight.
    pub(crate) fn take_pieces(&mut self, ticket: Ticket) -> Option<PiecesEnded> {
        let write = self.pieces.get_mut(&ticket).expect("a write with pieces");
        if !write.in_flight.is_empty() || (write.failure.is_none() && !write.left.is_empty()) {
            return None;
        }
        for (_, bytes) in std::mem::take(&mut write.left) {
            self.forget_piece(ticket, bytes.len() as u64);
        }
        let PieceWrite { write, stored, failure, .. } = self.pieces.remove(&ticket).expect("it was found");
        Some(PiecesEnded { write, stored, failure })
    }

    // Log.

    /// Adds a write to the log that completes when it is as safe as `durability` says.
    pub(crate) fn push_logged(&mut self, durability: Durability, logged: Logged) {
        let queue = match durability {
            Durability::Memory => unreachable!("a write to memory does not wait for the log"),
            Durability::System => &mut self.system,
            Durability::Device => &mut self.device,
        };
        assert!(
            queue.back().is_none_or(|last| last.end_page <= logged.end_page),
            "writes are in the log's order"
        );
        queue.push_back(logged);
    }

    /// Removes the next write that the log has reached, if there is one: first those that complete when they are
    /// written, then those that complete when they are durable.
    pub(crate) fn pop_reached(&mut self, written_to: u64, durable_to: u64) -> Option<Logged> {
        let pop = |queue: &mut VecDeque<Logged>, page: u64| {
            let is_reached = queue.front().is_some_and(|logged| logged.end_page <= page);
            if is_reached { queue.pop_front() } else { None }
        };
        pop(&mut self.system, written_to).or_else(|| pop(&mut self.device, durable_to))
    }

    /// Removes all writes in the log.
    pub(crate) fn take_logged(&mut self) -> Vec<Logged> {
        self.system.drain(..).chain(self.device.drain(..)).collect()
    }
}
