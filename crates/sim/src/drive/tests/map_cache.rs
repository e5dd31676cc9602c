//! The cache of the map: its hits and misses against a plain model, the time of a miss, the closed forms, power cuts.

use super::*;

/// A drive of four planes on four channels that is mapped in units of 4 KiB, 1,024 to a translation page; its flash
/// reads in 60 us and programs in 600 us, and nothing else takes time.
fn small(settings: &[(&str, &str)]) -> DriveConfig {
    let mut all = vec![
        ("flash.channels", "4"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "128"),
        ("flash.pages", "64"),
        ("flash.page", "4KiB"),
        ("flash.bus", "0"),
        ("flash.factory_bad", "0%"),
        ("link.bandwidth", "0"),
        ("link.write_command", "0us"),
        ("link.read_command", "0us"),
        ("host.submission", "0us"),
        ("mapping.chunk", "4KiB"),
        ("buffer.policy", "none"),
        ("readahead.window", "4KiB"),
        ("readahead.options.trigger", "64"),
        ("wear.policy", "dynamic"),
        ("capacity", "96MiB"),
    ];
    all.extend(settings);
    config("nvme-tlc", &all)
}

const UNIT: u64 = 4096;
const ENTRIES: u32 = 1024;

fn complete(drive: &mut Drive, request: Request) -> Completion {
    let mut out = Vec::new();
    drive.submit(request).unwrap();
    while out.is_empty() {
        drive.reap(Instant::FAR, &mut out);
    }
    out[0]
}

/// Lets the drive end what it does by itself.
fn settle(drive: &mut Drive) {
    let mut out = Vec::new();
    for _ in 0..1000 {
        let until = drive.now() + Duration::from_ms(1);
        drive.reap(until, &mut out);
    }
    drive.translation.check_map(true);
}

/// The cache of DFTL in its simplest form, for one request at a time.
struct Model {
    capacity: usize,
    line_units: u32,
    prefetch: u32,
    batch: bool,
    /// Least recently used first, with whether it is dirty.
    lines: Vec<(u32, bool)>,
    pages_on_flash: Vec<bool>,
    hits: u64,
    misses: u64,
    reads: u64,
    writes: u64,
}

impl Model {
    fn page_of_line(&self, line: u32) -> u32 {
        line * self.line_units / ENTRIES
    }

    fn make_room(&mut self) {
        if self.lines.len() < self.capacity {
            return;
        }
        let (victim, dirty) = self.lines.remove(0);
        if dirty {
            let page = self.page_of_line(victim);
            self.reads += u64::from(self.line_units == 1 && self.pages_on_flash[page as usize]);
            self.writes += 1;
            self.pages_on_flash[page as usize] = true;
            let of_page = |line: u32| line * self.line_units / ENTRIES == page;
            self.lines
                .iter_mut()
                .filter(|line| self.batch && of_page(line.0))
                .for_each(|line| line.1 = false);
        }
    }

    fn access(&mut self, lpn: u32, write: bool) {
        let line = lpn / self.line_units;
        if let Some(at) = self.lines.iter().position(|other| other.0 == line) {
            self.hits += 1;
            let (_, dirty) = self.lines.remove(at);
            self.lines.push((line, dirty || write));
            return;
        }
        self.misses += 1;
        let page = self.page_of_line(line);
        let begins_on_flash = self.pages_on_flash[page as usize];
        let mut loaded = vec![line];
        let last = (page + 1) * ENTRIES / self.line_units;
        let victim_is_dirty = self.lines.len() == self.capacity && self.lines[0].1;
        self.make_room();
        if begins_on_flash || victim_is_dirty {
            for next in (line + 1..last).take(self.prefetch as usize) {
                if !self.lines.iter().any(|other| other.0 == next) {
                    while self.lines.len() + loaded.len() >= self.capacity {
                        let room = self.capacity;
                        self.capacity = self.lines.len();
                        self.make_room();
                        self.capacity = room;
                    }
                    loaded.push(next);
                }
            }
        }
        self.reads += u64::from(self.pages_on_flash[page as usize]);
        self.lines.extend(loaded.into_iter().map(|loaded| (loaded, false)));
        let at = self.lines.iter().position(|other| other.0 == line).unwrap();
        self.lines[at].1 |= write;
    }
}

#[test]
fn hits_and_misses_are_those_of_a_plain_model() {
    let cases = [
        ("entry", "4KiB", "true", "0", "fresh"),
        ("entry", "4KiB", "true", "0", "full"),
        ("entry", "4KiB", "false", "0", "full"),
        ("entry", "8KiB", "true", "40", "full"),
        ("page", "8KiB", "true", "0", "fresh"),
        ("page", "12KiB", "true", "0", "full"),
    ];
    for case @ (granularity, size, batch, prefetch, state) in cases {
        let mut drive = Drive::new(
            &small(&[
                ("mapping.cache.size", size),
                ("mapping.cache.granularity", granularity),
                ("mapping.cache.batch", batch),
                ("mapping.cache.prefetch", prefetch),
                ("initial.state", state),
                ("cleaning.low", "2%"),
            ]),
            Seed(1),
        );
        let line_units = if granularity == "page" { ENTRIES } else { 1 };
        let bytes: usize = size.trim_end_matches("KiB").parse::<usize>().unwrap() * 1024;
        let mut model = Model {
            capacity: if granularity == "page" { bytes / UNIT as usize } else { bytes / 8 },
            line_units,
            prefetch: prefetch.parse().unwrap(),
            batch: batch == "true",
            lines: Vec::new(),
            pages_on_flash: vec![state == "full"; 24],
            hits: 0,
            misses: 0,
            reads: 0,
            writes: 0,
        };
        let mut random = Seed(3).source();
        for id in 0..6_000 {
            let range = if random.chance(0.5) { 700 } else { 24 * 1024 };
            let lpn = random.below(range) as u32;
            // Reads of units that were never written do not need the map of a fresh drive, unless it is on flash.
            let write = random.chance(if state == "fresh" { 1.0 } else { 0.2 });
            let (offset, length) = (u64::from(lpn) * UNIT, UNIT);
            let request =
                if write { Request::write(id, offset, length) } else { Request::read(id, offset, length) };
            complete(&mut drive, request);
            model.access(lpn, write);
        }
        let counted = ["mapping_cache_hits", "mapping_cache_misses", "translation_pages_read"]
            .map(|name| counter(&drive, name));
        assert_eq!(counter(&drive, "blocks_erased"), 0, "GC would change the map, too");
        let written = counter(&drive, "translation_pages_written");
        assert_eq!((counted, written), ([model.hits, model.misses, model.reads], model.writes), "{case:?}");
        drive.check_tables();
        settle(&mut drive);
    }
}

#[test]
fn miss_takes_a_read_and_with_a_dirty_victim_a_read_and_a_program_more() {
    let mut drive = Drive::new(&small(&[("mapping.cache.size", "4KiB"), ("initial.state", "full")]), Seed(1));
    assert!(drive.record_time_splits());
    let latency = |drive: &mut Drive, request: Request| {
        let done = complete(drive, request);
        let split = drive.time_split(done.id).unwrap();
        assert_eq!(split.total(), done.latency());
        (done.latency().as_ns() / 1000, split.of(Part::Mapping).as_ns() / 1000)
    };
    assert_eq!(latency(&mut drive, Request::read(0, 0, UNIT)), (120, 60));
    assert_eq!(latency(&mut drive, Request::read(1, 0, UNIT)), (60, 0));
    // The units of a request share the read of their translation page; the last piece decides.
    assert_eq!(latency(&mut drive, Request::read(2, 8 * UNIT, 4 * UNIT)), (120, 60));
    assert_eq!(latency(&mut drive, Request::write(3, 0, UNIT)), (600, 0));
    assert_eq!(latency(&mut drive, Request::write(4, 100 * UNIT, UNIT)), (660, 60));
    // 512 entries fit: others replace those, the last two of which are dirty.
    for id in 0..510 {
        latency(&mut drive, Request::read(5 + id, (2048 + id) * UNIT, UNIT));
    }
    assert_eq!(counter(&drive, "translation_pages_written"), 0);
    assert_eq!(latency(&mut drive, Request::read(1000, 4096 * UNIT, UNIT)), (780, 720));
    // Both were written with it, so that the next victim is clean.
    assert_eq!(latency(&mut drive, Request::read(1001, 4097 * UNIT, UNIT)), (120, 60));
    assert_eq!(counter(&drive, "translation_pages_written"), 1);
}

/// Uniform random requests over the first `units`, `depth` at a time.
fn uniform(drive: &mut Drive, write: bool, units: u64, requests: u64, depth: u32) {
    // Each call draws others.
    let (mut random, mut out) = (Seed(drive.now().as_ns()).source(), Vec::new());
    for id in 0..requests {
        let offset = random.below(units) * UNIT;
        let request = if write { Request::write(id, offset, UNIT) } else { Request::read(id, offset, UNIT) };
        while drive.in_flight() >= depth {
            drive.reap(Instant::FAR, &mut out);
        }
        drive.submit(request).unwrap();
    }
    while drive.in_flight() > 0 {
        drive.reap(Instant::FAR, &mut out);
    }
}

/// Counters of `run` after a first one has filled the cache.
fn counted(drive: &mut Drive, names: &[&str], mut run: impl FnMut(&mut Drive)) -> Vec<f64> {
    run(drive);
    let before: Vec<u64> = names.iter().map(|name| counter(drive, name)).collect();
    run(drive);
    names.iter().zip(before).map(|(name, before)| (counter(drive, name) - before) as f64).collect()
}

fn assert_within(measured: f64, expected: f64, share: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() <= share, "{what}: {measured}, expected {expected}");
}

#[test]
fn uniform_reads_hit_as_much_as_the_cache_holds_of_their_range() {
    for policy in ["lru", "segmented", "clock"] {
        let settings =
            [("mapping.cache.size", "64KiB"), ("mapping.cache.policy", policy), ("initial.state", "full")];
        let mut drive = Drive::new(&small(&settings), Seed(1));
        let names = ["mapping_cache_hits", "mapping_cache_misses", "translation_pages_read"];
        let counts = counted(&mut drive, &names, |drive| uniform(drive, false, 16384, 20_000, 1));
        assert_within(counts[0] / 20_000.0, 0.5, 0.02, policy);
        assert_eq!((counts[0] + counts[1], counts[2]), (20_000.0, counts[1]));
    }
}

#[test]
fn what_leaves_the_drives_memory_is_found_in_the_hosts() {
    let host = [("mapping.cache.host_memory", "64KiB"), ("mapping.cache.host_access", "2us")];
    let settings = [&host[..], &[("mapping.cache.size", "32KiB"), ("initial.state", "full")]].concat();
    let mut drive = Drive::new(&small(&settings), Seed(1));
    assert!(drive.record_time_splits());
    for lpn in 0..4097 {
        complete(&mut drive, Request::read(lpn, lpn * UNIT, UNIT));
    }
    // The first gave up its room in the drive, and comes back with the next read.
    for (id, latency_us) in [(5000, 62), (5001, 60)] {
        let done = complete(&mut drive, Request::read(id, 0, UNIT));
        let split = drive.time_split(done.id).unwrap();
        assert_eq!(done.latency(), Duration::from_us(latency_us));
        assert_eq!(split.of(Part::Mapping), Duration::from_us(latency_us - 60));
    }
    // Uniform reads over the range of both hit in each as much as it holds.
    let names = ["mapping_cache_hits", "mapping_cache_host_hits"];
    let counts = counted(&mut drive, &names, |drive| uniform(drive, false, 16384, 20_000, 4));
    assert_within(counts[0] / 20_000.0, 12288.0 / 16384.0, 0.02, "hits");
    assert_within(counts[1] / 20_000.0, 8192.0 / 16384.0, 0.02, "hits in the host's memory");
    drive.check_tables();
}

#[test]
fn random_writes_write_translation_pages_as_the_closed_forms_say() {
    let names = ["translation_pages_written", "translation_pages_read", "mapping_cache_misses"];
    let run = |settings: &[(&str, &str)], writes| {
        let all = [&[("initial.state", "full"), ("flash.blocks", "1024")][..], settings].concat();
        let mut drive = Drive::new(&small(&all), Seed(1));
        counted(&mut drive, &names, |drive| uniform(drive, true, 20 * 1024, writes, 1))
            .into_iter()
            .map(|count| count / writes as f64)
            .collect::<Vec<f64>>()
    };
    // One by one: each miss writes the page of the dirty line that it replaces, after it read that, and reads its own.
    let [written, read, misses] =
        run(&[("mapping.cache.size", "16KiB"), ("mapping.cache.batch", "false")], 20_000)[..]
    else {
        unreachable!()
    };
    assert_within(misses, 1.0 - 2048.0 / 20_480.0, 0.02, "misses");
    assert_within(written, misses, 0.001, "pages written, one by one");
    assert_within(read, 2.0 * misses, 0.001, "pages read, one by one");
    // All that is dirty of a page at once: after it is written the next write of one of its entries comes after T
    // writes on average, and the page is written again when that entry gives up its room, after the time in which an
    // entry of R is replaced that is not used again: R (1 - exp(-time / R)) = C. A share of C / R is used again before,
    // and the next entry that was written decides.
    let [written, ..] = run(&[("mapping.cache.size", "4KiB")], 40_000)[..] else { unreachable!() };
    let (entries, range, pages) = (512.0, 20_480.0, 20.0);
    let time = -range * (1.0_f64 - entries / range).ln();
    let expected = pages / (pages / (1.0 - entries / range) + time);
    assert_within(written, expected, 0.02, "pages written in batches");
    // Whole pages: each miss replaces a dirty page, which is not read.
    let whole = [("mapping.cache.size", "32KiB"), ("mapping.cache.granularity", "page")];
    let [written, read, misses] = run(&whole, 20_000)[..] else { unreachable!() };
    assert_within(misses, 1.0 - 8.0 / 20.0, 0.02, "misses of pages");
    assert_within(written, misses, 0.001, "whole pages written");
    assert_within(read, misses, 0.001, "whole pages read");
}

#[test]
fn power_cut_loses_no_entry_of_the_map() {
    for (granularity, buffer, host_memory) in
        [("entry", "none", "0B"), ("page", "lru", "0B"), ("entry", "lru", "16KiB")]
    {
        let settings = [
            ("mapping.cache.size", "8KiB"),
            ("mapping.cache.granularity", granularity),
            ("buffer.policy", buffer),
            ("buffer.size", "64KiB"),
            ("initial.state", "fragmented"),
            ("mapping.cache.host_memory", host_memory),
            ("mapping.cache.host_access", if host_memory == "0B" { "0us" } else { "3us" }),
        ];
        let mut drive = Drive::new(&small(&settings), Seed(1));
        let (mut random, mut out) = (Seed(5).source(), Vec::new());
        for id in 0..6_000_u64 {
            let (offset, length) = (random.below(24_000) * UNIT, UNIT * (1 + random.below(3)));
            let request = match random.below(10) {
                0 => Request::trim(id, offset, length),
                1..4 => Request::read(id, offset, length),
                _ => Request::write(id, offset, length),
            };
            while drive.in_flight() >= 12 {
                drive.reap(Instant::FAR, &mut out);
            }
            drive.submit(request).unwrap();
            if random.chance(0.01) {
                drive.cut_power().unwrap();
                drive.check_tables();
            }
        }
        while drive.in_flight() > 0 {
            drive.reap(Instant::FAR, &mut out);
        }
        out.sort_unstable_by_key(|completion| completion.id);
        assert!(out.iter().map(|done| done.id.0).eq(0..6_000), "each request completes once");
        drive.check_tables();
        settle(&mut drive);
        assert!(counter(&drive, "translation_pages_moved") > 0, "GC met translation pages");
    }
}

#[test]
fn drive_with_a_map_on_flash_conforms() {
    for granularity in ["entry", "page"] {
        let mut config = everything("proportional");
        let cache = small(&[("mapping.cache.size", "4KiB"), ("mapping.cache.granularity", granularity)]);
        config.mapping.cache = cache.mapping.cache;
        conformance::check(&mut || Box::new(Drive::new(&config, Seed(1))));
    }
}

#[test]
fn trimmed_translation_pages_are_neither_read_nor_written() {
    let mut drive = Drive::new(&small(&[("mapping.cache.size", "4KiB"), ("initial.state", "full")]), Seed(1));
    complete(&mut drive, Request::trim(0, 0, 3 * 1024 * UNIT + 512 * UNIT));
    settle(&mut drive);
    // Half of the fourth page is left.
    let counts = |drive: &Drive| {
        ["translation_pages_read", "translation_pages_written"].map(|name| counter(drive, name))
    };
    assert_eq!(counts(&drive), [1, 1]);
    assert_eq!(complete(&mut drive, Request::read(1, 0, UNIT)).latency(), Duration::ZERO);
    // That the unit is not on flash is known only from the page.
    assert_eq!(
        complete(&mut drive, Request::read(2, 3 * 1024 * UNIT, UNIT)).latency(),
        Duration::from_us(60)
    );
    assert_eq!(counts(&drive), [2, 1]);
    drive.check_tables();
}

#[test]
fn cache_is_refused_beside_what_it_cannot_work_with() {
    let refused = |settings: &[(&str, &str)]| {
        let all: Vec<_> = [("mapping.cache.size", "8MiB")]
            .iter()
            .chain(settings)
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        load("nvme-tlc", &all).expect_err("it is refused").field.expect("a field is named")
    };
    assert_eq!(refused(&[("mapping.cache.size", "1KiB")]), "mapping.cache.size");
    assert_eq!(refused(&[("mapping.cache.size", "2GB")]), "mapping.cache.size");
    assert_eq!(refused(&[("mapping.cache.host_memory", "64MiB")]), "mapping.cache.host_access");
    assert_eq!(refused(&[("mapping.cache.host_access", "1us")]), "mapping.cache.host_access");
    let host = [("mapping.cache.host_access", "1us"), ("mapping.cache.host_memory", "2GB")];
    assert_eq!(refused(&host), "mapping.cache.host_memory");
    let page = ("mapping.cache.granularity", "page");
    assert_eq!(refused(&[page, ("mapping.cache.size", "1GB")]), "mapping.cache.size");
    assert_eq!(refused(&[page, ("mapping.cache.prefetch", "1")]), "mapping.cache.prefetch");
    assert_eq!(refused(&[("mapping.cache.prefetch", "1024")]), "mapping.cache.prefetch");
    assert_eq!(refused(&[("mapping.cache.policy", "mru")]), "mapping.cache.policy");
    assert_eq!(refused(&[("mapping.cache.options.protected", "50%")]), "mapping.cache.options");
    assert_eq!(refused(&[("replication.policy", "lru")]), "replication.policy");
    assert_eq!(
        refused(&[("cleaning.multi_plane", "true"), ("flash.copyback", "false")]),
        "cleaning.multi_plane"
    );
    let block = [
        ("mapping.translation", "block"),
        ("mapping.translation_options.log_blocks", "1"),
        ("mapping.policy", "lba"),
        ("cleaning.separate", "false"),
        ("wear.policy", "dynamic"),
    ];
    assert_eq!(refused(&block), "mapping.translation");
}
