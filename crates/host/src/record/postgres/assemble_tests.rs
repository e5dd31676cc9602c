//! Events made by hand, and random ones that are compared with a simple model.

use super::*;
use proptest::prelude::*;

const OURS: u32 = 16384;

fn page(block: u32) -> PageName {
    PageName { file: 2619, fork: 0, block }
}

/// Feeds events, a nanosecond apart, and returns the transactions with the totals.
fn assemble(events: &[(u32, Event)]) -> (Vec<PageTransaction>, PageCounts) {
    let mut assembler = Assembler::new(OURS, false);
    let add = |(at, (pid, event)): (usize, &(u32, Event))| assembler.add(at as u64, *pid, event.clone());
    let transactions = events.iter().enumerate().filter_map(add).collect();
    (transactions, assembler.finish().0)
}

/// Events of a read of `block` that is returned in `buffer`.
fn read(pid: u32, block: u32, buffer: i32) -> [(u32, Event); 2] {
    read_of(OURS, pid, block, buffer)
}

fn read_of(database: u32, pid: u32, block: u32, buffer: i32) -> [(u32, Event); 2] {
    [(pid, Event::ReadDone { database, page: page(block) }), (pid, Event::ReadReturned { buffer })]
}

fn accesses(transaction: &PageTransaction) -> Vec<(u32, bool)> {
    transaction.accesses.iter().map(|access| (access.page.block, access.is_write)).collect()
}

#[test]
fn dirty_page_makes_its_latest_access_a_write() {
    let mut events = vec![(7, Event::Start)];
    events.extend(read(7, 1, 10));
    events.extend(read(7, 2, 20));
    events.push((7, Event::Dirty { buffer: 10 }));
    events.extend(read(7, 1, 10));
    events.extend(read(7, 2, 20));
    events.extend([(7, Event::Dirty { buffer: 20 }), (7, Event::Dirty { buffer: 20 }), (7, Event::Commit)]);
    let (transactions, counts) = assemble(&events);
    assert_eq!(accesses(&transactions[0]), [(1, true), (2, false), (1, false), (2, true)]);
    assert_eq!((counts.committed, counts.accesses, counts.writes, counts.reads), (1, 4, 2, 4));
}

#[test]
fn buffer_read_by_another_process_is_known() {
    let mut events = vec![(7, Event::Start), (8, Event::Start)];
    events.extend(read(7, 1, 10));
    events.push((8, Event::Dirty { buffer: 10 }));
    events.push((8, Event::Dirty { buffer: 11 }));
    events.extend([(8, Event::Commit), (7, Event::Commit)]);
    let (transactions, counts) = assemble(&events);
    assert_eq!(transactions.iter().map(|t| t.session).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(transactions.iter().map(accesses).collect::<Vec<_>>(), [[(1, true)], [(1, false)]]);
    assert_eq!((counts.dirty_unread, counts.dirty_unknown), (1, 1));
}

#[test]
fn buffers_of_a_process_are_its_own() {
    let mut events = vec![(7, Event::Start), (8, Event::Start)];
    events.extend(read(7, 1, -1));
    events.extend(read(8, 2, -1));
    events.extend([(7, Event::Dirty { buffer: -1 }), (7, Event::Commit), (8, Event::Commit)]);
    let (transactions, _) = assemble(&events);
    assert_eq!(transactions.iter().map(accesses).collect::<Vec<_>>(), [[(1, true)], [(2, false)]]);
}

#[test]
fn aborted_open_and_empty_transactions_are_left_out() {
    let mut events = vec![(7, Event::Start)];
    events.extend(read(7, 1, 10));
    events.extend([(7, Event::Abort), (7, Event::Start), (7, Event::Commit), (8, Event::Start)]);
    events.extend(read(8, 2, 20));
    events.push((9, Event::Start));
    events.extend(read_of(1, 9, 3, 30));
    events.extend([(9, Event::Dirty { buffer: 30 }), (9, Event::Commit)]);
    // Outside of a transaction.
    events.extend(read(9, 4, 40));
    let (transactions, counts) = assemble(&events);
    assert_eq!(transactions, []);
    assert_eq!((counts.committed, counts.aborted, counts.incomplete), (0, 1, 1));
    assert_eq!((counts.reads, counts.reads_elsewhere, counts.accesses), (3, 1, 0));
}

#[test]
fn kind_is_the_first_comment_of_the_transaction() {
    let query = |text: &str| (7, Event::Query(text.into()));
    let whole = |texts: &[&str]| {
        let mut events = vec![query(texts[0]), (7, Event::Start)];
        events.extend(texts[1..].iter().map(|text| query(text)));
        events.extend(read(7, 1, 10));
        events.push((7, Event::Commit));
        events
    };
    let events = [
        whole(&["BEGIN", " /* NewOrder */ SELECT 1", "/* Second */ SELECT", "COMMIT"]),
        whole(&["/* Payment */ SELECT 1"]),
        whole(&["SELECT /* inside */ 1"]),
        whole(&["/*NewOrder*/"]),
        whole(&["/* never ends"]),
    ];
    let (transactions, counts) = assemble(&events.concat());
    let kinds: Vec<_> = transactions.iter().map(|transaction| transaction.kind).collect();
    assert_eq!(kinds, [Some(0), Some(1), None, Some(0), None]);
    assert_eq!(counts.kinds, ["NewOrder", "Payment"]);
}

#[test]
fn time_on_a_processor_is_that_between_switches() {
    let mut assembler = Assembler::new(OURS, true);
    let mut add = |at, pid, event| assembler.add(at, pid, event);
    add(100, 7, Event::Start);
    add(130, 0, Event::Switch { from: 7, to: 9 });
    add(200, 0, Event::Switch { from: 9, to: 7 });
    for (_, event) in read(7, 1, 10) {
        add(210, 7, event);
    }
    let ended = add(250, 7, Event::Commit).unwrap();
    assert_eq!((ended.started_ns, ended.cpu_ns), (0, 30 + 50));
    add(260, 0, Event::Switch { from: 7, to: 0 });
    add(300, 0, Event::Switch { from: 0, to: 7 });
    add(305, 7, Event::Start);
    add(306, 7, Event::ReadDone { database: OURS, page: page(1) });
    let ended = add(310, 7, Event::Commit).unwrap();
    assert_eq!((ended.started_ns, ended.cpu_ns), (205, 5));
}

#[test]
fn lost_events_leave_out_the_open_transactions() {
    let mut events = vec![(7, Event::Start)];
    events.extend(read(7, 1, 10));
    events.extend([(0, Event::Lost), (7, Event::Commit), (7, Event::Start)]);
    events.extend(read(7, 2, 20));
    events.extend([(7, Event::Dirty { buffer: 10 }), (7, Event::Commit)]);
    let (transactions, counts) = assemble(&events);
    assert_eq!(transactions.iter().map(accesses).collect::<Vec<_>>(), [[(2, false)]]);
    assert_eq!((counts.losses, counts.incomplete, counts.dirty_unknown), (1, 1, 1));
}

/// A step of a process; pages lie in the buffer of their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u32),
    Dirty(u32),
    Commit,
    Abort,
}

fn step() -> impl Strategy<Value = (u32, Step)> {
    let step = prop_oneof![
        4 => (0..6_u32).prop_map(Step::Read),
        3 => (0..6_u32).prop_map(Step::Dirty),
        1 => Just(Step::Commit),
        1 => Just(Step::Abort),
    ];
    (1..4_u32, step)
}

proptest! {
    /// The model keeps a list for each process, and looks for the latest access from its end.
    #[test]
    fn transactions_equal_those_of_a_simple_model(steps in prop::collection::vec(step(), 0..200)) {
        let mut events = Vec::new();
        let mut open: BTreeMap<u32, Vec<(u32, bool)>> = BTreeMap::new();
        let mut resident = [false; 6];
        let (mut expected, mut aborted, mut unread) = (Vec::new(), 0, 0);
        for (pid, step) in steps {
            let list = open.entry(pid).or_insert_with(|| {
                events.push((pid, Event::Start));
                Vec::new()
            });
            match step {
                Step::Read(block) => {
                    events.extend(read(pid, block, block as i32 + 1));
                    resident[block as usize] = true;
                    list.push((block, false));
                }
                Step::Dirty(block) => {
                    events.push((pid, Event::Dirty { buffer: block as i32 + 1 }));
                    match list.iter_mut().rev().find(|(read, _)| *read == block) {
                        Some((_, is_write)) => *is_write = true,
                        None if resident[block as usize] => {
                            list.push((block, true));
                            unread += 1;
                        }
                        None => {}
                    }
                }
                Step::Commit => {
                    events.push((pid, Event::Commit));
                    expected.extend(open.remove(&pid).filter(|list| !list.is_empty()));
                }
                Step::Abort => {
                    events.push((pid, Event::Abort));
                    aborted += u64::from(open.remove(&pid).is_some_and(|list| !list.is_empty()));
                }
            }
        }
        let (transactions, counts) = assemble(&events);
        prop_assert_eq!(transactions.iter().map(accesses).collect::<Vec<_>>(), expected);
        prop_assert_eq!((counts.aborted, counts.dirty_unread), (aborted, unread));
    }
}
