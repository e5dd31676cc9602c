//! The search: constants by least squares, counts in steps.
//!
//! Residuals are relative errors in units of their quantity's tolerance. A weak pull towards the start (a factor of four is
//! as bad as an error of the tolerance) keeps constants in place that no measurement moves; how much of it is left at the
//! end says what the measurements are worth.

use crate::measurement::{Measurement, contradictions};
use crate::predict::Workloads;
use crate::start::{FIELDS, Field, Settings, Start, StartError};
use flashlane_sweep::in_parallel;

/// How a search goes about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Predictions at a time.
    pub jobs: usize,
    /// Requests of a prediction.
    pub requests: u64,
    /// Whether counts of channels and packages, and the cache mode, are fitted too.
    pub counts: bool,
    /// One of this number of measurements is kept back, where there are twice as many; zero keeps none.
    pub keep_back: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { jobs: 1, requests: 8_000, counts: true, keep_back: 5 }
    }
}

/// A constant of the twin.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its field of the profile.
    pub key: String,
    /// In the start profile.
    pub start: String,
    /// In the twin.
    pub value: String,
    /// Standard error, as a share of the value; `None` where no measurement depends on it.
    pub error: Option<f64>,
    /// The measurements that fix it, the most telling first.
    pub fixed_by: Vec<String>,
}

/// The twin and how well it predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The settings that differ from the start, counts first.
    pub counts: Vec<(String, String)>,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The prediction of each measurement, in its unit.
    pub predicted: Vec<f64>,
    /// Whether each measurement was kept back.
    pub kept_back: Vec<bool>,
    /// Measurements that contradict each other.
    pub contradictions: Vec<String>,
    /// Profiles that were tried.
    pub tried: u64,
}

/// Standard deviation of the pull towards the start, as a logarithm.
const PULL: f64 = 1.4;
/// Distance of finite differences, as a logarithm.
const STEP: f64 = 0.05;
/// Iterations of the last search and of those that compare counts.
const ITERATIONS: usize = 8;
const ITERATIONS_OF_COUNTS: usize = 3;
/// A constant whose value is known no better than this is left open.
pub(crate) const OPEN: f64 = 0.3;

/// Fits a profile to measurements.
///
/// # Errors
/// [`StartError`] where the profile makes no drive for the workloads.
pub fn calibrate(start: &Start, rows: &[Measurement], options: &Options) -> Result<Fit, StartError> {
    let keeps = options.keep_back > 0 && rows.len() >= 2 * options.keep_back;
    let kept_back: Vec<bool> =
        (0..rows.len()).map(|at| keeps && at % options.keep_back == options.keep_back - 1).collect();
    let fields: Vec<&Field> =
        FIELDS.iter().filter(|field| field.value_in(start.config()).is_some()).collect();
    let workloads = Workloads::of(rows, options.requests);
    let mut search = Search { start, rows, fields, workloads, kept_back, tried: 0 };
    let origin = search.origin();
    let mut best = search.descend(&Counts::of(start), origin.clone(), ITERATIONS_OF_COUNTS, options.jobs)?;
    if options.counts {
        best = search.counts(best, options.jobs)?;
    }
    let best = search.descend(&best.counts, best.at, ITERATIONS, options.jobs)?;
    let constants = search.constants(&best, options.jobs)?;
    Ok(Fit {
        counts: best.counts.settings(),
        constants,
        predicted: best.predicted,
        kept_back: search.kept_back,
        contradictions: contradictions(rows),
        tried: search.tried,
    })
}

/// What is fitted in steps.
#[derive(Clone, Debug, PartialEq)]
struct Counts {
    channels: u32,
    packages: u32,
    cache_mode: bool,
}

impl Counts {
    fn of(start: &Start) -> Self {
        let flash = &start.config().flash;
        Self { channels: flash.channels, packages: flash.packages, cache_mode: flash.cache_mode }
    }

    /// One step away.
    fn neighbours(&self) -> Vec<Self> {
        let scaled = |count: u32| [count / 2, count * 2].into_iter().filter(|count| (1..=64).contains(count));
        let mut all: Vec<Self> = scaled(self.channels).map(|channels| Self { channels, ..*self }).collect();
        all.extend(scaled(self.packages).map(|packages| Self { packages, ..*self }));
        all.push(Self { cache_mode: !self.cache_mode, ..*self });
        all
    }

    fn settings(&self) -> Settings {
        [
            ("flash.channels", self.channels.to_string()),
            ("flash.packages", self.packages.to_string()),
            ("flash.cache_mode", self.cache_mode.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}

/// A place in the search.
#[derive(Clone, Debug)]
struct Place {
    counts: Counts,
    /// By constant.
    at: Vec<f64>,
    predicted: Vec<f64>,
    cost: f64,
}

struct Search<'a> {
    start: &'a Start,
    rows: &'a [Measurement],
    fields: Vec<&'static Field>,
    workloads: Workloads,
    kept_back: Vec<bool>,
    tried: u64,
}

impl Search<'_> {
    fn origin(&self) -> Vec<f64> {
        let coordinate = |field: &&Field| {
            let value = field.value_in(self.start.config()).expect("only fields with a value are fitted");
            field.coordinate(value)
        };
        self.fields.iter().map(coordinate).collect()
    }

    fn settings(&self, counts: &Counts, at: &[f64]) -> Settings {
        let mut settings = counts.settings();
        // The capacity follows the flash in a small drive, and stays in the twin.
        let values = self.fields.iter().zip(at);
        settings.extend(values.map(|(field, &x)| (field.key.to_owned(), field.written(field.value(x)))));
        settings
    }

    fn predict(&self, counts: &Counts, at: &[f64]) -> Result<Place, StartError> {
        let mut settings = self.settings(counts, at);
        let flash = &self.start.config().flash;
        let dies = |channels: u32, packages: u32| u64::from(channels) * u64::from(packages);
        let (now, before) = (dies(counts.channels, counts.packages), dies(flash.channels, flash.packages));
        // As many blocks in all.
        let blocks = (u64::from(flash.blocks) * before).div_ceil(now);
        settings.push(("flash.blocks".into(), blocks.to_string()));
        let config = self.start.small(&settings)?;
        let predicted = self.workloads.predict(self.rows, &config)?;
        let cost = self.cost(&predicted, at);
        Ok(Place { counts: counts.clone(), at: at.to_vec(), predicted, cost })
    }

    /// Relative errors in units of their tolerance; zero for measurements that are kept back.
    fn residuals(&self, predicted: &[f64]) -> Vec<f64> {
        let residual = |((row, &predicted), &kept): ((&Measurement, &f64), &bool)| {
            let error = (predicted / row.value).ln() / row.quantity.tolerance();
            if kept { 0.0 } else { error }
        };
        self.rows.iter().zip(predicted).zip(&self.kept_back).map(residual).collect()
    }

    fn cost(&self, predicted: &[f64], at: &[f64]) -> f64 {
        let errors: f64 = self.residuals(predicted).iter().map(|error| error * error).sum();
        let pull: f64 = at.iter().zip(self.origin()).map(|(x, origin)| ((x - origin) / PULL).powi(2)).sum();
        errors + pull
    }

    /// Predicts several places.
    fn predict_all(
        &mut self,
        places: Vec<(Counts, Vec<f64>)>,
        jobs: usize,
    ) -> Result<Vec<Place>, StartError> {
        self.tried += places.len() as u64;
        let this = &*self;
        in_parallel(jobs, places, |(counts, at)| this.predict(&counts, &at)).into_iter().collect()
    }

    /// The change of every prediction's logarithm with each constant, by constant.
    fn slopes(&mut self, base: &Place, jobs: usize) -> Result<Vec<Vec<f64>>, StartError> {
        let beside = |index: usize| {
            let mut at = base.at.clone();
            at[index] += STEP;
            (base.counts.clone(), at)
        };
        let beside = self.predict_all((0..base.at.len()).map(beside).collect(), jobs)?;
        let slopes = |place: &Place| {
            let both = place.predicted.iter().zip(&base.predicted);
            both.map(|(after, before)| (after / before).ln() / STEP).collect()
        };
        Ok(beside.iter().map(slopes).collect())
    }

    /// Levenberg and Marquardt's descent: of several dampings at once the best is taken.
    fn descend(
        &mut self,
        counts: &Counts,
        from: Vec<f64>,
        iterations: usize,
        jobs: usize,
    ) -> Result<Place, StartError> {
        let mut best = self.predict_all(vec![(counts.clone(), from)], 1)?.remove(0);
        let mut damping = 1.0;
        for _ in 0..iterations {
            let slopes = self.slopes(&best, jobs)?;
            let dampings = [damping * 0.1, damping, damping * 10.0, damping * 100.0];
            let steps = dampings.map(|damping| self.step(&best, &slopes, damping));
            let places = steps.iter().map(|at| (counts.clone(), at.clone())).collect();
            let tried = self.predict_all(places, jobs)?;
            let found = tried.into_iter().zip(dampings).min_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
            let (place, used) = found.expect("several are tried");
            if place.cost >= best.cost * 0.995 {
                if place.cost < best.cost {
                    best = place;
                }
                break;
            }
            (best, damping) = (place, used);
        }
        Ok(best)
    }

    /// The place to which a damped step leads.
    fn step(&self, base: &Place, slopes: &[Vec<f64>], damping: f64) -> Vec<f64> {
        let size = base.at.len();
        let mut matrix = self.information(slopes);
        let (residuals, origin) = (self.residuals(&base.predicted), self.origin());
        let mut right: Vec<f64> = (0..size)
            .map(|i| {
                let errors = self.rows.iter().zip(&slopes[i]).zip(&residuals);
                let errors: f64 =
                    errors.map(|((row, slope), error)| slope / row.quantity.tolerance() * error).sum();
                -(errors + (base.at[i] - origin[i]) / (PULL * PULL))
            })
            .collect();
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += damping * row[i].max(1.0);
        }
        solve(&mut matrix, &mut right);
        // No step further than a factor of three, and none beyond what is allowed.
        let moved = |(field, (x, step)): (&&Field, (&f64, &f64))| {
            field.coordinate(field.value(x + step.clamp(-1.1, 1.1)))
        };
        self.fields.iter().zip(base.at.iter().zip(&right)).map(moved).collect()
    }

    /// What measurements and pull say of the constants: the inverse of their covariance.
    fn information(&self, slopes: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let size = slopes.len();
        let weight = |at: usize| {
            let tolerance = self.rows[at].quantity.tolerance();
            if self.kept_back[at] { 0.0 } else { 1.0 / (tolerance * tolerance) }
        };
        let entry = |i: usize, j: usize| {
            let sum: f64 = (0..self.rows.len()).map(|at| slopes[i][at] * slopes[j][at] * weight(at)).sum();
            sum + if i == j { 1.0 / (PULL * PULL) } else { 0.0 }
        };
        (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect()
    }

    /// Goes to better counts, a step at a time, while there are any.
    fn counts(&mut self, from: Place, jobs: usize) -> Result<Place, StartError> {
        let mut best = from;
        let mut known = vec![best.counts.clone()];
        loop {
            let mut found: Option<Place> = None;
            let mut neighbours = best.counts.neighbours();
            neighbours.retain(|counts| !known.contains(counts));
            for counts in neighbours {
                known.push(counts.clone());
                // Some counts make no drive, as where a stripe does not fit.
                let Ok(place) = self.descend(&counts, best.at.clone(), ITERATIONS_OF_COUNTS, jobs) else {
                    continue;
                };
                if found.as_ref().is_none_or(|found| place.cost < found.cost) {
                    found = Some(place);
                }
            }
            match found {
                // A step has to pay: counts are no cure for small errors.
                Some(place) if place.cost < best.cost * 0.9 - 0.5 => best = place,
                _ => return Ok(best),
            }
        }
    }

    /// What each constant is worth.
    fn constants(&mut self, best: &Place, jobs: usize) -> Result<Vec<Constant>, StartError> {
        let slopes = self.slopes(best, jobs)?;
        let information = self.information(&slopes);
        let origin = self.origin();
        let mut constants = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            // The variance is an entry of the inverse.
            let mut unit = vec![0.0; slopes.len()];
            unit[index] = 1.0;
            solve(&mut information.clone(), &mut unit);
            let telling = |at: usize| (slopes[index][at] / self.rows[at].quantity.tolerance()).abs();
            let mut rows: Vec<usize> =
                (0..self.rows.len()).filter(|&at| !self.kept_back[at] && telling(at) > 1.0).collect();
            rows.sort_by(|&a, &b| telling(b).total_cmp(&telling(a)));
            constants.push(Constant {
                key: field.key.into(),
                start: field.written(field.value(origin[index])),
                value: field.written(field.value(best.at[index])),
                error: (!rows.is_empty()).then(|| unit[index].max(0.0).sqrt()),
                fixed_by: rows.iter().take(3).map(|&at| self.rows[at].name()).collect(),
            });
        }
        Ok(constants)
    }
}

impl Fit {
    /// The settings of the twin with their sources, for [`Start::twin`].
    pub fn settings(&self, start: &Start, measurements: usize) -> Vec<(String, String, String)> {
        let fitted = format!("fitted to {measurements} measurements");
        let before = Counts::of(start).settings();
        let changed = self.counts.iter().filter(|count| !before.contains(count));
        let mut all: Vec<(String, String, String)> =
            changed.map(|(key, value)| (key.clone(), value.clone(), fitted.clone())).collect();
        let flash = &start.config().flash;
        let count = |key: &str| -> u64 {
            let found = self.counts.iter().find(|(other, _)| other == key);
            found.and_then(|(_, value)| value.parse().ok()).unwrap_or(1)
        };
        let now = count("flash.channels") * count("flash.packages");
        let before = u64::from(flash.channels) * u64::from(flash.packages);
        if now != before {
            let blocks = (u64::from(flash.blocks) * before).div_ceil(now);
            let source = "as many blocks in all as the start profile has";
            all.push(("flash.blocks".into(), blocks.to_string(), source.into()));
        }
        for constant in &self.constants {
            let source = match (constant.error, constant.fixed_by.first()) {
                (Some(error), Some(by)) if error < OPEN => {
                    format!("{fitted}, to about {:.0}%; most by {by}", (100.0 * error).max(1.0))
                }
                (Some(_), Some(by)) => format!("{fitted}, which leave it open; most by {by}"),
                _ => continue,
            };
            all.push((constant.key.clone(), constant.value.clone(), source));
        }
        all
    }
}

/// Solves a symmetric positive definite system in place, by elimination with the largest pivots.
fn solve(matrix: &mut [Vec<f64>], right: &mut [f64]) {
    let size = right.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()));
        let pivot = pivot.expect("there are rows left");
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..size {
            let factor = matrix[row][column] / matrix[column][column];
            for at in column..size {
                matrix[row][at] -= factor * matrix[column][at];
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let rest: f64 = (row + 1..size).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - rest) / matrix[row][row];
    }
}
