use super::*;

/// Interval of looks at the share done.
const LOOK_MS: u64 = 200;
/// Seconds that an estimate may miss besides: the last stage of a benchmark is known only when it runs.
const MISSED_S: f64 = 3.0;

/// Looks at an activity whose share done is at these times, in seconds, and even between them; before the first it is
/// unknown. Checks each estimate with the time that the activity still takes, to a factor of 1.5, and returns the share
/// done at the first one.
fn first_estimate(curve: &[(f64, f64)]) -> f64 {
    let end_s = curve[curve.len() - 1].0;
    let (mut pace, mut first) = (Pace::default(), None);
    for look in 0..(end_s * 1000.0) as u64 / LOOK_MS {
        let elapsed = Duration::from_ms(look * LOOK_MS);
        let at_s = elapsed.as_s_f64();
        let behind = curve.partition_point(|&(s, _)| s <= at_s);
        let share = (behind > 0).then(|| {
            let ((from_s, from), (to_s, to)) = (curve[behind - 1], curve[behind]);
            from + (to - from) * (at_s - from_s) / (to_s - from_s)
        });
        pace.look(share, elapsed);
        let to_go = pace.to_go(elapsed);
        let (least_s, most_s) = match to_go {
            ToGo::Unknown => continue,
            ToGo::About { s } => (s, s),
            ToGo::Between { least_s, most_s } => (least_s, most_s),
        };
        let takes_s = end_s - at_s;
        let is_right = least_s / 1.5 - MISSED_S <= takes_s && takes_s <= most_s * 1.5 + MISSED_S;
        assert!(is_right, "after {at_s} s, at {share:?}: {to_go}, where it takes {takes_s:.1} s");
        first.get_or_insert(share.unwrap());
    }
    first.expect("an activity that ends has an estimate before")
}

#[test]
fn even_activity_is_estimated_after_a_quarter() {
    for s in [20.0, 300.0, 36_000.0] {
        assert!(first_estimate(&[(0.0, 0.0), (s, 1.0)]) < 0.27, "{s}");
    }
}

#[test]
fn preparation_does_not_count() {
    assert!(first_estimate(&[(60.0, 0.0), (100.0, 1.0)]) < 0.27);
    // Nor does another activity before.
    let mut pace = Pace::default();
    for (s, share) in [(0, 0.0), (40, 0.9), (41, 0.0), (46, 0.25), (51, 0.5)] {
        pace.look(Some(share), Duration::from_s(s));
    }
    assert_eq!(pace.to_go(Duration::from_s(51)), ToGo::About { s: 10.0 });
    // A plan that grows a little leaves the same activity.
    for (s, share) in [(51, 0.45), (52, 0.5)] {
        pace.look(Some(share), Duration::from_s(s));
    }
    assert_eq!(pace.to_go(Duration::from_s(52)).to_string(), ToGo::About { s: 11.0 }.to_string());
}

#[test]
fn activity_that_changes_its_pace_gets_a_range() {
    // A buffer takes the first writes, and a drive warms up.
    for curve in [[(0.0, 0.0), (1.0, 0.1), (60.0, 1.0)], [(0.0, 0.0), (20.0, 0.1), (60.0, 1.0)]] {
        assert!(first_estimate(&curve) < 0.6);
    }
    let mut pace = Pace::default();
    for (s, share) in [(0, 0.0), (10, 0.2), (20, 0.6)] {
        pace.look(Some(share), Duration::from_s(s));
    }
    assert_eq!(pace.to_go(Duration::from_s(20)), ToGo::Between { least_s: 10.0, most_s: 20.0 });
    assert_eq!(pace.to_go(Duration::from_s(20)).to_string(), "10 to 20 s to go");
}

/// `uflip --quick` on the profile `memoright-like`, whose stages differ: filling of the device and five kinds of runs.
#[test]
fn stages_of_a_benchmark_are_estimated() {
    let measured = [
        (0.2, 0.000),
        (1.8, 0.008),
        (3.4, 0.019),
        (5.0, 0.030),
        (6.6, 0.041),
        (8.2, 0.057),
        (9.8, 0.131),
        (11.4, 0.160),
        (13.0, 0.218),
        (14.7, 0.264),
        (16.3, 0.426),
        (17.9, 0.450),
        (19.5, 0.492),
        (21.1, 0.506),
        (22.7, 0.520),
        (24.3, 0.534),
        (25.9, 0.548),
        (27.5, 0.780),
        (29.1, 0.794),
        (30.7, 0.809),
        (32.3, 0.830),
        (33.9, 0.863),
        (35.5, 0.936),
        (37.1, 0.952),
        (38.7, 0.967),
        (40.3, 0.983),
        (41.6, 1.0),
    ];
    assert!(first_estimate(&measured) < 0.6);
}

/// `run random-write,requests=2M` on the profile `nvme-tlc`: in the middle the machine stopped it for 3.4 s.
#[test]
fn halt_of_the_machine_is_no_estimate() {
    let measured = [(0.0, 0.0), (0.2, 0.049), (0.6, 0.183), (1.0, 0.326), (1.6, 0.526)];
    let mut pace = Pace::default();
    measured.iter().for_each(|&(s, share)| pace.look(Some(share), Duration::from_s_f64(s)));
    assert_eq!(pace.to_go(Duration::from_s(4)), ToGo::Unknown);
}

#[test]
fn part_that_outlasts_the_estimate_ends_it() {
    // Half was done after 20 s, and nothing is known of the part since.
    let mut pace = Pace::default();
    for (s, share) in [(0, 0.0), (10, 0.25), (20, 0.5)] {
        pace.look(Some(share), Duration::from_s(s));
    }
    let at = |s| pace.to_go(Duration::from_s(s)).to_string();
    assert_eq!([20, 25, 30].map(at), ["about 20 s to go", "15 to 25 s to go", "10 to 30 s to go"]);
    for s in [35, 300] {
        assert_eq!(at(s), "the time to go is not known yet");
    }
}

#[test]
fn rounded_time_picks_a_coarse_unit() {
    let times = [0.4, 7.2, 52.0, 119.0, 3000.0, 12_600.0].map(rounded_time);
    assert_eq!(times, ["0 s", "7 s", "50 s", "2 min", "50 min", "3.5 h"]);
    let range = ToGo::Between { least_s: 50.0, most_s: 130.0 };
    assert_eq!(range.to_string(), "50 s to 2 min to go");
}
