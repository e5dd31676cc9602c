//! Profiles drawn at random.

use flashlane_base::Random;
use flashlane_policy::buffer;
use std::fmt::Write;

pub(super) fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

pub(super) fn from(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most - least + 1)
}

/// A profile in which every field may be anything that makes a small drive.
pub(super) fn profile(random: &mut Random) -> String {
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
