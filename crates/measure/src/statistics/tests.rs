//! Statistics against values known beforehand.

use super::steady_state::Window;
use super::{BatchMeans, OverTime, Sample, Samples};
use flashlane_base::{Duration, Operation, Seed};

fn record(latencies: impl Iterator<Item = u64>) -> BatchMeans {
    let mut batches = BatchMeans::new();
    latencies.for_each(|ns| {
        batches.record(Duration::from_ns(ns));
    });
    batches
}

#[test]
fn interval_is_students_over_batch_means() {
    // 32 batches of 16, alternately of 1,000 and 3,000 ns: mean 2,000, sample deviation sqrt(32/31) * 1,000,
    // Student's quantile for 31 degrees of freedom 2.03951.
    let batches = record((0..512).map(|i| if (i / 16) % 2 == 0 { 1_000 } else { 3_000 }));
    let c = batches.confidence().unwrap();
    assert_eq!((c.mean_ns, c.batches, c.correlated), (2_000.0, 32, false));
    let expected = 2.03951 * (32.0_f64 / 31.0).sqrt() * 1_000.0 / 32.0_f64.sqrt();
    assert!((c.half_width_ns - expected).abs() < 0.01, "{} {expected}", c.half_width_ns);
    assert_eq!(record((0..511).map(|_| 5)).confidence(), None);
}

/// Latencies with a slow random walk around 10,000 ns, correlated over some thousand requests.
fn autocorrelated(seed: u64, n: usize) -> impl Iterator<Item = u64> {
    let mut random = Seed(seed).source();
    let mut state = 0.0;
    (0..n).map(move |_| {
        state = 0.999 * state + (random.unit() - 0.5) * 100.0;
        (10_000.0 + state) as u64
    })
}

#[test]
fn interval_covers_the_mean_of_autocorrelated_latencies() {
    let (mut covered, mut trusted, mut naive_covered) = (0, 0, 0);
    for seed in 0..100 {
        let latencies: Vec<u64> = autocorrelated(seed, 200_000).collect();
        let c = record(latencies.iter().copied()).confidence().unwrap();
        if !c.correlated {
            trusted += 1;
            // The walk's mean is 10,000, rounded down by half a nanosecond on average.
            covered += usize::from((c.mean_ns - 9_999.5).abs() <= c.half_width_ns);
        }
        let n = latencies.len() as f64;
        let mean = latencies.iter().sum::<u64>() as f64 / n;
        let variance = latencies.iter().map(|&l| (l as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        naive_covered += usize::from((mean - 9_999.5).abs() <= 1.96 * (variance / n).sqrt());
    }
    assert!(trusted >= 60, "{trusted}");
    assert!(covered * 100 >= trusted * 85, "{covered} of {trusted}");
    assert!(naive_covered < 30, "the naive interval would have been wrong nearly always: {naive_covered}");
    // A run much shorter than the correlation is recognised as such.
    let short =
        (0..50).filter(|&s| record(autocorrelated(s, 1_000)).confidence().unwrap().correlated).count();
    assert!(short >= 45, "{short}");
}

#[test]
fn rounds_show_a_drift() {
    let rounds = record(10_000..30_000).rounds().unwrap();
    assert!(rounds.windows(2).all(|w| w[1] > w[0]), "{rounds:?}");
    assert!(!Window::of(&rounds).unwrap().is_steady());
    assert!(Window::of(&record((0..20_000).map(|_| 700)).rounds().unwrap()).unwrap().is_steady());
}

#[test]
fn window_rule_matches_snia() {
    let window = |rounds: [f64; 5]| Window::of(&rounds).unwrap();
    let w = window([90.0, 95.0, 100.0, 105.0, 110.0]);
    assert!((w.average - 100.0).abs() < 1e-9);
    assert!((w.excursion - 0.2).abs() < 1e-9 && (w.slope - 0.2).abs() < 1e-9);
    assert!(!w.is_steady(), "within the excursion, but with a slope of 20%");
    assert!(window([91.0, 109.0, 100.0, 109.0, 91.0]).is_steady());
    assert!(!window([89.0, 111.0, 100.0, 111.0, 89.0]).is_steady(), "an excursion of 22%");
    assert!(window([102.0, 101.0, 100.0, 99.0, 98.0]).slope < 0.0);
    assert_eq!(Window::of(&[1.0; 4]), None);
    assert_eq!(Window::of(&[0.0; 5]), None);
    assert!(
        Window::of(&[9.0, 100.0, 100.0, 100.0, 100.0, 100.0]).unwrap().is_steady(),
        "the last five count"
    );
}

fn sample(ns: u64) -> Sample {
    Sample {
        submitted_ns: ns,
        latency_ns: 1,
        offset_bytes: 0,
        job: 0,
        operation: Operation::Read,
        split: None,
    }
}

#[test]
fn samples_keep_few_requests_and_draw_many_evenly() {
    let draw = |room, n: u64, seed| {
        let mut samples = Samples::new(room, Seed(seed).source());
        (0..n).for_each(|i| samples.offer(|| sample(i)));
        assert_eq!(samples.seen(), n);
        samples.into_samples()
    };
    assert_eq!(draw(100, 100, 1), (0..100).map(sample).collect::<Vec<_>>());
    assert_eq!(draw(0, 100, 1), []);
    let mut sixteenths = [0_u32; 16];
    for seed in 0..200 {
        // 128 windows of 128 requests.
        let kept = draw(128, 128 * 128, seed);
        assert_eq!(kept.len(), 128);
        assert!(kept.windows(2).all(|w| w[0].submitted_ns < w[1].submitted_ns));
        let window = 128;
        assert!(
            kept.iter().enumerate().all(|(i, s)| s.submitted_ns / window == i as u64),
            "one of each window"
        );
        kept.iter().for_each(|s| sixteenths[(s.submitted_ns % window * 16 / window) as usize] += 1);
    }
    assert!(sixteenths.iter().all(|n| (1_450..1_750).contains(n)), "{sixteenths:?}");
}

#[test]
fn slices_count_every_request_of_long_runs() {
    let mut over_time = OverTime::new();
    let at = |i: u64| Duration::from_us(i * i / 10);
    let latency = |i: u64| Duration::from_us(100 + i % 7);
    for i in 0..5_000 {
        over_time.record(at(i), latency(i), i);
    }
    // 2.499 s: the width doubled from 1 to 16 ms.
    assert_eq!(over_time.width(), Duration::from_ms(16));
    assert_eq!(over_time.slices().len(), 157);
    for (slice, n) in over_time.slices().iter().zip(0..) {
        let within = (0..5_000).filter(|&i| at(i).as_ns() / 16_000_000 == n);
        let (mut count, mut bytes, mut sum) = (0, 0, 0);
        for i in within {
            count += 1;
            bytes += i;
            sum += latency(i).as_ns();
        }
        let latencies = slice.latencies.as_ref().unwrap();
        assert_eq!((latencies.len(), slice.bytes), (count, bytes), "slice {n}");
        assert_eq!(latencies.mean_ns(), sum as f64 / count as f64);
    }
    // A gap of an hour, and of nearly the longest time.
    over_time.record(Duration::from_s(3600), latency(0), 0);
    over_time.record(Duration::from_ns(1 << 62), latency(0), 0);
    assert!(over_time.slices().len() <= 256);
    let counted: u64 = over_time.slices().iter().filter_map(|s| s.latencies.as_ref()).map(|h| h.len()).sum();
    assert_eq!(counted, 5_002);
}
