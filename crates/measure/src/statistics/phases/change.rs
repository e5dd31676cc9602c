//! Finds the end of the start-up from the distribution of response times.
//!
//! The later half of a run is assumed to be its running phase, and the start-up is the prefix that is least likely to
//! come from it: the prefix with the greatest likelihood ratio between its own distribution and the running phase's.
//! Distributions are counts between quantiles that lie denser towards both ends (Haynes, Fearnhead, Eckley: "A
//! computationally efficient nonparametric approach for changepoint detection", Statistics and Computing 2017, section
//! 3.1), so that neither the scale nor heavy tails matter, and one expensive I/O in a thousand is still detected.
//!
//! I/Os are not independent: a stretch of a slow oscillation is as unlikely as a start-up. So the prefix must diverge
//! more from the running phase than any stretch of the same length within the running phase diverges from the rest of
//! it. Long prefixes leave few such stretches, so stretches of a quarter of the length are compared too, at a quarter
//! of their divergence: random divergence is four times as large over a quarter of the length.
//!
//! Cost: sorting once, then a constant number of passes.

use std::ops::Range;

/// Comparison of the beginning of a run with the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beginning {
    /// The beginning does not differ.
    Uniform,
    /// The I/Os before `at` differ.
    Until { at: usize, clarity: f64 },
    /// The beginning differs but has no clear end: response times drift.
    Gradual,
    /// The beginning differs, but ends too near the middle of the run to know the running phase.
    Open,
}

/// Factor by which a prefix must diverge more than any stretch of its length in the running phase, and than chance.
const CLEARLY: f64 = 3.0;
/// The last quarter of a start-up must have at least this share of its mean evidence per I/O.
const ABRUPT: f64 = 0.5;
/// Means within this share of the running phase's belong to it.
const SETTLED: f64 = 0.1;
/// Shorter prefixes are not searched again.
const SEARCHED_MIN: usize = 64;
/// Share of the run beyond which the end of a start-up leaves too little running phase.
const OPEN_FROM: f64 = 0.45;

/// Searches the earlier half of `latencies_ns` for the end of the start-up. Requires: at least 16 values.
///
/// A long run can have a second change after the start-up's end, to a state of nearly the same cost. The later change
/// has more I/Os before it and so the greater likelihood ratio; therefore the prefix found is searched again.
pub(super) fn find(latencies_ns: &[u64]) -> Beginning {
    let found = first_change(latencies_ns);
    let Beginning::Until { at, .. } = found else { return found };
    let earlier = if at < SEARCHED_MIN { Beginning::Uniform } else { find(&latencies_ns[..at]) };
    let Beginning::Until { at: earlier_at, .. } = earlier else { return found };
    let mean = |part: &[u64]| part.iter().map(|&ns| ns as f64).sum::<f64>() / part.len() as f64;
    let (between, behind) = (mean(&latencies_ns[earlier_at..at]), mean(&latencies_ns[at..]));
    if (between - behind).abs() <= SETTLED * behind { earlier } else { found }
}

fn first_change(latencies_ns: &[u64]) -> Beginning {
    let (bins, count) = binned(latencies_ns);
    let half = bins.len() / 2;
    let running = Likelihood::of(&bins[half..], count);
    let mut best = (0.0, 0);
    running.for_each_prefix(&bins[..half], |length, ratio| {
        if ratio > best.0 {
            best = (ratio, length);
        }
    });
    let (_, at) = best;
    if at == 0 {
        return Beginning::Uniform;
    }
    let clarity = clarity(&bins, at, count);
    if clarity < CLEARLY {
        return Beginning::Uniform;
    }
    if at as f64 > OPEN_FROM * bins.len() as f64 {
        return Beginning::Open;
    }
    let startup = Likelihood::of(&bins[..at], count);
    let evidence = |range: Range<usize>| {
        let length = range.len().max(1) as f64;
        bins[range].iter().map(|&bin| running.surprise(bin) - startup.surprise(bin)).sum::<f64>() / length
    };
    if evidence(at - at.div_ceil(4)..at) < ABRUPT * evidence(0..at) {
        return Beginning::Gradual;
    }
    Beginning::Until { at, clarity }
}

/// Returns the bin of each response time, and the number of bins.
fn binned(latencies_ns: &[u64]) -> (Vec<u8>, usize) {
    let mut sorted = latencies_ns.to_vec();
    sorted.sort_unstable();
    let n = sorted.len() as f64;
    // Quantiles at even steps of the log-odds, the outermost at half an I/O from the end.
    let wanted = (4.0 * n.ln()).min(f64::from(u8::MAX)) as usize;
    let outermost = (2.0 * n - 1.0).ln();
    let mut edges: Vec<u64> = (0..wanted)
        .map(|k| {
            let log_odds = outermost * (2.0 * k as f64 / (wanted - 1) as f64 - 1.0);
            sorted[((n / (1.0 + (-log_odds).exp())) as usize).min(sorted.len() - 1)]
        })
        .collect();
    edges.dedup();
    let bins = latencies_ns.iter().map(|ns| edges.partition_point(|edge| edge < ns) as u8).collect();
    (bins, edges.len() + 1)
}

/// Likelihood of each bin.
struct Likelihood {
    /// The negative logarithm of each bin's share.
    surprises: Vec<f64>,
}

impl Likelihood {
    /// Estimates it from `bins`, with half a count added to each bin so that none is impossible.
    fn of(bins: &[u8], count: usize) -> Self {
        let mut counts = vec![0.5; count];
        bins.iter().for_each(|&bin| counts[usize::from(bin)] += 1.0);
        let sum: f64 = counts.iter().sum();
        Self { surprises: counts.iter().map(|c| -(c / sum).ln()).collect() }
    }

    #[inline]
    fn surprise(&self, bin: u8) -> f64 {
        self.surprises[usize::from(bin)]
    }

    /// Calls `each` for every prefix of `bins`, with its length and the logarithm of the likelihood ratio between its
    /// own distribution and this one.
    fn for_each_prefix(&self, bins: &[u8], mut each: impl FnMut(usize, f64)) {
        let mut counts = vec![0_u32; self.surprises.len()];
        let (mut surprise, mut own) = (0.0, 0.0);
        for (i, &bin) in bins.iter().enumerate() {
            let count = &mut counts[usize::from(bin)];
            own -= x_log_x(*count);
            *count += 1;
            own += x_log_x(*count);
            surprise += self.surprise(bin);
            each(i + 1, own - x_log_x(i as u32 + 1) + surprise);
        }
    }
}

/// Returns how much more the first `at` diverge from the rest than any stretch of the rest does.
fn clarity(bins: &[u8], at: usize, count: usize) -> f64 {
    let (startup, running) = (Counts::of(&bins[..at], count), Counts::of(&bins[at..], count));
    let usual = |length: usize| {
        let starts = (at..=bins.len() - length).step_by(length.div_ceil(2));
        let stretches = starts.map(|start| Counts::of(&bins[start..start + length], count));
        stretches.map(|stretch| stretch.divergence(&running.without(&stretch))).fold(0.0, f64::max)
    };
    let quarter = at.div_ceil(4);
    let most = usual(at).max(usual(quarter) * quarter as f64 / at as f64);
    let chance = (bins.len() as f64).ln() / startup.weight(&running);
    startup.divergence(&running) / most.max(chance)
}

/// Number of values in each bin.
struct Counts {
    of_bins: Vec<u32>,
    sum: u32,
}

impl Counts {
    fn of(bins: &[u8], count: usize) -> Self {
        let mut of_bins = vec![0; count];
        bins.iter().for_each(|&bin| of_bins[usize::from(bin)] += 1);
        Self { of_bins, sum: bins.len() as u32 }
    }

    fn without(&self, part: &Self) -> Self {
        let of_bins = self.of_bins.iter().zip(&part.of_bins).map(|(all, part)| all - part).collect();
        Self { of_bins, sum: self.sum - part.sum }
    }

    /// Effective sample size of a comparison with `other`.
    fn weight(&self, other: &Self) -> f64 {
        let (a, b) = (f64::from(self.sum), f64::from(other.sum));
        a * b / (a + b)
    }

    /// Returns the logarithm of the likelihood ratio between two distributions and one, per effective sample; infinite
    /// where either is empty.
    fn divergence(&self, other: &Self) -> f64 {
        let parts = self.of_bins.iter().zip(&other.of_bins);
        let gain: f64 = parts.map(|(&a, &b)| x_log_x(a) + x_log_x(b) - x_log_x(a + b)).sum();
        let both = x_log_x(self.sum) + x_log_x(other.sum) - x_log_x(self.sum + other.sum);
        let weight = self.weight(other);
        if weight > 0.0 { (gain - both) / weight } else { f64::INFINITY }
    }
}

fn x_log_x(x: u32) -> f64 {
    if x == 0 { 0.0 } else { f64::from(x) * f64::from(x).ln() }
}
