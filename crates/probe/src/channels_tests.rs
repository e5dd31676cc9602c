//! Tests of channels found by pairs.

use super::*;
use flashlane_base::Seed;

/// Pairs over runs of `run` chunks on `channels`, of which each `dies`th run of a channel shares a die.
fn pairs(count: usize, (run, channels, dies): (usize, usize, usize), [bus, array]: [f64; 2]) -> Vec<Pair> {
    let mut random = Seed(7).source();
    let chunks = 600;
    (0..count)
        .map(|_| {
            let one = random.below(chunks) as usize;
            let other = (one + 1 + random.below(chunks - 1) as usize) % chunks as usize;
            let apart = ((one + 1) / run).abs_diff((other + 1) / run);
            let on_channel = apart.is_multiple_of(channels);
            let on_die = apart.is_multiple_of(channels * dies);
            let noise = 10.0 * (random.unit() - 0.5);
            let took_us =
                102.0 + noise + if on_channel { bus } else { 0.0 } + if on_die { array } else { 0.0 };
            Pair { one, other, took_us }
        })
        .collect()
}

fn costs(bus_us: f64, array: f64) -> Costs {
    let exact = |value| Point { value, error: 0.05 };
    let (one, one_small) = (exact(100.0), exact(90.0));
    let inside = exact(100.0 + bus_us + array);
    Costs { one, one_small, inside, small_share: 0.1, bus_us, link_us: 2.0, array: exact(array) }
}

#[test]
fn channels_are_found_in_any_order_without_the_dies() {
    for (run, channels) in [(1, 12), (4, 6), (8, 20), (24, 3)] {
        let found =
            costs(12.0, 40.0).channels(&pairs(4000, (run, channels, 4), [10.0, 40.0]), 600, None).unwrap();
        assert_eq!((found.run, found.count), (run, channels));
        assert!((found.step_us - 10.0).abs() < 1.0, "{found:?}");
    }
}

#[test]
fn channels_that_do_not_recur_are_not_found() {
    let one_turn = pairs(9000, (16, 32, 4), [10.0, 40.0]);
    assert_eq!(costs(12.0, 40.0).channels(&one_turn, 600, None), None);
}

/// Two channels of long runs: every second part of a run looks like a channel, but the others wait as well.
#[test]
fn part_of_a_channel_is_no_channel() {
    let long = pairs(4000, (150, 2, 4), [200.0, 0.0]);
    assert_eq!(fit(&long, 600, &|run, channels| (run, channels) == (75, 4)), None);
    assert!(fit(&long, 600, &|_, _| true).is_none_or(|fit| fit.channels == 2));
}

/// Of an array time in a tenth of the pairs, as where an outer die was missed.
#[test]
fn waits_for_arrays_are_no_channels_of_known_dies() {
    let dies = Dies { inner: 24, planes: 1, outer: 1, offset: 0 };
    let of_arrays = pairs(9000, (1, 12, 1), [8.0, 0.0]);
    assert!(costs(8.0, 40.0).channels(&of_arrays, 600, Some(dies)).is_some());
    assert_eq!(costs(3.0, 40.0).channels(&of_arrays, 600, Some(dies)), None);
}

#[test]
fn chunks_numbered_wrongly_show_no_channels() {
    // Pages of 120 of 1000 chunks are written, on 32 channels in runs of 16; by turn they seem to be behind all.
    let mut random = Seed(3).source();
    let pairs: Vec<Pair> = (0..1200)
        .map(|_| {
            let (one, other) = (random.below(120) as usize, 120 + random.below(880) as usize);
            let is_shared = (one / 16).abs_diff(other / 16).is_multiple_of(32);
            let took_us = 50.0 + random.unit() + if is_shared { 16.0 } else { 0.0 };
            Pair { one, other, took_us }
        })
        .collect();
    for behind in (880..1408).step_by(80) {
        let by_turn: Vec<Pair> = pairs.iter().map(|pair| Pair { one: pair.one + behind, ..*pair }).collect();
        let found = of_either([&pairs, &by_turn], [1000, behind + 120], 0.5);
        assert!(found.is_none_or(|found| (found.count, found.run) == (32, 16)), "{behind}: {found:?}");
    }
}

/// As seen on a drive with runs of 12 chunks on 32 channels: of 1176 reads one waited long.
#[test]
fn single_delays_show_no_channels() {
    let dies = Dies { inner: 4, planes: 3, outer: 32, offset: 0 };
    for seed in 0..60 {
        let mut random = Seed(seed).source();
        let pairs: Vec<Pair> = (0..1176)
            .map(|nth| {
                let (one, other) = (random.below(300) as usize, 300 + random.below(2100) as usize);
                let delay_us = if nth == 0 { 105.0 } else { 0.0 };
                Pair { one, other, took_us: 129.0 + random.unit() + delay_us }
            })
            .collect();
        assert_eq!(of_pairs(&pairs, 2400, dies), None, "seed {seed}");
    }
}

#[test]
fn dies_do_not_pass_for_channels() {
    let dies = pairs(4000, (1, 12, 1), [0.0, 40.0]);
    assert_eq!(costs(2.0, 40.0).channels(&dies, 600, None), None);
    let no_pattern = pairs(4000, (1, 12, 4), [0.0, 0.0]);
    assert_eq!(costs(12.0, 40.0).channels(&no_pattern, 600, None), None);
}

#[test]
fn single_channel_waits_for_the_bus_at_every_pair() {
    let with = |wait: f64, pairs: Vec<Pair>| -> Vec<Pair> {
        pairs.into_iter().map(|pair| Pair { took_us: pair.took_us + wait, ..pair }).collect()
    };
    let alike = || pairs(1500, (600, 2, 4), [0.0, 0.0]);
    let channels = |small: f64, link_us: f64, large: Vec<Pair>| {
        let small = with(small - 12.0, alike());
        let bus = BusTime {
            least_us: 11.5,
            most_us: 12.5,
            link_us,
            least_link_us: 1.0,
            page_on_link_us: 1.0,
            least_sector_us: 1.0,
            most_sector_us: 1.4,
            deviation_us: 1.0,
            flash_us: 50.0,
        };
        costs(12.0, 40.0).single_channel(bus, &small, &large).map(|found| found.count)
    };
    assert_eq!(channels(1.2, 2.0, with(10.0, alike())), Some(1));
    assert_eq!(channels(10.0, 2.0, with(10.0, alike())), None, "all wait for a command");
    assert_eq!(channels(1.2, 11.0, with(10.0, alike())), None, "the link takes as long");
    assert_eq!(channels(1.2, 2.0, pairs(1500, (1, 2, 4), [10.0, 0.0])), None, "there are two channels");
}

/// As seen on a drive with 20 channels, where garbage collection took turns: written chunks were counted five too few.
#[test]
fn chunks_counted_wrongly_show_no_divisor_of_the_channels() {
    let dies = Dies { inner: 480, planes: 1, outer: 1, offset: 0 };
    let pairs = |off: usize| -> Vec<Pair> {
        let mut random = Seed(6).source();
        (0..1200)
            .map(|_| {
                let [one, other] = [0; 2].map(|_| random.below(2400) as usize);
                let is_shared = (one + off).abs_diff(other).is_multiple_of(20) && one + off != other;
                let took_us = 110.0 + random.unit() + if is_shared { 6.0 } else { 0.0 };
                Pair { one, other, took_us }
            })
            .collect()
    };
    assert_eq!(of_pairs(&pairs(0), 2400, dies).map(|found| found.count), Some(20));
    assert_eq!(of_pairs(&pairs(5), 2400, dies), None);
}

/// A tenth of the pairs on 24 channels wait, and all of these are a multiple of 48 runs apart by chance.
#[test]
fn few_waits_show_no_multiple_of_the_channels() {
    let dies = Dies { inner: 768, planes: 1, outer: 1, offset: 0 };
    let mut nth = 0;
    let few: Vec<Pair> = pairs(2000, (1, 48, 1), [10.0, 0.0])
        .into_iter()
        .map(|pair| {
            let waits = pair.one.abs_diff(pair.other).is_multiple_of(48);
            nth += usize::from(waits);
            let took_us = match waits && !nth.is_multiple_of(5) {
                true => 102.0,
                false if waits => 120.0,
                false => 100.0 + 0.2 * (pair.took_us - 100.0),
            };
            Pair { took_us, ..pair }
        })
        .collect();
    assert_eq!(of_pairs(&few, 600, dies).map(|found| found.count), Some(48));
    assert_eq!(of_all_pairs(&few, 600, dies, 0.6), None);
    let all = pairs(4000, (1, 24, 32), [10.0, 0.0]);
    assert_eq!(of_all_pairs(&all, 600, dies, 3.0).map(|found| found.count), Some(24));
}
