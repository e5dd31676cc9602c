//! Zipf's law: the `k`-th most frequent of `n` ranks is drawn with a probability proportional to `k^-exponent`.
//!
//! Rejection-inversion of Hörmann and Derflinger, *Rejection-inversion to generate variates from monotone discrete
//! distributions* (ACM TOMACS 6(3), 1996): exact for any exponent above 0 (including 1 and above), without a table, so
//! that its cost does not depend on `n`. The first ranks, which are drawn most often, come from an alias table
//! (Walker; Vose 1991) instead, which costs no logarithm. fio and YCSB use the approximation of Gray et al. (SIGMOD
//! 1994), which is not exact, has to sum `n` terms first, and has no exponent of 1 (YCSB: none above it either).

use flashlane_base::Random;

/// Ranks in the table.
const HEAD: u64 = 4096;

/// Zipf's law over ranks.
pub struct Zipf {
    /// The first ranks; the last entry stands for all others.
    head: Alias,
    head_ranks: u64,
    tail: Option<Tail>,
}

impl Zipf {
    /// Returns the law for `ranks` ranks. `ranks` and `exponent` MUST be above 0.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let head_ranks = ranks.min(HEAD);
        let mut weights: Vec<f64> = (1..=head_ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let tail = (ranks > head_ranks).then(|| Tail::new(head_ranks + 1, ranks, exponent));
        weights.extend(tail.as_ref().map(|_| sum(head_ranks + 1, ranks, exponent).max(0.0)));
        Self { head: Alias::new(&weights), head_ranks, tail }
    }

    /// Draws a rank; 0 is the most frequent.
    #[inline]
    pub fn sample(&self, random: &mut Random) -> u64 {
        let rank = self.head.sample(random);
        match &self.tail {
            Some(tail) if rank == self.head_ranks => tail.sample(random) - 1,
            _ => rank,
        }
    }
}

/// Sums `k^-exponent` over `first..=last` by Euler-Maclaurin; `first` is large enough for a relative error below 1e-12.
fn sum(first: u64, last: u64, exponent: f64) -> f64 {
    let (a, b) = (first as f64, last as f64);
    let f = |x: f64| x.powf(-exponent);
    let slope = |x: f64| -exponent * x.powf(-exponent - 1.0);
    integral(b, exponent) - integral(a, exponent) + (f(a) + f(b)) / 2.0 + (slope(b) - slope(a)) / 12.0
}

/// The integral of `x^-exponent` from 1 to `x`.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - exponent) * log;
    // (e^power - 1) / (1 - exponent), which for exponents at 1 is the logarithm.
    if power.abs() > 1e-8 { power.exp_m1() / (1.0 - exponent) } else { log * (1.0 + power / 2.0) }
}

/// Returns the `x` with this integral.
fn inverse(integral: f64, exponent: f64) -> f64 {
    let power = integral * (1.0 - exponent);
    // ln(1 + power) / (1 - exponent), likewise.
    let log = if power.abs() > 1e-8 {
        power.max(-1.0).ln_1p() / (1.0 - exponent)
    } else {
        integral * (1.0 - power / 2.0)
    };
    log.exp()
}

/// Ranks `first..=last`, by rejection-inversion.
struct Tail {
    first: f64,
    last: f64,
    exponent: f64,
    /// The integral up to half a rank before the first and after the last.
    low: f64,
    high: f64,
    /// A rank at most this far above its inverse needs no further test.
    sure: f64,
}

impl Tail {
    fn new(first: u64, last: u64, exponent: f64) -> Self {
        let (first, last) = (first as f64, last as f64);
        let low = integral(first + 0.5, exponent) - first.powf(-exponent);
        let next = first + 1.0;
        let sure = next - inverse(integral(next + 0.5, exponent) - next.powf(-exponent), exponent);
        Self { first, last, exponent, low, high: integral(last + 0.5, exponent), sure }
    }

    fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.low + random.unit() * (self.high - self.low);
            let x = inverse(u, self.exponent);
            let rank = (x + 0.5).floor().clamp(self.first, self.last);
            if rank - x <= self.sure || u >= integral(rank + 0.5, self.exponent) - rank.powf(-self.exponent) {
                return rank as u64;
            }
        }
    }
}

/// Walker's alias method: a weighted choice with one random number and one table access.
struct Alias {
    /// For each entry the share of its column that is its own, as 64 bits, and the owner of the rest.
    columns: Vec<(u64, u32)>,
}

impl Alias {
    fn new(weights: &[f64]) -> Self {
        let n = weights.len();
        let mean = weights.iter().sum::<f64>() / n as f64;
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut columns: Vec<(u64, u32)> = (0..n as u32).map(|own| (u64::MAX, own)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| left[i] < 1.0);
        while let (Some(&to), Some(from)) = (large.last(), small.pop()) {
            columns[from] = ((left[from] * 2_f64.powi(64)) as u64, to as u32);
            left[to] -= 1.0 - left[from];
            if left[to] < 1.0 {
                large.pop();
                small.push(to);
            }
        }
        Self { columns }
    }

    #[inline]
    fn sample(&self, random: &mut Random) -> u64 {
        // The upper half of the product is the column, the lower half the place in it.
        let product = u128::from(random.bits()) * self.columns.len() as u128;
        let (column, place) = ((product >> 64) as usize, product as u64);
        let (own, other) = self.columns[column];
        if place < own { column as u64 } else { other.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    fn exact(ranks: u64, exponent: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let all: f64 = weights.iter().rev().sum();
        weights.iter().map(|weight| weight / all).collect()
    }

    /// Pearson's statistic in standard deviations above its mean, over bins of at least 50 expected draws.
    fn deviation(expected: &[f64], draws: u64, mut draw: impl FnMut() -> u64) -> f64 {
        let mut seen = vec![0_u64; expected.len()];
        (0..draws).for_each(|_| seen[draw() as usize] += 1);
        let (mut statistic, mut bins, mut bin) = (0.0, 0.0_f64, (0.0, 0.0));
        for (share, count) in expected.iter().zip(seen) {
            bin = (bin.0 + share * draws as f64, bin.1 + count as f64);
            if bin.0 >= 50.0 {
                statistic += (bin.1 - bin.0).powi(2) / bin.0;
                bins += 1.0;
                bin = (0.0, 0.0);
            }
        }
        let freedom = (bins - 1.0).max(1.0);
        (statistic - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn draws_follow_the_exact_distribution() {
        for exponent in [0.2, 0.5, 0.99, 1.0, 1.2, 2.5] {
            for ranks in [1, 2, 10, HEAD, HEAD + 1, 50_000] {
                let zipf = Zipf::new(ranks, exponent);
                let mut random = Seed(1).source();
                let off = deviation(&exact(ranks, exponent), 500_000, || zipf.sample(&mut random));
                assert!(off < 5.0, "exponent {exponent}, {ranks} ranks: {off} deviations");
            }
        }
    }

    #[test]
    fn rejection_inversion_is_exact_without_a_table() {
        for exponent in [0.3, 1.0, 1.5] {
            let tail = Tail::new(1, 2_000, exponent);
            let mut random = Seed(2).source();
            let off = deviation(&exact(2_000, exponent), 500_000, || tail.sample(&mut random) - 1);
            assert!(off < 5.0, "exponent {exponent}: {off} deviations");
        }
    }

    #[test]
    fn sum_over_many_ranks_is_accurate() {
        for exponent in [0.2, 0.99, 1.0, 1.7] {
            let direct: f64 = (4097..=100_000_u64).rev().map(|rank| (rank as f64).powf(-exponent)).sum();
            let off = (sum(4097, 100_000, exponent) / direct - 1.0).abs();
            assert!(off < 1e-11, "exponent {exponent}: off by {off}");
        }
    }

    #[test]
    fn deviation_detects_a_wrong_exponent() {
        let zipf = Zipf::new(1000, 1.0);
        let mut random = Seed(1).source();
        assert!(deviation(&exact(1000, 1.05), 500_000, || zipf.sample(&mut random)) > 20.0);
    }
}
