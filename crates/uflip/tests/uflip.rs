//! Complete benchmarks on simulated drives.

use flashlane_base::Seed;
use flashlane_result::uflip::Verdict;
use flashlane_sim::{Drive, profile};
use flashlane_uflip::{
    Baseline, Benchmark, Effort, Journal, Options, Outcome, Progress, UflipError, export, import, uflip,
};
use std::ops::ControlFlow;

/// A small drive with a page-mapped translation layer.
fn drive(settings: &[(&str, &str)]) -> Drive {
    let small = [("capacity", "256MiB"), ("flash.blocks", "64")];
    let settings: Vec<_> =
        small.iter().chain(settings).map(|&(field, value)| (field.to_owned(), value.to_owned())).collect();
    Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(5))
}

fn quick<'a>(benchmarks: &[Benchmark]) -> Options<'a> {
    Options { effort: Effort::Quick, benchmarks: benchmarks.to_vec(), ..Options::default() }
}

const TWO: [Benchmark; 2] = [Benchmark::Order, Benchmark::Granularity];

#[test]
fn benchmark_is_complete_and_repeatable() {
    let outcome = uflip(&mut drive(&[]), quick(&Benchmark::ALL)).unwrap();
    let result = &outcome.result;
    for benchmark in Benchmark::ALL {
        let runs = result.runs.iter().filter(|run| run.benchmark == Some(benchmark)).count();
        assert!(runs > 0 && runs % 3 == 0, "{} has {runs} runs", benchmark.name());
        assert!(result.figures.iter().any(|figure| figure.id == benchmark.name()), "{}", benchmark.name());
    }
    assert_eq!(result.characteristics.row.len(), 10);
    assert!(
        result.characteristics.row[..4].iter().all(|cell| !cell.is_empty()),
        "{:?}",
        result.characteristics
    );
    assert_eq!(result.hints.len(), 7);
    assert!(result.hints.iter().all(|hint| hint.verdict != Verdict::Open), "{:?}", result.hints);
    assert_eq!(result.phases.len(), 4);
    assert!(result.states.iter().all(|state| state.written_bytes >= result.area_bytes));
    let samples: u64 = result.runs.iter().map(|run| run.samples).sum();
    assert_eq!(samples, outcome.latencies_ns.len() as u64);
    assert_eq!(uflip(&mut drive(&[]), quick(&Benchmark::ALL)).unwrap(), outcome);
}

#[test]
fn read_only_benchmark_writes_nothing() {
    let mut drive = drive(&[("initial.state", "full")]);
    let options = Options { may_write: false, ..quick(&Benchmark::ALL) };
    let result = uflip(&mut drive, options).unwrap().result;
    assert_eq!(result.written_bytes, 0);
    assert_eq!(result.device.counters.counts["host_writes"], 0);
    let row = &result.characteristics;
    assert!(row.sr_ms.is_some() && row.rr_ms.is_some() && row.sw_ms.is_none() && row.rw_ms.is_none());
    let hint = |number: usize| result.hints[number - 1].verdict;
    assert_ne!(hint(1), Verdict::Open, "reads tell it");
    assert_eq!((hint(4), hint(5)), (Verdict::Open, Verdict::Open));
    assert!(result.warnings.iter().any(|warning| warning.code.name() == "read-only"));
}

#[test]
fn stopped_benchmark_resumes_with_the_same_plan() {
    let ids = |outcome: &Outcome| outcome.result.runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
    let whole = uflip(&mut drive(&[]), quick(&TWO)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut attempts = 0;
    let resumed = loop {
        attempts += 1;
        let mut journal = Journal::open(&path, "a test").unwrap();
        let known = journal.pending();
        // Sometimes stops in the middle of a step.
        let mut left = 150;
        let mut watch = |_: &Progress| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = Options { journal: Some(&mut journal), watch: Some(&mut watch), ..quick(&TWO) };
        // A new drive each time: only the plan is compared.
        match uflip(&mut drive(&[]), options) {
            Ok(outcome) => break outcome,
            Err(UflipError::Stopped) => {
                let kept = Journal::open(&path, "a test").unwrap().pending();
                assert!(kept > known, "an attempt without progress would never end");
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(attempts >= 3, "{attempts}");
    assert!(resumed.result.resumed_steps > 0);
    assert_eq!(ids(&resumed), ids(&whole));
    // The first step is from the first attempt, so it is identical.
    assert_eq!(resumed.result.states[0], whole.result.states[0]);
}

#[test]
fn exported_result_is_imported_unless_changed() {
    let result = uflip(&mut drive(&[]), quick(&TWO)).unwrap().result;
    let mut value = serde_json::to_value(&result).unwrap();
    let exported = export(&value, false).unwrap();
    assert_eq!(import(exported.to_string().as_bytes()).unwrap(), exported);
    let mut faster = value.clone();
    faster["characteristics"]["rw_ms"] = 0.01.into();
    assert!(export(&faster, false).is_err());
    value["characteristics"]["row"][3] = "0.01".into();
    let refusal = export(&value, false).unwrap_err().to_string();
    assert!(refusal.contains("does not follow from its runs"), "{refusal}");
    value["schema"] = "flashlane.run/1".into();
    assert!(import(value.to_string().as_bytes()).unwrap_err().to_string().contains("flashlane.run/1"));
    assert!(import(b"[").unwrap_err().to_string().contains("no JSON"));
}

#[test]
fn result_of_a_real_drive_needs_its_identity() {
    let mut result = uflip(&mut drive(&[]), quick(&[Benchmark::Order])).unwrap().result;
    result.device.simulated = false;
    result.device.name = "/home/somebody/scratch".into();
    let mut value = serde_json::to_value(&result).unwrap();
    let refusal = export(&value, false).unwrap_err().to_string();
    assert!(refusal.contains("the drive's model") && refusal.contains("the scheduler"), "{refusal}");
    value["machine"] = serde_json::json!({
        "model": "FAST", "drive_size_bytes": 1 << 30, "kernel": "Linux", "scheduler": "none", "date": "2026-11-21",
        "serial": "S3CR3T",
    });
    let exported = export(&value, false).unwrap().to_string();
    assert!(!exported.contains("S3CR3T") && !exported.contains("somebody"), "{exported}");
    assert!(export(&value, true).unwrap().to_string().contains("S3CR3T"));
}

#[test]
fn progress_grows_steadily() {
    let mut seen = Vec::new();
    let mut watch = |progress: &Progress| {
        seen.push((progress.stage.clone(), progress.share));
        ControlFlow::Continue(())
    };
    uflip(&mut drive(&[]), Options { watch: Some(&mut watch), ..quick(&[Benchmark::Order]) }).unwrap();
    let (_, last) = seen.last().unwrap();
    assert!(*last > 0.9, "ends at {last}");
    // Between stages the plan is revised; within one, including state enforcement, progress is steady.
    for pair in seen.windows(2) {
        let [(stage, share), (next_stage, next_share)] = pair else { unreachable!() };
        let step = next_share - share;
        assert!(step > -0.05, "{stage} {share}, then {next_stage} {next_share}");
        assert!(step < 0.1 || stage != next_stage, "{stage} {share}, then {next_share}");
    }
}

#[test]
fn plan_counts_every_enforcement_of_the_state() {
    let mut seen = Vec::new();
    let mut watch = |progress: &Progress| {
        seen.push((progress.stage.clone(), progress.share));
        ControlFlow::Continue(())
    };
    uflip(&mut drive(&[]), Options { watch: Some(&mut watch), ..quick(&Benchmark::ALL) }).unwrap();
    let mut states = seen.iter().filter(|(stage, _)| stage.starts_with("state/"));
    let last = states.next_back().unwrap();
    assert!(last.0 != "state/1" && last.1 < 1.0, "{last:?}");
    assert!(seen.last().unwrap().1 > 0.95, "{:?}", seen.last());
}

#[test]
fn quick_row_gives_limits_as_ranges() {
    let result =
        uflip(&mut drive(&[]), quick(&[Benchmark::Partitioning, Benchmark::Granularity])).unwrap().result;
    let row = &result.characteristics;
    for (mean, ends) in [row.sr_ms, row.rr_ms, row.sw_ms, row.rw_ms].into_iter().zip(row.intervals_ms) {
        let ([low, high], mean) = (ends.unwrap(), mean.unwrap());
        assert!(low <= mean && mean <= high, "{low} {mean} {high}");
    }
    // Partitions are 1, 16 and 256: a limit is one of these, and the next one is where it ends.
    let reach = row.partitions.unwrap();
    let next = |limit: f64| [16.0, 256.0].into_iter().find(|&next| next > limit);
    if !reach.unlimited
        && let Some(limit) = reach.limit
    {
        assert_eq!(reach.rises_at, next(limit));
        assert!(row.row[6].starts_with(&format!("{limit}–{}", next(limit).unwrap() - 1.0)), "{:?}", row.row);
    }
    let text = serde_json::to_value(row).unwrap();
    assert!(text["row_intervals"].as_array().is_some_and(|cells| cells.len() == 10));
}

#[test]
fn too_small_device_is_refused() {
    let mut small = drive(&[("capacity", "32MiB"), ("flash.blocks", "16")]);
    let error = uflip(&mut small, quick(&TWO)).unwrap_err();
    assert!(error.to_string().contains("64 MiB at least"), "{error}");
}

#[test]
fn random_writes_with_gc_cost_more() {
    // Little spare space: GC after random writes moves pages.
    let mut drive = drive(&[("capacity", "440MiB"), ("flash.channels", "4"), ("flash.blocks", "240")]);
    let result = uflip(&mut drive, quick(&[Benchmark::Granularity])).unwrap().result;
    let mean =
        |baseline| result.phases.iter().find(|phases| phases.baseline == baseline).unwrap().mean_running_ns;
    assert!(mean(Baseline::Rw) > 1.2 * mean(Baseline::Sr), "{:?}", result.phases);
}

#[test]
fn drive_that_cleans_nothing_is_not_judged_by_it() {
    // Sixty-four times the flash of its capacity.
    let mut drive = drive(&[("flash.blocks", "4096")]);
    let benchmarks = [
        Benchmark::Locality,
        Benchmark::Partitioning,
        Benchmark::Order,
        Benchmark::Mix,
        Benchmark::Pause,
        Benchmark::Granularity,
    ];
    let result = uflip(&mut drive, quick(&benchmarks)).unwrap().result;
    assert_eq!(result.device.counters.counts["blocks_erased"], 0);
    let found = &result.characteristics;
    for no_effect in ["≥", "any", "No", "="] {
        let shown = found.row[4..].iter().any(|cell| cell == no_effect || cell.starts_with(no_effect));
        assert!(!shown, "'{no_effect}': {:?}", found.row);
    }
    assert!(found.unknown.contains(&"locality".to_owned()), "{:?}", found.unknown);
    assert_eq!(found.row[5], "?");
    for hint in [4, 5] {
        let hint = &result.hints[hint - 1];
        let says_so = hint.because.contains("collected no garbage");
        assert!(hint.verdict != Verdict::Open || says_so, "{hint:?}");
        assert!(hint.verdict != Verdict::Contradicted, "{hint:?}");
    }
    assert!(
        result.warnings.iter().any(|warning| warning.code.name() == "nothing-cleaned"),
        "{:?}",
        result.warnings
    );
    // The row follows from the runs alone.
    export(&serde_json::to_value(&result).unwrap(), false).unwrap();
}
