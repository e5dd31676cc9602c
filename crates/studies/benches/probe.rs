//! The duration of the probe, and its score: one line per figure.
//!
//! `cargo bench --bench probe`; `cargo test --benches` runs each figure small. The file to be probed is
//! made below the system's folder for temporary files; `FLASHLANE_BENCH_DIR` names another, on a disk.
//! `FLASHLANE_ONLY` selects one part: `time`, `score`, `wide`, `full`, `today` or `file`, which are all measured
//! without it, or `advice` or `bounds`, each of which takes more than an hour.
//!
//! Recommendations (`advice`) and bounds on latencies (`bounds`) are compared with runs on another drive of the
//! profile, recommendations also with several on the probed one (`probed-advice-holds`), on all cores. A second machine
//! or process can take a share: `FLASHLANE_ADVICE` selects drives of the list of all, which begins with the profiles,
//! each fresh, full and fragmented, in that order. `FROM..TO` are those from a number to before another,
//! `FROM..TO/STEP` every STEP-th of these: `2..57/3` are all profiles fragmented. `FLASHLANE_EFFORT=quick` probes as
//! `--quick` does.

mod process;

use flashlane_base::Seed;
use flashlane_probe::{Effort, Feature, Medium, Options, ProbeResult, Status, add_fragmented, probe};
use flashlane_result::score::Score;
use flashlane_sim::{Drive, device, profile};
use flashlane_studies::advice_score::bounds::{self, BoundComparison, compare_bounds};
use flashlane_studies::advice_score::{Comparison, LOADS, Measured, Subject, compare, profiles, random};
use flashlane_studies::score::{Range, score};
use process::user_cpu_s;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let only = std::env::var("FLASHLANE_ONLY").unwrap_or_default();
    match only.as_str() {
        "time" => return simulated(),
        "score" => return scored(500),
        "wide" => return scored_wide(300),
        "full" => return scored_full(200),
        "today" => return scored_today(300),
        "advice" => return compared(&advice_subjects(false), false),
        "bounds" => return bounded(&advice_subjects(false), false),
        "file" => return file(),
        _ => {}
    }
    simulated();
    scored(if quick { 4 } else { 500 });
    scored_wide(if quick { 2 } else { 300 });
    scored_full(if quick { 1 } else { 200 });
    scored_today(if quick { 1 } else { 300 });
    if quick {
        let subjects = advice_subjects(quick);
        compared(&subjects, quick);
        return bounded(&subjects[..1], quick);
    }
    file();
}

fn simulated() {
    let options = || Options { may_write: true, ..Options::default() };
    let load = |settings: &[(String, String)]| profile::load("ssd-s", settings).expect("a shipped profile");
    let before = user_cpu_s();
    let mut drive = Drive::new(&load(&[]), Seed(0));
    let mut result = probe(&mut drive, options()).expect("a drive of 32 GB");
    // As the command does.
    let fragmented = load(&[("initial.state".into(), "fragmented".into())]);
    let open = || Ok::<_, Infallible>(Some(device(&fragmented, Seed(0), "sim:ssd-s".into())));
    let Ok(()) = add_fragmented(&mut result, options(), open);
    println!(
        "probe-time: {:.2} s of user CPU (sim:ssd-s, {} requests)",
        user_cpu_s() - before,
        result.requests
    );
    let before = user_cpu_s();
    let mut drive = Drive::new(&load(&[]), Seed(0));
    probe(&mut drive, Options { structure_only: true, ..options() }).expect("a drive of 32 GB");
    println!("structure-time: {:.2} s of user CPU (the same without recommendations)", user_cpu_s() - before);
}

fn scored(drives: u64) {
    print_tallies("score", &score(drives, Seed(0), Range::Usual, Effort::Normal, &|_| true));
}

/// On a seed that the probe was not tuned on, or that of `FLASHLANE_SEED`.
fn scored_wide(drives: u64) {
    let seed = wide_seed();
    let range = Range::Wide(&flashlane_host::thread_cpu_time);
    let score = score(drives, seed, range, Effort::Normal, &|_| true);
    print_tallies("wide", &score);
    let wide = score.wide.expect("a score of wide drives");
    let certain = wide.calibration.iter().filter(|band| band.from >= 0.9);
    let (right, wrong) =
        certain.fold((0, 0), |(right, wrong), band| (right + band.right, wrong + band.wrong));
    println!(
        "wide-certain-wrong: {:.2} % of {} findings stated at 0.9 or more\nwide-failed: {} drives\n\
         wide-time: {:.2} s of CPU, median\nwide-time-p99: {:.1} s of CPU",
        100.0 * wrong as f64 / (right + wrong).max(1) as f64,
        right + wrong,
        wide.failed.len(),
        wide.cpu.median_s,
        wide.cpu.p99_s
    );
}

fn wide_seed() -> Seed {
    Seed(std::env::var("FLASHLANE_SEED").map_or(4242, |seed| seed.parse().expect("a number")))
}

/// The reclaim unit, on the drives that ran GC.
fn scored_full(drives: u64) {
    let range = Range::Wide(&flashlane_host::thread_cpu_time);
    let mut score = score(drives, wide_seed(), range, Effort::Full, &|_| true);
    for mistake in score.mistakes.iter().filter(|mistake| mistake.feature == Feature::ReclaimUnit) {
        println!("mistake: drive {}: {}: {}", mistake.drive, mistake.truth, mistake.answer);
    }
    score.features.retain(|tally| tally.feature == Feature::ReclaimUnit);
    score.drives = score.features.iter().map(|tally| tally.right + tally.wrong + tally.not_determined).sum();
    print_tallies("wide", &score);
}

/// The caches of present drives.
fn scored_today(drives: u64) {
    let range = Range::Today(&flashlane_host::thread_cpu_time);
    let score = score(drives, wide_seed(), range, Effort::Full, &|_| true);
    for mistake in &score.mistakes {
        println!("mistake: drive {}: {}: {}", mistake.drive, mistake.truth, mistake.answer);
    }
    print_tallies("today", &score);
}

fn print_tallies(kind: &str, score: &Score) {
    let drives = score.drives;
    for tally in &score.features {
        let share = |count: u64| 100.0 * count as f64 / score.drives as f64;
        let feature = tally.feature;
        println!(
            "{kind}-{feature}-right: {:.1} % of {drives} random drives\n{kind}-{feature}-wrong: {:.1} %",
            share(tally.right),
            share(tally.wrong)
        );
    }
}

/// Returns all profiles and 200 random drives, or the part of these that `FLASHLANE_ADVICE` selects.
fn advice_subjects(quick: bool) -> Vec<Subject> {
    if quick {
        return random(3, Seed(0));
    }
    let mut subjects = profiles();
    subjects.extend(random(200, Seed(0)));
    let Ok(selection) = std::env::var("FLASHLANE_ADVICE") else { return subjects };
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let (range, step) = selection.split_once('/').unwrap_or((&selection, "1"));
    let (from, to) = range.split_once("..").expect("a range FROM..TO");
    let (from, to) = (number(from), number(to).min(subjects.len()));
    subjects.drain(from..to).step_by(number(step)).collect()
}

fn effort(quick: bool) -> Effort {
    // `FLASHLANE_EFFORT=quick` measures less.
    let is_quick = quick || std::env::var("FLASHLANE_EFFORT").is_ok_and(|effort| effort == "quick");
    if is_quick { Effort::Quick } else { Effort::Normal }
}

/// Compares recommendations with runs.
fn compared(subjects: &[Subject], quick: bool) {
    let done = AtomicUsize::new(0);
    // This may take hours, so each drive is reported when it is done.
    let all = compare(subjects, effort(quick), Seed(0), &|comparisons| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        eprintln!("{done} of {} drives: {}", subjects.len(), comparisons[0].drive);
        let is_missed = |one: &&Comparison| {
            !(one.holds() && one.latency_holds() && one.holds_on_probed() && one.latency_holds_on_probed())
        };
        comparisons.iter().filter(is_missed).for_each(print_missed);
    });
    let share = |load: Option<&str>, holds: fn(&Comparison) -> bool| {
        let of = all.iter().filter(|one| load.is_none_or(|load| one.load == load));
        let (held, count) = of.fold((0, 0), |(held, count), one| (held + u32::from(holds(one)), count + 1));
        100.0 * f64::from(held) / f64::from(count.max(1))
    };
    println!(
        "advice-holds: {:.1} % of {} recommendations on {} drives",
        share(None, Comparison::holds),
        all.len(),
        subjects.len()
    );
    println!("advice-p99-holds: {:.1} %", share(None, Comparison::latency_holds));
    println!("advice-p50-holds: {:.1} %", share(None, Comparison::median_holds));
    println!("probed-advice-holds: {:.1} %", share(None, Comparison::holds_on_probed));
    println!("probed-advice-p99-holds: {:.1} %", share(None, Comparison::latency_holds_on_probed));
    println!("probed-advice-p50-holds: {:.1} %", share(None, Comparison::median_holds_on_probed));
    for load in LOADS {
        let of = |holds| share(Some(load), holds);
        println!("advice-holds-{load}: {:.1} %", of(Comparison::holds));
        println!("advice-p99-holds-{load}: {:.1} %", of(Comparison::latency_holds));
        println!("probed-advice-holds-{load}: {:.1} %", of(Comparison::holds_on_probed));
        println!("probed-advice-p99-holds-{load}: {:.1} %", of(Comparison::latency_holds_on_probed));
    }
}

fn print_missed(missed: &Comparison) {
    let range = missed.range.map_or_else(String::new, |[lowest, highest]| {
        format!(" (repeated: {:.1} to {:.1})", lowest / 1e6, highest / 1e6)
    });
    let measured =
        |run: &Measured| format!("{:.1} MB/s and {:.1} us", run.bytes_per_s / 1e6, run.p99_ns / 1e3);
    let probed: Vec<_> = missed.probed.iter().map(measured).collect();
    println!(
        "missed: {}, {}: recommended {:.1} MB/s{range} with a p99 of {:.1} to {:.1} us, a run measures {}, runs on the \
         probed drive {} ({})",
        missed.drive,
        missed.load,
        missed.recommended.unwrap_or(f64::NAN) / 1e6,
        missed.stated_p99_ns[0] / 1e3,
        missed.stated_p99_ns[1] / 1e3,
        measured(&missed.other),
        probed.join(", "),
        missed.workload
    );
}

/// Compares bounds on the 99th percentile with runs.
fn bounded(subjects: &[Subject], quick: bool) {
    let done = AtomicUsize::new(0);
    let all = compare_bounds(subjects, effort(quick), Seed(0), &|comparisons| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let drive = comparisons.first().map_or("", |one| &one.drive);
        eprintln!("bounds on {done} of {} drives: {drive}", subjects.len());
        comparisons.iter().filter(|one| one.holds() != Some(true)).for_each(print_bound);
    });
    let share = |load: Option<&str>, holds: Option<bool>| {
        let of = all.iter().filter(|one| load.is_none_or(|load| one.load == load));
        let (held, count) =
            of.fold((0, 0), |(held, count), one| (held + u32::from(one.holds() == holds), count + 1));
        100.0 * f64::from(held) / f64::from(count.max(1))
    };
    println!(
        "bounds-hold: {:.1} % of {} bounds on {} drives\nbounds-wrong: {:.1} %\nbounds-open: {:.1} %",
        share(None, Some(true)),
        all.len(),
        subjects.len(),
        share(None, Some(false)),
        share(None, None)
    );
    for load in bounds::LOADS {
        println!("bounds-hold-{load}: {:.1} %", share(Some(load), Some(true)));
        println!("bounds-wrong-{load}: {:.1} %", share(Some(load), Some(false)));
    }
}

fn print_bound(missed: &BoundComparison) {
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    let runs: Vec<_> =
        missed.runs.iter().map(|(line, p99_ns)| format!("{} us ({line})", us(*p99_ns))).collect();
    println!(
        "bound {:?}, {:?}: {}, {}: {} us, stated {:?}, runs measure {}",
        missed.claim,
        missed.holds(),
        missed.drive,
        missed.load,
        us(missed.bound_ns),
        missed.stated_p99_ns.map(|range| range.map(us)),
        runs.join(" and ")
    );
}

/// A file has no flash structure, and the disk of a virtual machine shows none.
fn file() {
    let folder = std::env::var_os("FLASHLANE_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let path = folder.join(format!("flashlane-bench-{}", std::process::id()));
    if let Err(error) = flashlane_host::create(&path, 1 << 30, |_| true) {
        println!("the file's figures are left out: {error}");
        return;
    }
    let probed = |may_write: bool| {
        let open = flashlane_host::OpenOptions::read_write(&path);
        let open = if may_write { open } else { flashlane_host::OpenOptions::read_only(&path) };
        open.open().map(|mut device| {
            let never_written_share = flashlane_host::never_written_share(&path);
            let options =
                Options { may_write, medium: Medium::File, never_written_share, ..Options::default() };
            probe(&mut device, options).expect("a file of 1 GiB")
        })
    };
    let (written, read) = (probed(true), probed(false));
    let _ = std::fs::remove_file(&path);
    match written.and_then(|written| Ok((written, read?))) {
        Ok((written, read)) => println!(
            "probe-file-time: {:.1} s (1 GiB file)\nprobe-file-read-time: {:.1} s (the same, only read)\n\
             probe-file-invented: {} of chunk, page, degree, sub-domains, mapping, readahead",
            written.elapsed_s,
            read.elapsed_s,
            invented(&written) + invented(&read)
        ),
        Err(error) => println!("the file's figures are left out: {error}"),
    }
}

/// Returns the number of structural findings.
fn invented(result: &ProbeResult) -> usize {
    let features = [
        Feature::ChunkSize,
        Feature::PageSize,
        Feature::InterleavingDegree,
        Feature::SubDomains,
        Feature::MappingPolicy,
        Feature::ReadaheadStreams,
    ];
    let found =
        |feature: &Feature| result.finding(*feature).is_some_and(|finding| finding.status == Status::Found);
    features.into_iter().filter(|name| found(name)).count()
}
