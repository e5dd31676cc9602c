//! A fit: the search from a start profile, and what the measurements are worth.
//!
//! Counts are compared by predictions of fewer requests; the constants are fitted with all; and the numbers that are
//! reported come from more, so that their own noise is small.

use crate::algebra::solve;
use crate::contradictions::contradictions;
use crate::counts::Counts;
use crate::measurement::Measurement;
use crate::predict::Workloads;
use crate::search::{DISTANCES, Descent, Place, STEPS, Search};
use crate::start::{FIELDS, Field, Start, StartError};

/// How a search goes about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Predictions at a time.
    pub jobs: usize,
    /// Requests of a prediction.
    pub requests: u64,
    /// Whether counts of channels, packages and planes, and the cache mode, are fitted too.
    pub counts: bool,
    /// One of this number of workloads is kept back, where there are as many; zero keeps none.
    pub keep_back: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { jobs: 1, requests: 4_000, counts: true, keep_back: 5 }
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
    /// Counts and switches.
    pub counts: Vec<(String, String)>,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The prediction of each measurement, in its unit.
    pub predicted: Vec<f64>,
    /// Whether each measurement was kept back.
    pub kept_back: Vec<bool>,
    /// Profiles that were tried.
    pub tried: u64,
}

/// Requests of predictions that compare counts, as a part of the usual number, and of those that are reported, as a
/// multiple.
const REQUESTS_OF_COUNTS: f64 = 4.0;
const REQUESTS_REPORTED: f64 = 16.0;
/// A constant whose value is known no better than this is left open.
pub(crate) const OPEN: f64 = 0.3;

/// Fits a profile to measurements.
///
/// # Errors
/// [`StartError`] where measurements contradict each other, and where the profile makes no drive for the workloads.
pub fn calibrate(start: &Start, rows: &[Measurement], options: &Options) -> Result<Fit, StartError> {
    let contradictions = contradictions(rows);
    if !contradictions.is_empty() {
        return Err(StartError::Contradictory(contradictions.join("; ")));
    }
    let workloads = Workloads::of(rows, options.requests, start.config());
    let kept_back = workloads.kept_back(options.keep_back);
    let noise = vec![0.0; rows.len()];
    let mut search = Search {
        start,
        rows,
        fields: fields_of(start),
        depends: Vec::new(),
        workloads,
        kept_back: &kept_back,
        noise,
    };
    let jobs = options.jobs;
    let mut tried = search.keep_used_fields(&Counts::of(start), jobs)?;
    // The counts.
    tried += search.measure_noise(&Counts::of(start), &search.origin(), jobs)?;
    let mut coarse = search.clone();
    coarse.scale_all(1.0 / REQUESTS_OF_COUNTS);
    search.lengthen();
    let mut found = search.descend(search.begin(&Counts::of(start))?, STEPS, jobs)?;
    if options.counts {
        found = search.counts(&coarse, found, jobs);
    }
    // The constants.
    let Place { counts, at, .. } = found.place;
    tried += search.measure_noise(&counts, &at, jobs)?;
    let from = Descent { place: search.predict(&counts, &at)?, tried: found.tried + 1 };
    let last = search.descend(from, STEPS, jobs)?;
    let place = last.place;
    let constants = constants(&search, &place, jobs)?;
    // With the slopes of the constants, and the profile of the report.
    let tried = tried + last.tried + place.at.len() as u64 + 1;
    search.scale_all(REQUESTS_REPORTED);
    let predicted = search.predict(&place.counts, &place.at)?.predicted;
    Ok(Fit { counts: place.counts.settings(), constants, predicted, kept_back, tried })
}

/// The constants that the profile has.
fn fields_of(start: &Start) -> Vec<&'static Field> {
    FIELDS.iter().filter(|field| field.value_in(start.config()).is_some()).collect()
}

/// What each constant of the profile is worth, by the curvature at the end of the search.
fn constants(search: &Search<'_>, place: &Place, jobs: usize) -> Result<Vec<Constant>, StartError> {
    let slopes = search.slopes(place, DISTANCES[0], jobs)?;
    let information = search.information(&slopes);
    // Measurements that the twin misses by more than their tolerance say less.
    let misfit = search.misfit(search.errors(&place.predicted));
    let constant = |field: &&'static Field| {
        let value_at_start = field.value_in(search.start.config()).expect("only such fields are listed");
        let start = field.written(value_at_start);
        let Some(index) = search.fields.iter().position(|used| used.key == field.key) else {
            let value = start.clone();
            return Constant { key: field.key.into(), start, value, error: None, fixed_by: Vec::new() };
        };
        // The variance is an entry of the inverse.
        let mut variances = vec![0.0; slopes.len()];
        variances[index] = 1.0;
        solve(&mut information.clone(), &mut variances);
        let deviation = (variances[index].max(0.0) * misfit).sqrt();
        let telling = |row: usize| (slopes[index][row] * search.weight(row)).abs();
        let mut rows: Vec<usize> = (0..search.rows.len()).filter(|&row| telling(row) > 1.0).collect();
        rows.sort_by(|&a, &b| telling(b).total_cmp(&telling(a)));
        let value = field.value(place.at[index]);
        Constant {
            key: field.key.into(),
            start,
            value: field.written(value),
            error: Some(field.share(value, deviation)),
            fixed_by: rows.iter().take(3).map(|&row| search.rows[row].name()).collect(),
        }
    };
    Ok(fields_of(search.start).iter().map(constant).collect())
}

impl Fit {
    /// The settings of the twin with their sources, for [`Start::twin`].
    pub fn settings(&self, start: &Start, measurements: usize) -> Vec<(String, String, String)> {
        let fitted = format!("fitted to {measurements} measurements");
        let before = Counts::of(start).settings();
        let mut changed = self.counts.clone();
        changed.retain(|count| !before.contains(count));
        let changed = start.with_equal_blocks(changed).into_iter().map(|(key, value)| {
            let is_blocks = key == "flash.blocks";
            let blocks = || "as many blocks in all as the start profile has".to_owned();
            (key, value, if is_blocks { blocks() } else { fitted.clone() })
        });
        let mut all: Vec<(String, String, String)> = changed.collect();
        for constant in &self.constants {
            let by = constant.fixed_by.first().map_or(String::new(), |by| format!("; most by {by}"));
            let source = match constant.error {
                None => continue,
                Some(error) if error < OPEN => {
                    format!("{fitted}, to about {:.0}%{by}", (100.0 * error).max(1.0))
                }
                Some(_) => format!("{fitted}, which leave it open{by}"),
            };
            all.push((constant.key.clone(), constant.value.clone(), source));
        }
        all
    }
}
