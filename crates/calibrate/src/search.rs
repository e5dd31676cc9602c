//! The descent over constants, and the steps over counts.
//!
//! Residuals are relative errors in units of their quantity's tolerance and of the prediction's own noise. A weak pull
//! towards the start (a factor of seven, or one of two of a count, is as bad as an error of the tolerance) keeps in
//! place what no measurement moves. Slopes are finite differences, one prediction for each constant; those within the
//! noise count as none.

use crate::algebra::solve;
use crate::counts::Counts;
use crate::measurement::Measurement;
use crate::predict::Workloads;
use crate::start::{Field, Settings, Start, StartError};
use flashlane_base::Seed;
use flashlane_sim::config::DriveConfig;
use flashlane_sweep::in_parallel;

/// Standard deviation of the pull towards the start, as a logarithm.
const PULL: f64 = 2.0;
/// Pull of counts: the cost of a factor of two.
const COUNTS_PULL: f64 = 1.0;
/// Distances of finite differences, as logarithms: where none of the steps that one leads to is better, the next is
/// tried.
pub(crate) const DISTANCES: [f64; 3] = [0.2, -0.1, 0.05];
/// A slope within this number of standard deviations of noise counts as none.
const SIGNIFICANT: f64 = 1.0;
/// Longest step of a constant, as a logarithm: a factor of three.
const LONGEST_STEP: f64 = 1.1;
/// Dampings of a descent: the first, the last, and the factors after a step and after none.
const DAMPING: f64 = 0.1;
const MOST_DAMPING: f64 = 100.0;
const LESS_DAMPING: f64 = 4.0;
const MORE_DAMPING: f64 = 8.0;
/// A step that lowers the cost by less is the last.
const LEAST_GAIN: f64 = 0.01;
/// Steps of a descent, and of those by which counts are compared first.
pub(crate) const STEPS: usize = 24;
const FIRST_STEPS: usize = 3;
/// Counts that go on after those.
const FINALISTS: usize = 3;
/// Other counts have to lower the cost by two standard deviations, squared, if the best fit's errors are chance, and by
/// half at most: they are no cure for small errors.
const COUNTS_GAIN: f64 = 4.0;

/// Seed of all predictions but those that measure noise, and the number of these.
const SEED: Seed = Seed(0);
const NOISE_SEEDS: u64 = 4;
/// More requests of a noisy workload, at most, as a factor.
const MOST_REQUESTS: f64 = 4.0;

/// What is fitted to what.
#[derive(Clone)]
pub(crate) struct Search<'a> {
    pub(crate) start: &'a Start,
    pub(crate) rows: &'a [Measurement],
    pub(crate) fields: Vec<&'static Field>,
    /// Whether a workload depends on a constant: by constant, then by workload.
    pub(crate) depends: Vec<Vec<bool>>,
    pub(crate) workloads: Workloads,
    pub(crate) kept_back: &'a [bool],
    /// The relative deviation of each prediction, from its limited number of requests.
    pub(crate) noise: Vec<f64>,
}

/// The predictions of one profile.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) counts: Counts,
    /// The coordinate of each constant.
    pub(crate) at: Vec<f64>,
    /// The prediction of each measurement.
    pub(crate) predicted: Vec<f64>,
    cost: f64,
}

/// The change of each prediction's logarithm with each constant: by constant, then by measurement.
pub(crate) type Slopes = Vec<Vec<f64>>;

/// Where a descent ended, with the number of profiles that were predicted on it.
pub(crate) struct Descent {
    pub(crate) place: Place,
    pub(crate) tried: u64,
}

impl Search<'_> {
    /// The constants of the start profile.
    pub(crate) fn origin(&self) -> Vec<f64> {
        let coordinate = |field: &&Field| {
            let value = field.value_in(self.start.config()).expect("only fields with a value are fitted");
            field.coordinate(value)
        };
        self.fields.iter().map(coordinate).collect()
    }

    /// Finds which workloads depend on which constants, drops the constants on which no fitted measurement depends, and
    /// returns the number of profiles tried.
    pub(crate) fn keep_used_fields(&mut self, counts: &Counts, jobs: usize) -> Result<u64, StartError> {
        self.depends = vec![vec![true; self.workloads.len()]; self.fields.len()];
        let slopes = self.slopes(&self.predict(counts, &self.origin())?, DISTANCES[0], jobs)?;
        let (mut fields, mut depends) = (Vec::new(), Vec::new());
        for (field, slopes) in self.fields.iter().zip(&slopes) {
            if (0..self.rows.len()).any(|row| slopes[row] != 0.0 && !self.kept_back[row]) {
                let changes: Vec<f64> = slopes.iter().map(|slope| slope.abs()).collect();
                fields.push(*field);
                depends.push(self.workloads.largest(&changes).iter().map(|change| *change > 0.0).collect());
            }
        }
        (self.fields, self.depends) = (fields, depends);
        Ok(1 + slopes.len() as u64)
    }

    fn config(&self, counts: &Counts, at: &[f64]) -> Result<DriveConfig, StartError> {
        let mut settings: Settings = counts.settings();
        let values = self.fields.iter().zip(at);
        settings.extend(values.map(|(field, &x)| (field.key.to_owned(), field.written(field.value(x)))));
        self.start.small(settings)
    }

    pub(crate) fn predict(&self, counts: &Counts, at: &[f64]) -> Result<Place, StartError> {
        let predicted = self.workloads.predict(self.rows, &self.config(counts, at)?, SEED)?;
        let pull: f64 = at.iter().zip(self.origin()).map(|(x, origin)| ((x - origin) / PULL).powi(2)).sum();
        let doublings = f64::from(counts.doublings_from(&Counts::of(self.start)));
        let cost = self.errors(&predicted) + pull + COUNTS_PULL * doublings;
        Ok(Place { counts: counts.clone(), at: at.to_vec(), predicted, cost })
    }

    /// Measures the noise of predictions at a place, their deviation over several seeds, and returns the number of
    /// profiles tried.
    pub(crate) fn measure_noise(
        &mut self,
        counts: &Counts,
        at: &[f64],
        jobs: usize,
    ) -> Result<u64, StartError> {
        let config = self.config(counts, at)?;
        let predict = |seed| self.workloads.predict(self.rows, &config, Seed(seed));
        let predicted = in_parallel(jobs, (0..NOISE_SEEDS).collect(), predict);
        let predicted = predicted.into_iter().collect::<Result<Vec<_>, _>>()?;
        let deviation = |row: usize| {
            let logarithms = || predicted.iter().map(|predicted| predicted[row].ln());
            let mean = logarithms().sum::<f64>() / NOISE_SEEDS as f64;
            let squares: f64 = logarithms().map(|logarithm| (logarithm - mean).powi(2)).sum();
            (squares / (NOISE_SEEDS - 1) as f64).sqrt()
        };
        self.noise = (0..self.rows.len()).map(deviation).collect();
        Ok(NOISE_SEEDS)
    }

    /// Gives workloads whose noise is above the tolerance more requests, up to a limit: many in flight are spread over
    /// the dies anew by few of them.
    pub(crate) fn lengthen(&mut self) {
        let excess = self.noise.iter().zip(self.rows).map(|(noise, row)| noise / row.quantity.tolerance());
        let excess = self.workloads.largest(&excess.collect::<Vec<f64>>());
        let factors: Vec<f64> =
            excess.iter().map(|excess| (excess * excess).clamp(1.0, MOST_REQUESTS)).collect();
        self.scale(&factors);
    }

    /// Changes the number of requests of each workload by a factor, and with it the noise.
    pub(crate) fn scale(&mut self, factors: &[f64]) {
        let before = self.workloads.clone();
        self.workloads = before.scaled(factors);
        for (row, noise) in self.noise.iter_mut().enumerate() {
            *noise *= (before.requests_of(row) / self.workloads.requests_of(row)).sqrt();
        }
    }

    /// The same for all workloads.
    pub(crate) fn scale_all(&mut self, factor: f64) {
        self.scale(&vec![factor; self.workloads.len()]);
    }

    /// The weight of a measurement: the inverse of its tolerance and noise, and zero where it is kept back.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        let deviation = self.rows[row].quantity.tolerance().hypot(self.noise[row]);
        if self.kept_back[row] { 0.0 } else { 1.0 / deviation }
    }

    fn residuals(&self, predicted: &[f64]) -> Vec<f64> {
        let residual = |row: usize| (predicted[row] / self.rows[row].value).ln() * self.weight(row);
        (0..self.rows.len()).map(residual).collect()
    }

    /// The sum of squared residuals.
    pub(crate) fn errors(&self, predicted: &[f64]) -> f64 {
        self.residuals(predicted).iter().map(|error| error * error).sum()
    }

    /// How much a fitted measurement adds to a cost or sum of squared residuals; 1 where that is what chance adds, or
    /// less.
    pub(crate) fn misfit(&self, sum: f64) -> f64 {
        let fitted = self.kept_back.iter().filter(|&&kept| !kept).count();
        (sum / fitted.max(1) as f64).max(1.0)
    }

    /// Measures slopes at a place.
    pub(crate) fn slopes(&self, base: &Place, distance: f64, jobs: usize) -> Result<Slopes, StartError> {
        let slope = |index: usize| {
            let mut at = base.at.clone();
            at[index] += distance;
            let config = self.config(&base.counts, &at)?;
            let (depends, before) = (&self.depends[index], &base.predicted);
            let beside = self.workloads.predict_changed(self.rows, &config, SEED, depends, before)?;
            let slope = |row: usize| {
                let changed = (beside[row] / before[row]).ln();
                // Both predictions have noise.
                let is_noise = changed.abs() <= SIGNIFICANT * std::f64::consts::SQRT_2 * self.noise[row];
                if is_noise { 0.0 } else { changed / distance }
            };
            Ok((0..self.rows.len()).map(slope).collect())
        };
        in_parallel(jobs, (0..base.at.len()).collect(), slope).into_iter().collect()
    }

    /// Levenberg and Marquardt's descent from a place, of no more than this number of steps.
    pub(crate) fn descend(&self, from: Descent, steps: usize, jobs: usize) -> Result<Descent, StartError> {
        let Descent { mut place, mut tried } = from;
        let mut distances = DISTANCES.into_iter();
        let (mut distance, mut damping) = (distances.next(), DAMPING);
        for _ in 0..steps {
            let Some(at_distance) = distance else { break };
            let slopes = self.slopes(&place, at_distance, jobs)?;
            tried += slopes.len() as u64;
            let cost = place.cost;
            while place.cost >= cost && damping <= MOST_DAMPING {
                let at = self.step(&place, &slopes, damping);
                tried += 1;
                // A profile that is refused, as where two constants do not fit together, is no better.
                match self.predict(&place.counts, &at) {
                    Ok(next) if next.cost < cost => (place, damping) = (next, damping / LESS_DAMPING),
                    _ => damping *= MORE_DAMPING,
                }
            }
            if place.cost > cost * (1.0 - LEAST_GAIN) {
                (distance, damping) = (distances.next(), DAMPING);
            }
        }
        Ok(Descent { place, tried })
    }

    /// The place to which a damped step leads.
    fn step(&self, base: &Place, slopes: &Slopes, damping: f64) -> Vec<f64> {
        let mut matrix = self.information(slopes);
        let (residuals, origin) = (self.residuals(&base.predicted), self.origin());
        let mut right: Vec<f64> = (0..base.at.len())
            .map(|index| {
                let errors = residuals.iter().enumerate();
                let errors: f64 =
                    errors.map(|(row, error)| slopes[index][row] * self.weight(row) * error).sum();
                -(errors + (base.at[index] - origin[index]) / (PULL * PULL))
            })
            .collect();
        for (index, row) in matrix.iter_mut().enumerate() {
            row[index] += damping * row[index].max(1.0);
        }
        solve(&mut matrix, &mut right);
        // None beyond what is allowed.
        let moved = |(field, (x, step)): (&&Field, (&f64, &f64))| {
            field.coordinate(field.value(x + step.clamp(-LONGEST_STEP, LONGEST_STEP)))
        };
        self.fields.iter().zip(base.at.iter().zip(&right)).map(moved).collect()
    }

    /// What measurements and pull say of the constants: the inverse of their covariance.
    pub(crate) fn information(&self, slopes: &Slopes) -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| {
            let terms =
                (0..self.rows.len()).map(|row| slopes[i][row] * slopes[j][row] * self.weight(row).powi(2));
            terms.sum::<f64>() + if i == j { 1.0 / (PULL * PULL) } else { 0.0 }
        };
        (0..slopes.len()).map(|i| (0..slopes.len()).map(|j| entry(i, j)).collect()).collect()
    }

    /// Goes to other counts while that pays: those near the best descend a few steps by `coarse` predictions, of fewer
    /// requests, and the best of them as far as they go; at last the switch is tried. Each descends from the start
    /// profile's constants, as those that fitted other counts are far off. Counts change together, since half the
    /// planes with twice the packages are as many, and each alone is worse.
    pub(crate) fn counts(&self, coarse: &Self, from: Descent, jobs: usize) -> Descent {
        let mut best = from;
        let mut known = vec![best.place.counts.clone()];
        loop {
            let mut near = best.place.counts.near();
            near.retain(|counts| !known.contains(counts));
            known.extend(near.iter().cloned());
            let from = near.into_iter().map(|counts| (counts, coarse.origin())).collect();
            let mut found = coarse.descents(from, FIRST_STEPS, &mut best.tried, jobs);
            found.truncate(FINALISTS);
            let before = best.place.counts.clone();
            let from = found.into_iter().map(|place| (place.counts, place.at)).collect();
            best = self.better(best, from, jobs);
            if best.place.counts == before {
                break;
            }
        }
        let switched = (best.place.counts.switched(), self.origin());
        self.better(best, vec![switched], jobs)
    }

    /// Descends from each of these counts and constants, and returns the ends, the best first. Some counts make no
    /// drive, as where a stripe does not fit.
    fn descents(
        &self,
        from: Vec<(Counts, Vec<f64>)>,
        steps: usize,
        tried: &mut u64,
        jobs: usize,
    ) -> Vec<Place> {
        let descend = |(counts, at): (Counts, Vec<f64>)| {
            let place = self.predict(&counts, &at).ok()?;
            self.descend(Descent { place, tried: 1 }, steps, 1).ok()
        };
        let found: Vec<Descent> = in_parallel(jobs, from, descend).into_iter().flatten().collect();
        *tried += found.iter().map(|descent| descent.tried).sum::<u64>();
        let mut found: Vec<Place> = found.into_iter().map(|descent| descent.place).collect();
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        found
    }

    /// The best of the ends that are reached from there, if it is better by enough to change counts; otherwise `best`.
    fn better(&self, mut best: Descent, from: Vec<(Counts, Vec<f64>)>, jobs: usize) -> Descent {
        let enough =
            best.place.cost - (COUNTS_GAIN * self.misfit(best.place.cost)).min(best.place.cost / 2.0);
        let found = self.descents(from, STEPS, &mut best.tried, jobs);
        match found.into_iter().next() {
            Some(place) if place.cost < enough => Descent { place, tried: best.tried },
            _ => best,
        }
    }

    /// The constants of the start profile with these counts.
    pub(crate) fn begin(&self, counts: &Counts) -> Result<Descent, StartError> {
        Ok(Descent { place: self.predict(counts, &self.origin())?, tried: 1 })
    }
}
