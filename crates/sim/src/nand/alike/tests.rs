//! Partners against a look through the whole queue.

use super::super::operation::Owner;
use super::*;
use crate::slab::LOOKS;
use flashlane_base::{Random, Seed};

const QUEUE: QueueId = QueueId { die: 1, rank: 2 };
const PLANES: u32 = 4;

/// One queue, with what stands in it once more.
struct Waiting {
    ops: Slab<Operation>,
    queue: Queue,
    alike: Alike,
    all: Vec<u32>,
}

impl Waiting {
    fn new(units_per_page: u32, multi_plane: bool) -> Self {
        let alike = Alike::new(2, PLANES, units_per_page, multi_plane, true).expect("reads overtake");
        Self { ops: Slab::new(), queue: Queue::EMPTY, alike, all: Vec::new() }
    }

    fn push(&mut self, operation: Operation, before_all: bool) {
        let op = self.ops.insert(operation);
        if before_all {
            self.alike.push_front(&self.ops, &self.queue, QUEUE, op);
            self.queue.push_front(&mut self.ops, op);
            self.all.insert(0, op);
        } else {
            self.alike.push(&self.ops, &self.queue, QUEUE, op);
            self.queue.push(&mut self.ops, op);
            self.all.push(op);
        }
    }

    /// Takes out the first operation, or the first read of the host's.
    fn take(&mut self, read: bool) -> Option<u32> {
        let of_host = |op: &Operation| op.kind == Kind::Read && op.class == Class::HostRead;
        let expected = self.all.iter().copied().find(|&op| !read || of_host(&self.ops[op]));
        let op = if read {
            self.alike.take_host_read(&mut self.ops, &mut self.queue, QUEUE)
        } else {
            let op = self.queue.pop(&self.ops);
            op.inspect(|&op| self.alike.remove(&self.ops, QUEUE, op))
        };
        assert_eq!(op, expected);
        self.all.retain(|&waiting| Some(waiting) != op);
        op
    }

    fn join(&mut self, op: u32) -> u64 {
        self.alike.join(&mut self.ops, &mut self.queue, QUEUE, op)
    }

    /// Those that can share the array time of `op`, found the long way.
    fn found_by_looking(&self, op: u32) -> Vec<u32> {
        let head = self.ops[op];
        let each = match head.kind {
            _ if head.pages > 1 => return Vec::new(),
            Kind::Read => 1,
            Kind::Program => self.alike.units_per_page,
            Kind::Clean { .. } => return Vec::new(),
        };
        let mut room = [each; PLANES as usize];
        room[(head.plane % PLANES) as usize] -= 1;
        let suits = |&&other: &&u32| {
            let other = &self.ops[other];
            let plane = (other.plane % PLANES) as usize;
            if let Kind::Clean { planes, .. } = other.kind {
                room[plane..plane + planes as usize].fill(0);
            }
            let with = self.alike.multi_plane || other.plane == head.plane;
            let suits = with && other.kind == head.kind && other.pages == 1 && room[plane] > 0;
            room[plane] -= u32::from(suits);
            suits
        };
        self.all.iter().filter(suits).copied().collect()
    }
}

fn operation(random: &mut Random, cleaned_together: bool) -> Operation {
    let plane = QUEUE.die * PLANES + random.below(u64::from(PLANES)) as u32;
    let (kind, class) = match random.below(10) {
        0 | 1 => (Kind::Read, Class::HostRead),
        2 | 3 => (Kind::Read, Class::Readahead),
        _ => (Kind::Program, Class::HostWrite),
    };
    let mut operation = Operation::new(kind, Owner::Nobody, class, plane, 0, 0);
    if class != Class::HostRead && random.chance(0.1) {
        operation.pages = PLANES;
    }
    if random.chance(0.05) { cleaning(plane, cleaned_together) } else { operation }
}

fn cleaning(plane: u32, together: bool) -> Operation {
    let (plane, planes) = if together { (plane - plane % PLANES, PLANES) } else { (plane, 1) };
    let kind = Kind::Clean { moves: 0, summaries: 0, erases: 1, planes };
    Operation::new(kind, Owner::Nobody, Class::Cleaning, plane, 0, 0)
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
                waiting.push(cleaning(PLANES, together), true);
            } else if let Some(op) = waiting.take(random.chance(0.2)) {
                let expected = waiting.found_by_looking(op);
                let others = waiting.join(op);
                let mut partners = Vec::new();
                let mut at = waiting.ops[op].partner;
                while at != NONE {
                    partners.push(at);
                    at = waiting.ops[at].partner;
                }
                assert_eq!(partners, expected, "seed {seed}");
                let plane = waiting.ops[op].plane;
                let elsewhere = |partner: &&u32| waiting.ops[**partner].plane != plane;
                assert_eq!(others, partners.iter().filter(elsewhere).count() as u64);
                waiting.all.retain(|op| !expected.contains(op));
                joined += partners.len() as u64;
                on_others += others;
                for op in partners.into_iter().chain([op]) {
                    waiting.ops.remove(op);
                }
            }
        }
        let mut at = waiting.queue.first;
        for &op in &waiting.all {
            assert_eq!(at, op, "the queue keeps its order");
            at = waiting.ops[at].next;
        }
        assert_eq!(at, NONE);
    }
    assert!(joined > 10_000 && on_others > 5_000 && joined > on_others, "{joined}, {on_others}");
}

/// Says how often waiting operations were looked at meanwhile.
fn looks(act: impl FnOnce()) -> u64 {
    let before = LOOKS.get();
    act();
    LOOKS.get() - before
}

/// A program for each plane but the last, over and over, then those for the last, whose block is still to be cleaned: what
/// each of them takes to find is the same however many there are.
#[test]
fn a_long_queue_is_not_looked_through_for_partners() {
    let looks_in = |rounds| {
        let (mut ops, mut queue) = (Slab::new(), Queue::EMPTY);
        let mut alike = Alike::new(2, PLANES, 1, true, false).expect("planes share array times");
        let program = |plane| Operation::new(Kind::Program, Owner::Nobody, Class::HostWrite, plane, 0, 0);
        let all = (0..rounds)
            .flat_map(|_| [0, 1, 2].map(program))
            .chain([cleaning(3, false)])
            .chain((0..rounds).map(|_| program(3)));
        for operation in all {
            let op = ops.insert(operation);
            alike.push(&ops, &queue, QUEUE, op);
            queue.push(&mut ops, op);
        }
        looks(|| {
            let mut joined = 0;
            while let Some(op) = queue.pop(&ops) {
                alike.remove(&ops, QUEUE, op);
                joined += alike.join(&mut ops, &mut queue, QUEUE, op);
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
        let operation = |kind, class, at: usize| {
            Operation::new(kind, Owner::Nobody, class, (at % PLANES as usize) as u32, 0, 0)
        };
        for at in 0..rounds {
            waiting.push(operation(Kind::Program, Class::HostWrite, at), false);
            waiting.push(operation(Kind::Read, Class::Readahead, at), false);
        }
        (0..rounds).for_each(|at| waiting.push(operation(Kind::Read, Class::HostRead, at), false));
        let Waiting { ops, queue, alike, all } = &mut waiting;
        looks(|| {
            for &read in &all[2 * rounds..] {
                assert_eq!(alike.take_host_read(ops, queue, QUEUE), Some(read));
            }
            assert_eq!(alike.take_host_read(ops, queue, QUEUE), None);
        })
    };
    let (short, long) = (looks_in(500), looks_in(2000));
    assert!(long <= 5 * short, "{short}, then {long} of four times as many");
}

/// A cleaning of all planes, and one after it of a single plane, on which the first counts.
#[test]
fn the_first_cleaning_of_a_plane_counts_whichever_planes_it_is_on() {
    let mut waiting = Waiting::new(1, true);
    let program = |plane| Operation::new(Kind::Program, Owner::Nobody, Class::HostWrite, plane, 0, 0);
    let first = QUEUE.die * PLANES;
    waiting.push(program(first), false);
    waiting.push(cleaning(first, true), false);
    waiting.push(program(first + 2), false);
    waiting.push(cleaning(first + 2, false), false);
    let op = waiting.take(false).expect("a program waits");
    assert_eq!(waiting.join(op), 0, "the block of the other is yet to be freed");
}
