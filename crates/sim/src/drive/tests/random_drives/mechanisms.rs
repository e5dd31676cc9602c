//! Settings that give a random drive a mechanism, and what the mechanism requires.

use super::profile::{from, pick, profile};
use flashlane_base::Seed;

/// The number in the line of `key` of a profile.
fn number_in(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    let digits: String = line.expect("every drive has it").chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("it is a number")
}

/// What makes superblocks of a random drive: over the planes of a die, and with parity over its channels.
pub(super) fn superblocks(seed: u64) -> Vec<(String, String)> {
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

/// What paces a random drive, every third with superblocks; half of them with hardly any spare blocks.
pub(super) fn paced(seed: u64) -> Vec<(String, String)> {
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
        let number = |key| number_in(&text, key);
        let planes = number("channels") * number("packages") * number("dies") * number("planes");
        let data = (number("pages") - number("summary_pages")) * number("page");
        let bytes = planes * data * (number("blocks") - 3);
        all.push(("capacity".into(), format!("{}B", bytes / number("sector") * number("sector"))));
    }
    all
}

/// What lets a random drive replicate.
pub(super) fn replicated(seed: u64) -> Vec<(String, String)> {
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

/// What gives a random drive of even seed parity, reads rebuilt from it, and mostly GC in turns.
pub(super) fn rebuilt(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("rebuild").source();
    let mut all = superblocks(seed);
    let text = profile(&mut Seed(seed).derive("profile").source());
    let number = |key| number_in(&text, key);
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

/// What gives a random drive an SLC cache, half of them with paced GC.
pub(super) fn cached(seed: u64) -> Vec<(String, String)> {
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

/// What gives a random drive several submission queues.
pub(super) fn queued(seed: u64) -> Vec<(String, String)> {
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
    if random.chance(0.4) {
        all.push(("scheduling.policy", "light-first"));
    }
    all.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

/// What gives a random drive placement handles, half of them with paced GC, some of those with superblocks.
pub(super) fn placed(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("placement").source();
    let mut all = if random.chance(0.5) { paced(seed) } else { Vec::new() };
    all.retain(|(key, _)| key != "mapping.parity" && key != "capacity" && key != "cleaning.low");
    let settings = [
        ("mapping.translation", "page"),
        ("cleaning.separate", "true"),
        ("compat.disksim.pool", "plane"),
        // Room for the open blocks beside what was drawn.
        ("flash.blocks", "48"),
        ("placement.handles", pick(&mut random, &["2", "3", "5"])),
        ("placement.isolation", pick(&mut random, &["initial", "persistent"])),
    ];
    all.extend(settings.map(|(key, value)| (key.into(), value.into())));
    all
}

/// What leaves a random drive with little memory for its map, a third of them with paced GC, a third with an SLC cache.
pub(super) fn mapped_on_flash(seed: u64) -> Vec<(String, String)> {
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
        ("compat.disksim.summary_pages", "0"),
        ("compat.disksim.pool", "plane"),
        ("compat.disksim.summary_pages", "0"),
        // Room for the map beside what was drawn.
        ("flash.blocks", "48"),
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

/// What gives the pages of a random drive types, half of them with an SLC cache or superblocks; most with program
/// groups.
pub(super) fn celled(seed: u64) -> Vec<(String, String)> {
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
    let number = |key| number_in(&text, key);
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
        let program_groups = planes * (bits + 1) * number("page");
        set("buffer.policy", pick(r, &["fifo", "lru", "parallel", "bplru", "cflru"]).into());
        set("buffer.placement", pick(r, &["above", "above", "below"]).into());
        set("buffer.size", format!("{}B", program_groups * from(r, 1, 3)));
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

/// What gives a random drive mapping units of several pages.
pub(super) fn large_units(seed: u64) -> Vec<(String, String)> {
    let mut random = Seed(seed).derive("large units").source();
    let text = profile(&mut Seed(seed).derive("profile").source());
    let number = |key| number_in(&text, key);
    let pages = [2, 4, 8][random.below(3) as usize];
    let unit = format!("{}B", pages * number("page"));
    let room = format!("{}B", pages * number("page") * from(&mut random, 1, 30));
    let block_pages = pages * from(&mut random, 2, 8);
    let planes = number("channels") * number("packages") * number("dies") * number("planes");
    let bytes = planes * number("blocks") * block_pages * number("page") / number("sector");
    let capacity = bytes * from(&mut random, 10, 70) / 100 * number("sector");
    let mut all = vec![
        ("mapping.translation", "page".into()),
        ("mapping.unit", unit.clone()),
        ("mapping.chunk", unit.clone()),
        ("flash.pages", block_pages.to_string()),
        ("compat.disksim.summary_pages", "0".into()),
        ("capacity", format!("{capacity}B")),
    ];
    if text.contains("[buffer]") {
        all.push(("buffer.size", room.clone()));
    }
    if text.contains("[readahead]") {
        all.extend([("readahead.window", unit.clone()), ("readahead.cache", room)]);
    }
    let all: Vec<(String, String)> = all.into_iter().map(|(key, value)| (key.into(), value)).collect();
    // A third with an SLC cache, a third of those with several channels with parity.
    let mut others = match random.below(3) {
        0 => cached(seed),
        1 if seed.is_multiple_of(2) && number("channels") > 1 => superblocks(seed),
        _ => Vec::new(),
    };
    others.retain(|(key, _)| key != "cleaning.multi_plane" && all.iter().all(|(own, _)| own != key));
    all.into_iter().chain(others).collect()
}
