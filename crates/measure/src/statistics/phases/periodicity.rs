//! Whether response times come round again, and after how many I/Os.
//!
//! A period is a shift at which the series is more like itself than at the shifts around it, and at twice and three
//! times of which it is nearly as much so. The second is what tells a period from a mean distance: where expensive I/Os
//! come after about so many others, give or take, the shifted series part more with every round, as the square root of
//! their number, until nothing is left of the likeness.
//!
//! "Nearly as much" has to allow for a period that is kept to within a few percent. So the series is looked at as
//! it is and, where that shows nothing, in blocks of 2, 4, 8 … I/Os, at shifts of 16 to 32 blocks.
//!
//! Response times are compared by their logarithms: they lie between microseconds and seconds.
//!
//! Cost: that of the correlation, twice over all block lengths.

use super::correlation::correlation;

/// A rhythm that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rhythm {
    /// I/Os from one occurrence to the next, on average.
    pub(super) period: f64,
    /// The I/Os of a block in which it was seen.
    pub(super) block: usize,
    /// The share of the variation that comes round again.
    pub(super) strength: f64,
    /// Of that, the share that still does so two periods later.
    pub(super) coherence: f64,
}

/// What came of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Search {
    /// A period.
    Found(Rhythm),
    /// None.
    Nothing,
    /// Something seems to come round, after so many I/Os, but the run holds too few rounds of it to tell.
    TooShort(usize),
}

/// The run must hold so many periods.
pub(super) const LEAST_CYCLES: usize = 5;
/// Less than this share of the variation is no period that anybody would care for.
const WEAKEST: f64 = 0.1;
/// Standard errors above nothing.
const CLEARLY: f64 = 4.0;
/// So many expensive I/Os at least must be followed by another just one period later.
const LEAST_PAIRS: f64 = 6.0;
/// What must be left of the likeness two periods later. A distance that is kept only on average leaves less than
/// 1/sqrt(3) of it.
const COHERENT: f64 = 0.7;
/// Of several shifts the least is taken that is so nearly as strong as the strongest: the others are its multiples.
const AS_STRONG: f64 = 0.9;
/// The shifts that are looked at in blocks, in blocks.
const SHIFTS: (usize, usize) = (16, 32);
/// A likeness that is too long to be followed is worth a doubt from here on.
const SUSPICIOUS: f64 = 0.5;

/// Looks for a period in `logs`, logarithms of response times.
pub(super) fn find(logs: &[f64]) -> Search {
    let mut blocks = logs.to_vec();
    let mut block = 1;
    let mut suspicion = None;
    while blocks.len() >= LEAST_CYCLES * SHIFTS.0 {
        let likeness = Likeness::new(&blocks);
        let most = blocks.len() / LEAST_CYCLES;
        let (least, most) = if block == 1 { (2, most) } else { (SHIFTS.0, most.min(SHIFTS.1)) };
        if let Some(shift) = likeness.best(least, most) {
            let (strength, coherence) = likeness.judge(shift);
            let period = likeness.refine(shift) * block as f64;
            return Search::Found(Rhythm { period, block, strength, coherence });
        }
        suspicion = suspicion.or_else(|| likeness.suspicion().map(|shift| shift * block));
        blocks = blocks.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        block *= 2;
    }
    suspicion.map_or(Search::Nothing, Search::TooShort)
}

/// The likeness of a series to itself, by shift.
struct Likeness {
    by_shift: Vec<f64>,
    /// Sums of `by_shift` up to each shift.
    sums: Vec<f64>,
    /// Sums of the squares up to each shift.
    squares: Vec<f64>,
    /// How many values of the series its variation is made of: few where few are far from the others.
    values: f64,
}

impl Likeness {
    fn new(series: &[f64]) -> Self {
        let (by_shift, values) = correlation(series);
        let squares: Vec<f64> = by_shift.iter().map(|r| r * r).collect();
        Self { sums: up_to(&by_shift), squares: up_to(&squares), by_shift, values }
    }

    /// Less than this may be chance at `shift`: the standard error of a correlation where the series is as much like
    /// itself around it as up to half of it (Bartlett), and a few values that happen to be so far apart.
    fn floor(&self, shift: usize) -> f64 {
        let neighbours = 2.0 * self.squares[shift / 2 + 1] - 1.0;
        let series = self.by_shift.len() as f64 * 4.0 / 3.0;
        WEAKEST.max(CLEARLY * (neighbours / series).sqrt()).max(LEAST_PAIRS / self.values)
    }

    /// How much more alike the series is at `shift` than on average over one `period` around it: what only drifts
    /// or comes in stretches is as much alike there.
    fn peak(&self, shift: usize, period: usize) -> f64 {
        let (from, to) = (shift - period / 2, shift + period / 2);
        let mut sum = self.sums[to + 1] - self.sums[from];
        if period.is_multiple_of(2) {
            // Both ends are the same place of the period.
            sum -= (self.by_shift[from] + self.by_shift[to]) / 2.0;
        }
        self.by_shift[shift] - sum / period as f64
    }

    /// The strength of a period of `shift`, and its coherence.
    fn judge(&self, shift: usize) -> (f64, f64) {
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
                let (strength, coherence) = self.judge(shift);
                (strength >= self.floor(shift) && coherence >= COHERENT).then_some((shift, strength))
            })
            .collect();
        let strongest = accepted.iter().map(|&(_, strength)| strength).reduce(f64::max)?;
        let (first, _) = *accepted.iter().find(|(_, strength)| *strength >= AS_STRONG * strongest)?;
        // The top of a broad peak may have noise on its slope.
        let near = accepted.iter().filter(|(shift, _)| *shift <= first + first / 4);
        near.max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(shift, _)| shift)
    }

    /// The mean distance, from as many rounds later as the likeness lasts.
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

    /// A shift beyond those of which enough rounds are there, at which the series is very much alike.
    fn suspicion(&self) -> Option<usize> {
        let m = self.by_shift.len() * 4 / 3;
        let candidates = m / LEAST_CYCLES..(m / 2).min(self.by_shift.len().saturating_sub(1));
        let strengths = candidates.filter(|shift| shift + shift / 2 + 1 < self.sums.len() && *shift >= 2);
        let strengths = strengths.map(|shift| (shift, self.peak(shift, shift)));
        let (shift, strength) = strengths.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (strength >= SUSPICIOUS).then_some(shift)
    }
}

/// The sums of the first none, one, two … `values`.
fn up_to(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}
