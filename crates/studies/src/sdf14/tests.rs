//! The quick form of the fast figures, and the arithmetic.

use super::clients::{Done, Run};
use super::drives::{GEN3, INTEL, MEMBLAZE, MIB, course, passes, sequential};
use super::fig7::r_squared;
use crate::lab::{Lab, Shared};
use crate::{FigureError, Options, StudyResult, run};
use flashlane_base::Instant;
use flashlane_measure::Interruption;
use flashlane_sim::Geometry;
use flashlane_sim::profile::load;
use flashlane_workload::Access;
use std::ops::ControlFlow;

fn quick(figure: &str) -> StudyResult {
    run("sdf14", Some(figure), Options { quick: true, ..Options::default() }).unwrap().result
}

#[test]
fn r_squared_is_one_on_a_line() {
    assert!((r_squared(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]) - 1.0).abs() < 1e-12);
    // It is 0 for y = 0, 1, 0.
    assert_eq!(r_squared(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), 0.0);
    assert_eq!(r_squared(&[(0.0, 0.0), (1.0, 1.0)]), 0.0, "any line fits two points");
}

#[test]
fn channels_scale_and_capacity_is_the_users() {
    for figure in ["fig7", "capacity"] {
        let result = quick(figure);
        assert!(result.is_reproduced() && result.rows.len() == 2, "{:#?}", result.rows);
    }
}

#[test]
fn scaled_drive_has_the_same_spare_share() {
    let mut lab = Lab::alone();
    for drive in [GEN3, INTEL, MEMBLAZE] {
        // Valid pages as a share of the pages of blocks that are neither bad nor open nor in the free reserve.
        let mut valid = |blocks: u64| {
            let capacity = drive.with(&mut lab, blocks, 0.20, "fresh").unwrap().info().capacity_bytes;
            let mut config = load(drive.profile, &[]).unwrap();
            config.flash.blocks = blocks as u32;
            let geometry = Geometry::new(&config).of_superblocks();
            let closed =
                geometry.blocks_per_plane - geometry.factory_bad_per_plane - config.spare_blocks_per_plane();
            let pages = u64::from(geometry.planes * closed) * u64::from(geometry.data_units);
            capacity as f64 / (pages * geometry.unit_bytes) as f64
        };
        let whole = valid(2048);
        for blocks in [128, 512] {
            let small = valid(blocks);
            assert!((small / whole - 1.0).abs() < 0.001, "{}: {small} instead of {whole}", drive.name);
        }
    }
}

#[test]
fn course_has_the_throughput_of_each_part() {
    let at = |ms: u64| Instant::ZERO + flashlane_base::Duration::from_ms(ms);
    let done = |began, ended| Done { bytes: 1_000_000, began: at(began), ended: at(ended) };
    // Two accesses in 2 ms, then two in 8.
    let run = Run { done: vec![done(0, 1), done(0, 2), done(1, 6), done(2, 10)] };
    assert_eq!(run.course(2), [(0.5, 1000.0), (1.0, 250.0)]);
}

#[test]
fn each_pass_writes_the_whole_drive() {
    let mut device = INTEL.with(&mut Lab::alone(), 64, 0.20, "fresh").unwrap();
    let [first, second] = passes(&mut Lab::alone(), &mut *device, INTEL.depth, 8 * MIB, [1, 1]).unwrap();
    for pass in [&first, &second] {
        let bytes: u64 = pass.done.iter().map(|done| done.bytes).sum();
        assert_eq!(bytes, device.info().capacity_bytes);
    }
    let ended = first.done.iter().map(|done| done.ended).max();
    assert!(ended <= second.done.iter().map(|done| done.began).min());
}

#[test]
fn progress_moves_within_a_pass_and_from_part_to_part() {
    let shares = std::cell::RefCell::new(Vec::new());
    let mut watch = |share| {
        shares.borrow_mut().push(share);
        ControlFlow::Continue(())
    };
    let shared = Shared::new();
    let mut lab = Lab::new(Options::default(), &shared, 8, &mut watch);
    let mut device = INTEL.with(lab.part(2), 64, 0.20, "fresh").unwrap();
    passes(&mut lab, &mut *device, INTEL.depth, MIB, [3, 3]).unwrap();
    assert!(lab.is_whole());
    let shares = shares.into_inner();
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    let steps = |from: f64, to: f64| shares.iter().filter(|&&share| from < share && share < to).count();
    assert!(steps(0.25, 0.625) > 20 && steps(0.625, 1.0) > 20, "{shares:?}");
}

#[test]
fn measurement_ends_within_a_pass_that_is_stopped() {
    let mut watch = |share| if share > 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let shared = Shared::new();
    let mut lab = Lab::new(Options::default(), &shared, 1, &mut watch);
    let mut device = INTEL.with(&mut lab, 64, 0.20, "fresh").unwrap();
    let all = device.info().capacity_bytes / MIB;
    let run = sequential(lab.part(1), &mut *device, INTEL.depth, MIB, all, Access::write);
    assert!(matches!(run, Err(FigureError::Interrupted(Interruption::Stopped))));
}

#[test]
fn second_pass_is_drawn_after_the_first() {
    // A million bytes every `each_ms`.
    let pass = |began_ms: u64, each_ms: u64| {
        let at = |nth: u64| Instant::ZERO + flashlane_base::Duration::from_ms(began_ms + nth * each_ms);
        let done = |nth| Done { bytes: 1_000_000, began: at(nth), ended: at(nth + 1) };
        Run { done: (0..32).map(done).collect() }
    };
    let figure = course("id", "title", &[("drive", [pass(0, 4), pass(200, 1)])]);
    let points = &figure.series[0].points;
    assert_eq!((points[0], points[15]), ((1.0 / 16.0, 250.0), (1.0, 250.0)));
    assert_eq!((points[16], points[31]), ((17.0 / 16.0, 1000.0), (2.0, 1000.0)));
    assert!(figure.caption.ends_with("drive 250 and 1000 MB/s."), "{}", figure.caption);
}
