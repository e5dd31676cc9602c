//! The nine micro-benchmarks: each varies one parameter of the baselines (uflip09, Table 1).

use crate::Effort;
use flashlane_result::uflip::{Baseline, Benchmark};

/// Sector size: all sizes of the paper are multiples.
const SECTOR_BYTES: i64 = 512;
/// The unit of pauses.
const TENTH_MS_NS: i64 = 100_000;

/// Returns the patterns that a micro-benchmark varies: one baseline each, or two that alternate.
pub(crate) fn patterns(benchmark: Benchmark) -> Vec<(Baseline, Option<Baseline>)> {
    use Baseline::{Rr, Rw, Sr, Sw};
    match benchmark {
        Benchmark::Partitioning | Benchmark::Order => {
            Baseline::SEQUENTIAL.into_iter().map(|baseline| (baseline, None)).collect()
        }
        Benchmark::Mix => [(Sr, Rr), (Sr, Rw), (Sr, Sw), (Rr, Sw), (Rr, Rw), (Sw, Rw)]
            .into_iter()
            .map(|(first, second)| (first, Some(second)))
            .collect(),
        _ => Baseline::ALL.into_iter().map(|baseline| (baseline, None)).collect(),
    }
}

/// Returns the values of its parameter for a pattern, ascending; `io_bytes` is the I/O size unless that varies. Full
/// effort takes all of Table 1; normal every second value, quick every fourth, always with the ends and the baseline's
/// own value.
pub(crate) fn values(benchmark: Benchmark, baseline: Baseline, io_bytes: u64, effort: Effort) -> Vec<i64> {
    let io_bytes = io_bytes as i64;
    let powers = |exponents: std::ops::RangeInclusive<u32>, unit: i64| {
        exponents.map(|exponent| (1_i64 << exponent) * unit).collect::<Vec<i64>>()
    };
    // `kept`: values that other benchmarks and the row of characteristics compare with.
    let (whole, kept): (Vec<i64>, &[i64]) = match benchmark {
        Benchmark::Granularity => (powers(0..=9, SECTOR_BYTES), &[4096, io_bytes]),
        Benchmark::Alignment => {
            (powers(0..=(io_bytes / SECTOR_BYTES).ilog2(), SECTOR_BYTES), &[4096, io_bytes])
        }
        Benchmark::Locality => (powers(0..=if baseline.is_sequential() { 8 } else { 16 }, io_bytes), &[]),
        Benchmark::Partitioning => (powers(0..=8, 1), &[]),
        Benchmark::Order => ([-1, 0].into_iter().chain(powers(0..=8, 1)).collect(), &[-1, 0, 1, 32, 256]),
        Benchmark::Parallelism => (powers(0..=4, 1), &[]),
        Benchmark::Mix => (powers(0..=6, 1), &[]),
        Benchmark::Pause => (powers(0..=8, TENTH_MS_NS), &[]),
        Benchmark::Bursts => (powers(0..=6, 10), &[]),
    };
    let step = match effort {
        Effort::Full => 1,
        Effort::Normal => 2,
        Effort::Quick => 4,
    };
    let last = whole.len() - 1;
    let mut values: Vec<i64> = whole
        .iter()
        .enumerate()
        .filter(|&(at, value)| (last - at) % step == 0 || at == 0 || kept.contains(value))
        .map(|(_, &value)| value)
        .collect();
    if benchmark == Benchmark::Granularity && effort == Effort::Full {
        // The paper takes "some" values that are not powers of two: here halfway between every other pair.
        values.extend(powers(1..=7, 3 * SECTOR_BYTES).into_iter().step_by(2));
        values.sort_unstable();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_grid_is_table_1() {
        let full = |benchmark: Benchmark, baseline| values(benchmark, baseline, 32 << 10, Effort::Full);
        let granularity = full(Benchmark::Granularity, Baseline::Sr);
        assert_eq!((granularity[0], *granularity.last().unwrap()), (512, 256 << 10));
        assert_eq!(granularity.iter().filter(|&&value| (value / 512).count_ones() > 1).count(), 4);
        assert_eq!(full(Benchmark::Alignment, Baseline::Rw), [512, 1024, 2048, 4096, 8192, 16384, 32768]);
        assert_eq!(full(Benchmark::Locality, Baseline::Rw).len(), 17);
        assert_eq!(full(Benchmark::Locality, Baseline::Rw)[16], 2 << 30);
        assert_eq!(full(Benchmark::Locality, Baseline::Sw)[8], 8 << 20);
        assert_eq!(full(Benchmark::Partitioning, Baseline::Sw), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(full(Benchmark::Order, Baseline::Sw)[..3], [-1, 0, 1]);
        assert_eq!(full(Benchmark::Parallelism, Baseline::Sr), [1, 2, 4, 8, 16]);
        assert_eq!(full(Benchmark::Mix, Baseline::Sr), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(full(Benchmark::Pause, Baseline::Rw)[8], 25_600_000);
        assert_eq!(full(Benchmark::Bursts, Baseline::Rw)[6], 640);
        assert_eq!(patterns(Benchmark::Mix).len(), 6);
        assert_eq!(patterns(Benchmark::Order).len(), 2);
    }

    #[test]
    fn less_effort_takes_a_subset_with_both_ends() {
        for benchmark in Benchmark::ALL {
            for (baseline, _) in patterns(benchmark) {
                let [quick, normal, full] = [Effort::Quick, Effort::Normal, Effort::Full]
                    .map(|effort| values(benchmark, baseline, 32 << 10, effort));
                for fewer in [&quick, &normal] {
                    assert!(fewer.iter().all(|value| full.contains(value)), "{benchmark:?}");
                    assert_eq!((fewer.first(), fewer.last()), (full.first(), full.last()), "{benchmark:?}");
                    assert!(fewer.is_sorted() && fewer.len() < full.len(), "{benchmark:?} {fewer:?}");
                }
                assert!(quick.len() < normal.len() || quick == normal, "{benchmark:?}");
            }
        }
    }
}
