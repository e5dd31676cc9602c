//! Runs worked out by hand on a device of fixed latencies, and laws of any run.

use crate::recording::{Header, ReadError, RecordedAccess, Relation, Transaction};
use crate::synthetic::TpcB;
use crate::{Pace, Restart, Run, Setup, Source, run};
use flashlane_base::{Duration, Instant, Operation, Seed};
use flashlane_device::{Completion, Device, DeviceInfo, Request, SubmitError};
use flashlane_measure::RunOptions;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A device whose reads take 100 us and whose writes take 400 us, however many are in flight.
struct Fixed {
    info: DeviceInfo,
    now: Instant,
    in_flight: BTreeMap<(Instant, u64), Completion>,
    submitted: Vec<(Operation, u64)>,
    /// Pages of each request.
    lengths: Vec<u64>,
}

impl Fixed {
    fn new() -> Self {
        let info = DeviceInfo {
            write_unit_bytes: 4096,
            depth: 1024,
            simulated: true,
            begins_written: true,
            ..DeviceInfo::new("fixed", 1 << 30, 512)
        };
        Self {
            info,
            now: Instant::ZERO,
            in_flight: BTreeMap::new(),
            submitted: Vec::new(),
            lengths: Vec::new(),
        }
    }
}

impl Device for Fixed {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        let us = if request.operation == Operation::Write { 400 } else { 100 };
        let completed = self.now + Duration::from_us(us);
        let completion = Completion { id: request.id, submitted: self.now, completed, outcome: Ok(()) };
        self.in_flight.insert((completed, self.submitted.len() as u64), completion);
        self.submitted.push((request.operation, request.offset_bytes / 8192));
        self.lengths.push(request.length_bytes / 8192);
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        match self.in_flight.first_entry().filter(|entry| entry.key().0 <= until) {
            Some(entry) => {
                self.now = self.now.max(entry.key().0);
                out.push(entry.remove());
            }
            None if until != Instant::FAR => self.now = self.now.max(until),
            None => {}
        }
    }
}

/// Transactions in memory.
struct List {
    header: Header,
    transactions: std::vec::IntoIter<Transaction>,
}

impl Source for List {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        Ok(self.transactions.next().map(|next| *into = next).is_some())
    }
}

fn list(transactions: Vec<(u64, Vec<RecordedAccess>)>) -> List {
    let kinds = vec!["a".into()];
    let relations =
        [(0, 60), (60, 40)].map(|(first_page, pages)| Relation { name: "r".into(), first_page, pages });
    let header = Header {
        page_bytes: 8192,
        pages: 100,
        clients: 1,
        kinds,
        relations: relations.into(),
        ..Header::default()
    };
    // Recorded by one client that did nothing but compute.
    let mut start = Instant::ZERO;
    let transaction = |(cpu_us, accesses)| {
        let cpu = Duration::from_us(cpu_us);
        start += cpu;
        Transaction { start, cpu, accesses, ..Transaction::default() }
    };
    let transactions: Vec<Transaction> = transactions.into_iter().map(transaction).collect();
    transactions.iter().for_each(|transaction| header.check_transaction(transaction).unwrap());
    List { header, transactions: transactions.into_iter() }
}

fn ran(setup: &Setup, transactions: Vec<(u64, Vec<RecordedAccess>)>) -> (Run, Fixed) {
    let mut device = Fixed::new();
    let run = run(&mut device, &mut list(transactions), setup, RunOptions::default()).unwrap();
    assert_eq!(run.partial, None);
    (run, device)
}

/// The shortest and the longest response time, in microseconds.
fn responses_us(run: &Run) -> (f64, f64) {
    let latency = run.responses.latency();
    (latency.min / 1e3, latency.max / 1e3)
}

#[test]
fn evicted_dirty_page_is_written_before_a_page_is_read() {
    let accesses = vec![RecordedAccess::read(0), RecordedAccess::write(1), RecordedAccess::read(0)];
    let setup = Setup { clients: 1, pool_pages: 1, ..Setup::default() };
    let (run, device) = ran(&setup, vec![(30, accesses.clone()), (30, accesses)]);
    use Operation::{Read, Write};
    let first = [(Read, 0), (Read, 1), (Write, 1), (Read, 0)];
    // The second transaction finds page 0.
    assert_eq!(device.submitted, [&first[..], &first[1..]].concat());
    // Three times 10 us of processor time, and 100 us a read and 400 us a write.
    assert_eq!(responses_us(&run), (630.0, 730.0));
    assert_eq!(run.elapsed, Duration::from_us(1360));
    assert_eq!((run.transactions, run.accesses, run.misses), (2, 6, 5));
    assert_eq!(run.requests.of(Write).map(|latencies| latencies.len()), Some(2));
}

#[test]
fn youngest_of_a_deadlock_restarts() {
    let setup = Setup { clients: 2, pool_pages: 2, ..Setup::default() };
    let (run, _) = ran(
        &setup,
        vec![
            (20, vec![RecordedAccess::write(0), RecordedAccess::write(1)]),
            (20, vec![RecordedAccess::write(1), RecordedAccess::write(0)]),
        ],
    );
    // Both have read their first page at 110 us and want the other at 120 us. The second releases its page, with which
    // the first commits at once, and begins anew.
    assert_eq!(responses_us(&run), (120.0, 140.0));
    assert_eq!(run.restarts, [1, 0]);
    assert_eq!((run.lock_waits, run.misses), (2, 2));
}

#[test]
fn long_wait_for_a_lock_restarts() {
    let setup = Setup { clients: 2, pool_pages: 2, lock_wait: Duration::from_us(50), ..Setup::default() };
    let (run, _) = ran(
        &setup,
        vec![
            (1000, vec![RecordedAccess::write(0), RecordedAccess::write(1)]),
            (510, vec![RecordedAccess::write(0)]),
        ],
    );
    // The first has page 0 from 500 us to its commit at 1200 us; the second waits from 510 to 560 us and from 1070 to
    // 1120 us. It begins anew at once, and then after a pause of 50 us.
    assert_eq!(responses_us(&run), (1200.0, 1680.0));
    assert_eq!(run.restarts[Restart::LockWait as usize], 2);
    assert_eq!(run.restarts[Restart::Deadlock as usize], 0);
}

#[test]
fn readers_share_locks_and_one_read_of_a_page() {
    let setup = Setup { clients: 3, pool_pages: 3, ..Setup::default() };
    let (run, device) = ran(&setup, vec![(0, vec![RecordedAccess::read(7)]); 3]);
    assert_eq!(device.submitted, [(Operation::Read, 7)]);
    assert_eq!((responses_us(&run), run.misses, run.lock_waits), ((100.0, 100.0), 1, 0));
}

#[test]
fn warm_up_is_not_counted() {
    let setup = Setup { clients: 1, pool_pages: 9, warmup: 2, transactions: Some(3), ..Setup::default() };
    let transaction = (10, vec![RecordedAccess::read(1), RecordedAccess::write(2)]);
    let (run, _) = ran(&setup, vec![transaction; 9]);
    assert_eq!((run.transactions, run.accesses, run.misses), (3, 6, 0));
    assert_eq!(run.elapsed, Duration::from_us(30));
    assert_eq!(run.hit_share(), Some(1.0));
    let time = Setup { transactions: None, time: Some(Duration::from_us(25)), ..setup };
    let (run, _) = ran(&time, vec![(10, vec![RecordedAccess::read(1)]); 99]);
    // The third is the last that begins within 25 us.
    assert_eq!(run.transactions, 3);
}

/// Runs transactions of one read each that begin at these times, with this pace and number of clients.
fn at_recorded_times(begins_us: &[u64], pace: Pace, clients: u32) -> Run {
    let mut source = list(vec![(10, vec![RecordedAccess::read(0)]); begins_us.len()]);
    let mut transactions: Vec<_> = source.transactions.collect();
    for (at, (transaction, &begins)) in transactions.iter_mut().zip(begins_us).enumerate() {
        transaction.start = Instant::ZERO + Duration::from_us(begins);
        transaction.accesses = vec![RecordedAccess::read(at as u32)];
    }
    source.transactions = transactions.into_iter();
    let setup = Setup { clients, pace, ..Setup::default() };
    run(&mut Fixed::new(), &mut source, &setup, RunOptions::default()).unwrap()
}

#[test]
fn open_pace_begins_transactions_at_recorded_times() {
    // Each takes 10 us of processor time and a read of 100 us. The first recorded time is the beginning.
    let run = at_recorded_times(&[5000, 5300, 5900], Pace::Open { speed: 1.0 }, 1);
    assert_eq!((responses_us(&run), run.late), ((110.0, 110.0), 0));
    assert_eq!(run.elapsed, Duration::from_us(900 + 110));
    let run = at_recorded_times(&[5000, 5300, 5900], Pace::Open { speed: 2.0 }, 1);
    assert_eq!((responses_us(&run), run.late), ((110.0, 110.0), 0));
    assert_eq!(run.elapsed, Duration::from_us(450 + 110));
    let run = at_recorded_times(&[5000, 5300, 5900], Pace::Closed, 1);
    assert_eq!(run.elapsed, Duration::from_us(3 * 110));
}

#[test]
fn open_pace_counts_the_wait_for_a_client() {
    let begins = [0, 50, 100, 150];
    let run = at_recorded_times(&begins, Pace::Open { speed: 1.0 }, 1);
    // They begin at 0, 110, 220 and 330 us.
    assert_eq!(responses_us(&run), (110.0, 330.0 - 150.0 + 110.0));
    assert_eq!((run.late, run.longest_delay), (3, Duration::from_us(180)));
    assert_eq!(run.doubts().iter().filter(|doubt| doubt.code() == "behind-recording").count(), 1);
    let run = at_recorded_times(&begins, Pace::Open { speed: 1.0 }, 3);
    assert_eq!((responses_us(&run), run.late), ((110.0, 110.0), 0));
}

#[test]
fn open_pace_begins_no_transaction_after_the_end() {
    let setup = Setup {
        clients: 1,
        pace: Pace::Open { speed: 1.0 },
        time: Some(Duration::from_us(250)),
        ..Setup::default()
    };
    let mut source = list(vec![(10, vec![RecordedAccess::read(0)]); 9]);
    let transactions: Vec<_> = source.transactions.zip(0_u64..).collect();
    let at = |(transaction, nth)| Transaction {
        start: Instant::ZERO + Duration::from_us(100) * nth,
        ..transaction
    };
    source.transactions = transactions.into_iter().map(at).collect::<Vec<_>>().into_iter();
    let run = run(&mut Fixed::new(), &mut source, &setup, RunOptions::default()).unwrap();
    assert_eq!(run.transactions, 3);
}

#[test]
fn scan_is_read_ahead_in_growing_windows() {
    let scan = |pages: std::ops::Range<u32>| {
        vec![(40 * pages.len() as u64, pages.map(RecordedAccess::read).collect())]
    };
    let setup = Setup { clients: 1, pool_pages: 64, readahead_bytes: 65_536, ..Setup::default() };
    // From the first page of a relation: two pages, then four and eight, to its end.
    let (run, device) = ran(&setup, scan(0..60));
    assert_eq!(
        device.submitted.iter().map(|one| one.1).collect::<Vec<_>>(),
        [0, 2, 6, 14, 22, 30, 38, 46, 54]
    );
    assert_eq!(device.lengths, [2, 4, 8, 8, 8, 8, 8, 8, 6]);
    assert_eq!(run.misses, 1);
    // Only the first window is waited for, and what is left of the second after a page is used.
    assert_eq!(run.elapsed, Duration::from_us(60 * 40 + 100 + 60));
    // From the middle: a page alone first. Pages apart are read one by one.
    let (run, device) = ran(&setup, scan(70..80));
    assert_eq!(device.submitted.iter().map(|one| one.1).collect::<Vec<_>>(), [70, 71, 73, 77, 85]);
    assert_eq!((run.misses, &device.lengths[..]), (2, &[1, 2, 4, 8, 8][..]));
    let (_, device) = ran(&setup, vec![(40, [5, 3, 9, 70, 2].map(RecordedAccess::read).into())]);
    assert_eq!(device.lengths, [1; 5]);
    // A page apart leaves the window as it is.
    let (_, device) = ran(&setup, vec![(40, [70, 71, 72, 90, 73, 74].map(RecordedAccess::read).into())]);
    assert_eq!(device.lengths[..4], [1, 2, 4, 1]);
}

#[test]
fn first_page_begins_a_small_window_each_time() {
    // Twice a relation's first page, and in between so many pages apart that it leaves the pool.
    let apart = |from: u32| (from..from + 20).step_by(2);
    let pages = [0].into_iter().chain(apart(20)).chain([0]).chain(apart(40));
    let setup = Setup { clients: 1, pool_pages: 9, readahead_bytes: 65_536, ..Setup::default() };
    let (_, device) = ran(&setup, vec![(80, pages.map(RecordedAccess::read).collect())]);
    let of_first = device.submitted.iter().zip(&device.lengths).filter(|(request, _)| request.1 == 0);
    assert_eq!(of_first.map(|(_, pages)| *pages).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn processors_are_shared_in_the_order_of_arrival() {
    // Three clients compute 30 us each for a page that is there after the first read it at 130 us.
    let transactions = || vec![(30, vec![RecordedAccess::read(0)]); 3];
    let setup = |processors| Setup { clients: 3, pool_pages: 3, processors, ..Setup::default() };
    assert_eq!(responses_us(&ran(&setup(None), transactions()).0), (130.0, 130.0));
    let (one, _) = ran(&setup(Some(1)), transactions());
    assert_eq!((responses_us(&one), one.misses), ((130.0, 130.0), 1));
    let (slow, _) = ran(&Setup { cpu_factor: 4.0, ..setup(Some(1)) }, transactions());
    // 120 us each, one after the other: the last begins at 240 us.
    assert_eq!(responses_us(&slow), (220.0, 360.0));
}

#[test]
fn setups_that_do_not_fit_are_refused() {
    let header = Header { pages: 1 << 18, ..list(Vec::new()).header };
    let info = Fixed::new().info;
    let default = Setup { clients: 4, ..Setup::default() };
    for (setup, header, refusal) in [
        (default.clone(), header.clone(), "the size of the database is 2 GiB, must be at most 1 GiB"),
        (
            default.clone(),
            Header { page_bytes: 2048, pages: 9, ..header.clone() },
            "the page size of the recording is 2 KiB, must be a multiple of the 4 KiB that device 'fixed' writes",
        ),
        (
            Setup { clients: 0, ..default.clone() },
            header.clone(),
            "the number of clients is 0, must be from 1 to 1024",
        ),
        (
            Setup { pool_pages: 3, ..default.clone() },
            header.clone(),
            "the number of pages of the pool is 3, must be at least 4, enough for each client",
        ),
        (
            Setup { readahead_bytes: 131_072, pool_pages: 67, ..default.clone() },
            header.clone(),
            "the number of pages of the pool is 67, must be at least 68, enough for each client and its readahead",
        ),
        (
            Setup { readahead_bytes: 8192, ..default.clone() },
            header.clone(),
            "the readahead is 8 KiB, must be 0 for none, or 16 KiB to 128 MiB in multiples of 8 KiB",
        ),
        (
            Setup { processors: Some(0), ..default.clone() },
            header.clone(),
            "the number of processors is 0, must be from 1 to 1024",
        ),
        (
            Setup { cpu_factor: f64::NAN, ..default.clone() },
            header.clone(),
            "the factor of processor time is NaN, must be a number above 0 and at most 1000000, where 1 is as recorded",
        ),
        (
            Setup { lock_wait: Duration::ZERO, ..default.clone() },
            header.clone(),
            "the longest wait for a lock is 0 ns, must be above 0",
        ),
        (
            Setup { pace: Pace::Open { speed: 0.0 }, ..default.clone() },
            header.clone(),
            "the speed is 0, must be a number above 0, where 1 is as recorded",
        ),
        (
            Setup { buffer: "mru".into(), ..default },
            Header { pages: 9, ..header },
            "'mru' is no buffer pool policy; there are: cflru-e, lru",
        ),
    ] {
        let error = setup.check(&header, &info).unwrap_err().to_string();
        assert!(error.starts_with(refusal), "{error}, expected: {refusal}");
    }
}

#[test]
fn pages_that_restarting_transactions_use_leave_a_small_pool() {
    // The first transaction needs one of three frames for page 3. The others use the pages in these frames, wait for a
    // lock of the first or of each other, and begin anew every microsecond, while a page takes 400 us to be written.
    let (read, write) = (RecordedAccess::read, RecordedAccess::write);
    let lock_wait = Duration::from_us(1);
    let setup = Setup { clients: 3, pool_pages: 3, lock_wait, ..Setup::default() };
    let fill = vec![(0, vec![write(0), write(1), write(2)])];
    let first = (0, vec![write(4), write(5), write(6), write(7), write(3)]);
    let others = [(0, vec![write(0), write(1), read(4)]), (0, vec![write(2), read(4)])];
    let transactions = [fill, vec![first], others.to_vec()].concat();
    let (run, _) = ran(&setup, transactions);
    assert_eq!(run.transactions, 4);
    assert!(run.restarts[Restart::LockWait as usize] < 100, "{:?}", run.restarts);
}

fn transactions() -> impl Strategy<Value = Vec<(u64, Vec<RecordedAccess>)>> {
    let access = (0_u32..20, any::<bool>()).prop_map(|(page, write)| {
        if write { RecordedAccess::write(page) } else { RecordedAccess::read(page) }
    });
    proptest::collection::vec((0_u64..300, proptest::collection::vec(access, 1..8)), 1..60)
}

proptest! {
    #[test]
    fn every_transaction_commits(
        transactions in transactions(),
        clients in 1_u32..12,
        more in 0_u32..8,
        buffer in prop_oneof![Just("lru"), Just("cflru-e")],
        lock_wait_us in prop_oneof![Just(1_u64), Just(200), Just(1_000_000)],
        pace in prop_oneof![Just(Pace::Closed), Just(Pace::Open { speed: 1.5 })],
        ahead_pages in prop_oneof![Just(0_u32), Just(2), Just(5)],
        processors in proptest::option::of(1_u32..4),
    ) {
        let lock_wait = Duration::from_us(lock_wait_us);
        let (pool_pages, readahead_bytes) = (clients * (1 + ahead_pages) + more, u64::from(ahead_pages) * 8192);
        let buffer = buffer.into();
        let setup =
            Setup { clients, pace, pool_pages, buffer, lock_wait, readahead_bytes, processors, ..Setup::default() };
        let number = transactions.len() as u64;
        let accesses: u64 = transactions.iter().map(|one| one.1.len() as u64).sum();
        let (run, device) = ran(&setup, transactions.clone());
        prop_assert_eq!(run.transactions, number);
        let restarts: u64 = run.restarts.iter().sum();
        prop_assert!(run.accesses >= accesses && (restarts > 0 || run.accesses == accesses));
        prop_assert!(restarts <= run.lock_waits);
        if lock_wait_us == 1_000_000 {
            prop_assert_eq!(run.restarts[Restart::LockWait as usize], 0);
        }
        let reads = device.submitted.iter().filter(|(operation, _)| *operation == Operation::Read).count() as u64;
        if ahead_pages == 0 {
            prop_assert_eq!(reads, run.misses);
        }
        // A page is not written twice without being read between, or changed while it was written.
        prop_assert!(device.submitted.len() as u64 - reads <= run.accesses);
        let again = ran(&setup, transactions).0;
        prop_assert_eq!(again.elapsed, run.elapsed);
        prop_assert_eq!(again.restarts, run.restarts);
    }
}

#[test]
fn simulated_drive_repeats_a_run_exactly() {
    let result = || {
        let settings = [("initial.state".to_owned(), "full".to_owned())];
        let config = flashlane_sim::profile::load("ssd-s", &settings).unwrap();
        let mut device = flashlane_sim::device(&config, Seed(1), "drive".into());
        let setup = Setup { warmup: 100, transactions: Some(1000), ..Setup::default() };
        let run = run(&mut device, &mut TpcB::new(10, 10, Seed(1)), &setup, RunOptions::default()).unwrap();
        assert_eq!(run.partial, None);
        run
    };
    let (one, other) = (result(), result());
    assert_eq!(one.transactions, 1000);
    assert!(
        one.hit_share().unwrap() > 0.5 && one.restarts[0] < 1000,
        "{:?} {:?}",
        one.hit_share(),
        one.restarts
    );
    assert_eq!(one.elapsed, other.elapsed);
    assert_eq!(one.counters, other.counters);
    assert_eq!(one.responses.latency(), other.responses.latency());
}
