//! Drives of today for the score: 256 MiB to 2 GiB of cells with several bits, half of them with an SLC cache, half
//! with a part of the map in memory.
//!
//! *Truth.* The reach of a mapping cache follows from its lines. What an SLC cache takes depends on erased blocks, the
//! planes that fill in turn and the write buffer, so that another drive of the same profile is written in order, and
//! its counters are read: the cache ends where pages go elsewhere, or where it is folded for further ones. The probe
//! sees no counters.

use super::Truth;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Device, Request};
use flashlane_sim::{Drive, DriveConfig, profile};

/// Draws until a drive is possible.
const MOST_DRAWS: usize = 10_000;

/// Draws a drive: its truth and its profile.
pub(super) fn draw(random: &mut Random) -> (Truth, String) {
    for _ in 0..MOST_DRAWS {
        let (reach_bytes, profile) = draw_profile(random);
        if let Ok(config) = profile::parse("random drive", &profile, &[]) {
            let slc_cache_bytes = if profile.contains("[slc]") { slc_cache_bytes(&config) } else { [0; 2] };
            let truth = Truth { slc_cache_bytes, mapping_cache_reach_bytes: reach_bytes, ..Truth::default() };
            return (truth, profile);
        }
    }
    unreachable!("one of {MOST_DRAWS} drives is possible")
}

fn pick<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len() as u64) as usize]
}

fn log_uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + random.unit() * (high / low).ln()).exp()
}

/// Returns the reach of the mapping cache, 0 for none, and the profile.
fn draw_profile(random: &mut Random) -> (u64, String) {
    let page: u64 = pick(random, &[4096, 8192, 16384]);
    let unit = (page / pick(random, &[1, 1, 2, 4])).max(4096);
    let (channels, dies) = (pick(random, &[1, 2, 4, 8]), pick(random, &[1, 2, 4]));
    let (planes, bits) = (pick(random, &[1, 2, 4]), pick(random, &[2, 3, 3, 4]));
    let pages = 12 * (4 + random.below(28));
    let capacity =
        log_uniform(random, (256_u64 << 20) as f64, (2_u64 << 30) as f64) as u64 / 1_048_576 * 1_048_576;
    let all_planes = channels * dies * planes;
    let blocks = (capacity as f64 * 1.2) as u64 / (all_planes * pages * page) + 12;
    let ns = |random: &mut Random, low: f64, high: f64| format!("{:.0}ns", log_uniform(random, low, high));
    let rate = |random: &mut Random, low: f64, high: f64| format!("{:.0}B/s", log_uniform(random, low, high));
    let (read, program) = (log_uniform(random, 30e3, 90e3), log_uniform(random, 300e3, 1500e3));
    let (noise, jitter) = (0.05 * random.unit(), 0.05 * random.unit());
    let mut text = format!(
        "name = \"random\"\ncapacity = \"{capacity}B\"\n[initial]\nstate = \"{}\"\n\
         [host]\nsubmission = \"{}\"\njitter = \"{:.2}%\"\n\
         [link]\nbandwidth = \"{}\"\nread_command = \"1us\"\nwrite_command = \"1us\"\ndepth = {}\nduplex = true\n\
         [cleaning]\nlow = \"3%\"\nidle = \"{}\"\nseparate = {}\n\
         [flash]\nchannels = {channels}\npackages = 1\ndies = {dies}\nplanes = {planes}\nblocks = {blocks}\n\
         pages = {pages}\npage = \"{page}B\"\nread = \"{read:.0}ns\"\nprogram = \"{program:.0}ns\"\nerase = \"3ms\"\n\
         bus = \"{}\"\nnoise = \"{:.2}%\"\nmulti_plane = true\ncache_mode = {}\n",
        pick(random, &["fresh", "fresh", "full"]),
        ns(random, 3e3, 20e3),
        jitter * 100.0,
        rate(random, 1e9, 7e9),
        pick(random, &[32, 256, 1024]),
        pick(random, &["10ms", "100ms", "1s"]),
        random.chance(0.5),
        rate(random, 4e8, 1.6e9),
        noise * 100.0,
        random.chance(0.5),
    );
    if random.chance(0.5) {
        text += "suspend = \"20us\"\n[scheduling]\npolicy = \"read-first\"\n";
    }
    if random.chance(0.7) {
        let policy = pick(random, &["fifo", "fifo", "fifo", "fifo", "lru", "lru", "lru", "lru", "cflru"]);
        let size = log_uniform(random, 1e6, 16e6) as u64 / page * page;
        text +=
            &format!("[buffer]\npolicy = \"{policy}\"\nsize = \"{size}B\"\ndrain_per_die = {}\n", 2 * planes);
    }
    if random.chance(0.5) {
        text += "[readahead]\nwindow = \"128KiB\"\ncache = \"1MiB\"\noptions = { streams = 4 }\n";
    }
    text += &slc(random, bits, (read, program), capacity);
    text += &format!("[mapping]\npolicy = \"write-order\"\nunit = \"{unit}B\"\nchunk = \"{page}B\"\n");
    let (reach, section) = mapping_cache(random, capacity, unit);
    (reach, text + &section)
}

/// Draws an SLC cache for half of the drives.
fn slc(random: &mut Random, bits: u64, (read, program): (f64, f64), capacity: u64) -> String {
    if random.chance(0.5) {
        return String::new();
    }
    let size = match random.chance(0.5) {
        true => {
            let bytes = (capacity as f64 * log_uniform(random, 0.03, 0.25)) as u64;
            format!("size = \"{bytes}B\"\nfold = \"idle\"\n")
        }
        false => format!(
            "free_blocks = \"{}%\"\nfold = \"{}\"\n",
            20 + random.below(81),
            pick(random, &["idle", "when-needed"])
        ),
    };
    format!(
        "[slc]\nbits = {bits}\nread = \"{:.0}ns\"\nprogram = \"{:.0}ns\"\nwhen_full = \"{}\"\n{size}",
        read * log_uniform(random, 0.4, 0.75),
        program * log_uniform(random, 0.12, 0.4),
        pick(random, &["direct", "direct", "fold", "direct-then-fold"]),
    )
}

/// Draws a mapping cache for half of the drives: its reach, and its section.
fn mapping_cache(random: &mut Random, capacity: u64, unit: u64) -> (u64, String) {
    if random.chance(0.5) {
        return (0, String::new());
    }
    let is_paged = random.chance(0.5);
    let (line_bytes, line_units) = if is_paged { (unit, unit / 4) } else { (8, 1) };
    let line_reach = line_units * unit;
    let lines = ((capacity as f64 * log_uniform(random, 1.0 / 64.0, 0.5)) as u64 / line_reach).max(1);
    // A few pages at least: of one the reach depends on where a span begins.
    let lines = lines.max(if is_paged { 4 } else { unit.div_ceil(line_bytes) });
    let host_lines = if random.chance(0.2) { lines / 2 } else { 0 };
    let mut section = format!(
        "[mapping.cache]\nsize = \"{}B\"\npolicy = \"{}\"\ngranularity = \"{}\"\n",
        lines * line_bytes,
        pick(random, &["lru", "segmented", "clock"]),
        if is_paged { "page" } else { "entry" },
    );
    if host_lines > 0 {
        section += &format!("host_memory = \"{}B\"\nhost_access = \"2us\"\n", host_lines * line_bytes);
    }
    let reach = (lines + host_lines) * line_reach;
    // All of the map is in memory.
    (if reach >= capacity { 0 } else { reach }, section)
}

/// Size of the requests that fill the cache, and those in flight.
const REQUEST_BYTES: u64 = 64 << 10;
const DEPTH: usize = 16;
/// Share of the drive between two looks at its counters, and the least that is written there.
const STEPS: u64 = 2000;
const STEP_BYTES_MIN: u64 = 512 << 10;

/// Returns the bytes that an erased drive takes until the first of them do not go to its SLC cache, and until none do,
/// with a full write buffer; 0 where it takes none.
fn slc_cache_bytes(config: &DriveConfig) -> [u64; 2] {
    let mut drive = Drive::new(config, Seed(0));
    let capacity_bytes = drive.info().capacity_bytes;
    erase(&mut drive);
    let counted = |drive: &Drive| {
        let counters = drive.counters();
        ["slc_pages_written", "slc_pages_folded"].map(|name| counters.get(name).unwrap_or_default())
    };
    let unit_bytes = config.mapping.unit.map_or(config.flash.page.0, |unit| unit.0);
    let buffer_bytes = config.buffer.as_ref().map_or(0, |buffer| buffer.size.0);
    let step_bytes = (capacity_bytes / STEPS).max(STEP_BYTES_MIN).next_multiple_of(REQUEST_BYTES);
    let (mut written, mut first_bytes, mut before_bytes) = (0, None, 0);
    while written + step_bytes <= capacity_bytes * 4 / 5 {
        write(&mut drive, written, step_bytes);
        written += step_bytes;
        let [cached_bytes, folded_bytes] = counted(&drive).map(|pages| pages * unit_bytes);
        let elsewhere_bytes = written.saturating_sub(cached_bytes + buffer_bytes);
        if first_bytes.is_none() && (elsewhere_bytes > step_bytes || folded_bytes > 0) {
            first_bytes = Some(cached_bytes);
        }
        if let Some(first_bytes) = first_bytes
            && (cached_bytes - before_bytes < step_bytes / 8 || folded_bytes > 0)
        {
            return if cached_bytes > 0 { [first_bytes, cached_bytes + buffer_bytes] } else { [0; 2] };
        }
        before_bytes = cached_bytes;
    }
    [0; 2]
}

/// Trims a drive, and gives it time.
fn erase(drive: &mut Drive) {
    let mut out = Vec::new();
    drive.submit(Request::trim(0, 0, drive.info().capacity_bytes)).expect("an idle drive takes a trim");
    drive.reap(Instant::FAR, &mut out);
    let end = drive.now() + Duration::from_s(30);
    while drive.now() < end {
        drive.reap(end, &mut out);
    }
}

/// Writes in order, and waits for all.
fn write(drive: &mut Drive, from: u64, length_bytes: u64) {
    let (mut out, mut in_flight) = (Vec::new(), 0);
    let mut wait = |drive: &mut Drive, in_flight: &mut usize| {
        out.clear();
        drive.reap(Instant::FAR, &mut out);
        *in_flight -= out.len();
    };
    for at in (from..from + length_bytes).step_by(REQUEST_BYTES as usize) {
        while in_flight >= DEPTH {
            wait(drive, &mut in_flight);
        }
        drive.submit(Request::write(at, at, REQUEST_BYTES)).expect("there is room in the queue");
        in_flight += 1;
    }
    while in_flight > 0 {
        wait(drive, &mut in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_cover_both_caches() {
        let drives: Vec<_> =
            (0..24).map(|nth| draw(&mut Seed(5).derive_nth("drive of today", nth).source())).collect();
        for (truth, profile) in &drives {
            assert!(truth.slc_cache_bytes[0] == 0 || profile.contains("[slc]"), "{truth:?}");
            assert!(truth.mapping_cache_reach_bytes == 0 || profile.contains("[mapping.cache]"), "{truth:?}");
        }
        let count = |of: fn(&Truth) -> u64| drives.iter().filter(|(truth, _)| of(truth) > 0).count();
        assert!((5..20).contains(&count(|truth| truth.slc_cache_bytes[0])));
        assert!((5..20).contains(&count(|truth| truth.mapping_cache_reach_bytes)));
    }
}
