//! Translation's own tasks: each kind of operation and timer has a number. They are part of every pinned hash.

use crate::ids::TaskKind;

/// Flash operations and deadlines of hedged accesses to copies.
pub(super) const HEDGE: TaskKind = TaskKind::numbered(0);
/// Programs of copies, and timers of the next copy of a die.
pub(super) const COPY: TaskKind = TaskKind::numbered(1);
/// Reads of a row's pages, from which another one is rebuilt.
pub(super) const REBUILD: TaskKind = TaskKind::numbered(2);
/// The end of GC that takes turns with that of other dies.
pub(super) const TURN: TaskKind = TaskKind::numbered(3);
/// Reads of translation pages for accesses that wait.
pub(super) const LOAD: TaskKind = TaskKind::numbered(4);
/// Reads and programs of translation pages that have changed.
pub(super) const PAGE_WRITE: TaskKind = TaskKind::numbered(5);
/// Lines of the map that are on their way from the host's memory.
pub(super) const HOST_MEMORY: TaskKind = TaskKind::numbered(6);
