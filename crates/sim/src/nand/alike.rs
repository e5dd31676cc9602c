//! Operations that share an array time: like ones on other planes of the die, and programs that fill up the flash page.
//!
//! Beside the queues of a die stands a list of what waits in them for each kind and plane, so that partners are found
//! without a look at all that waits before them: most of a long queue may be for planes that have theirs already, or
//! behind the cleaning that frees their block. Partners cost a look at each plane, however much waits.

use super::operation::{Kind, NONE, Operation};
use super::queue::Queue;
use crate::slab::Slab;
use flashlane_policy::scheduling::RANKS;

/// The queues of a die.
const QUEUES: usize = RANKS + 1;
/// The lists of a queue and plane.
const READS: usize = 0;
const PROGRAMS: usize = 1;
const CLEANINGS: usize = 2;
const LISTS: usize = 3;

/// A queue: its die, and which of the die's it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
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

/// Operations of one queue, kind and plane in the order of the queue.
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
    /// Nothing waits yet. `None` where operations never share an array time.
    pub(super) fn new(
        dies: u32,
        planes_per_die: u32,
        units_per_page: u32,
        multi_plane: bool,
    ) -> Option<Self> {
        let lists = dies as usize * QUEUES * planes_per_die as usize * LISTS;
        (multi_plane || units_per_page > 1).then(|| Self {
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

    fn at(&self, place: Place, plane: u32, list: usize) -> usize {
        let queue = place.die as usize * QUEUES + place.rank;
        (queue * self.planes_per_die as usize + plane as usize) * LISTS + list
    }

    /// The list of an operation; none for one on all planes at once, which nothing can join.
    fn of(&self, place: Place, operation: &Operation) -> Option<usize> {
        let list = match operation.kind {
            Kind::Clean { .. } => CLEANINGS,
            _ if operation.pages > 1 => return None,
            Kind::Read => READS,
            Kind::Program => PROGRAMS,
        };
        Some(self.at(place, operation.plane % self.planes_per_die, list))
    }

    /// Before `op` is put behind all others of `queue`.
    pub(super) fn push(&mut self, ops: &Slab<Operation>, queue: &Queue, place: Place, op: u32) {
        self.link(op, Link { order: self.next_order, previous: queue.last, next: NONE });
        self.next_order += 1;
        let Some(list) = self.of(place, &ops[op]) else { return };
        match std::mem::replace(&mut self.lists[list].last, op) {
            NONE => self.lists[list].first = op,
            last => self.links[last as usize].next = op,
        }
    }

    /// Before `op` is put before all others of `queue`.
    pub(super) fn push_front(&mut self, ops: &Slab<Operation>, queue: &Queue, place: Place, op: u32) {
        self.front_order -= 1;
        if queue.first != NONE {
            self.links[queue.first as usize].previous = op;
        }
        let list = self.of(place, &ops[op]);
        let next = list.map_or(NONE, |list| std::mem::replace(&mut self.lists[list].first, op));
        self.link(op, Link { order: self.front_order, previous: NONE, next });
        if let Some(list) = list.filter(|_| next == NONE) {
            self.lists[list].last = op;
        }
    }

    fn link(&mut self, op: u32, link: Link) {
        let slot = op as usize;
        if slot >= self.links.len() {
            self.links.resize(slot + 1, link);
        }
        self.links[slot] = link;
    }

    /// After `op` was taken out of its queue.
    pub(super) fn remove(&mut self, ops: &Slab<Operation>, place: Place, op: u32) {
        let Link { previous, next, .. } = self.links[op as usize];
        let behind = ops[op].next;
        if behind != NONE {
            self.links[behind as usize].previous = previous;
        }
        let Some(list) = self.of(place, &ops[op]) else { return };
        // The first of its list, but for a host's read that overtakes the readahead while the die is suspended.
        let (mut before, mut at) = (NONE, self.lists[list].first);
        while at != op {
            (before, at) = (at, self.links[at as usize].next);
        }
        match before {
            NONE => self.lists[list].first = next,
            _ => self.links[before as usize].next = next,
        }
        if next == NONE {
            self.lists[list].last = before;
        }
    }

    /// Joins to `op`, which was taken out, those in `queue` that can share its array time, in their order. Says how many
    /// of them are on other planes.
    pub(super) fn join(
        &mut self,
        ops: &mut Slab<Operation>,
        queue: &mut Queue,
        place: Place,
        op: u32,
    ) -> u64 {
        let Operation { kind, plane, pages, .. } = ops[op];
        let (list, each) = match kind {
            Kind::Read => (READS, 1),
            Kind::Program => (PROGRAMS, self.units_per_page),
            Kind::Clean { .. } => return 0,
        };
        if queue.first == NONE || pages > 1 {
            return 0; // nothing waits, or it is on all planes already
        }
        self.find_cleanings(ops, place);
        let own = plane % self.planes_per_die;
        let planes = if self.multi_plane { 0..self.planes_per_die } else { own..own + 1 };
        for plane in planes {
            let until = self.until[plane as usize];
            let mut next = self.lists[self.at(place, plane, list)].first;
            for _ in u32::from(plane == own)..each {
                let Some(link) = self.links.get(next as usize).filter(|link| link.order < until) else {
                    break;
                };
                self.found.push((link.order, next));
                next = link.next;
            }
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let (mut last, mut on_others) = (op, 0);
        for (_, partner) in found.drain(..) {
            queue.remove(ops, self.links[partner as usize].previous, partner);
            self.remove(ops, place, partner);
            ops[last].partner = partner;
            last = partner;
            on_others += u64::from(ops[partner].plane != plane);
        }
        self.found = found;
        on_others
    }

    /// Finds for each plane the order of its first cleaning: a program behind it goes to a block that it has yet to free.
    fn find_cleanings(&mut self, ops: &Slab<Operation>, place: Place) {
        self.until.clear();
        self.until.resize(self.planes_per_die as usize, u64::MAX);
        for plane in 0..self.planes_per_die {
            let first = self.lists[self.at(place, plane, CLEANINGS)].first;
            if first == NONE {
                continue;
            }
            // All cleanings of a drive are on as many planes.
            let Kind::Clean { planes, .. } = ops[first].kind else { unreachable!("only cleanings clean") };
            let order = self.links[first as usize].order;
            self.until[plane as usize..][..planes as usize].fill(order);
        }
    }
}

#[cfg(test)]
mod tests;
