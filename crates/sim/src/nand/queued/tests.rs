//! The scheduler with queues, operation by operation.

use super::*;
use crate::event::Due;
use crate::ids::{FlashPage, PlaneId, RequestSlot};
use crate::nand::PageType;
use crate::nand::operation::Gc;
use crate::nand::{Erase, Program, Read};
use crate::profile::load;
use flashlane_base::Duration;

/// One die, whose array lets reads between the moves of GC.
fn one_die(planes: &str) -> QueuedScheduler {
    one_die_with(planes, "false")
}

fn one_die_with(planes: &str, multi_plane: &str) -> QueuedScheduler {
    one_die_set(planes, &[("flash.multi_plane", multi_plane)])
}

fn one_die_set(planes: &str, settings: &[(&str, &str)]) -> QueuedScheduler {
    let common = [
        ("capacity", "1MiB"),
        ("flash.channels", "1"),
        ("flash.planes", planes),
        ("cleaning.defer", "no"),
        ("scheduling.policy", "read-first"),
    ];
    let all = common.iter().chain(settings).map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let mut config = load("msr-32g", &all.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    // Also with a policy that gives it no effect.
    config.cleaning.preemptible = !settings.contains(&("cleaning.preemptible", "false"));
    QueuedScheduler::new(&config, &Geometry::new(&config), Seed(1))
}

/// Runs all events up to and including the next that finishes an operation.
fn run_until_finished(
    flash: &mut QueuedScheduler,
    now: &mut Instant,
    events: &mut EventQueue,
) -> Vec<FlashOperation> {
    let mut finished = Vec::new();
    while finished.is_empty() {
        let Some(Due { time, ticket, event, .. }) = events.pop() else { break };
        *now = time;
        match event {
            Event::DieDone(die) => flash.die_done(die, ticket, time, events, &mut finished),
            Event::BusDone(channel) => flash.bus_done(channel, time, events, &mut finished),
            other => unreachable!("{other:?} is not flash's"),
        }
    }
    finished
}

/// Three units of three pages are moved, and their block erased.
const GC: Gc = Gc {
    moves: 3,
    pages_read: 3,
    summaries: 0,
    erases: 1,
    moved_from: PageType::MEAN,
    planes: 1,
    is_paced_step: false,
};

#[test]
fn every_interrupted_gc_of_an_idle_die_completes() {
    let planes = 3;
    let mut flash = one_die("4");
    let (mut now, mut events, die) = (Instant::ZERO, EventQueue::default(), DieId(0));
    for plane in (0..planes).map(PlaneId) {
        let work = Work::Gc(GC);
        let (owner, class) = (Owner::IdleGc, Class::IdleGc);
        flash.enqueue(FlashOperation { work, owner, class, defer: Defer::No, plane }, now, &mut events);
    }
    // Each read interrupts the GC of one plane.
    for number in 0..planes {
        let owner = Owner::Request(RequestSlot(number));
        let read = FlashOperation::read(owner, Class::HostRead, PlaneId(3), Read::of(Lpn(number), 4096));
        flash.enqueue(read, now, &mut events);
        let finished = run_until_finished(&mut flash, &mut now, &mut events);
        assert_eq!(finished.iter().map(|operation| operation.owner).collect::<Vec<_>>(), [owner]);
    }
    let mut planes_done = Vec::new();
    while flash.is_idle(die, now) && flash.resume_gc(die, now, &mut events) {
        let finished = run_until_finished(&mut flash, &mut now, &mut events);
        planes_done.extend(finished.iter().map(|operation| operation.plane.0));
    }
    assert_eq!(planes_done, [0, 1, 2], "GC goes on in the order in which it was interrupted");
    assert!(flash.ops.slots_in_use().is_empty(), "no operation is left over");
}

#[test]
fn die_collects_while_gc_moves_units_one_by_one() {
    let mut flash = one_die("1");
    let (mut now, mut events, die) = (Instant::ZERO, EventQueue::default(), DieId(0));
    let read = FlashOperation::read(Owner::Gc, Class::Write, PlaneId(0), Read::of(Lpn(0), 4096));
    let program = FlashOperation::program(Owner::Gc, PlaneId(0), Lpn(0), 4096);
    for operation in [read, program] {
        flash.enqueue(operation, now, &mut events);
    }
    let host = FlashOperation::program(Owner::Request(RequestSlot(0)), PlaneId(0), Lpn(1), 4096);
    flash.enqueue(host, now, &mut events);
    assert!(flash.is_collecting(die), "two moves are queued");
    run_until_finished(&mut flash, &mut now, &mut events);
    assert!(!flash.is_collecting(die), "the host's program is left");
}

#[test]
fn only_reads_of_others_than_gc_are_counted() {
    let mut flash = one_die("1");
    let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
    for (owner, reads) in [(Owner::None, 0), (Owner::IdleGc, 0), (Owner::Readahead, 1)] {
        let read = FlashOperation::read(owner, Class::IdleGc, PlaneId(0), Read::of(Lpn(0), 4096));
        flash.enqueue(read, now, &mut events);
        run_until_finished(&mut flash, &mut now, &mut events);
        assert_eq!(flash.media.counters().reads, reads, "{owner:?}");
    }
}

#[test]
fn reads_of_one_flash_page_share_a_sense() {
    let read_ns = 25_000;
    let settings = [("mapping.unit", "1KiB"), ("mapping.chunk", "4KiB")];
    let mut flash = one_die_set("2", &settings);
    assert_eq!(flash.media.timing().read.as_ns(), read_ns);
    let read = |plane, page, retries| {
        let read = Read { page: FlashPage(page), retries, ..Read::of(Lpn(page), 1024) };
        FlashOperation::read(Owner::Readahead, Class::HostRead, PlaneId(plane), read)
    };
    let mut senses_of = |later: &[FlashOperation]| {
        let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
        let before = flash.media.counters().array_busy_ns;
        flash.enqueue(read(0, 7, 0), now, &mut events);
        later.iter().for_each(|operation| flash.enqueue(*operation, now, &mut events));
        let mut finished = 0;
        while events.next_time() < Instant::FAR {
            finished += run_until_finished(&mut flash, &mut now, &mut events).len();
        }
        assert_eq!(finished, 1 + later.len());
        (flash.media.counters().array_busy_ns - before) / read_ns
    };
    // Joined while the page is sensed.
    assert_eq!(senses_of(&[read(0, 7, 0); 3]), 1);
    // Another page waits, and its reads are joined in the queue; between those of two pages none is joined.
    assert_eq!(senses_of(&[read(0, 8, 0), read(0, 8, 0), read(0, 7, 0)]), 2);
    assert_eq!(senses_of(&[read(0, 8, 0), read(0, 9, 0), read(0, 8, 0)]), 4);
    // Another plane has a page of this number of its own, and none that is alone shares a sense.
    assert_eq!(senses_of(&[read(1, 7, 0)]), 2);
    assert_eq!(senses_of(&[read(0, FlashPage::ALONE.0, 0); 2]), 3);
    // One that needs more array reads than those under way cannot join them.
    assert_eq!(senses_of(&[read(0, 7, 2)]), 1 + 3);
}

#[test]
fn data_of_all_planes_of_a_die_cross_the_bus_before_those_of_another() {
    let settings = [("flash.multi_plane", "true"), ("flash.dies", "2"), ("flash.bus", "10MB/s")];
    let mut flash = one_die_set("4", &settings);
    let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
    let mut number = 0;
    let mut read = |flash: &mut QueuedScheduler, events: &mut EventQueue, plane| {
        let owner = Owner::Request(RequestSlot(number));
        let read = FlashOperation::read(owner, Class::HostRead, plane, Read::of(Lpn(number), 4096));
        number += 1;
        flash.enqueue(read, Instant::ZERO, events);
    };
    // The first of each die begins alone, and those of four planes wait for it.
    let planes: Vec<PlaneId> = (0..8).map(PlaneId).collect();
    for die in planes.chunks(4) {
        die.iter().chain(die).for_each(|&plane| read(&mut flash, &mut events, plane));
    }
    let mut dies = Vec::new();
    while dies.len() < 16 {
        let finished = run_until_finished(&mut flash, &mut now, &mut events);
        dies.extend(finished.iter().map(|operation| operation.plane.0 / 4));
    }
    let turns: Vec<(u32, usize)> = dies.chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect();
    assert_eq!(turns, [(0, 1), (1, 1), (0, 4), (1, 4), (0, 3), (1, 3)]);
}

#[test]
fn multi_plane_operations_are_counted_once_whatever_their_planes() {
    let mut flash = one_die_with("4", "true");
    let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
    let read = |plane, number| {
        let owner = Owner::Request(RequestSlot(number));
        FlashOperation::read(owner, Class::HostRead, PlaneId(plane), Read::of(Lpn(number), 4096))
    };
    // The first begins alone; the others share an array time.
    flash.enqueue(read(0, 0), now, &mut events);
    (0..4).for_each(|plane| flash.enqueue(read(plane, 1 + plane), now, &mut events));
    while !run_until_finished(&mut flash, &mut now, &mut events).is_empty() {}
    assert_eq!(flash.media.counters().multi_plane, 1);
    let program = Program { programs: 4, ..Program::of(Lpn(0), 4 * 4096) };
    let gc = Gc { moves: 2, pages_read: 2, planes: 4, ..GC };
    // Two moves and an erase are three.
    for (work, count) in
        [(Work::Program(program), 2), (Work::Gc(gc), 5), (Work::Erase(Erase { times: 1, planes: 4 }), 6)]
    {
        let (owner, class) = (Owner::IdleGc, Class::IdleGc);
        flash.enqueue(
            FlashOperation { work, owner, class, defer: Defer::No, plane: PlaneId(0) },
            now,
            &mut events,
        );
        while !run_until_finished(&mut flash, &mut now, &mut events).is_empty() {}
        assert_eq!(flash.media.counters().multi_plane, count, "{work:?}");
    }
}

/// How long a program takes at a die that always has two reads from the moment on at which the program waits for its
/// turn, or is in the array where it `has_begun`; `None` where it has not ended after 50 ms.
fn program_under_reads(has_begun: bool, settings: &[(&str, &str)]) -> Option<Duration> {
    let mut flash = one_die_set("2", settings);
    let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
    let read = |number| {
        let owner = Owner::Request(RequestSlot(number));
        FlashOperation::read(owner, Class::HostRead, PlaneId(1), Read::of(Lpn(number), 4096))
    };
    let writer = Owner::Request(RequestSlot(0));
    let mut program = Some(FlashOperation::program(writer, PlaneId(0), Lpn(0), 4096));
    if has_begun {
        flash.enqueue(program.take().unwrap(), now, &mut events);
        let Due { time: loaded, event, .. } = events.pop().expect("the program is on the bus");
        let Event::BusDone(channel) = event else { unreachable!("the bus comes before the array") };
        flash.bus_done(channel, loaded, &mut events, &mut Vec::new());
        now = loaded + Duration::from_us(1);
    }
    let operations = [Some(read(1)), program, Some(read(2))];
    operations.into_iter().flatten().for_each(|operation| flash.enqueue(operation, now, &mut events));
    while now.since(Instant::ZERO) < Duration::from_ms(50) {
        for operation in run_until_finished(&mut flash, &mut now, &mut events) {
            match operation.work {
                Work::Read(of) => flash.enqueue(read(of.lpn.0), now, &mut events),
                _ => return Some(now.since(Instant::ZERO)),
            }
        }
    }
    None
}

#[test]
fn write_wait_bounds_how_long_reads_pass_a_program() {
    let suspend = ("flash.suspend", "20us");
    let cases = [
        (false, &[("scheduling.policy", "read-first")][..]),
        (true, &[("scheduling.policy", "read-first"), suspend]),
        (true, &[("scheduling.policy", "fifo"), suspend]),
    ];
    for (has_begun, settings) in cases {
        assert_eq!(program_under_reads(has_begun, settings), None, "it waits as long as reads come");
        let settings = [settings, &[("scheduling.write_wait", "2ms")]].concat();
        let took = program_under_reads(has_begun, &settings).expect("reads pass for 2 ms");
        let flash = one_die_set("2", &settings);
        let timing = flash.media.timing();
        // The wait may begin and end behind a read; the program is suspended once.
        let read = timing.read + timing.bus(4096);
        let own = timing.bus(4096) + timing.program + timing.suspend.unwrap_or_default();
        let longest = Duration::from_ms(2) + read * 2 + own;
        assert!(took <= longest, "{settings:?}: {took}, at most {longest}");
        assert!(took >= Duration::from_ms(2), "reads pass until then: {took}");
    }
}

#[test]
fn erase_wait_lets_reads_pass_an_erase_for_longer() {
    let suspends = |settings: &[(&str, &str)]| {
        let mut flash = one_die_set("2", settings);
        let (mut now, mut events) = (Instant::ZERO, EventQueue::default());
        let erase = Work::Erase(Erase { times: 1, planes: 1 });
        let (owner, class) = (Owner::Request(RequestSlot(0)), Class::Write);
        let erase = FlashOperation { work: erase, owner, class, defer: Defer::No, plane: PlaneId(0) };
        flash.enqueue(erase, now, &mut events);
        let read = |number| {
            let owner = Owner::Request(RequestSlot(number));
            FlashOperation::read(owner, Class::HostRead, PlaneId(1), Read::of(Lpn(number), 4096))
        };
        flash.enqueue(read(1), now, &mut events);
        loop {
            for operation in run_until_finished(&mut flash, &mut now, &mut events) {
                match operation.work {
                    Work::Read(of) if now.since(Instant::ZERO) < Duration::from_ms(20) => {
                        flash.enqueue(read(of.lpn.0), now, &mut events);
                    }
                    Work::Read(_) => {}
                    _ => return now.since(Instant::ZERO),
                }
            }
        }
    };
    let bounded =
        [("flash.suspend", "20us"), ("scheduling.policy", "read-first"), ("scheduling.write_wait", "1ms")];
    assert!(suspends(&bounded) < Duration::from_ms(10), "it ends beside reads");
    let longer = [&bounded[..], &[("scheduling.erase_wait", "1s")]].concat();
    assert!(suspends(&longer) > Duration::from_ms(20), "it ends when no more reads come");
}

/// When a read ends that comes `after` the beginning of `work`, in turn with the host's writes, and is passed by
/// nothing.
fn read_beside(work: Work, after: Duration, settings: &[(&str, &str)]) -> Duration {
    let mut flash = one_die_set("2", &[&[("cleaning.preemptible", "false")], settings].concat());
    let (mut events, owner) = (EventQueue::default(), Owner::Request(RequestSlot(0)));
    let operation = FlashOperation { work, owner, class: Class::Write, defer: Defer::No, plane: PlaneId(0) };
    flash.enqueue(operation, Instant::ZERO, &mut events);
    let (arrives, reader) = (Instant::ZERO + after, Owner::Request(RequestSlot(1)));
    let mut read = Some(FlashOperation::read(reader, Class::HostRead, PlaneId(1), Read::of(Lpn(9), 4096)));
    let mut finished = Vec::new();
    loop {
        if events.next_time() > arrives
            && let Some(read) = read.take()
        {
            flash.enqueue(read, arrives, &mut events);
        }
        let Due { time, ticket, event, .. } = events.pop().expect("the read ends");
        match event {
            Event::DieDone(die) => flash.die_done(die, ticket, time, &mut events, &mut finished),
            Event::BusDone(channel) => flash.bus_done(channel, time, &mut events, &mut finished),
            other => unreachable!("{other:?} is not flash's"),
        }
        if finished.iter().any(|operation| operation.owner == reader) {
            return time.since(arrives);
        }
    }
}

#[test]
fn read_suspends_a_program_whose_data_were_on_the_bus() {
    let gc = GC;
    let program = Program::of(Lpn(0), 4096);
    for policy in ["read-first", "fifo"] {
        let settings =
            [("flash.suspend", "20us"), ("scheduling.policy", policy), ("flash.copyback", "false")];
        let flash = one_die_set("2", &settings);
        let timing = flash.media.timing();
        let (bus, own) = (timing.bus(4096), timing.read + timing.bus(4096));
        let half = bus / 2;
        let beside = |work, after| read_beside(work, after, &settings);
        assert_eq!(beside(Work::Program(program), half), bus - half + own, "{policy}");
        // GC reads a unit in the array, and has the bus for it twice then.
        assert_eq!(beside(Work::Gc(gc), timing.read + half), bus * 2 - half + own, "{policy}");
        for step in ["1ns", "7us", "100us"] {
            let stepped = [&settings[..], &[("flash.suspend_step", step)]].concat();
            for after in (0..40).map(|part| (bus + timing.program) * part / 40) {
                let (at_once, at_step) = (
                    beside(Work::Program(program), after),
                    read_beside(Work::Program(program), after, &stepped),
                );
                assert!(at_once <= at_step, "{policy}, {after}: {at_once}, in steps of {step} {at_step}");
            }
        }
    }
}
