//! Operations that share an array time: like ones on other planes of the die, and programs that fill up the flash page.
//! And those that overtake: the host's reads while the die is suspended.
//!
//! Beside the queues of a die stands a list of what waits in them for each kind and plane, so that partners are found
//! without a look at all that waits before them: most of a long queue may be for planes that have theirs already, or
//! behind the cleaning that frees their block. Partners cost a look at each plane, however much waits, and so does the
//! first of the host's reads.

use super::operation::{Kind, NONE, Operation};
use super::queue::Queue;
#[cfg(test)]
use crate::slab;
use crate::slab::Slab;
use flashlane_policy::scheduling::{Class, RANKS};

/// The queues of a die.
const QUEUES: usize = RANKS + 1;
/// The lists of a queue and plane.
const HOST_READS: usize = 0;
const OTHER_READS: usize = 1;
const PROGRAMS: usize = 2;
const CLEANINGS: usize = 3;
const LISTS: usize = 4;

/// A queue: its die, and which of the die's it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueId {
    pub(super) die: u32,
    pub(super) rank: usize,
}

/// What waits at all dies, by queue, kind and plane.
#[derive(Clone)]
pub(super) struct Alike {
    planes_per_die: u32,
    /// Programs on one plane that share an array time.
    units_per_page: u32,
    /// Whether planes share one.
    multi_plane: bool,
    lists: Vec<List>,
    /// By the operation's slot.
    links: Vec<Link>,
    /// The order of what is put behind all others next, and of what was put before them last.
    next_order: u64,
    front_order: u64,
    /// What is found in one search, kept to spare their allocation.
    found: Vec<(u64, u32)>,
    until: Vec<u64>,
}

/// Operations of one queue, kind and plane in the order of the queue. Only the first is ever taken out.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

/// Where an operation waits.
#[derive(Clone, Copy)]
struct Link {
    /// Less than that of all behind it.
    order: u64,
    /// The one before it in its queue.
    previous: u32,
    /// The one behind it in its list.
    next: u32,
}

impl Alike {
    /// Nothing waits yet. `None` where operations neither share an array time nor overtake.
    pub(super) fn new(
        dies: u32,
        planes_per_die: u32,
        units_per_page: u32,
        multi_plane: bool,
        suspends: bool,
    ) -> Option<Self> {
        let lists = dies as usize * QUEUES * planes_per_die as usize * LISTS;
        (multi_plane || units_per_page > 1 || suspends).then(|| Self {
            planes_per_die,
            units_per_page,
            multi_plane,
            lists: vec![List { first: NONE, last: NONE }; lists],
            links: Vec::new(),
            next_order: 1 << 63,
            front_order: 1 << 63,
            found: Vec::new(),
            until: Vec::new(),
        })
    }

    /// Power is cut: nothing waits any longer.
    pub(super) fn clear(&mut self) {
        self.lists.fill(List { first: NONE, last: NONE });
    }

    fn at(&self, id: QueueId, plane: u32, list: usize) -> usize {
        let queue = id.die as usize * QUEUES + id.rank;
        (queue * self.planes_per_die as usize + plane as usize) * LISTS + list
    }

    /// The list of an operation; none for one on all planes at once, which nothing can join.
    fn of(&self, id: QueueId, operation: &Operation) -> Option<usize> {
        debug_assert!(
            operation.pages == 1 || operation.class != Class::HostRead,
            "host reads are on one plane"
        );
        let list = match operation.kind {
            Kind::Clean { .. } => CLEANINGS,
            _ if operation.pages > 1 => return None,
            Kind::Read if operation.class == Class::HostRead => HOST_READS,
            Kind::Read => OTHER_READS,
            Kind::Program => PROGRAMS,
        };
        Some(self.at(id, operation.plane % self.planes_per_die, list))
    }

    /// Before `op` is put behind all others of `queue`.
    pub(super) fn push(&mut self, ops: &Slab<Operation>, queue: &Queue, id: QueueId, op: u32) {
        self.set_link(op, Link { order: self.next_order, previous: queue.last, next: NONE });
        self.next_order += 1;
        let Some(list) = self.of(id, &ops[op]) else { return };
        match std::mem::replace(&mut self.lists[list].last, op) {
            NONE => self.lists[list].first = op,
            last => self.links[last as usize].next = op,
        }
    }

    /// Before `op` is put before all others of `queue`.
    pub(super) fn push_front(&mut self, ops: &Slab<Operation>, queue: &Queue, id: QueueId, op: u32) {
        self.front_order -= 1;
        if queue.first != NONE {
            self.links[queue.first as usize].previous = op;
        }
        let list = self.of(id, &ops[op]);
        let next = list.map_or(NONE, |list| std::mem::replace(&mut self.lists[list].first, op));
        self.set_link(op, Link { order: self.front_order, previous: NONE, next });
        if let Some(list) = list.filter(|_| next == NONE) {
            self.lists[list].last = op;
        }
    }

    fn set_link(&mut self, op: u32, link: Link) {
        let slot = op as usize;
        if slot >= self.links.len() {
            self.links.resize(slot + 1, link);
        }
        self.links[slot] = link;
    }

    fn link(&self, op: u32) -> &Link {
        #[cfg(test)]
        slab::LOOKS.set(slab::LOOKS.get() + 1);
        &self.links[op as usize]
    }

    /// After `op`, the first of its list, was taken out of its queue.
    pub(super) fn remove(&mut self, ops: &Slab<Operation>, id: QueueId, op: u32) {
        let Link { previous, next, .. } = *self.link(op);
        let behind = ops[op].next;
        if behind != NONE {
            self.links[behind as usize].previous = previous;
        }
        let Some(list) = self.of(id, &ops[op]) else { return };
        debug_assert_eq!(self.lists[list].first, op, "only the first of a list is taken out");
        self.lists[list].first = next;
        if next == NONE {
            self.lists[list].last = NONE;
        }
    }

    /// Takes `op`, the first of its list, out of `queue`.
    fn take(&mut self, ops: &mut Slab<Operation>, queue: &mut Queue, id: QueueId, op: u32) {
        queue.remove(ops, self.link(op).previous, op);
        self.remove(ops, id, op);
    }

    /// Takes the first of the host's reads out of `queue`.
    pub(super) fn take_host_read(
        &mut self,
        ops: &mut Slab<Operation>,
        queue: &mut Queue,
        id: QueueId,
    ) -> Option<u32> {
        let reads = (0..self.planes_per_die).map(|plane| self.first(id, plane, &[HOST_READS]));
        let first = reads.filter(|&op| op != NONE).min_by_key(|&op| self.link(op).order)?;
        self.take(ops, queue, id, first);
        Some(first)
    }

    /// The first in these lists of a queue and plane.
    fn first(&self, id: QueueId, plane: u32, lists: &[usize]) -> u32 {
        let firsts = lists.iter().map(|&list| self.lists[self.at(id, plane, list)].first);
        firsts.filter(|&op| op != NONE).min_by_key(|&op| self.link(op).order).unwrap_or(NONE)
    }

    /// Joins to `op`, which was taken out, those in `queue` that can share its array time, in their order. Says how many
    /// of them are on other planes.
    pub(super) fn join(&mut self, ops: &mut Slab<Operation>, queue: &mut Queue, id: QueueId, op: u32) -> u64 {
        let Operation { kind, plane, pages, .. } = ops[op];
        let (lists, each): (&[usize], u32) = match kind {
            Kind::Read => (&[HOST_READS, OTHER_READS], 1),
            Kind::Program => (&[PROGRAMS], self.units_per_page),
            Kind::Clean { .. } => return 0,
        };
        if queue.first == NONE || pages > 1 || !self.multi_plane && each == 1 {
            return 0; // nothing waits, it is on all planes already, or it has none beside it
        }
        self.find_cleanings(ops, id);
        let own = plane % self.planes_per_die;
        let planes = if self.multi_plane { 0..self.planes_per_die } else { own..own + 1 };
        for plane in planes {
            let until = self.until[plane as usize];
            let mut next = self.first(id, plane, lists);
            for _ in u32::from(plane == own)..each {
                if next == NONE || self.link(next).order >= until {
                    break;
                }
                self.found.push((self.link(next).order, next));
                next = self.link(next).next;
            }
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let (mut last, mut on_others) = (op, 0);
        for (_, partner) in found.drain(..) {
            self.take(ops, queue, id, partner);
            ops[last].partner = partner;
            last = partner;
            on_others += u64::from(ops[partner].plane != plane);
        }
        self.found = found;
        on_others
    }

    /// Joins to `op`, a step of paced cleaning that was taken out, the like ones that are first to be cleaned on other
    /// planes. Says how many they are.
    ///
    /// They may pass programs that wait before them: a step changes nothing that an earlier program needs, and an erase
    /// frees a block that only later ones use.
    #[inline(never)]
    pub(super) fn join_steps(
        &mut self,
        ops: &mut Slab<Operation>,
        queue: &mut Queue,
        id: QueueId,
        op: u32,
    ) -> u64 {
        let Kind::Clean { mut moves, summaries: 0, erases, planes: 1 } = ops[op].kind else { return 0 };
        if !self.multi_plane || queue.first == NONE {
            return 0;
        }
        let own = ops[op].plane % self.planes_per_die;
        let mut joined = 0;
        for plane in (0..self.planes_per_die).filter(|&plane| plane != own) {
            let partner = self.lists[self.at(id, plane, CLEANINGS)].first;
            if partner == NONE || !ops[partner].paced || ops[partner].owner != ops[op].owner {
                continue;
            }
            if let Kind::Clean { moves: also, summaries: 0, erases: as_many, planes: 1 } = ops[partner].kind
                && as_many == erases
                && (also == 0) == (moves == 0)
            {
                self.take(ops, queue, id, partner);
                ops.remove(partner);
                moves = moves.max(also);
                joined += 1;
            }
        }
        ops[op].kind = Kind::Clean { moves, summaries: 0, erases, planes: 1 + joined };
        u64::from(joined)
    }

    /// Finds for each plane the order of its first cleaning: a program behind it goes to a block that it has yet to free.
    /// Those that begin on the same plane are on equally many.
    fn find_cleanings(&mut self, ops: &Slab<Operation>, id: QueueId) {
        self.until.clear();
        self.until.resize(self.planes_per_die as usize, u64::MAX);
        for plane in 0..self.planes_per_die {
            let first = self.lists[self.at(id, plane, CLEANINGS)].first;
            if first == NONE {
                continue;
            }
            let Kind::Clean { planes, .. } = ops[first].kind else { unreachable!("only cleanings clean") };
            let order = self.link(first).order;
            for until in &mut self.until[plane as usize..][..planes as usize] {
                *until = order.min(*until);
            }
        }
    }
}

#[cfg(test)]
mod tests;
