//! Every pattern against the plainest description of it.

use crate::{Generator, Job, Mix, Pattern};
use flashlane_base::{Operation, Seed};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CAPACITY: u64 = 1 << 30;

fn offsets(job: &Job, n: usize) -> Vec<u64> {
    Generator::new(job, CAPACITY, Seed(1)).take(n).map(|access| access.offset_bytes).collect()
}

fn job(pattern: Pattern, size: u64, offset: u64, length: u64) -> Job {
    Job::new("test", pattern, Mix::READ, size).area(offset, length)
}

proptest! {
    #[test]
    fn sequential_and_strided_visit_the_area_in_order(
        size in 1..50_u64, stride in 0..200_u64, extra in 0..400_u64, offset in 0..100_u64,
    ) {
        let length = size + extra;
        let round = |step: u64| -> Vec<u64> {
            if step == 0 { return vec![offset]; }
            (0..).map(|i| i * step).take_while(|at| at + size <= length).map(|at| offset + at).collect()
        };
        for (pattern, step) in [(Pattern::Sequential, size), (Pattern::Strided { stride_bytes: stride }, stride)] {
            let expected: Vec<u64> = round(step).into_iter().cycle().take(300).collect();
            prop_assert_eq!(offsets(&job(pattern, size, offset, length), 300), expected);
        }
    }

    #[test]
    fn a_permutation_visits_each_position_once_a_round_in_the_same_order(
        positions in 1..700_u64, align in 1..9_u64, size in 1..9_u64, offset in 0..100_u64,
    ) {
        let length = (positions - 1) * align + size;
        let job = job(Pattern::Permutation, size, offset, length).align(align);
        let twice = offsets(&job, 2 * positions as usize);
        let (first, second) = twice.split_at(positions as usize);
        prop_assert_eq!(first, second);
        let visited: BTreeSet<u64> = first.iter().copied().collect();
        let all: BTreeSet<u64> = (0..positions).map(|i| offset + i * align).collect();
        prop_assert_eq!(visited, all);
    }

    #[test]
    fn random_stays_aligned_and_inside(size in 1..50_u64, align in 1..60_u64, extra in 0..400_u64, offset in 0..100_u64) {
        for at in offsets(&job(Pattern::Random, size, offset, size + extra).align(align), 100) {
            prop_assert!(at >= offset && at - offset + size <= size + extra);
            prop_assert!((at - offset).is_multiple_of(align));
        }
    }

    #[test]
    fn a_list_is_replayed(list in prop::collection::vec(0..1000_u64, 1..20)) {
        let expected: Vec<u64> = list.iter().map(|at| at + 7).cycle().take(50).collect();
        prop_assert_eq!(offsets(&job(Pattern::List(list.into()), 1, 7, 2000), 50), expected);
    }
}

#[test]
fn random_reaches_every_position_about_as_often() {
    let mut seen = [0_u32; 16];
    for at in offsets(&job(Pattern::Random, 4096, 0, 16 * 4096), 16_000) {
        seen[(at / 4096) as usize] += 1;
    }
    assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
}

#[test]
fn a_permutation_looks_random() {
    // Among random neighbours, distances average a third of the range and few are alike.
    let n = 1000;
    let visited = offsets(&job(Pattern::Permutation, 1, 0, n), n as usize);
    let distances: Vec<u64> = visited.windows(2).map(|w| w[0].abs_diff(w[1])).collect();
    let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
    assert!((280.0..390.0).contains(&mean), "{mean}");
    let distinct = distances.iter().collect::<BTreeSet<_>>().len();
    assert!(distinct > 350, "{distinct}");
}

#[test]
fn reads_are_mixed_in_at_their_share() {
    let mixed = Job::new("mixed", Pattern::Random, Mix { reads: 0.7, ..Mix::TRIM }, 4096);
    let operations: Vec<_> =
        Generator::new(&mixed, CAPACITY, Seed(3)).take(10_000).map(|a| a.operation).collect();
    let reads = operations.iter().filter(|&&o| o == Operation::Read).count();
    assert!((6_800..7_200).contains(&reads), "{reads}");
    assert!(operations.iter().all(|o| matches!(o, Operation::Read | Operation::Trim)));
}

#[test]
fn the_numbers_come_from_the_seed_and_the_jobs_name() {
    let job = Job::new("a", Pattern::Random, Mix::READ, 4096);
    let of = |job: &Job, seed| Generator::new(job, CAPACITY, Seed(seed)).take(20).collect::<Vec<_>>();
    assert_eq!(of(&job, 1), of(&job, 1));
    assert_ne!(of(&job, 1), of(&job, 2));
    assert_ne!(of(&job, 1), of(&Job { name: "b".into(), ..job.clone() }, 1));
    // The offsets of a mixed job are those of the plain one: only the operations differ.
    let mixed = Job { mix: Mix { reads: 0.5, ..Mix::WRITE }, ..job.clone() };
    let at = |job: &Job| of(job, 1).iter().map(|a| a.offset_bytes).collect::<Vec<_>>();
    assert_eq!(at(&job), at(&mixed));
}
