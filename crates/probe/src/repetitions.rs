//! Repeats experiments: in random order, and as often as effort, the drive's noise and a real device's time allow.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::options::Effort;
use crate::pattern::{Point, point};
use flashlane_workload::Access;

/// Spread of a single read's latency, relative to the latency, for which the usual number of repetitions suffices.
const QUIET: f64 = 0.02;
/// Largest factor for noisier drives.
const FACTOR_MAX: f64 = 8.0;

/// The number of repetitions of an experiment.
pub(crate) struct Repetitions {
    effort: Effort,
    /// Multiplies the repetitions that a quiet drive needs.
    factor: usize,
    /// Latency of a read in microseconds, on a device whose time is real.
    read_us: Option<f64>,
}

impl Repetitions {
    /// Repetitions for a quiet drive.
    pub(crate) fn new(effort: Effort) -> Self {
        Self { effort, factor: 1, read_us: None }
    }

    /// Repetitions for a drive whose noise could not be measured in time.
    pub(crate) fn most(effort: Effort, bench: &Bench<'_>) -> Self {
        Self { effort, factor: FACTOR_MAX as usize, read_us: bench.is_real().then_some(f64::INFINITY) }
    }

    /// Measures the noise of reads. The factor is the square of the noise relative to [`QUIET`], since the error of a
    /// mean falls with the root of the number of repetitions.
    pub(crate) fn measure(effort: Effort, bench: &mut Bench<'_>, area: Area) -> Result<Self, EarlyEnd> {
        let sector = bench.sector_bytes();
        let mut times = Vec::new();
        for _ in 0..200 {
            let at = area.offset_bytes + bench.random().below(area.length_bytes / sector) * sector;
            times.push(bench.one(Access::read(at, sector))?.as_us_f64());
        }
        let latency = point(&mut times);
        let spread = latency.error * (times.len() as f64).sqrt() / latency.value;
        let factor = (spread / QUIET).powi(2).clamp(1.0, FACTOR_MAX).round() as usize;
        Ok(Self { effort, factor, read_us: bench.is_real().then_some(latency.value) })
    }

    /// Returns the repetitions of an experiment that usually takes `usual`.
    pub(crate) fn of(&self, usual: usize) -> usize {
        self.effort.repetitions(usual) * self.factor
    }

    /// Returns the repetitions of an experiment that ends as soon as it is decided: those for a quiet drive, and where
    /// there is noise, those of [`Repetitions::of`]. What is looked for may be many times the noise.
    pub(crate) fn rising(&self, usual: usize) -> Vec<usize> {
        self.rising_to(self.of(usual), usual)
    }

    /// Like [`Repetitions::rising`], with `most` as the last.
    pub(crate) fn rising_to(&self, most: usize, usual: usize) -> Vec<usize> {
        let quiet = self.effort.repetitions(usual);
        if quiet < most { vec![quiet, most] } else { vec![most] }
    }

    /// Returns the repetitions of an experiment over `places` places, limited to a few seconds of real time: a drive
    /// without structure would otherwise take minutes.
    pub(crate) fn of_places(&self, usual: usize, places: usize) -> usize {
        let seconds = match self.effort {
            Effort::Quick => 1.5,
            Effort::Normal => 4.0,
            Effort::Full => 60.0,
        };
        let within = self.read_us.map_or(f64::INFINITY, |us| seconds * 1e6 / (places as f64 * us));
        self.of(usual).min((within as usize).max(self.effort.repetitions(8)))
    }
}

/// Measures places `0..count` in random order, `repetitions` times, and summarizes each.
pub(crate) fn repeat(
    bench: &mut Bench<'_>,
    count: usize,
    repetitions: usize,
    measure: impl FnMut(&mut Bench<'_>, usize) -> Result<f64, EarlyEnd>,
) -> Result<Vec<Point>, EarlyEnd> {
    let mut all = samples(bench, count, repetitions, measure)?;
    Ok(all.iter_mut().map(|repetitions| point(repetitions)).collect())
}

/// Measures places `0..count` in random order, `repetitions` times.
pub(crate) fn samples(
    bench: &mut Bench<'_>,
    count: usize,
    repetitions: usize,
    mut measure: impl FnMut(&mut Bench<'_>, usize) -> Result<f64, EarlyEnd>,
) -> Result<Vec<Vec<f64>>, EarlyEnd> {
    let mut all = vec![Vec::with_capacity(repetitions); count];
    let mut order: Vec<usize> = (0..count).collect();
    for _ in 0..repetitions {
        // A random order spreads slow drifts of the drive or the machine evenly over the places.
        bench.random().shuffle(&mut order);
        for &k in &order {
            all[k].push(measure(bench, k)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_rise_only_where_there_is_noise() {
        let of = |factor| Repetitions { effort: Effort::Normal, factor, read_us: None }.rising(16);
        assert_eq!([of(1), of(3)], [vec![16], vec![16, 48]]);
    }
}
