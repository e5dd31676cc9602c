//! The write buffer in its drive: what the policies and the ways of draining are for.

use super::*;

/// `msr-64g` with these settings beside its own.
fn drive(settings: &[(&str, &str)]) -> Drive {
    let mut all = vec![("initial.state", "fresh"), ("link.depth", "100")];
    all.extend_from_slice(settings);
    Drive::new(&config("msr-64g", &all), Seed(1))
}

/// How many ms writes of half a page or a page take when as many are in flight as may be: at random places, or one
/// after the other.
fn saturated(drive: &mut Drive, random_places: bool) -> f64 {
    const REQUESTS: u64 = 10_000;
    let mut random = Seed(5).source();
    let (mut next, mut out) = (0, Vec::new());
    for id in 0..REQUESTS {
        let length = 4096 * (1 + random.below(2));
        let offset = if random_places { random.below(800_000) * 4096 } else { next };
        next = offset + length;
        while drive.submit(Request::write(id, offset, length)).is_err() {
            drive.reap(Instant::FAR, &mut out);
        }
    }
    while out.len() < REQUESTS as usize {
        drive.reap(Instant::FAR, &mut out);
    }
    drive.now().as_ns() as f64 / 1e6
}

#[test]
fn lists_per_package_help_random_writes_only() {
    let measured = |policy, random| {
        let mut drive = drive(&[("buffer.policy", policy)]);
        let time = saturated(&mut drive, random);
        let counters = drive.counters();
        let get = |name| counters.get(name).unwrap() as f64;
        (time, get("buffer_drain_on_all_packages_ns") / get("buffer_drain_ns"))
    };
    // Eight packages: an eighth of the time is the bound (ruan12, section IV.B), for a queue that never has two at
    // work.
    let (one, lists) = (measured("lru", true), measured("parallel", true));
    assert!((0.125..0.5).contains(&(lists.0 / one.0)), "{lists:?} instead of {one:?} ms");
    assert!(one.1 < 0.05 && lists.1 > 0.6, "share of the time on all packages: {one:?}, {lists:?}");
    let (one, lists) = (measured("lru", false), measured("parallel", false));
    assert!((0.95..1.05).contains(&(lists.0 / one.0)), "{lists:?} instead of {one:?} ms");
}

#[test]
fn page_of_a_batch_frees_its_slot_before_the_batch_ends() {
    for policy in ["lru", "parallel"] {
        let mut drive = drive(&[("buffer.policy", policy)]);
        let longest =
            (0..130).map(|id| latency_ns(&mut drive, Request::write(id, id * 8192, 8192))).max().unwrap();
        // Eight programs of 411 us, one after the other on each package, are a batch.
        assert!((300_000..900_000).contains(&longest), "{policy}: {longest} ns");
    }
}

/// One request to its end; its latency in ns.
fn latency_ns(drive: &mut Drive, request: Request) -> u64 {
    let mut out = Vec::new();
    drive.submit(request).unwrap();
    while out.is_empty() {
        drive.reap(Instant::FAR, &mut out);
    }
    out[0].latency().as_ns()
}

/// Lets the host be silent for so long.
fn pause(drive: &mut Drive, time: Duration) {
    let until = drive.now() + time;
    while drive.now() < until {
        drive.reap(until, &mut Vec::new());
    }
}

#[test]
fn a_silent_host_finds_the_buffer_drained_ahead_of_need() {
    let drained = |settings: &[(&str, &str)], pauses_us: &[u64]| {
        let mut drive = drive(settings);
        let mut id = 0;
        for &pause_us in pauses_us {
            // Forty pages are not nearly enough to fill the buffer.
            for _ in 0..40 {
                latency_ns(&mut drive, Request::write(id, id * 8192, 8192));
                id += 1;
            }
            pause(&mut drive, Duration::from_us(pause_us));
        }
        drive.counters().get("buffer_pages_drained").unwrap()
    };
    for policy in flashlane_policy::buffer::REGISTRY {
        let policy = ("buffer.policy", policy.name);
        let idle = ("buffer.idle_drain", "2ms");
        assert_eq!(drained(&[policy], &[50_000]), 0, "{policy:?}");
        assert_eq!(drained(&[policy, idle], &[50_000]), 40, "{policy:?}");
        assert_eq!(drained(&[policy, idle], &[1_900, 1_900]), 0, "the host came back in time: {policy:?}");
    }
}

#[test]
fn pages_on_their_way_to_flash_are_in_the_buffer() {
    // All pages are handed to flash at once, which takes far longer than the link.
    let settings = [
        ("buffer.size", "4MiB"),
        ("buffer.high_watermark", "1%"),
        ("buffer.drain_per_die", "1024"),
        ("flash.program", "20ms"),
    ];
    let mut drive = Drive::new(&config("ssd-s", &settings), Seed(1));
    for id in 0..400 {
        latency_ns(&mut drive, Request::write(id, id * 4096, 4096));
    }
    let before = drive.counters();
    let in_flash = before.get("buffer_pages_programmed").unwrap();
    assert!(before.get("buffer_pages_drained") > Some(390) && in_flash < 200, "{before:?}");
    assert_eq!(before.pages_left_in_buffer(), 400 - in_flash);
    latency_ns(&mut drive, Request::flush(400));
    assert_eq!(drive.counters().get("buffer_pages_programmed"), Some(400));
    assert_eq!(drive.counters().pages_left_in_buffer(), 0);
    // A run that only empties it leaves nothing.
    assert_eq!(drive.counters().since(&before).pages_left_in_buffer(), 0);
}

#[test]
fn drained_pages_are_counted_by_cause() {
    let drained = |profile: &str, settings: &[(&str, &str)], writes: u64, flush: bool| {
        let mut drive = Drive::new(&config(profile, settings), Seed(1));
        let page_bytes = drive.geometry().unit_bytes;
        for id in 0..writes {
            latency_ns(&mut drive, Request::write(id, id * page_bytes, page_bytes));
        }
        if flush {
            let flush = Request { operation: Operation::Flush, ..Request::write(writes, 0, 0) };
            latency_ns(&mut drive, flush);
        }
        pause(&mut drive, Duration::from_ms(50));
        let counters = drive.counters();
        let get = |name: &str| counters.get(&format!("buffer_pages_drained{name}")).unwrap();
        let causes = ["_full", "_flush", "_idle", "_batch"].map(get);
        assert_eq!(causes.iter().sum::<u64>(), get(""), "every page has one cause: {settings:?}");
        causes
    };
    let (size, high) = (("buffer.size", "1MiB"), ("buffer.high_watermark", "50%"));
    assert_eq!(drained("ssd-s", &[size, high], 40, false), [0; 4]);
    assert_eq!(drained("ssd-s", &[size, high], 40, true), [0, 40, 0, 0]);
    assert_eq!(drained("ssd-s", &[size, high, ("buffer.idle_drain", "2ms")], 40, false), [0, 0, 40, 0]);
    let [full, flush, idle, batch] = drained("ssd-s", &[size, high], 1000, false);
    assert!(full > 500 && (flush, idle, batch) == (0, 0, 0), "{full} {flush} {idle} {batch}");
    let [full, flush, idle, batch] = drained("msr-64g", &[size], 1000, true);
    assert!(full == 0 && flush > 0 && idle == 0 && batch > 500, "{full} {flush} {idle} {batch}");
}

/// The longest that a read takes, in ns, of reads that come one after the other while writes keep the buffer draining.
/// Pages drain in batches of 32 for each package, or one by one.
fn longest_read_ns(in_batches: bool, settings: &[(&str, &str)]) -> u64 {
    let mut all = vec![
        ("initial.state", "full"),
        ("link.depth", "100"),
        ("capacity", "512MiB"),
        ("flash.blocks", "128"),
        ("flash.planes", "2"),
        ("buffer.policy", "parallel"),
    ];
    all.extend_from_slice(settings);
    let mut config = config("msr-64g", &all);
    let buffer = config.buffer.as_mut().expect("the profile has a buffer");
    (buffer.batch_pages_per_package, buffer.drain_per_die) = (in_batches.then_some(32), 64);
    let mut drive = Drive::new(&config, Seed(1));
    let mut random = Seed(3).source();
    let (mut longest, mut out, mut writes, mut reading) = (0, Vec::new(), 0, false);
    for id in 0..20_000 {
        while writes < 32 {
            drive.submit(Request::write(2 * id, random.below(65_000) * 8192, 4096)).unwrap();
            writes += 1;
        }
        if !std::mem::replace(&mut reading, true) {
            drive.submit(Request::read(2 * id + 1, random.below(65_000) * 8192, 8192)).unwrap();
        }
        drive.reap(Instant::FAR, &mut out);
        for completion in out.drain(..) {
            if completion.id.0 % 2 == 0 {
                writes -= 1;
            } else {
                reading = false;
                longest = longest.max(completion.latency().as_ns());
            }
        }
    }
    assert_eq!(drive.counters().get("blocks_erased"), Some(0), "nothing else is waited for");
    longest
}

#[test]
fn a_read_waits_no_longer_for_the_buffer_than_the_profile_says() {
    // A page is read, sent, programmed, 25 + 211 + 211 + 200 us, and its block's summary takes 213 us. The read itself
    // takes 25 + 211 us, and 64 KiB of writes may be on the link before it: at 8 KiB 4 us each, a millisecond is far
    // more than all of that.
    let own_ns = 25_000 + 211_000 + 1_000_000;
    for wait_us in [900, 2_000, 4_000] {
        for in_batches in [true, false] {
            let longest = longest_read_ns(in_batches, &[("buffer.read_wait", &format!("{wait_us}us"))]);
            assert!(longest <= wait_us * 1000 + own_ns, "{longest} ns, allowed {wait_us} us and {own_ns} ns");
        }
        // Where pages are placed as they drain.
        let wait = format!("{wait_us}us");
        let placed_late =
            [("buffer.read_wait", &*wait), ("buffer.policy", "fifo"), ("mapping.policy", "write-order")];
        let longest = longest_read_ns(false, &placed_late);
        assert!(longest <= wait_us * 1000 + own_ns, "{longest} ns, allowed {wait_us} us and {own_ns} ns");
    }
    let unbounded = longest_read_ns(true, &[]);
    assert!(unbounded > 4_000_000 + own_ns, "the bound is for something: {unbounded} ns without");
}

#[test]
fn bound_on_the_wait_of_reads_is_one_of_each_channel() {
    for placement in ["above", "below"] {
        let settings = [
            ("mapping.policy", "write-order"),
            ("buffer.policy", "fifo"),
            ("buffer.placement", placement),
            ("buffer.read_wait", "2ms"),
            ("link.depth", "100"),
            ("capacity", "512MiB"),
            ("flash.blocks", "128"),
        ];
        let mut config = config("msr-64g", &settings);
        let buffer = config.buffer.as_mut().expect("the profile has a buffer");
        (buffer.batch_pages_per_package, buffer.drain_per_die) = (None, 64);
        let channels = config.flash.channels;
        let mut drive = Drive::new(&config, Seed(1));
        let (mut out, mut random) = (Vec::new(), Seed(3).source());
        let writes = 30_000;
        for id in 0..writes {
            drive.submit(Request::write(id, random.below(65_000) * 8192, 8192)).unwrap();
            while drive.in_flight() >= 64 {
                drive.reap(Instant::FAR, &mut out);
            }
        }
        while drive.in_flight() > 0 {
            drive.reap(Instant::FAR, &mut out);
        }
        // Two pages on each channel, each of which takes 0.9 ms at most (see above).
        let drained = drive.counters().get("buffer_pages_drained").unwrap() as f64;
        let rate = drained / drive.now().since(Instant::ZERO).as_s_f64();
        let least = 2.0 * f64::from(channels) / 0.9e-3;
        assert!(rate > 0.9 * least, "{placement}: {rate:.0} pages a second, at least {least:.0}");
    }
}

#[test]
fn pages_that_were_read_are_kept_by_the_policy_that_keeps_them() {
    let hits = |policy| {
        let settings = [("initial.state", "full"), ("capacity", "512MiB"), ("flash.blocks", "128")];
        let mut drive = drive(&[settings[0], settings[1], settings[2], ("buffer.policy", policy)]);
        for id in 0..500 {
            latency_ns(&mut drive, Request::read(id, id % 50 * 8192, 8192));
        }
        drive.counters().get("buffer_read_hits").unwrap()
    };
    assert_eq!((hits("cflru"), hits("lru")), (450, 0));
}

#[test]
fn blocks_are_padded_with_what_flash_has_of_them() {
    let settings = [
        ("initial.state", "full"),
        ("capacity", "512MiB"),
        ("flash.blocks", "128"),
        ("buffer.policy", "bplru"),
        ("buffer.options.padding", "true"),
    ];
    let mut drive = drive(&settings);
    // Two pages each of ten runs of an erase block's 63 pages.
    for id in 0..20 {
        latency_ns(&mut drive, Request::write(id, (id / 2 * 63 + id % 2) * 8192, 8192));
    }
    latency_ns(&mut drive, Request::flush(20));
    // The flush waits for what was written, not for what goes along with it.
    pause(&mut drive, Duration::from_s(1));
    let counters = drive.counters();
    assert_eq!(counters.get("buffer_pages_padded"), Some(10 * 61));
    assert_eq!(counters.get("buffer_pages_drained"), Some(10 * 63));
}

#[test]
fn flush_waits_for_the_durable_write_that_superseded_a_copy() {
    let mut drive = drive(&[("compat.disksim.completions_wait", "false")]);
    latency_ns(&mut drive, Request::write(0, 0, 8192));
    let first_writes =
        |drive: &Drive| drive.at_risk().unwrap().iter().map(|risk| risk.first_write).collect::<Vec<_>>();
    assert_eq!(first_writes(&drive), [0]);
    drive.submit(Request::write(1, 0, 4096).durable()).unwrap();
    drive.submit(Request::flush(2)).unwrap();
    let mut out = Vec::new();
    while !out.iter().any(|completion: &Completion| completion.id.0 == 2) {
        drive.reap(Instant::FAR, &mut out);
    }
    assert_eq!(first_writes(&drive), [0; 0], "the first write had completed before the flush came");
}

#[test]
fn a_buffer_for_parts_lets_whole_pages_past() {
    let mut drive = drive(&[
        ("buffer.admit", "partial-page-writes"),
        ("buffer.batch_pages_per_package", "1"),
        ("compat.disksim.completions_wait", "false"),
    ]);
    // Four quarters of a page come together in the buffer …
    let (page, quarter) = (8192, 2048);
    (0..4)
        .for_each(|id| assert!(latency_ns(&mut drive, Request::write(id, id * quarter, quarter)) < 100_000));
    assert_eq!(drive.at_risk().unwrap().len(), 1);
    // … and a write with a whole page in it takes its place on flash, with the program's time.
    assert!(latency_ns(&mut drive, Request::write(4, 0, page + quarter)) > 200_000);
    assert_eq!(drive.at_risk().unwrap(), []);
    let counters = drive.counters();
    assert_eq!(counters.get("buffer_writes_absorbed"), Some(3));
    assert_eq!(counters.get("flash_pages_programmed"), Some(2));
    // Its number is that of a write that completed.
    latency_ns(&mut drive, Request::write(5, 4 * page, quarter));
    assert_eq!(drive.at_risk().unwrap()[0].first_write, 5);
}

#[test]
fn buffer_without_coalescing_programs_every_copy() {
    let programmed = |settings: &[(&str, &str)]| {
        let mut drive = drive(&[settings, &[("compat.disksim.completions_wait", "false")]].concat());
        let (page, half) = (8192, 4096);
        // Two halves make a page, which is then written twice more, and once in part.
        for (offset, length) in [(0, half), (half, half), (0, page), (0, page), (half, half)] {
            latency_ns(&mut drive, Request::write(0, offset, length));
        }
        latency_ns(&mut drive, Request::flush(1));
        let get = |name| drive.counters().get(name).unwrap();
        assert_eq!(drive.at_risk().unwrap(), []);
        (get("buffer_writes_absorbed"), get("flash_pages_programmed"))
    };
    for policy in flashlane_policy::buffer::REGISTRY {
        let policy = ("buffer.policy", policy.name);
        let batches = ("buffer.batch_pages_per_package", "8");
        assert_eq!(programmed(&[policy, batches]), (4, 1), "{policy:?}");
        let kept = ("buffer.coalesce", "false");
        assert_eq!(programmed(&[policy, batches, kept]), (1, 4), "{policy:?}");
    }
}

#[test]
fn every_policy_starts_a_batch_when_the_buffer_fills() {
    for policy in flashlane_policy::buffer::REGISTRY {
        let mut drive =
            drive(&[("buffer.policy", policy.name), ("compat.disksim.completions_wait", "false")]);
        // Eight pages are the least of a batch, 128 the buffer.
        for id in 0..256 {
            latency_ns(&mut drive, Request::write(id, id * 8192, 8192));
            pause(&mut drive, Duration::from_ms(10));
        }
        assert_eq!(drive.counters().get("buffer_stalls"), Some(0), "{}", policy.name);
        assert!(drive.counters().get("buffer_pages_drained") >= Some(128), "{}", policy.name);
    }
}

#[test]
fn pages_of_a_group_are_programmed_together() {
    let settings = [("flash.blocks", "64"), ("capacity", "1GiB"), ("initial.state", "fresh")];
    let mut drive = Drive::new(&config("intel-320", &settings), Seed(1));
    let programs = |drive: &Drive| drive.counters().get("array_busy_ns").unwrap() as f64 / 1_092_000.0;
    // Twenty dies, each with two halves of a page on two planes, one write at a time.
    for id in 0..80 {
        assert!(latency_ns(&mut drive, Request::write(id, id * 4096, 4096)) < 100_000);
    }
    latency_ns(&mut drive, Request::flush(80));
    assert_eq!(programs(&drive), 20.0);
    // A single unit waits for others of its group, unless a flush waits for it.
    latency_ns(&mut drive, Request::write(81, 0, 4096));
    pause(&mut drive, Duration::from_s(1));
    assert_eq!(programs(&drive), 20.0);
    assert_eq!(drive.at_risk().unwrap().len(), 1);
    latency_ns(&mut drive, Request::flush(82));
    assert_eq!(programs(&drive), 21.0);
    assert_eq!(drive.at_risk().unwrap(), []);
}

#[test]
fn pages_left_in_the_buffer_are_not_saved() {
    for policy in ["lru", "parallel"] {
        let mut drive = drive(&[("buffer.policy", policy)]);
        let page = 8192;
        for id in 0..200 {
            latency_ns(&mut drive, Request::write(id, id * page, page));
        }
        let of =
            |drive: &Drive| (drive.counters().write_amplification(), drive.counters().pages_left_in_buffer());
        let (amplification, left) = of(&drive);
        assert!(
            amplification == Some(1.0) && (64..=128).contains(&left),
            "{policy}: {amplification:?}, {left}"
        );
        // Pages that are replaced or trimmed in the buffer need no program.
        let programmed = |drive: &Drive| drive.counters().get("flash_pages_programmed").unwrap();
        let before = programmed(&drive);
        latency_ns(&mut drive, Request::write(200, 199 * page, page));
        latency_ns(&mut drive, Request::trim(201, 198 * page, page));
        let saved = before as f64 / (before + 2) as f64;
        assert_eq!((programmed(&drive), of(&drive)), (before, (Some(saved), left - 1)), "{policy}");
        // What a power cut loses was neither programmed nor saved.
        let settled = |drive: &Drive| drive.counters().get("host_pages_settled").unwrap();
        let before = settled(&drive);
        drive.cut_power();
        assert_eq!(settled(&drive), before, "{policy}");
        latency_ns(&mut drive, Request::write(202, 0, page));
        latency_ns(&mut drive, Request::flush(203));
        assert_eq!(settled(&drive), before + 1, "{policy}");
    }
}

/// Writes of 512 B one after the other, with a flush after every `flush_every`: what was written, absorbed, programmed
/// and read.
fn sectors(profile: &str, settings: &[(&str, &str)], size: u64, flush_every: u64) -> [u64; 4] {
    const WRITES: u64 = 800;
    let mut drive = Drive::new(&config(profile, settings), Seed(1));
    for id in 0..WRITES {
        latency_ns(&mut drive, Request::write(id, id * size, size));
        if id % flush_every == flush_every - 1 {
            latency_ns(&mut drive, Request::flush(WRITES));
        }
    }
    latency_ns(&mut drive, Request::flush(WRITES));
    let counters = drive.counters();
    let get = |name| counters.get(name).unwrap();
    let drained = get("buffer_pages_drained");
    assert_eq!(
        drained,
        WRITES - get("buffer_writes_absorbed"),
        "{profile} {settings:?}: each leaves or is absorbed"
    );
    [WRITES, get("buffer_writes_absorbed"), get("flash_pages_programmed"), get("flash_pages_read")]
}

#[test]
fn parts_written_while_their_page_leaves_are_absorbed() {
    let large = [("mapping.unit", "32KiB"), ("mapping.chunk", "32KiB"), ("buffer.size", "384KiB")];
    type Settings<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Settings<'_>, u64, u64); 6] = [
        ("ssd-m", &[], 512, 800),
        ("ssd-s", &[], 512, 800),
        ("ssd-m", &[], 512, 8),
        ("ssd-m", &[("buffer.high_watermark", "50%")], 512, 800),
        ("ssd-m", &large, 4096, 800),
        ("intel-320", &[("flash.blocks", "64"), ("capacity", "1GiB"), ("initial.state", "fresh")], 512, 800),
    ];
    for (profile, settings, size, flush_every) in cases {
        let [writes, absorbed, programmed, read] = sectors(profile, settings, size, flush_every);
        assert_eq!(read, 0, "{profile} {settings:?}: all of a new page is in the buffer");
        assert_eq!(programmed, writes - absorbed, "{profile} {settings:?}");
        assert!(
            programmed <= 3 * writes / 8,
            "{profile} {settings:?}: {programmed} programs of {} pages",
            writes / 8
        );
    }
}

#[test]
fn rest_of_a_page_is_read_once_for_each_program_at_most() {
    for (profile, settings) in
        [("ssd-m", [("initial.state", "full")]), ("ssd-s", [("initial.state", "full")])]
    {
        let [writes, absorbed, programmed, read] = sectors(profile, &settings, 512, 800);
        assert!(
            programmed <= 3 * writes / 8 && programmed == writes - absorbed,
            "{profile}: {programmed} programs"
        );
        assert_eq!(read, writes / 8, "{profile}: the first program of each page needs the rest of it");
    }
}
