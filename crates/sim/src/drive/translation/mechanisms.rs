//! The numbers of translation's mechanisms: each kind of operation and timer that a mechanism has gets one. They are
//! part of every pinned hash.

use crate::ids::Mechanism;

/// Flash operations and deadlines of hedged accesses to copies.
pub(super) const HEDGE: Mechanism = Mechanism::numbered(0);
/// Programs of copies, and timers of the next copy of a die.
pub(super) const COPY: Mechanism = Mechanism::numbered(1);
/// Reads of a row's pages, from which another one is rebuilt.
pub(super) const REBUILD: Mechanism = Mechanism::numbered(2);
/// The end of GC that takes turns with that of other dies.
pub(super) const TURN: Mechanism = Mechanism::numbered(3);
/// Reads of translation pages for accesses that wait.
pub(super) const LOAD: Mechanism = Mechanism::numbered(4);
/// Reads and programs of translation pages that have changed.
pub(super) const PAGE_WRITE: Mechanism = Mechanism::numbered(5);
/// Lines of the map that are on their way from the host's memory.
pub(super) const HOST_MEMORY: Mechanism = Mechanism::numbered(6);
