//! Finds where a known period sets in, by extrapolating it back to the beginning of the run.
//!
//! Where one I/O in a thousand is expensive on average, three thousand cheap ones are not unusual; where *every*
//! thousandth is, they are a start-up. The mean period of the running phase is laid over the run, round by round, each
//! round beginning with the first expensive I/O after the longest cheap stretch; the start-up is the rounds that do not
//! fit the mean one.
//!
//! Cost: two passes.

use super::periodicity::Rhythm;

/// Rounds averaged to the mean round: few enough that a slightly irregular period stays in phase.
const ROUNDS: f64 = 256.0;
/// The probability that it sets in late by chance must be below exp(-CLEARLY).
const CLEARLY: f64 = 7.0;

/// Returns the first I/O of the rhythm; `None` where it is there from the first round on. From I/O `settled` on it is
/// known to be there.
pub(super) fn sets_in(logs: &[f64], rhythm: &Rhythm, settled: usize) -> Option<usize> {
    let blocks: Vec<f64> =
        logs.chunks_exact(rhythm.block).map(|block| block.iter().sum::<f64>() / block.len() as f64).collect();
    let round = Round::new(&blocks, rhythm.period / rhythm.block as f64, settled / rhythm.block);
    let fits: Vec<f64> = round.fits(&blocks);
    // Variance of the rounds in the later half, which is the running phase.
    let later = &fits[fits.len() / 2..];
    let spread = later.iter().map(|fit| (fit - 1.0).powi(2)).sum::<f64>() / later.len().max(1) as f64;
    let (mut sum, mut lowest, mut first) = (0.0, 0.0, 0);
    for (i, fit) in fits[..fits.len() / 2].iter().enumerate() {
        sum += fit - 0.5;
        if sum < lowest {
            (lowest, first) = (sum, i + 1);
        }
    }
    // A random walk with steps of mean 1/2 and this variance goes this low with probability exp(-depth / spread).
    if -lowest < (CLEARLY * spread).max(0.25) {
        return None;
    }
    let block = round.start(first)?;
    Some(if rhythm.block == 1 { block } else { first_expensive(logs, block * rhythm.block, rhythm.block) })
}

/// The mean round.
struct Round {
    period: f64,
    /// Mean of each position in the round, less the overall mean.
    shape: Vec<f64>,
    /// Start of the first round, in blocks.
    begins: f64,
}

impl Round {
    fn new(blocks: &[f64], period: f64, settled: usize) -> Self {
        let places = (period.round() as usize).max(2);
        let end = ((settled as f64 + ROUNDS * period) as usize).min(blocks.len());
        let (mut sums, mut counts) = (vec![0.0; places], vec![0_u32; places]);
        for (i, value) in blocks.iter().enumerate().take(end).skip(settled) {
            let place = place(i, period, places);
            sums[place] += value;
            counts[place] += 1;
        }
        let shape: Vec<f64> =
            sums.iter().zip(&counts).map(|(sum, &count)| sum / f64::from(count.max(1))).collect();
        let mean = shape.iter().sum::<f64>() / places as f64;
        let begins = after_longest_cheap(&shape) as f64 * period / places as f64;
        Self { period, shape: shape.iter().map(|value| value - mean).collect(), begins }
    }

    /// Returns the first block of round `round`.
    fn start(&self, round: usize) -> Option<usize> {
        let start = round as f64 * self.period + self.begins;
        // Tolerates whole numbers that rounding errors have raised.
        start.is_finite().then(|| (start - 1e-6).ceil() as usize)
    }

    /// Returns how well each round fits: 1 where it equals the mean round, 0 where it is flat.
    fn fits(&self, blocks: &[f64]) -> Vec<f64> {
        let full: f64 = self.shape.iter().map(|value| value * value).sum();
        let bounds = (0..).map_while(|round| self.start(round).filter(|&start| start < blocks.len()));
        let starts: Vec<usize> = bounds.collect();
        let fit = |bounds: &[usize]| {
            let products = (bounds[0]..bounds[1])
                .map(|i| blocks[i] * self.shape[place(i, self.period, self.shape.len())]);
            products.sum::<f64>() / full
        };
        starts.windows(2).map(fit).collect()
    }
}

/// Returns the position of a block in its round.
#[inline]
fn place(block: usize, period: f64, places: usize) -> usize {
    ((block as f64 % period * places as f64 / period) as usize).min(places - 1)
}

/// Returns the first expensive position after the longest cyclic stretch of cheap ones.
fn after_longest_cheap(shape: &[f64]) -> usize {
    let highest = shape.iter().copied().fold(f64::MIN, f64::max);
    let lowest = shape.iter().copied().fold(f64::MAX, f64::min);
    let expensive = |place: usize| shape[place % shape.len()] > (highest + lowest) / 2.0;
    let (mut run, mut longest, mut after) = (0, 0, 0);
    for place in 0..2 * shape.len() {
        if expensive(place) {
            if run > longest {
                (longest, after) = (run, place % shape.len());
            }
            run = 0;
        } else {
            run += 1;
        }
    }
    after
}

/// Returns the first expensive I/O in the block at `from` or a neighbouring one.
fn first_expensive(logs: &[f64], from: usize, block: usize) -> usize {
    let start = from.saturating_sub(block);
    let near = &logs[start..(from + 2 * block).min(logs.len())];
    let highest = near.iter().copied().fold(f64::MIN, f64::max);
    let lowest = near.iter().copied().fold(f64::MAX, f64::min);
    start + near.iter().position(|log| *log > (highest + lowest) / 2.0).unwrap_or(block.min(from))
}
