//! Phases of generated series, whose phases are known.

use super::{Evidence, PhaseDoubt, Phases, counts, plot};
use flashlane_base::{Random, Seed};
use proptest::prelude::*;

/// A cheap I/O and an expensive one, in nanoseconds: uFLIP's section 4.2 has 0.4 and 27 ms.
const CHEAP: f64 = 400e3;
const EXPENSIVE: f64 = 27e6;

/// Generates a series with `noise` (a share) around the values of `of`.
fn series(n: usize, noise: f64, seed: u64, mut of: impl FnMut(usize, &mut Random) -> f64) -> Vec<u64> {
    let mut random = Seed(seed).source();
    let mut one = |i| {
        let ns = of(i, &mut random);
        (ns * (1.0 + noise * (2.0 * random.unit() - 1.0))) as u64
    };
    (0..n).map(&mut one).collect()
}

/// A start-up, then `expensive_count` expensive I/Os at the beginning of each period.
fn two_phases(
    n: usize,
    startup: usize,
    period: usize,
    expensive_count: usize,
    noise: f64,
    seed: u64,
) -> Vec<u64> {
    series(n, noise, seed, |i, _| {
        let expensive = i >= startup && (i - startup) % period < expensive_count;
        if expensive { EXPENSIVE } else { CHEAP }
    })
}

fn within_a_tenth(found: usize, truth: usize) -> bool {
    found.abs_diff(truth) * 10 <= truth
}

#[test]
fn phases_match_the_papers_two_devices() {
    // Mtron: 125 cheap writes, then every eighth is expensive. Kingston DTI: no start-up, every 128 I/Os.
    let mtron = Phases::of(&two_phases(4_000, 125, 8, 1, 0.05, 1));
    assert_eq!((mtron.startup.requests, mtron.period.unwrap().requests), (125, 8), "{mtron:?}");
    assert!((mtron.startup.mean_ns.unwrap() / CHEAP - 1.0).abs() < 0.01);
    assert!((mtron.running_mean_ns / ((7.0 * CHEAP + EXPENSIVE) / 8.0) - 1.0).abs() < 0.01);
    let dti = Phases::of(&series(8_192, 0.05, 2, |i, _| if i % 128 == 100 { EXPENSIVE } else { CHEAP }));
    assert_eq!((dti.startup.requests, dti.period.unwrap().requests), (0, 128), "{dti:?}");
    assert_eq!(dti.doubts, []);
}

#[test]
fn later_change_to_similar_cost_does_not_end_start_up() {
    // After the cheap writes one in three is expensive, and from the 3,500th on a few more, of other durations.
    let latencies = series(8_192, 0.05, 3, |i, random| match i {
        0..400 => CHEAP,
        400..3_500 if random.chance(0.33) => EXPENSIVE,
        3_500.. if random.chance(0.34) => EXPENSIVE * (0.9 + 0.2 * random.unit()),
        _ if i < 3_500 => CHEAP,
        _ => CHEAP * 1.05,
    });
    let found = Phases::of(&latencies);
    assert!(within_a_tenth(found.startup.requests, 400), "{found:?}");
}

#[test]
fn missing_period_reveals_a_start_up() {
    // Five expensive I/Os are missing, which by number alone is not unusual.
    let phases = Phases::of(&two_phases(40_000, 5_000, 1_000, 1, 0.05, 3));
    assert_eq!(
        (phases.startup.requests, phases.startup.evidence),
        (5_000, Some(Evidence::Rhythm)),
        "{phases:?}"
    );
    // A start-up that the distribution shows needs no period.
    let irregular =
        series(
            20_000,
            0.05,
            4,
            |i, random| {
                if i >= 2_000 && random.chance(0.05) { EXPENSIVE } else { CHEAP }
            },
        );
    let phases = Phases::of(&irregular);
    assert!(within_a_tenth(phases.startup.requests, 2_000) && phases.period.is_none(), "{phases:?}");
    assert!(matches!(phases.startup.evidence, Some(Evidence::Distribution { clarity }) if clarity > 3.0));
}

#[test]
fn mean_distance_is_not_a_period() {
    for seed in 0..20 {
        // Between 60 and 140 I/Os apart, and any distance at all.
        let mut next = 100;
        let apart = series(20_000, 0.02, seed, |i, random| {
            if i < next {
                return CHEAP;
            }
            next = i + 60 + random.below(81) as usize;
            EXPENSIVE
        });
        let any = series(20_000, 0.02, seed, |_, random| if random.chance(0.01) { EXPENSIVE } else { CHEAP });
        // Stretches of random length, now cheap and now expensive.
        let mut is_expensive = false;
        let stretches = series(20_000, 0.1, seed, |_, random| {
            is_expensive ^= random.chance(0.01);
            if is_expensive { EXPENSIVE } else { CHEAP }
        });
        for (name, latencies) in [("apart", apart), ("any", any), ("stretches", stretches)] {
            let phases = Phases::of(&latencies);
            assert_eq!((phases.period, phases.startup.requests), (None, 0), "{name} {seed}");
        }
    }
}

#[test]
fn uniform_heavy_tailed_and_drifting_series_have_no_phases() {
    for seed in 0..20 {
        let uniform = series(20_000, 0.2, seed, |_, _| CHEAP);
        let heavy = series(20_000, 0.0, seed, |_, random| CHEAP / (1.0 - random.unit()));
        let drift = series(20_000, 0.1, seed, |i, _| CHEAP * (1.0 + i as f64 / 10_000.0));
        for (name, latencies) in [("uniform", uniform), ("heavy", heavy), ("drift", drift)] {
            let phases = Phases::of(&latencies);
            assert_eq!((phases.period, phases.startup.requests), (None, 0), "{name} {seed}");
        }
    }
    for constant in [0, 1, u64::MAX] {
        let phases = Phases::of(&[constant; 1_000]);
        assert_eq!((phases.period, phases.startup.requests, phases.doubts.len()), (None, 0, 0));
    }
}

/// A random walk rarely begins differently enough to have a start-up.
#[test]
fn random_walk_rarely_has_a_start_up() {
    let invented = (0..100).filter(|&seed| {
        let mut state: f64 = 0.0;
        let phases = Phases::of(&series(20_000, 0.01, seed, |_, random| {
            state = 0.99 * state + 0.1 * (random.unit() - 0.5);
            CHEAP * state.exp()
        }));
        assert_eq!(phases.period, None, "{seed}");
        phases.startup.requests > 0
    });
    assert!(invented.count() <= 2);
}

#[test]
fn phases_are_found_despite_drift_and_outliers() {
    let drifting = series(40_000, 0.1, 5, |i, random| {
        let base = if i >= 3_000 && i % 300 < 20 { 3.0 * CHEAP } else { CHEAP };
        // One in five hundred takes up to a second.
        let outlier = if random.chance(0.002) { 1e9 * random.unit() } else { 0.0 };
        base * (1.0 + i as f64 / 200_000.0) + outlier
    });
    let phases = Phases::of(&drifting);
    assert_eq!(phases.period.unwrap().requests, 300, "{phases:?}");
    assert!(within_a_tenth(phases.startup.requests, 3_000), "{phases:?}");
}

#[test]
fn nested_periods_give_the_longer_one() {
    let nested = series(30_000, 0.05, 6, |i, _| match i {
        _ if i % 1_024 < 8 => EXPENSIVE,
        _ if i % 8 == 3 => 2.0 * CHEAP,
        _ => CHEAP,
    });
    assert_eq!(Phases::of(&nested).period.unwrap().requests, 1_024);
}

#[test]
fn irregular_period_is_found_with_less_coherence() {
    // Each round is 1,000 I/Os, up to 30 more or fewer.
    let mut next = 0;
    let rough = series(60_000, 0.05, 7, |i, random| {
        if i == next {
            next += 970 + random.below(61) as usize;
        }
        if next - i > 940 { EXPENSIVE } else { CHEAP }
    });
    let phases = Phases::of(&rough);
    assert!(within_a_tenth(phases.period.unwrap().requests, 1_000), "{phases:?}");
    assert!(phases.period.unwrap().coherence < 1.0);
}

#[test]
fn short_run_has_a_doubt() {
    let codes = |latencies: &[u64]| -> Vec<&str> {
        Phases::of(latencies).doubts.iter().map(PhaseDoubt::code).collect()
    };
    assert_eq!(codes(&[1; 100]), ["too-few-for-phases"]);
    assert_eq!(codes(&[]), ["too-few-for-phases"]);
    assert_eq!(codes(&two_phases(10_000, 4_900, 4, 1, 0.05, 8)), ["start-up-open"]);
    let few = two_phases(3_000, 0, 1_000, 400, 0.05, 9);
    assert_eq!((codes(&few), Phases::of(&few).period), (vec!["few-periods"], None));
}

#[test]
fn snia_steady_state_begins_after_the_start_up() {
    let phases = Phases::of(&two_phases(50_000, 5_000, 10, 1, 0.05, 10));
    // 25 rounds of 2,000: the third is half start-up.
    assert_eq!(phases.snia.unwrap().from, 6_000, "{:?}", phases.snia);
    assert_eq!(Phases::of(&[1; 20]).snia, None);
}

#[test]
fn counts_ignore_start_up_and_cover_whole_periods() {
    let latencies = two_phases(100_000, 1_000, 100, 10, 0.05, 11);
    let phases = Phases::of(&latencies);
    let of = |bound| counts(&latencies, &phases, bound);
    let counted = of(0.05);
    assert!(counted.reached && counted.relative_half_width.unwrap() <= 0.05, "{counted:?}");
    assert_eq!((counted.io_ignore, (counted.io_count - counted.io_ignore) % 100), (1_200, 0));
    assert!(counted.io_count - counted.io_ignore >= 1_000);
    let close = of(1e-9);
    assert!(!close.reached && close.io_count > latencies.len(), "{close:?}");
    // Irregular: the count grows with the square of the bound's inverse.
    let irregular = series(200_000, 0.0, 12, |_, random| if random.chance(0.1) { EXPENSIVE } else { CHEAP });
    let phases = Phases::of(&irregular);
    let wide = counts(&irregular, &phases, 0.2);
    let narrow = counts(&irregular, &phases, 0.02);
    assert!(wide.reached && narrow.reached && wide.io_ignore == 0, "{wide:?} {narrow:?}");
    assert!(narrow.io_count >= 16 * wide.io_count, "{wide:?} {narrow:?}");
    let none = counts(&[], &Phases::of(&[]), 0.05);
    assert_eq!((none.io_ignore, none.io_count, none.reached), (0, 512, false));
}

#[test]
fn plot_marks_start_up_and_periods() {
    let latencies = two_phases(4_000, 125, 8, 1, 0.05, 1);
    let figure = plot("phases-rw", "Random writes", &latencies, &Phases::of(&latencies));
    let marks: Vec<f64> = figure.marks.iter().map(|mark| mark.x).collect();
    assert_eq!(marks, [125.0, 133.0, 141.0, 149.0, 157.0]);
    let last = |i: usize| figure.series[i].points.last().copied().unwrap();
    let mean = latencies.iter().sum::<u64>() as f64 / 4e3 / 1e3;
    assert!(last(1).0 == 4_000.0 && (last(1).1 / mean - 1.0).abs() < 1e-9);
    assert!(last(2).1 > last(1).1, "the start-up was cheap");
    plot("none", "Nothing", &[], &Phases::of(&[]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Generated phases are found, in any unit of time.
    #[test]
    fn generated_phases_are_found(
        startup in prop_oneof![Just(0), 100..6_000_usize],
        period in 4..800_usize,
        share in 0.0..0.7_f64,
        cheap in 1e3..1e7_f64,
        ratio in 2.0..60.0_f64,
        noise in 0.0..0.2_f64,
        seed in 0..1_000_u64,
    ) {
        let expensive_count = ((period as f64 * share) as usize).max(1);
        // A start-up no longer than the cheap part of a period cannot be recognised.
        prop_assume!(startup == 0 || startup > period + period / 10);
        let latencies = series(32_768, noise, seed, |i, _| {
            let expensive = i >= startup && (i - startup) % period < expensive_count;
            if expensive { cheap * ratio } else { cheap }
        });
        let phases = Phases::of(&latencies);
        prop_assert!(within_a_tenth(phases.period.map_or(0, |period| period.requests), period), "{phases:?}");
        prop_assert!(within_a_tenth(phases.startup.requests, startup), "{phases:?}");
    }

    /// Any numbers give phases within the run.
    #[test]
    fn any_series_gives_valid_phases(latencies in prop::collection::vec(any::<u64>(), 0..600)) {
        let phases = Phases::of(&latencies);
        prop_assert!(phases.startup.requests <= latencies.len() / 2);
        prop_assert!(phases.period.is_none_or(|period| period.requests >= 2 && period.strength > 0.0));
        counts(&latencies, &phases, 0.05);
        plot("any", "Any", &latencies, &phases);
    }
}
