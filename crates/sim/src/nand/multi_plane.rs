//! The multi-plane index: queued operations that can share an array time, which are like ones on other planes of the
//! die, programs that fill up the flash page, and reads of one flash page; and the host's reads, which pass a
//! suspended program or erase.
//!
//! Beside the queues of a die stands a list of what waits in them for each kind and plane, so that partners are found
//! without a look at all that waits before them: most of a long queue may be for planes that have theirs already, or
//! behind the GC that frees their block. Partners cost a look at each plane, however much waits, and so does the first
//! of the host's reads.
//!
//! Invariants: an operation is in the list of its kind and plane while it is in its queue, in the same order; only the
//! first of a list is taken out, except for a readahead that is promoted.

use super::operation::{FlashOperation, Gc, Work};
use super::queue::{OpSlot, Operations, Queue};
use crate::ids::{DieId, PlaneId, PlaneOfDie, ProgramGroup};
#[cfg(test)]
use crate::slab;
use flashlane_policy::scheduling::RANKS;

/// The queues of a die.
const QUEUES: usize = RANKS + 1;
/// The lists of a queue and plane.
const HOST_READS: usize = 0;
const OTHER_READS: usize = 1;
const PROGRAMS: usize = 2;
/// GC and erases: what is programmed behind them may need a block that they free.
const FREEING: usize = 3;
const LISTS: usize = 4;

/// A queue: its die, and which of the die's it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct DieQueue {
    pub(super) die: DieId,
    pub(super) rank: usize,
}

/// What waits at all dies, by queue, kind and plane.
#[derive(Clone)]
pub(super) struct MultiPlaneIndex {
    planes_per_die: u32,
    /// Programs on one plane that share an array time: of a flash page, or of a word line.
    units_per_page: u32,
    units_per_program: u32,
    /// Whether only programs of one program group, or of one flash page, do.
    by_program_group: bool,
    /// Whether planes share one.
    multi_plane: bool,
    lists: Vec<List>,
    /// By the operation's slot.
    links: Vec<Links>,
    /// Order numbers of the next operation appended, and of the last one put in front.
    next_order: u64,
    front_order: u64,
    /// Results of one search, kept to avoid an allocation.
    found: Vec<(u64, OpSlot)>,
    until: Vec<u64>,
}

/// Operations of one queue, kind and plane in the order of the queue. Only the first is ever taken out.
#[derive(Clone, Copy)]
struct List {
    first: OpSlot,
    last: OpSlot,
}

/// The neighbours of an operation that waits.
#[derive(Clone, Copy)]
struct Links {
    /// Less than that of all behind it.
    order: u64,
    /// The one before it in its queue.
    previous: OpSlot,
    /// The one behind it in its list.
    next: OpSlot,
}

impl MultiPlaneIndex {
    /// Nothing waits yet. `None` where operations neither share an array time nor pass others.
    pub(super) fn new(
        dies: u32,
        planes_per_die: u32,
        units_per_page: u32,
        units_per_program: u32,
        by_program_group: bool,
        multi_plane: bool,
        suspends: bool,
    ) -> Option<Self> {
        let lists = dies as usize * QUEUES * planes_per_die as usize * LISTS;
        (multi_plane || units_per_program > 1 || suspends).then(|| Self {
            planes_per_die,
            units_per_page,
            units_per_program,
            by_program_group,
            multi_plane,
            lists: vec![List { first: OpSlot::NONE, last: OpSlot::NONE }; lists],
            links: Vec::new(),
            next_order: 1 << 63,
            front_order: 1 << 63,
            found: Vec::new(),
            until: Vec::new(),
        })
    }

    fn at(&self, id: DieQueue, plane: PlaneOfDie, list: usize) -> usize {
        let queue = id.die.index() * QUEUES + id.rank;
        (queue * self.planes_per_die as usize + plane.index()) * LISTS + list
    }

    /// The place of a plane in its die.
    fn of_die(&self, plane: PlaneId) -> PlaneOfDie {
        PlaneOfDie(plane.0 % self.planes_per_die)
    }

    /// The planes of a die.
    fn planes(&self) -> impl Iterator<Item = PlaneOfDie> + use<> {
        (0..self.planes_per_die).map(PlaneOfDie)
    }

    /// The list of an operation; `None` for one on all planes at once, which nothing can join.
    fn of(&self, id: DieQueue, operation: &FlashOperation) -> Option<usize> {
        debug_assert!(
            operation.planes() == 1 || !operation.class.is_host_read(),
            "host reads are on one plane"
        );
        let list = match operation.work {
            Work::Gc(_) | Work::Erase(_) => FREEING,
            _ if operation.planes() > 1 => return None,
            Work::Read(_) if operation.class.is_host_read() => HOST_READS,
            Work::Read(_) => OTHER_READS,
            Work::Program(_) => PROGRAMS,
        };
        Some(self.at(id, self.of_die(operation.plane), list))
    }

    /// Before `op` is put behind all others of `queue`.
    pub(super) fn push(&mut self, ops: &Operations, queue: &Queue, id: DieQueue, op: OpSlot) {
        self.set_links(op, Links { order: self.next_order, previous: queue.last(), next: OpSlot::NONE });
        self.next_order += 1;
        let Some(list) = self.of(id, &ops[op].operation) else { return };
        match std::mem::replace(&mut self.lists[list].last, op) {
            OpSlot::NONE => self.lists[list].first = op,
            last => self.links[last.index()].next = op,
        }
    }

    /// Before `op` is put before all others of `queue`.
    pub(super) fn push_front(&mut self, ops: &Operations, queue: &Queue, id: DieQueue, op: OpSlot) {
        self.front_order -= 1;
        if !queue.is_empty() {
            self.links[queue.first().index()].previous = op;
        }
        let list = self.of(id, &ops[op].operation);
        let next = list.map_or(OpSlot::NONE, |list| std::mem::replace(&mut self.lists[list].first, op));
        self.set_links(op, Links { order: self.front_order, previous: OpSlot::NONE, next });
        if let Some(list) = list.filter(|_| next == OpSlot::NONE) {
            self.lists[list].last = op;
        }
    }

    fn set_links(&mut self, op: OpSlot, links: Links) {
        let slot = op.index();
        if slot >= self.links.len() {
            self.links.resize(slot + 1, links);
        }
        self.links[slot] = links;
    }

    fn links_of(&self, op: OpSlot) -> &Links {
        #[cfg(test)]
        slab::LOOKS.set(slab::LOOKS.get() + 1);
        &self.links[op.index()]
    }

    /// After `op`, the first of its list, was taken out of its queue.
    pub(super) fn remove(&mut self, ops: &Operations, id: DieQueue, op: OpSlot) {
        let Links { previous, next, .. } = *self.links_of(op);
        let behind = ops[op].next;
        if behind != OpSlot::NONE {
            self.links[behind.index()].previous = previous;
        }
        let Some(list) = self.of(id, &ops[op].operation) else { return };
        debug_assert_eq!(self.lists[list].first, op, "only the first of a list is taken out");
        self.lists[list].first = next;
        if next == OpSlot::NONE {
            self.lists[list].last = OpSlot::NONE;
        }
    }

    /// After `op` was taken out of its queue, wherever in its list it is.
    pub(super) fn remove_any(&mut self, ops: &Operations, id: DieQueue, op: OpSlot) {
        let list = self.of(id, &ops[op].operation).map(|list| (list, self.lists[list]));
        let Some((list, List { last, .. })) = list.filter(|(_, list)| list.first != op) else {
            return self.remove(ops, id, op);
        };
        let mut before = self.lists[list].first;
        while self.links_of(before).next != op {
            before = self.links_of(before).next;
        }
        let Links { previous, next, .. } = *self.links_of(op);
        self.links[before.index()].next = next;
        if last == op {
            self.lists[list].last = before;
        }
        let behind = ops[op].next;
        if behind.is_some() {
            self.links[behind.index()].previous = previous;
        }
    }

    /// Takes `op`, the first of its list, out of `queue`.
    fn take(&mut self, ops: &mut Operations, queue: &mut Queue, id: DieQueue, op: OpSlot) {
        queue.remove(ops, self.links_of(op).previous, op);
        self.remove(ops, id, op);
    }

    /// Whether any of the host's reads waits in a queue.
    pub(super) fn has_host_read(&self, id: DieQueue) -> bool {
        self.planes().any(|plane| self.lists[self.at(id, plane, HOST_READS)].first.is_some())
    }

    /// Takes the first of the host's reads out of `queue`.
    pub(super) fn take_host_read(
        &mut self,
        ops: &mut Operations,
        queue: &mut Queue,
        id: DieQueue,
    ) -> Option<OpSlot> {
        let reads = self.planes().map(|plane| self.first(id, plane, &[HOST_READS]));
        let first = reads.filter(|&op| op != OpSlot::NONE).min_by_key(|&op| self.links_of(op).order)?;
        self.take(ops, queue, id, first);
        Some(first)
    }

    /// The first in these lists of a queue and plane.
    fn first(&self, id: DieQueue, plane: PlaneOfDie, lists: &[usize]) -> OpSlot {
        let firsts = lists.iter().map(|&list| self.lists[self.at(id, plane, list)].first);
        firsts
            .filter(|&op| op != OpSlot::NONE)
            .min_by_key(|&op| self.links_of(op).order)
            .unwrap_or(OpSlot::NONE)
    }

    /// Joins to `op`, which was taken out, those in `queue` that can share its array time, in their order. Says how
    /// many of them are on other planes.
    pub(super) fn join(&mut self, ops: &mut Operations, queue: &mut Queue, id: DieQueue, op: OpSlot) -> u64 {
        let operation = ops[op].operation;
        if matches!(operation.work, Work::Gc(_) | Work::Erase(_)) {
            return 0;
        }
        if queue.is_empty() || operation.planes() > 1 || !self.multi_plane && self.units_per_program == 1 {
            return 0; // nothing waits, it is on all planes already, or it has none beside it
        }
        self.find_freeing(ops, id);
        let FlashOperation { work, plane, .. } = operation;
        let own = self.of_die(plane);
        let planes = if self.multi_plane { 0..self.planes_per_die } else { own.0..own.0 + 1 };
        for plane in planes.map(PlaneOfDie) {
            let first = if plane == own { op } else { OpSlot::NONE };
            match work {
                Work::Program(_) if self.by_program_group => {
                    self.find_program_group(ops, id, plane, first);
                }
                Work::Program(_) => self.find_programs(id, plane, first),
                _ => self.find_reads(ops, id, plane, first),
            }
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let (mut last, mut on_others) = (op, 0);
        for (_, partner) in found.drain(..) {
            self.take(ops, queue, id, partner);
            ops[last].partner = partner;
            last = partner;
            on_others += u64::from(ops[partner].operation.plane != plane);
        }
        self.found = found;
        on_others
    }

    /// Finds the programs of a plane that fill up one flash page, of which `first` is found already if it is any.
    fn find_programs(&mut self, id: DieQueue, plane: PlaneOfDie, first: OpSlot) {
        let until = self.until[plane.index()];
        let mut next = self.lists[self.at(id, plane, PROGRAMS)].first;
        for _ in u32::from(first.is_some())..self.units_per_page {
            if !next.is_some() || self.links_of(next).order >= until {
                break;
            }
            self.found.push((self.links_of(next).order, next));
            next = self.links_of(next).next;
        }
    }

    /// Finds the programs of a plane that fill up one program group, or one page of the SLC cache, of which `first` is
    /// found already if it is any.
    fn find_program_group(&mut self, ops: &Operations, id: DieQueue, plane: PlaneOfDie, first: OpSlot) {
        let until = self.until[plane.index()];
        let mut next = self.lists[self.at(id, plane, PROGRAMS)].first;
        let program_group_of = |op: OpSlot| match ops[op].operation.work {
            Work::Program(program) => program.program_group,
            _ => unreachable!("only programs are in this list"),
        };
        let of = match (first.is_some(), next.is_some()) {
            (true, _) => program_group_of(first),
            (false, true) => program_group_of(next),
            (false, false) => return,
        };
        let most = if of == ProgramGroup::NONE { self.units_per_page } else { self.units_per_program };
        for _ in u32::from(first.is_some())..most {
            if !next.is_some() || self.links_of(next).order >= until || program_group_of(next) != of {
                break;
            }
            self.found.push((self.links_of(next).order, next));
            next = self.links_of(next).next;
        }
    }

    /// Finds the first read of a plane and those behind it of the same flash page, or those of the page of `first`,
    /// which is found already if it is any.
    fn find_reads(&mut self, ops: &Operations, id: DieQueue, plane: PlaneOfDie, first: OpSlot) {
        let until = self.until[plane.index()];
        let mut first = first;
        if !first.is_some() {
            first = self.first(id, plane, &[HOST_READS, OTHER_READS]);
            if !first.is_some() || self.links_of(first).order >= until {
                return;
            }
            self.found.push((self.links_of(first).order, first));
        }
        for list in [HOST_READS, OTHER_READS] {
            let mut next = self.lists[self.at(id, plane, list)].first;
            if next == first {
                next = self.links_of(next).next;
            }
            while next.is_some()
                && self.links_of(next).order < until
                && ops[next].operation.shares_sense(&ops[first].operation)
            {
                self.found.push((self.links_of(next).order, next));
                next = self.links_of(next).next;
            }
        }
    }

    /// Joins to `op`, a step of paced GC that was taken out, the like ones that are first to be done on other planes.
    /// Returns their number.
    ///
    /// They may pass programs that wait before them: a step changes nothing that an earlier program needs, and an erase
    /// frees a block that only later ones use.
    #[inline(never)]
    pub(super) fn join_steps(
        &mut self,
        ops: &mut Operations,
        queue: &mut Queue,
        id: DieQueue,
        op: OpSlot,
    ) -> u64 {
        let FlashOperation { work: Work::Gc(mut gc), owner, plane, .. } = ops[op].operation else { return 0 };
        debug_assert!(gc.is_paced_step, "other GC is joined to none");
        if gc.summaries != 0 || gc.planes != 1 || !self.multi_plane || queue.is_empty() {
            return 0;
        }
        let own = self.of_die(plane);
        for plane in self.planes().filter(|&plane| plane != own) {
            let partner = self.lists[self.at(id, plane, FREEING)].first;
            if !partner.is_some() || ops[partner].operation.owner != owner {
                continue;
            }
            if let Work::Gc(Gc {
                moves,
                pages_read,
                summaries: 0,
                erases,
                moved_from,
                planes: 1,
                is_paced_step: true,
            }) = ops[partner].operation.work
                && erases == gc.erases
                && moved_from == gc.moved_from
                && (moves == 0) == (gc.moves == 0)
            {
                self.take(ops, queue, id, partner);
                ops.remove(partner);
                gc.moves = gc.moves.max(moves);
                gc.pages_read = gc.pages_read.max(pages_read);
                gc.planes += 1;
            }
        }
        ops[op].operation.work = Work::Gc(gc);
        u64::from(gc.planes - 1)
    }

    /// Finds for each plane the order of its first GC: a program behind it goes to a block that it has yet to free.
    /// Those that begin on the same plane are on equally many.
    fn find_freeing(&mut self, ops: &Operations, id: DieQueue) {
        self.until.clear();
        self.until.resize(self.planes_per_die as usize, u64::MAX);
        for plane in self.planes() {
            let first = self.lists[self.at(id, plane, FREEING)].first;
            if first == OpSlot::NONE {
                continue;
            }
            let planes = match ops[first].operation.work {
                Work::Gc(gc) => gc.planes,
                Work::Erase(_) => 1,
                Work::Read(_) | Work::Program(_) => unreachable!("they free no block"),
            };
            let order = self.links_of(first).order;
            for until in &mut self.until[plane.index()..][..planes as usize] {
                *until = order.min(*until);
            }
        }
    }
}

#[cfg(test)]
mod tests;
