//! Partners against a look through the whole queue.

use super::super::operation::{Defer, Owner};
use super::super::queue::Node;
use super::*;
use crate::ids::Lpn;
use crate::nand::PageType;
use crate::nand::Read;
use crate::slab::{LOOKS, Slab};
use flashlane_base::{Random, Seed};
use flashlane_policy::scheduling::Class;

const QUEUE: DieQueue = DieQueue { die: DieId(1), rank: 2 };
const PLANES: u32 = 4;

/// One queue, with what stands in it once more.
struct Waiting {
    ops: Operations,
    queue: Queue,
    index: MultiPlaneIndex,
    all: Vec<OpSlot>,
}

impl Waiting {
    fn new(units_per_page: u32, multi_plane: bool) -> Self {
        let index = MultiPlaneIndex::new(2, PLANES, units_per_page, units_per_page, false, multi_plane, true)
            .expect("reads pass others");
        Self { ops: Slab::new(), queue: Queue::EMPTY, index, all: Vec::new() }
    }

    fn push(&mut self, operation: FlashOperation, before_all: bool) {
        let op = self.ops.insert(Node::new(operation));
        if before_all {
            self.index.push_front(&self.ops, &self.queue, QUEUE, op);
            self.queue.push_front(&mut self.ops, op);
            self.all.insert(0, op);
        } else {
            self.index.push(&self.ops, &self.queue, QUEUE, op);
            self.queue.push(&mut self.ops, op);
            self.all.push(op);
        }
    }

    /// Takes out the first operation, or the first read of the host's.
    fn take(&mut self, read: bool) -> Option<OpSlot> {
        let of_host = |node: &Node| node.operation.is_read() && node.operation.class == Class::HostRead;
        let expected = self.all.iter().copied().find(|&op| !read || of_host(&self.ops[op]));
        let op = if read {
            self.index.take_host_read(&mut self.ops, &mut self.queue, QUEUE)
        } else {
            let op = self.queue.pop(&self.ops);
            op.inspect(|&op| self.index.remove(&self.ops, QUEUE, op))
        };
        assert_eq!(op, expected);
        self.all.retain(|&waiting| Some(waiting) != op);
        op
    }

    /// Takes out the operation in this place of the queue.
    fn take_any(&mut self, place: usize) {
        let op = self.all.remove(place);
        let previous = place.checked_sub(1).map_or(OpSlot::NONE, |place| self.all[place]);
        self.queue.remove(&mut self.ops, previous, op);
        self.index.remove_any(&self.ops, QUEUE, op);
        self.ops.remove(op);
    }

    fn join(&mut self, op: OpSlot) -> u64 {
        self.index.join(&mut self.ops, &mut self.queue, QUEUE, op)
    }

    /// Those that can share the array time of `op`, found the long way.
    fn found_by_looking(&self, op: OpSlot) -> Vec<OpSlot> {
        let head = self.ops[op].operation;
        let each = match head.work {
            _ if head.planes() > 1 => return Vec::new(),
            Work::Read(_) => 1,
            Work::Program(_) => self.index.units_per_page,
            Work::Gc(_) | Work::Erase(_) => return Vec::new(),
        };
        let mut room = [each; PLANES as usize];
        room[(head.plane.0 % PLANES) as usize] -= 1;
        let suits = |&&other: &&OpSlot| {
            let other = &self.ops[other].operation;
            let plane = (other.plane.0 % PLANES) as usize;
            if let Work::Gc(Gc { planes, .. }) = other.work {
                room[plane..plane + planes as usize].fill(0);
            }
            let with = self.index.multi_plane || other.plane == head.plane;
            let like = (other.is_read(), other.is_program()) == (head.is_read(), head.is_program());
            let suits = with && like && other.planes() == 1 && room[plane] > 0;
            room[plane] -= u32::from(suits);
            suits
        };
        self.all.iter().filter(suits).copied().collect()
    }
}

fn operation(random: &mut Random, cleaned_together: bool) -> FlashOperation {
    let plane = QUEUE.die.0 * PLANES + random.below(u64::from(PLANES)) as u32;
    let mut operation = match random.below(10) {
        0 | 1 => read(plane, Class::HostRead),
        2 | 3 => read(plane, Class::Readahead),
        _ => program(plane),
    };
    if operation.class != Class::HostRead && random.chance(0.1) {
        match &mut operation.work {
            Work::Read(read) => read.reads = PLANES,
            Work::Program(program) => program.programs = PLANES,
            Work::Gc(_) | Work::Erase(_) => {}
        }
    }
    if random.chance(0.05) { gc(plane, cleaned_together) } else { operation }
}

fn gc(plane: u32, together: bool) -> FlashOperation {
    let (plane, planes) = if together { (plane - plane % PLANES, PLANES) } else { (plane, 1) };
    let work = Work::Gc(Gc {
        moves: 0,
        pages_read: 0,
        summaries: 0,
        erases: 1,
        moved_from: PageType::MEAN,
        planes,
        is_paced_step: false,
    });
    FlashOperation { work, owner: Owner::None, class: Class::IdleGc, defer: Defer::No, plane: PlaneId(plane) }
}

fn read(plane: u32, class: Class) -> FlashOperation {
    FlashOperation::read(Owner::None, class, PlaneId(plane), Read::of(Lpn(0), 0))
}

fn program(plane: u32) -> FlashOperation {
    FlashOperation::program(Owner::None, PlaneId(plane), Lpn(0), 0)
}

#[test]
fn partners_are_those_that_a_look_through_the_queue_finds() {
    let (mut joined, mut on_others) = (0, 0);
    for seed in 0..400 {
        let random = &mut Seed(seed).derive("queue").source();
        let (units, together) = ([1, 1, 3][(seed % 3) as usize], seed % 2 == 0);
        let mut waiting = Waiting::new(units, units == 1 || random.chance(0.5));
        // Longer and shorter queues, down to empty ones.
        let pushes = 0.4 + 0.5 * random.unit();
        for _ in 0..600 {
            if random.chance(pushes) {
                waiting.push(operation(random, together), false);
            } else if random.chance(0.02) {
                waiting.push(gc(PLANES, together), true);
            } else if random.chance(0.1) && !waiting.all.is_empty() {
                waiting.take_any(random.below(waiting.all.len() as u64) as usize);
            } else if let Some(op) = waiting.take(random.chance(0.2)) {
                let expected = waiting.found_by_looking(op);
                let others = waiting.join(op);
                let mut partners = Vec::new();
                let mut at = waiting.ops[op].partner;
                while at.is_some() {
                    partners.push(at);
                    at = waiting.ops[at].partner;
                }
                assert_eq!(partners, expected, "seed {seed}");
                let plane = waiting.ops[op].operation.plane;
                let elsewhere = |partner: &&OpSlot| waiting.ops[**partner].operation.plane != plane;
                assert_eq!(others, partners.iter().filter(elsewhere).count() as u64);
                waiting.all.retain(|op| !expected.contains(op));
                joined += partners.len() as u64;
                on_others += others;
                for op in partners.into_iter().chain([op]) {
                    waiting.ops.remove(op);
                }
            }
        }
        let mut at = waiting.queue.first();
        for &op in &waiting.all {
            assert_eq!(at, op, "the queue keeps its order");
            at = waiting.ops[at].next;
        }
        assert_eq!(at, OpSlot::NONE);
    }
    assert!(joined > 10_000 && on_others > 5_000 && joined > on_others, "{joined}, {on_others}");
}

/// Says how often waiting operations were looked at meanwhile.
fn looks(act: impl FnOnce()) -> u64 {
    let before = LOOKS.get();
    act();
    LOOKS.get() - before
}

/// A program for each plane but the last, over and over, then those for the last, whose block is still to be cleaned:
/// what each of them takes to find is the same however many there are.
#[test]
fn a_long_queue_is_not_looked_through_for_partners() {
    let looks_in = |rounds| {
        let (mut ops, mut queue) = (Slab::new(), Queue::EMPTY);
        let mut index =
            MultiPlaneIndex::new(2, PLANES, 1, 1, false, true, false).expect("planes share array times");
        let all = (0..rounds)
            .flat_map(|_| [0, 1, 2].map(program))
            .chain([gc(3, false)])
            .chain((0..rounds).map(|_| program(3)));
        for operation in all {
            let op = ops.insert(Node::new(operation));
            index.push(&ops, &queue, QUEUE, op);
            queue.push(&mut ops, op);
        }
        looks(|| {
            let mut joined = 0;
            while let Some(op) = queue.pop(&ops) {
                index.remove(&ops, QUEUE, op);
                joined += index.join(&mut ops, &mut queue, QUEUE, op);
            }
            assert_eq!(joined, 2 * rounds);
        })
    };
    let (short, long) = (looks_in(500), looks_in(2000));
    assert!(long <= 5 * short, "{short}, then {long} of four times as many");
}

/// The host's reads behind programs and readahead, each taken while the die is suspended, and a look for one more.
#[test]
fn a_long_queue_is_not_looked_through_for_reads() {
    let looks_in = |rounds: usize| {
        let mut waiting = Waiting::new(1, true);
        let plane = |at: usize| (at % PLANES as usize) as u32;
        for at in 0..rounds {
            waiting.push(program(plane(at)), false);
            waiting.push(read(plane(at), Class::Readahead), false);
        }
        (0..rounds).for_each(|at| waiting.push(read(plane(at), Class::HostRead), false));
        let Waiting { ops, queue, index, all } = &mut waiting;
        looks(|| {
            for &read in &all[2 * rounds..] {
                assert_eq!(index.take_host_read(ops, queue, QUEUE), Some(read));
            }
            assert_eq!(index.take_host_read(ops, queue, QUEUE), None);
        })
    };
    let (short, long) = (looks_in(500), looks_in(2000));
    assert!(long <= 5 * short, "{short}, then {long} of four times as many");
}

/// A cleaning of all planes, and one after it of a single plane, on which the first counts.
#[test]
fn first_gc_of_a_plane_counts_on_any_of_its_planes() {
    let mut waiting = Waiting::new(1, true);
    let first = QUEUE.die.0 * PLANES;
    waiting.push(program(first), false);
    waiting.push(gc(first, true), false);
    waiting.push(program(first + 2), false);
    waiting.push(gc(first + 2, false), false);
    let op = waiting.take(false).expect("a program waits");
    assert_eq!(waiting.join(op), 0, "the block of the other is yet to be freed");
}
