//! Every pattern compared with its simplest description.

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
    fn sequential_visits_the_area_in_order(
        size in 1..50_u64, extra in 0..400_u64, offset in 0..100_u64, shift in 0..50_u64,
    ) {
        let length = size + extra;
        let round = (0..).map(|i| i * size).take_while(|at| at + size <= length);
        let round: Vec<u64> = round.map(|at| offset + shift + at).collect();
        let expected: Vec<u64> = round.into_iter().cycle().take(300).collect();
        prop_assert_eq!(offsets(&job(Pattern::Sequential, size, offset, length).shift(shift), 300), expected);
    }

    /// `TargetOffset + IOShift + (Incr * i * IOSize) mod TargetSize`.
    #[test]
    fn ordered_is_uflips_formula(
        size in 1..50_u64, incr in -40..40_i64, positions in 40..100_u64, rest in 0..50_u64,
        offset in 0..100_u64, shift in 0..50_u64,
    ) {
        let target_size = positions * size;
        let step_bytes = incr * size as i64;
        let ordered = job(Pattern::Ordered { step_bytes }, size, offset, target_size + rest % size).shift(shift);
        let expected: Vec<u64> = (0..300)
            .map(|i| offset + shift + (incr * i * size as i64).rem_euclid(target_size as i64) as u64)
            .collect();
        prop_assert_eq!(offsets(&ordered, 300), expected);
    }

    /// A step of any number of bytes continues inside the area, or wraps around.
    #[test]
    fn ordered_steps_on_inside_the_area(
        size in 1..50_u64, extra in 0..400_u64, step in -450..450_i64, offset in 0..100_u64,
    ) {
        let length = size + extra;
        let step_bytes = step.clamp(-(length as i64), length as i64);
        let visited = offsets(&job(Pattern::Ordered { step_bytes }, size, offset, length), 300);
        prop_assert_eq!(visited[0], offset);
        for pair in visited.windows(2) {
            prop_assert!(pair[1] >= offset && pair[1] - offset + size <= length);
            let moved = pair[1] as i64 - pair[0] as i64;
            // Either the step, or the step and one wrap, whose length is constant and most of the area.
            prop_assert!(moved == step_bytes || (step_bytes - moved).unsigned_abs() + size > length - size);
        }
    }

    /// `P_i * PS + O_i`, with `P_i = i mod Partitions`, `PS = TargetSize / Partitions` and
    /// `O_i = (i / Partitions * IOSize) mod PS`.
    #[test]
    fn partitioned_is_uflips_formula(
        size in 1..50_u64, partitions in 1..20_u64, each in 1..20_u64, rest in 0..1000_u64, offset in 0..100_u64,
    ) {
        // Less than an access more for each part.
        let length = partitions * each * size + rest % (partitions * size);
        let part_size = each * size;
        let expected: Vec<u64> = (0..500)
            .map(|i| offset + i % partitions * part_size + i / partitions * size % part_size)
            .collect();
        prop_assert_eq!(offsets(&job(Pattern::Partitioned { partitions }, size, offset, length), 500), expected);
    }

    #[test]
    fn permutation_visits_each_position_once_per_round(
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
    fn list_is_repeated(list in prop::collection::vec(0..1000_u64, 1..20)) {
        let expected: Vec<u64> = list.iter().map(|at| at + 7).cycle().take(50).collect();
        prop_assert_eq!(offsets(&job(Pattern::List(list.into()), 1, 7, 2000), 50), expected);
    }
}

#[test]
fn random_visits_positions_uniformly() {
    let mut seen = [0_u32; 16];
    for at in offsets(&job(Pattern::Random, 4096, 0, 16 * 4096), 16_000) {
        seen[(at / 4096) as usize] += 1;
    }
    assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
}

#[test]
fn permutation_looks_random() {
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
fn mix_has_its_share_of_reads() {
    let mixed = Job::new("mixed", Pattern::Random, Mix { reads: 0.7, ..Mix::TRIM }, 4096);
    let operations: Vec<_> =
        Generator::new(&mixed, CAPACITY, Seed(3)).take(10_000).map(|a| a.operation).collect();
    let reads = operations.iter().filter(|&&o| o == Operation::Read).count();
    assert!((6_800..7_200).contains(&reads), "{reads}");
    assert!(operations.iter().all(|o| matches!(o, Operation::Read | Operation::Trim)));
}

#[test]
fn random_numbers_depend_on_seed_and_job_name() {
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
