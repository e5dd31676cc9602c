//! Where the running phase begins, as far as the distribution of response times tells.
//!
//! What the later half of a run does is taken for its running phase, and the start-up is the prefix that is least
//! likely to have come from it: the place is sought that gives the greatest likelihood ratio between the prefix's own
//! distribution and the running phase's. Distributions are counts between quantiles that lie denser towards both ends
//! (Haynes, Fearnhead, Eckley: "A computationally efficient nonparametric approach for changepoint detection",
//! Statistics and Computing 2017, section 3.1), so that neither the scale nor heavy tails matter, and one expensive I/O
//! in a thousand is still seen.
//!
//! I/Os are not independent: a stretch of a slow oscillation is as unlikely as a start-up. So the prefix has to
//! diverge more from the running phase than any stretch of the same length within the running phase does from the rest
//! of it. Long prefixes leave few such stretches, so stretches of a quarter of the length are looked at, too:
//! what diverges by chance does so by four times as much over a quarter of the length.
//!
//! Cost: sorting once, then a constant number of passes.

use std::ops::Range;

/// How the beginning of a run stands to the rest of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beginning {
    /// It is like the rest.
    Alike,
    /// The I/Os before this one are not, and it is where they end.
    Until { at: usize, clarity: f64 },
    /// It differs, but where is not to be said: response times drift from one to the other.
    Gradual,
    /// It differs, and goes over into the rest too near the middle of the run to tell what the rest is.
    Open,
}

/// A prefix must diverge so many times as much as any stretch of its length in the running phase, or as chance.
const CLEARLY: f64 = 3.0;
/// The later part of a start-up must tell for it, an I/O, at least this share of what all of it does.
const ABRUPT: f64 = 0.5;
/// What costs within this share of the running phase is part of it.
const SETTLED: f64 = 0.1;
/// Fewer I/Os are not looked at again by themselves.
const LEAST_LOOKED_AT: usize = 64;
/// A start-up that ends beyond this share of the run leaves too little to call the rest of it running.
const OPEN_FROM: f64 = 0.45;

/// Looks for the end of the start-up in the earlier half of `latencies_ns`. Requires: at least 16 of them.
///
/// A long run can show more than one change: behind the start-up's end, another to something that costs nearly the same
/// and was going on for long. What tells more of the two is then the later one, since it has more I/Os to tell it; so
/// what was found is looked at again by itself.
pub(super) fn find(latencies_ns: &[u64]) -> Beginning {
    let found = first_change(latencies_ns);
    let Beginning::Until { at, .. } = found else { return found };
    let earlier = if at < LEAST_LOOKED_AT { Beginning::Alike } else { find(&latencies_ns[..at]) };
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
    running.walk(&bins[..half], |length, ratio| {
        if ratio > best.0 {
            best = (ratio, length);
        }
    });
    let (_, at) = best;
    if at == 0 {
        return Beginning::Alike;
    }
    let clarity = clarity(&bins, at, count);
    if clarity < CLEARLY {
        return Beginning::Alike;
    }
    if at as f64 > OPEN_FROM * bins.len() as f64 {
        return Beginning::Open;
    }
    let startup = Likelihood::of(&bins[..at], count);
    let tells = |range: Range<usize>| {
        let length = range.len().max(1) as f64;
        bins[range].iter().map(|&bin| running.surprise(bin) - startup.surprise(bin)).sum::<f64>() / length
    };
    if tells(at - at.div_ceil(4)..at) < ABRUPT * tells(0..at) {
        return Beginning::Gradual;
    }
    Beginning::Until { at, clarity }
}

/// Each response time's bin, and how many bins there are.
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

/// How likely each bin is.
struct Likelihood {
    /// The negative logarithm of each bin's share.
    surprises: Vec<f64>,
}

impl Likelihood {
    /// As counted in `bins`, with half a count more for each: what was not seen yet may still come.
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

    /// Tells `each` of every prefix of `bins`: its length, and the logarithm of the likelihood ratio between its own
    /// distribution and this one.
    fn walk(&self, bins: &[u8], mut each: impl FnMut(usize, f64)) {
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

/// How much more the first `at` diverge from the rest than any stretch of the rest does.
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

/// How often each bin was met.
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

    /// The I/Os that a comparison with `other` stands on.
    fn weight(&self, other: &Self) -> f64 {
        let (a, b) = (f64::from(self.sum), f64::from(other.sum));
        a * b / (a + b)
    }

    /// The logarithm of the likelihood ratio between two distributions and one, an I/O that it stands on; infinite
    /// where there is nothing to compare with.
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
