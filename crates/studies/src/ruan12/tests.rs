//! The quick form, and the parts that need the simulator's traces where these are available.

use super::fig4abc::{DISK_BYTES_PER_S, from_disk, judge};
use super::method::PACKAGES;
use super::workload::{DRIVE_BYTES, KERNEL_BUILD, LARGE_FILES, MP3_FILES, SMALL_FILES, WORD_COUNT};
use crate::lab::Lab;
use crate::study::Outcome;
use crate::{Options, Row, StudyResult, Value, Verdict, run};
use flashlane_base::Operation;
use flashlane_trace::Record;
use std::path::Path;

fn quick(figure: &str, traces: Option<&Path>) -> StudyResult {
    run("ruan12", Some(figure), Options { quick: true, traces, ..Options::default() }).unwrap().result
}

fn gain(row: &Row) -> f64 {
    let Value::Number(gain) = row.measured else { panic!("{row:#?}") };
    gain
}

#[test]
fn policies_differ_only_for_random_writes() {
    let result = quick("fig4d", None);
    assert!(result.is_reproduced() && result.rows.len() == 2, "{:#?}", result.rows);
    let result = quick("fig4e", None);
    assert_eq!(result.rows.len(), 2);
    assert!(result.rows.iter().all(|row| gain(row) > 10.0), "{:#?}", result.rows);
    assert_each_missed_row_is_explained(&result, "one-queue-keeps-some-packages-busy");
}

fn assert_each_missed_row_is_explained(result: &StudyResult, code: &str) {
    let missed = result.rows.iter().filter(|row| row.verdict == Verdict::Missed).count();
    let warned = result.warnings.iter().filter(|warning| warning.code.name() == code).count();
    assert_eq!(warned, missed, "{:#?}", result.warnings);
}

#[test]
fn gain_with_the_kernel_build_shrinks_with_buffer_size() {
    let result = quick("fig3", None);
    let rows: Vec<_> = result.rows.iter().filter(|row| row.quantity.starts_with("kernel build:")).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.verdict == Verdict::Reproduced), "{rows:#?}");
    // Two of the traces are missing.
    let warned = result.warnings.iter().filter(|warning| warning.code.name() == "trace-not-given").count();
    assert_eq!((result.figures.len(), warned), (4, 2));
    assert_each_missed_row_is_explained(&result, "gain-does-not-shrink");
}

#[test]
fn large_batches_cost_large_files_less_than_small_ones() {
    let result = quick("fig4abc", None);
    assert!(result.rows[1..3].iter().all(|row| row.verdict == Verdict::Reproduced), "{:#?}", result.rows);
    assert_eq!(result.figures.len(), 3);
}

#[test]
fn missed_rows_of_batch_sizes_have_warnings() {
    let (pages, rises, best_at_64) = ([8, 64, 128], [1.0, 2.0, 3.0], [2.0, 1.0, 1.05]);
    let mut outcome = Outcome::default();
    judge(&pages, [&[1.0, 0.5, 3.0], &rises, &best_at_64], &mut outcome);
    let warned: Vec<&str> = outcome.warnings.iter().map(|warning| &*warning.message).collect();
    assert!(warned.len() == 2 && warned[0].contains("0.500 ms with 64, 3.000 ms with 128"), "{warned:?}");
    assert!(
        warned[1].contains("1.000 ms with 64 pages at once, 1.050 ms with the published 128: 5.0%"),
        "{warned:?}"
    );
    let mut outcome = Outcome::default();
    judge(&pages, [&rises, &rises, &[2.0, 1.05, 1.0]], &mut outcome);
    assert_eq!((outcome.rows.len(), outcome.warnings.len()), (4, 0));
}

#[test]
fn estimates_and_future_work_are_measured() {
    for figure in ["erases", "idle"] {
        let result = quick(figure, None);
        assert!(!result.rows.is_empty() && result.is_reproduced(), "{:#?}", result.rows);
        assert!(result.warnings.iter().all(|warning| warning.code.name() == "trace-not-given"));
    }
}

#[test]
fn random_pages_distinguish_the_policies_by_busy_packages() {
    let result = quick("drains", None);
    let drains: Vec<f64> = result.rows[..2].iter().map(gain).collect();
    assert!(result.rows[..2].iter().all(|row| row.quantity.starts_with("pages at random: drains by")));
    assert!(drains[0] > 95.0 && drains[1] < 0.48, "{drains:?}");
    assert!(result.rows[..3].iter().all(|row| row.verdict == Verdict::Reproduced), "{:#?}", result.rows);
    // Programs write in order, so that packages are busy by more than chance.
    let by_lru = |row: &&Row| row.quantity.ends_with("drains by lru that keep all packages busy");
    let programs: Vec<&Row> = result.rows.iter().filter(by_lru).skip(1).collect();
    assert!(
        !programs.is_empty() && programs.iter().all(|row| row.verdict == Verdict::Missed),
        "{programs:#?}"
    );
    assert_each_missed_row_is_explained(&result, "packages-not-by-chance");
}

#[test]
fn available_simulator_traces_are_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let result = quick("fig4f", Some(&folder));
    if folder.exists() {
        assert_eq!(result.rows.len(), 2);
        assert_each_missed_row_is_explained(&result, "packages-come-nearly-in-turn");
        assert!(result.rows.iter().all(|row| gain(row) > 0.0), "{:#?}", result.rows);
        let result = quick("fig3", Some(&folder));
        let crossing: Vec<_> =
            result.rows.iter().filter(|row| row.quantity.starts_with("PostMark: better")).collect();
        assert_eq!(crossing.len(), 2);
        assert!(crossing.iter().all(|row| row.verdict == Verdict::Reproduced), "{crossing:#?}");
        assert_each_missed_row_is_explained(&result, "gain-does-not-shrink");
    } else {
        eprintln!("skipped: there are no reference traces beside the checkout");
        assert_eq!((result.rows.len(), result.warnings.len()), (0, 2));
    }
}

#[test]
fn recordings_are_complete_and_fit_the_drive() {
    let profile = flashlane_sim::profile::load("msr-64g", &[]).unwrap();
    assert_eq!(
        (profile.capacity.0, profile.flash.channels * profile.flash.packages),
        (DRIVE_BYTES, PACKAGES)
    );
    let lab = Lab::alone();
    for program in [KERNEL_BUILD, WORD_COUNT, SMALL_FILES, MP3_FILES, LARGE_FILES] {
        let records = program.records(&lab).unwrap().unwrap();
        assert!(records.len() > 18_000, "{}: {}", program.name, records.len());
        assert!(records.iter().all(|record| record.offset_bytes + record.length_bytes <= DRIVE_BYTES));
        let written = program.all_writes("all writes").records(&lab).unwrap().unwrap();
        assert_eq!(written.len(), records.len());
        assert!(written.iter().all(|record| record.operation == Operation::Write));
    }
}

#[test]
fn copy_arrives_exactly_when_its_disk_has_read_it() {
    let lab = Lab::alone();
    let recorded = SMALL_FILES.records(&lab).unwrap().unwrap();
    let copied = from_disk(recorded.clone());
    assert_eq!(copied.len(), recorded.len());
    let mut late = 0;
    for (at, record) in copied.iter().enumerate() {
        let read_at = copied[..at].last().map_or(0.0, |before| {
            before.at.as_ns() as f64 + before.length_bytes as f64 / DISK_BYTES_PER_S * 1e9
        });
        let due = read_at.max(recorded[at].at.as_ns() as f64);
        assert!((record.at.as_ns() as f64 - due).abs() <= 1.0, "{record:?}");
        assert_eq!(Record { at: recorded[at].at, ..*record }, recorded[at]);
        late += u32::from(record.at > recorded[at].at);
    }
    assert!(late > 10_000, "the recording is faster than the disk: {late}");
}
