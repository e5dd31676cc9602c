//! Laws that hold for every drive that a profile can describe: drives drawn at random over all of its fields, each
//! under a random load.
//!
//! A law that is broken names the seed of its drive and prints the profile, which is all it takes to see it again.

use super::*;
use crate::config::{DriveConfig, Time};
use crate::profile::parse;
use flashlane_base::Random;
use flashlane_device::{Failure, QueueId};
use flashlane_policy::buffer;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Enough that most pairs of mechanisms meet, few enough for seconds.
const DRIVES: u64 = 300;
const REQUESTS: u64 = 600;

#[test]
fn every_drive_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| keeps_the_laws(seed)).count() as u64;
    assert!(accepted > DRIVES / 2, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
#[ignore = "for hours, by hand: goes on until a law is broken or it is stopped"]
fn every_drive_keeps_the_laws_for_hours() {
    (DRIVES..u64::MAX).for_each(|seed| {
        keeps_the_laws(seed);
    });
}

#[test]
fn every_drive_with_superblocks_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| holds(seed, &superblocks(seed))).count() as u64;
    assert!(accepted > DRIVES / 5, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_paced_drive_keeps_the_laws() {
    // Half of all are mapped by pages.
    let accepted = (0..2 * DRIVES).filter(|&seed| holds(seed, &paced(seed))).count() as u64;
    assert!(accepted > DRIVES / 2, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_that_replicates_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &replicated(seed))).count() as u64;
    // Half of all are mapped by pages, and many have few dies or little room.
    assert!(accepted > DRIVES / 10, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

#[test]
fn every_drive_that_rebuilds_keeps_the_laws() {
    let accepted = (0..DRIVES).map(|nth| 2 * nth).filter(|&seed| holds(seed, &rebuilt(seed))).count() as u64;
    // Some have a single channel.
    assert!(accepted > DRIVES / 10, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_with_an_slc_cache_keeps_the_laws() {
    let accepted = (0..DRIVES).filter(|&seed| holds(seed, &cached(seed))).count() as u64;
    assert!(accepted > DRIVES / 4, "only {accepted} of {DRIVES} profiles were drives");
}

#[test]
fn every_drive_with_several_queues_keeps_the_laws() {
    let accepted = (0..DRIVES / 3).filter(|&seed| holds(seed, &queued(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 3);
}

/// What gives a random drive several submission queues.
fn queued(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("queues").source();
    let policy = pick(&mut random, &["arrival", "round-robin", "weighted", "deficit"]);
    let mut all = vec![("queues.count", "3"), ("queues.slots", "1"), ("queues.policy", policy)];
    match policy {
        "round-robin" => all.push(("queues.options.burst", pick(&mut random, &["1", "7"]))),
        "weighted" => all.push(("queues.options.weights", pick(&mut random, &["1:1:9", "urgent:2:1"]))),
        "deficit" => all.push(("queues.options.quantum", pick(&mut random, &["512B", "1MiB"]))),
        _ => {}
    }
    if random.chance(0.3) {
        // As many slots as requests: nothing waits.
        all.remove(1);
    }
    all.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

#[test]
fn every_drive_with_a_map_on_flash_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &mapped_on_flash(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

/// What leaves a random drive with little memory for its map, a third of them with paced GC, a third with an SLC cache.
fn mapped_on_flash(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("map cache").source();
    let mut all = match random.below(3) {
        0 => paced(seed),
        1 => cached(seed),
        _ => Vec::new(),
    };
    all.retain(|(key, _)| key != "mapping.parity");
    let text = profile(&mut Seed(seed).derive("profile").source());
    let unit = text.lines().find_map(|line| line.strip_prefix("unit = ")).expect("every drive has a unit");
    let unit: u64 = unit.trim_matches(['"', 'B']).parse().expect("in bytes");
    let granularity = pick(&mut random, &["entry", "page"]);
    let settings = [
        ("mapping.translation", "page"),
        ("cleaning.multi_plane", "false"),
        ("compat.disksim.pool", "plane"),
        ("compat.disksim.summary_pages", "0"),
        ("mapping.cache.policy", pick(&mut random, &["lru", "segmented", "clock"])),
        ("mapping.cache.granularity", granularity),
        ("mapping.cache.batch", pick(&mut random, &["true", "false"])),
        (
            "mapping.cache.prefetch",
            if granularity == "page" { "0" } else { pick(&mut random, &["0", "3", "20"]) },
        ),
    ];
    all.extend(settings.map(|(key, value)| (key.into(), value.into())));
    all.push(("mapping.cache.size".into(), format!("{}B", unit * (1 + random.below(3)))));
    if random.chance(0.3) {
        let host =
            [("host_memory", format!("{}B", unit * (1 + random.below(3)))), ("host_access", "2us".into())];
        all.extend(host.map(|(key, value)| (format!("mapping.cache.{key}"), value)));
    }
    all
}

#[test]
fn every_drive_with_page_types_keeps_the_laws() {
    let accepted = (0..DRIVES / 2).filter(|&seed| holds(seed, &celled(seed))).count() as u64;
    assert!(accepted > DRIVES / 8, "only {accepted} of {} profiles were drives", DRIVES / 2);
}

/// What gives the pages of a random drive types, half of them with an SLC cache or superblocks; most program word lines.
fn celled(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("cells").source();
    let r = &mut random;
    let mut all = match r.below(4) {
        0 => cached(seed),
        1 => {
            let mut all = superblocks(seed);
            all.retain(|(key, _)| key != "mapping.parity");
            all
        }
        _ => Vec::new(),
    };
    let text = profile(&mut Seed(seed).derive("profile").source());
    let number = |key: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        let digits: String = line.unwrap().chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let (cell, bits) = [("mlc", 2), ("tlc", 3), ("qlc", 4), ("slc", 1)][r.below(4) as usize];
    // A setting cannot take these away, which one-shot programs do not allow.
    let can_wait = !text.contains("batch_pages_per_package") && !text.contains("read_wait");
    let one_shot = bits > 1 && can_wait;
    let mut times = || (0..bits).map(|_| pick(r, &["0us", "20us", "300us"])).collect::<Vec<_>>().join("+");
    let (reads, programs) = (times(), times());
    let mut set = |key: &str, value: String| all.push((key.to_owned(), value));
    set("flash.cell", cell.into());
    set("flash.read_by_type", reads);
    set("slc.bits", bits.to_string());
    set("mapping.translation", "page".into());
    set("compat.disksim.summary_pages", "0".into());
    if one_shot {
        set("flash.programming", "one-shot".into());
        set("flash.pages", number("pages").next_multiple_of(bits).to_string());
        set("cleaning.separate", "true".into());
        set("compat.disksim.pool", "plane".into());
        let planes = number("channels") * number("packages") * number("dies") * number("planes");
        let word_lines = planes * (bits + 1) * number("page");
        set("buffer.policy", pick(r, &["fifo", "lru", "parallel", "bplru", "cflru"]).into());
        set("buffer.placement", pick(r, &["above", "above", "below"]).into());
        set("buffer.size", format!("{}B", word_lines * from(r, 1, 3)));
        let per_die = number("planes") * (bits + 1) * number("page") / number("unit");
        set("buffer.drain_per_die", (per_die * from(r, 1, 2)).to_string());
        set("buffer.admit", "all".into());
        set("buffer.high_watermark", pick(r, &["0%", "50%"]).into());
    } else {
        set("flash.program_by_type", programs);
    }
    all.retain(|(key, _)| key != "slc.bits" || bits > 1);
    all
}

/// What gives a random drive an SLC cache, half of them with paced GC.
fn cached(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("slc").source();
    let mut all = match random.below(4) {
        0 | 1 => paced(seed),
        2 => superblocks(seed),
        _ => Vec::new(),
    };
    all.retain(|(key, _)| key != "mapping.parity");
    let fold = pick(&mut random, &["idle", "at-once", "when-needed"]);
    let kept = if fold == "when-needed" { "0B" } else { pick(&mut random, &["0B", "64KiB", "1MiB"]) };
    let settings = [
        ("mapping.translation", "page"),
        ("cleaning.defer", "no"),
        ("compat.disksim.pool", "plane"),
        ("compat.disksim.summary_pages", "0"),
        ("slc.bits", pick(&mut random, &["2", "3", "4"])),
        ("slc.read", pick(&mut random, &["1us", "20us"])),
        ("slc.program", pick(&mut random, &["10us", "100us", "3ms"])),
        ("slc.size", kept),
        ("slc.free_blocks", pick(&mut random, &["10%", "50%", "100%"])),
        ("slc.fold", fold),
        ("slc.when_full", pick(&mut random, &["direct", "fold", "direct-then-fold"])),
    ];
    all.extend(settings.map(|(key, value)| (key.into(), value.into())));
    all
}

/// What gives a random drive of even seed parity, reads rebuilt from it, and mostly GC in turns.
fn rebuilt(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("rebuild").source();
    let mut all = superblocks(seed);
    let text = profile(&mut Seed(seed).derive("profile").source());
    let number = |key: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        let digits: String = line.unwrap().chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    // What was drawn, less the share of parity.
    let (capacity, channels, sector) = (number("capacity"), number("channels"), number("sector"));
    let capacity = capacity / channels * (channels - 1) / sector * sector;
    all.push(("capacity".into(), format!("{}B", capacity.max(sector))));
    let rebuild = pick(&mut random, &["unreadable", "blocked", "blocked"]);
    all.push(("mapping.rebuild".into(), rebuild.into()));
    if random.chance(0.7) {
        all.extend(
            [("cleaning.rotate", "true"), ("cleaning.defer", "no")].map(|(k, v)| (k.into(), v.into())),
        );
    }
    all
}

/// What lets a random drive replicate.
fn replicated(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("replication").source();
    let mut all = vec![("cleaning.defer", "no".into()), ("mapping.translation", "page".into())];
    all.extend([
        ("replication.policy", pick(&mut random, &["lru", "pblru"]).into()),
        ("replication.copies", pick(&mut random, &["2", "2", "2", "3"]).into()),
        ("replication.space", pick(&mut random, &["2%", "10%", "30%"]).into()),
        ("replication.queue", pick(&mut random, &["1", "8", "256"]).into()),
        ("replication.epoch", pick(&mut random, &["1ms", "50ms", "60s"]).into()),
        ("replication.delay", pick(&mut random, &["0us", "1us", "300us", "2ms"]).into()),
    ]);
    all.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// What paces a random drive, every third with superblocks; half of them with hardly any spare blocks.
fn paced(seed: u64) -> Vec<(String, String)> {
    let text = profile(&mut Seed(seed).derive("profile").source());
    let mut all = if seed.is_multiple_of(3) { superblocks(seed) } else { Vec::new() };
    let mut random = Seed(seed).derive("pacing").source();
    let policy = pick(&mut random, &["proportional", "proportional", "fixed"]);
    let option = format!("cleaning.pacing_options.{}", if policy == "fixed" { "moves" } else { "most" });
    all.extend([
        ("cleaning.pacing".into(), policy.into()),
        (option, pick(&mut random, &["1", "8", "16", "100"]).into()),
        ("cleaning.defer".into(), "no".into()),
    ]);
    if random.chance(0.5) {
        all.extend([("cleaning.low", "0%"), ("flash.factory_bad", "0%")].map(|(k, v)| (k.into(), v.into())));
        let number = |key: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let digits: String = line.unwrap().chars().filter(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        let planes = number("channels") * number("packages") * number("dies") * number("planes");
        let data = (number("pages") - number("summary_pages")) * number("page");
        let bytes = planes * data * (number("blocks") - 3);
        all.push(("capacity".into(), format!("{}B", bytes / number("sector") * number("sector"))));
    }
    all
}

/// What makes superblocks of a random drive: over the planes of a die, and with parity over its channels.
fn superblocks(seed: u64) -> Vec<(String, String)> {
    let text = profile(&mut Seed(seed).derive("profile").source());
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let page = value("page").expect("every drive has pages");
    let channels: u32 = value("channels").and_then(|value| value.parse().ok()).expect("and channels");
    let mut all = vec![
        ("mapping.translation", "page".into()),
        ("mapping.policy", "write-order".into()),
        ("mapping.chunk", page.clone()),
        ("compat.disksim.pool", "plane".into()),
        ("compat.disksim.summary_pages", "0".into()),
        ("flash.copyback", "false".into()),
        ("flash.multi_plane", "true".into()),
        ("cleaning.multi_plane", (!seed.is_multiple_of(4)).to_string()),
        ("cleaning.high", "0%".into()),
    ];
    if channels > 1 && seed.is_multiple_of(2) {
        all.extend([("mapping.unit", page), ("mapping.parity", (channels - 1).to_string())]);
    }
    if text.contains("[buffer]") {
        all.push(("buffer.placement", "above".into()));
    }
    all.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// False where the profile is no drive.
fn keeps_the_laws(seed: u64) -> bool {
    holds(seed, &[])
}

/// The same with these settings instead of what was drawn.
fn holds(seed: u64, settings: &[(String, String)]) -> bool {
    let text = profile(&mut Seed(seed).derive("profile").source());
    let examined = catch_unwind(AssertUnwindSafe(|| {
        let Ok(config) = parse("random", &text, settings) else { return false };
        let first = Load::run(&config, seed, false);
        first.check(&config);
        let again = Load::run(&config, seed, true);
        assert_eq!(first.drive.trace_hash(), again.drive.trace_hash());
        assert_eq!(first.completions, again.completions);
        again.all_time_is_accounted_for();
        true
    }));
    examined.unwrap_or_else(|_| panic!("the drive of seed {seed} breaks a law:\n{text}"))
}

fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn from(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most - least + 1)
}

/// A profile in which every field may be anything that makes a small drive.
fn profile(random: &mut Random) -> String {
    let r = random;
    let (channels, packages) = (from(r, 1, 4), from(r, 1, 3));
    let (dies, planes, blocks) = (from(r, 1, 2), from(r, 1, 4), from(r, 4, 40));
    let pages = if r.chance(0.1) { 1 } else { from(r, 2, 32) };
    let summary = if r.chance(0.2) { from(r, 0, pages - 1) } else { 0 };
    let sector = if r.chance(0.8) { 512 } else { 4096 };
    let page = sector * [1, 2, 3, 4, 8, 16, 32, 256][r.below(8) as usize];
    let fractions: Vec<u64> = (1..=8).filter(|n| page % (n * sector) == 0).collect();
    let unit = page / fractions[r.below(fractions.len() as u64) as usize];
    let chunk = if r.chance(0.5) { unit } else { unit * from(r, 1, pages * page / unit) };
    let share = if r.chance(0.5) { 0.05 + 0.8 * r.unit() } else { 0.5 + 0.3 * r.unit() };
    let physical = channels * packages * dies * planes * blocks * (pages - summary) * page;
    let sectors = ((physical as f64 * share) as u64 / sector).max(1);
    let (low, high, bad) = (from(r, 0, 30), from(r, 0, 60), if r.chance(0.2) { from(r, 1, 20) } else { 0 });
    let mut order = ["channel", "package", "die", "plane"];
    r.shuffle(&mut order);
    let mut t = format!("name = \"random\"\ncapacity = \"{}B\"\nsector = \"{sector}B\"\n", sectors * sector);
    let times = ["0us", "1us", "20us", "300us", "2ms"];
    let shares = ["0%", "0%", "1%", "10%", "50%"];
    let truths = ["true", "false"];
    let mut field = |text: std::fmt::Arguments<'_>| writeln!(t, "{text}").expect("text grows");
    field(format_args!("[host]\nsubmission = \"{}\"\njitter = \"{}\"", pick(r, &times), pick(r, &shares)));
    let rates = ["0", "1MB/s", "37MB/s", "250MB/s", "3.5GB/s"];
    field(format_args!("[link]\nbandwidth = \"{}\"\nduplex = {}", pick(r, &rates), pick(r, &truths)));
    let commands = (pick(r, &times), pick(r, &times));
    field(format_args!("read_command = \"{}\"\nwrite_command = \"{}\"", commands.0, commands.1));
    field(format_args!("depth = {}\nread_write_exclusion = {}", from(r, 1, 40), pick(r, &truths)));
    field(format_args!("commands_wait = \"{}\"", pick(r, &["no", "by-arrival", "by-slot"])));
    let waits = (pick(r, &truths), pick(r, &truths));
    if r.chance(0.4) {
        let window = page * from(r, 1, 16);
        field(format_args!("[readahead]\nwindow = \"{window}B\"\ncache = \"{}B\"", window * from(r, 1, 4)));
        field(format_args!("options = {{ streams = {}, trigger = {} }}", from(r, 1, 8), from(r, 1, 4)));
    }
    if r.chance(0.6) {
        let size = page * if r.chance(0.5) { from(r, 1, 4) } else { from(r, 1, 100) };
        let names: Vec<&str> = buffer::REGISTRY.iter().map(|entry| entry.name).collect();
        let policies = (pick(r, &names), from(r, 0, 100));
        field(format_args!(
            "[buffer]\nsize = \"{size}B\"\npolicy = \"{}\"\nhigh_watermark = \"{}%\"",
            policies.0, policies.1
        ));
        field(format_args!("drain_per_die = {}", from(r, 1, 8)));
        field(format_args!("admit = \"{}\"", pick(r, &["all", "all", "partial-page-writes"])));
        field(format_args!("coalesce = {}", pick(r, &["true", "true", "false"])));
        field(format_args!("placement = \"{}\"", pick(r, &["above", "below"])));
        if r.chance(0.5) {
            field(format_args!("batch_pages_per_package = {}", from(r, 1, 20)));
        }
        if r.chance(0.3) {
            field(format_args!("idle_drain = \"{}\"", pick(r, &times)));
        }
        if r.chance(0.3) {
            field(format_args!("read_wait = \"{}ms\"", from(r, 1, 400)));
        }
        match policies.0 {
            "bplru" => field(format_args!("options = {{ padding = {} }}", pick(r, &truths))),
            "cflru" => field(format_args!("options = {{ window = \"{}%\" }}", from(r, 1, 100))),
            _ => {}
        }
    }
    let translation = pick(r, &["page", "page", "page", "block", "bast", "fast"]);
    let pages_only = translation == "page";
    let mapping = if pages_only { pick(r, &["lba", "write-order"]) } else { "lba" };
    let allocation = if mapping == "lba" { "striped" } else { pick(r, &["striped", "random"]) };
    field(format_args!("[mapping]\npolicy = \"{mapping}\"\nunit = \"{unit}B\"\nchunk = \"{chunk}B\""));
    field(format_args!("allocation = \"{allocation}\"\norder = {order:?}"));
    field(format_args!("translation = \"{translation}\""));
    let pools: &[&str] =
        if pages_only { &["plane", "plane", "die", "package", "channel"] } else { &["plane"] };
    let pool = pick(r, pools);
    if !pages_only {
        let all = channels * packages * dies * planes;
        let stripes: Vec<u64> = (1..=all).filter(|n| all % n == 0).collect();
        let mut options = format!("stripe = {}", stripes[r.below(stripes.len() as u64) as usize]);
        options += &format!(", log_blocks = {}, interleave = {}", from(r, 1, 6), pick(r, &truths));
        if translation == "fast" && r.chance(0.3) {
            options += &format!(", sequence_blocks = {}", from(r, 1, 4));
        }
        if translation == "fast" && r.chance(0.5) {
            options += &format!(", merge_batch = {}", from(r, 1, 4));
        }
        field(format_args!("translation_options = {{ {options} }}"));
    }
    let cleaners: &[&str] = if pages_only { &["greedy", "cost-benefit", "d-choice"] } else { &["greedy"] };
    let cleaning = pick(r, cleaners);
    field(format_args!("[cleaning]\npolicy = \"{cleaning}\"\nlow = \"{low}%\"\nhigh = \"{high}%\""));
    field(format_args!("idle = \"{}\"\npreemptible = {}", pick(r, &times), pick(r, &truths)));
    let separate = if pages_only { pick(r, &truths) } else { "false" };
    let defer = pick(r, &["until-next-operation", "behind-host", "no"]);
    field(format_args!("separate = {separate}\ndefer = \"{defer}\""));
    let wear = pick(r, if pages_only { &["none", "dynamic", "static"] } else { &["none", "dynamic"] });
    field(format_args!("[wear]\npolicy = \"{wear}\""));
    if wear == "static" {
        field(format_args!("options = {{ spread = {} }}", from(r, 1, 20)));
    }
    field(format_args!("[scheduling]\npolicy = \"{}\"", pick(r, &["fifo", "read-first"])));
    if r.chance(0.3) {
        field(format_args!("write_wait = \"{}\"", pick(r, &times)));
    }
    field(format_args!("[initial]\nstate = \"{}\"", pick(r, &["fresh", "full", "fragmented"])));
    field(format_args!("[flash]\nchannels = {channels}\npackages = {packages}\ndies = {dies}"));
    field(format_args!("planes = {planes}\nblocks = {blocks}\npages = {pages}"));
    field(format_args!(
        "page = \"{page}B\"\nbus = \"{}\"\nbus_command = \"{}\"",
        pick(r, &rates),
        pick(r, &times)
    ));
    for operation in ["read", "program", "erase"] {
        field(format_args!("{operation} = \"{}\"", pick(r, &times)));
    }
    field(format_args!("spare = \"{}B\"", page / 512 * from(r, 0, 30)));
    let summary_bytes = (summary > 0 && r.chance(0.5)).then(|| from(r, 0, page));
    for mechanism in ["multi_plane", "copyback", "cache_mode"] {
        field(format_args!("{mechanism} = {}", pick(r, &truths)));
    }
    if r.chance(0.4) {
        field(format_args!("suspend = \"{}\"", pick(r, &times)));
    }
    if r.chance(0.25) {
        field(format_args!("endurance = {}\nendurance_spread = \"{}\"", from(r, 1, 30), pick(r, &shares)));
    }
    field(format_args!("read_retry = \"{}\"\nuncorrectable = \"{}\"", pick(r, &shares), pick(r, &shares)));
    field(format_args!("factory_bad = \"{bad}%\"\nnoise = \"{}\"", pick(r, &shares)));
    field(format_args!("[compat.disksim]\ncompletions_wait = {}\nwhole_reads = {}", waits.0, waits.1));
    field(format_args!("pool = \"{pool}\"\nsummary_pages = {summary}"));
    if let Some(bytes) = summary_bytes {
        field(format_args!("summary = \"{bytes}B\""));
    }
    t
}

/// A random load and its results.
struct Load {
    drive: Drive,
    requests: Vec<Request>,
    completions: Vec<Completion>,
    /// Where the time of each went, if it is recorded.
    splits: Vec<Option<TimeSplit>>,
}

impl Load {
    fn run(config: &DriveConfig, seed: u64, splits: bool) -> Self {
        let mut r = Seed(seed).derive("load").source();
        let mut drive = Drive::new(config, Seed(seed));
        assert!(!splits || drive.record_time_splits());
        let mut load = Self { drive, requests: vec![], completions: vec![], splits: vec![] };
        let depth = from(&mut r, 1, config.link.depth.into()) as usize;
        let (sector, sectors) = (config.sector.0, config.capacity.0 / config.sector.0);
        let longest = (from(&mut r, 1, 8) * config.flash.page.0 / sector).min(sectors);
        let (reads, pauses) = (r.unit(), r.chance(0.3));
        for id in 0..REQUESTS {
            let length = from(&mut r, 1, longest);
            // A third continues where the one before ended, for the readahead to see.
            let end = load.requests.last().map_or(0, |last| (last.offset_bytes + last.length_bytes) / sector);
            let free = sectors - length;
            let offset = if r.chance(0.3) && end <= free { end } else { from(&mut r, 0, free) };
            let (offset, length) = (offset * sector, length * sector);
            let request = match r.below(40) {
                0 => Request::flush(id),
                1 | 2 => Request::trim(id, offset, length),
                _ if r.chance(reads) => Request::read(id, offset, length),
                _ => Request::write(id, offset, length),
            };
            let request = if r.chance(0.1) { request.durable() } else { request };
            let queues = u64::from(config.queue_count());
            let request = request.in_queue(QueueId((id * 7 % queues) as u16));
            load.drive.submit(request).unwrap();
            load.requests.push(request);
            load.wait(depth - 1);
            if pauses && r.chance(0.05) {
                let until = load.drive.now() + Duration::from_us(r.below(5000));
                load.reap(until);
            }
        }
        load.wait(0);
        // What was acknowledged is on flash only after a flush.
        load.drive.submit(Request::flush(REQUESTS)).unwrap();
        load.requests.push(Request::flush(REQUESTS));
        load.wait(0);
        load
    }

    /// Until no more than `most` requests are in flight.
    fn wait(&mut self, most: usize) {
        while self.requests.len() - self.completions.len() > most {
            let before = self.completions.len();
            self.reap(Instant::FAR);
            assert!(self.completions.len() > before, "requests are in flight, but none completes");
        }
    }

    fn reap(&mut self, until: Instant) {
        let before = self.completions.len();
        self.drive.reap(until, &mut self.completions);
        let splits = self.completions[before..].iter().map(|done| self.drive.time_split(done.id));
        self.splits.extend(splits);
    }

    /// The parts of each latency add up to it, and a part without a cause has no time.
    fn all_time_is_accounted_for(&self) {
        for (completion, split) in self.completions.iter().zip(&self.splits) {
            let split = split.expect("it is recorded");
            let request = &self.requests[completion.id.0 as usize];
            assert_eq!(split.total(), completion.latency(), "{request:?}: {split:?}");
            let counters = self.drive.counters();
            let has = |part: Part| !split.of(part).is_zero();
            assert!(!has(Part::Retry) || counters.get("read_retries") > Some(0));
            assert!(
                !has(Part::BehindGc)
                    || counters.get("blocks_erased") > Some(0)
                    || counters.get("pages_moved_by_cleaning") > Some(0),
                "{split:?}"
            );
        }
    }

    fn check(&self, config: &DriveConfig) {
        self.each_completes_once();
        self.none_beats_its_parts(config);
        self.nothing_works_more_than_it_can(config);
        self.what_left_the_buffer_is_programmed();
        self.what_was_written_is_kept();
        self.drive.check_tables();
    }

    fn each_completes_once(&self) {
        let ids: BTreeSet<u64> = self.completions.iter().map(|completion| completion.id.0).collect();
        assert_eq!((ids.len(), self.completions.len()), (self.requests.len(), self.requests.len()));
        assert!(self.completions.is_sorted_by_key(|completion| completion.completed));
    }

    /// A request takes at least its submission, its command, and its data's time over the link; a write that goes
    /// of a bypassing write also a program.
    fn none_beats_its_parts(&self, config: &DriveConfig) {
        let submission = config.host.submission.0.as_ns() as f64 * (1.0 - config.host.jitter.0);
        let of_type = config.flash.program_by_type.iter().map(|time| time.0);
        let of_cache = config.slc.iter().map(|slc| slc.program.0);
        let program = of_type.chain(of_cache).fold(config.flash.program.0, Duration::min);
        let program = program.as_ns() as f64 * (1.0 - config.flash.noise.0);
        for completion in self.completions.iter().filter(|completion| completion.outcome.is_ok()) {
            let request = &self.requests[completion.id.0 as usize];
            let data = Duration::of_transfer(request.length_bytes, config.link.bandwidth.0);
            let programmed = config.buffer.is_none() || request.durable;
            let parts = match request.operation {
                Operation::Read => config.link.read_command.0 + data,
                Operation::Write if programmed => {
                    config.link.write_command.0 + data + Duration::from_ns(program as u64)
                }
                Operation::Write => config.link.write_command.0 + data,
                _ => config.link.write_command.0,
            };
            let least = submission as u64 + parts.as_ns();
            assert!(
                completion.latency().as_ns() + 2 >= least,
                "{request:?} in {completion:?}, least {least} ns"
            );
        }
    }

    /// Arrays, buses and the link are busy for no longer than they exist, but for what they are doing now.
    fn nothing_works_more_than_it_can(&self, config: &DriveConfig) {
        let (g, flash) = (self.drive.geometry(), &config.flash);
        let counters = self.drive.counters();
        let get = |name| counters.get(name).expect("the drive counts it");
        let elapsed = self.drive.now().as_ns();
        let cached = config.slc.as_ref().map_or(Duration::ZERO, |slc| slc.read.0 + slc.program.0);
        let of_types = |times: &[Time]| times.iter().map(|time| time.0).fold(Duration::ZERO, Duration::max);
        let typed = of_types(&flash.read_by_type) + of_types(&flash.program_by_type);
        let page = flash.read.0
            + flash.program.0
            + typed
            + cached
            + Duration::of_transfer(2 * flash.page.0, flash.bus.0);
        let longest = (page + flash.bus_command.0) * (2 * u64::from(g.block_units)) + flash.erase.0 * 2;
        let (dies, channels) = (u64::from(g.dies), u64::from(g.channels));
        assert!(get("array_busy_ns") <= dies * (elapsed + 9 * longest.as_ns()));
        assert!(get("bus_busy_ns") <= channels * (elapsed + longest.as_ns()));
        assert!(get("link_busy_ns") <= (1 + u64::from(config.link.duplex)) * elapsed);
        let (host, moved) = (get("host_pages_settled"), get("pages_moved_by_cleaning"));
        assert!(host <= get("host_pages_written"), "only what was written leaves the buffer");
        assert!(
            get("flash_pages_programmed")
                <= host
                    + moved
                    + get("buffer_pages_padded")
                    + get("parity_pages_programmed")
                    + counters.get("pages_left_empty").unwrap_or(0)
                    + counters.get("copies_written").unwrap_or(0)
                    + counters.get("translation_pages_written").unwrap_or(0)
        );
    }

    /// Every page that left the buffer, and was not replaced there, was programmed, on a drive that wears out too.
    fn what_left_the_buffer_is_programmed(&self) {
        let counters = self.drive.counters();
        let get = |name| counters.get(name).expect("the drive counts it");
        let never_bypasses = |request: &Request| request.operation != Operation::Trim && !request.durable;
        if self.requests.iter().all(never_bypasses) {
            let left = get("host_pages_settled") - get("buffer_writes_absorbed");
            assert!(get("flash_pages_programmed") >= left, "{left} pages left the buffer");
        }
    }

    /// Unless blocks ran out, every page that was written and never trimmed has a place on flash after the last
    /// flush.
    fn what_was_written_is_kept(&self) {
        let refused = self.completions.iter().any(|c| c.outcome == Err(Failure::WornOut));
        let counters = self.drive.counters();
        let (lost, worn) = (counters.get("pages_lost"), counters.get("blocks_worn_out"));
        if refused || lost != Some(0) {
            assert!(worn > Some(0), "pages are refused or lost, but no block is worn");
            return;
        }
        let page_bytes = self.drive.geometry().unit_bytes;
        let pages = |operation: Operation| -> BTreeSet<u64> {
            let of_kind = self.requests.iter().filter(move |request| request.operation == operation);
            of_kind
                .flat_map(|r| {
                    r.offset_bytes / page_bytes..(r.offset_bytes + r.length_bytes).div_ceil(page_bytes)
                })
                .collect()
        };
        let (written, trimmed) = (pages(Operation::Write), pages(Operation::Trim));
        for &page in written.difference(&trimmed) {
            assert!(
                self.drive.plane_of(Lpn(page as u32)).is_some(),
                "page {page} was written and is not there"
            );
        }
    }
}
