//! Finds the period of response times.
//!
//! A period is a shift at which the autocorrelation is higher than at the shifts around it, and nearly as high at two
//! and three times the shift. The second condition distinguishes a period from a mean distance: where expensive I/Os
//! follow at varying distances, the shifted series diverge with every round, as the square root of the number of
//! rounds, until no correlation remains.
//!
//! A period may vary by a few percent. So the series is analysed first I/O by I/O and, where that finds no period, in
//! blocks of 2, 4, 8 … I/Os, at shifts of 16 to 32 blocks.
//!
//! The series are logarithms of response times, which range from microseconds to seconds.
//!
//! Cost: that of the correlation, twice over all block lengths.

use super::correlation::correlation;

/// A period that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rhythm {
    /// Mean length in I/Os.
    pub(super) period: f64,
    /// I/Os per block of the series in which it was found.
    pub(super) block: usize,
    /// Share of the variation that is periodic.
    pub(super) strength: f64,
    /// Share of the strength that remains two periods later.
    pub(super) coherence: f64,
}

/// Result of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Search {
    /// A period was found.
    Found(Rhythm),
    /// There is no period.
    Nothing,
    /// There may be a period of this many I/Os, but the run holds too few of them to tell.
    TooShort(usize),
}

/// Fewest periods in a run.
pub(super) const LEAST_CYCLES: usize = 5;
/// Least strength of a period.
const WEAKEST: f64 = 0.1;
/// Least strength in standard errors.
const CLEARLY: f64 = 4.0;
/// Fewest expensive I/Os that must be followed by another one period later.
const LEAST_PAIRS: f64 = 6.0;
/// Least coherence. A distance that is regular only on average leaves less than 1/sqrt(3).
const COHERENT: f64 = 0.7;
/// The shortest shift with this share of the greatest strength is the period: longer ones are its multiples.
const AS_STRONG: f64 = 0.9;
/// Shifts searched in a series of blocks, in blocks.
const SHIFTS: (usize, usize) = (16, 32);
/// Strength from which a period too long for the run is reported.
const SUSPICIOUS: f64 = 0.5;

/// Searches `logs`, logarithms of response times, for a period.
pub(super) fn find(logs: &[f64]) -> Search {
    let mut blocks = logs.to_vec();
    let mut block = 1;
    let mut suspicion = None;
    while blocks.len() >= LEAST_CYCLES * SHIFTS.0 {
        let autocorrelation = Autocorrelation::new(&blocks);
        let most = blocks.len() / LEAST_CYCLES;
        let (least, most) = if block == 1 { (2, most) } else { (SHIFTS.0, most.min(SHIFTS.1)) };
        if let Some(shift) = autocorrelation.best(least, most) {
            let (strength, coherence) = autocorrelation.strength_and_coherence(shift);
            let period = autocorrelation.refine(shift) * block as f64;
            return Search::Found(Rhythm { period, block, strength, coherence });
        }
        suspicion = suspicion.or_else(|| autocorrelation.suspicion().map(|shift| shift * block));
        blocks = blocks.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        block *= 2;
    }
    suspicion.map_or(Search::Nothing, Search::TooShort)
}

/// Autocorrelation of a series, by shift.
struct Autocorrelation {
    by_shift: Vec<f64>,
    /// Sums of `by_shift` up to each shift.
    sums: Vec<f64>,
    /// Sums of the squares up to each shift.
    squares: Vec<f64>,
    /// Effective number of values that make up the variance.
    values: f64,
}

impl Autocorrelation {
    fn new(series: &[f64]) -> Self {
        let (by_shift, values) = correlation(series);
        let squares: Vec<f64> = by_shift.iter().map(|r| r * r).collect();
        Self { sums: prefix_sums(&by_shift), squares: prefix_sums(&squares), by_shift, values }
    }

    /// Returns the least strength that is not chance at `shift`: the standard error of an autocorrelation with the
    /// values found up to half the shift (Bartlett), and a few outliers at this distance by chance.
    fn floor(&self, shift: usize) -> f64 {
        let neighbours = 2.0 * self.squares[shift / 2 + 1] - 1.0;
        let series = self.by_shift.len() as f64 * 4.0 / 3.0;
        WEAKEST.max(CLEARLY * (neighbours / series).sqrt()).max(LEAST_PAIRS / self.values)
    }

    /// Returns the autocorrelation at `shift`, less its average over one `period` around it, which removes drift and
    /// slow changes.
    fn peak(&self, shift: usize, period: usize) -> f64 {
        let (from, to) = (shift - period / 2, shift + period / 2);
        let mut sum = self.sums[to + 1] - self.sums[from];
        if period.is_multiple_of(2) {
            // Both ends are the same position in the period.
            sum -= (self.by_shift[from] + self.by_shift[to]) / 2.0;
        }
        self.by_shift[shift] - sum / period as f64
    }

    /// Returns the strength and coherence of a period of `shift`.
    fn strength_and_coherence(&self, shift: usize) -> (f64, f64) {
        let strength = self.peak(shift, shift);
        // A period need not be a whole number of I/Os.
        let again = |times: usize| {
            let around = times * shift - 1..=times * shift + 1;
            around.map(|at| self.peak(at, shift)).fold(f64::MIN, f64::max)
        };
        (strength, (again(2).min(again(3)) / strength).min(1.0))
    }

    fn best(&self, least: usize, most: usize) -> Option<usize> {
        if self.by_shift.is_empty() {
            return None;
        }
        let r = &self.by_shift;
        let accepted: Vec<(usize, f64)> = (least..=most)
            .filter(|&shift| r[shift] >= r[shift - 1] && r[shift] >= r[shift + 1])
            .filter_map(|shift| {
                let (strength, coherence) = self.strength_and_coherence(shift);
                (strength >= self.floor(shift) && coherence >= COHERENT).then_some((shift, strength))
            })
            .collect();
        let strongest = accepted.iter().map(|&(_, strength)| strength).reduce(f64::max)?;
        let (first, _) = *accepted.iter().find(|(_, strength)| *strength >= AS_STRONG * strongest)?;
        // Noise on the slope of a broad peak can be a local maximum.
        let near = accepted.iter().filter(|(shift, _)| *shift <= first + first / 4);
        near.max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(shift, _)| shift)
    }

    /// Refines the period from as many rounds as the correlation lasts.
    fn refine(&self, shift: usize) -> f64 {
        let strength = self.peak(shift, shift);
        let mut period = shift as f64;
        let mut times = 2;
        while (times * shift + shift) < self.by_shift.len() {
            let expected = (period * times as f64).round() as usize;
            let around = expected.saturating_sub(2)..=(expected + 2).min(self.by_shift.len() - 1);
            let best = around.max_by(|&a, &b| self.by_shift[a].total_cmp(&self.by_shift[b]));
            let Some(best) = best.filter(|&best| self.by_shift[best] >= strength / 2.0) else { break };
            period = best as f64 / times as f64;
            times *= 2;
        }
        period
    }

    /// Returns a strongly correlated shift that is too long for enough rounds.
    fn suspicion(&self) -> Option<usize> {
        let m = self.by_shift.len() * 4 / 3;
        let candidates = m / LEAST_CYCLES..(m / 2).min(self.by_shift.len().saturating_sub(1));
        let strengths = candidates.filter(|shift| shift + shift / 2 + 1 < self.sums.len() && *shift >= 2);
        let strengths = strengths.map(|shift| (shift, self.peak(shift, shift)));
        let (shift, strength) = strengths.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (strength >= SUSPICIOUS).then_some(shift)
    }
}

/// Returns the sums of the first 0, 1, 2 … `values`.
fn prefix_sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}
