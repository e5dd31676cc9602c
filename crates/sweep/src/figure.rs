//! The plots of a sweep: a metric over the first key with enough numbers, with a curve for each combination of the
//! others; for a sweep over names, bars and the latency distributions.

use crate::distribution::Distribution;
use crate::grid::{Grid, SEED};
use crate::metric::Metric;
use crate::outcome::Outcome;
use crate::values::Key;
use flashlane_base::units::Quantity;
use flashlane_result::sweep::{Knee, PointRow};
use flashlane_result::{Axis, Figure, Mark, Series};

/// Least number of values of a curve.
const CURVE: usize = 3;
/// Least ratio of the largest to the smallest value for a logarithmic axis.
const WIDE: f64 = 50.0;
/// Maximum number of distributions in one plot.
const DISTRIBUTIONS: usize = 8;

/// Draws a sweep: `y` over the first key with at least three numbers, else as bars over the first key of words; also
/// the latency over a depth, and the latency distributions over words. Empty where there is no such key, or no values.
pub(crate) fn figures(
    grid: &Grid,
    rows: &[PointRow],
    repetitions: &[Vec<&Outcome>],
    knees: &[Knee],
    y: &Metric,
) -> Vec<Figure> {
    let Some(across) = across(grid) else { return Vec::new() };
    let mut figures: Vec<Figure> = plot(grid, rows, across, y, "sweep").into_iter().collect();
    if grid.keys()[across].numbers.is_none() {
        figures.extend(distributions(grid, repetitions));
    }
    if grid.depth_key() == Some(across) {
        if y.name == "iops" {
            figures.iter_mut().for_each(|figure| figure.marks = marks(knees));
        }
        let latency = Metric::named("p99").filter(|latency| latency.name != y.name);
        figures.extend(latency.and_then(|latency| plot(grid, rows, across, latency, "sweep-latency")));
    }
    figures
}

/// `y` over the key `across`.
fn plot(grid: &Grid, rows: &[PointRow], across: usize, y: &Metric, id: &str) -> Option<Figure> {
    let mut curves: Vec<Curve> = Vec::new();
    let (mut drawn, mut repeated, mut with_intervals) = (0, 0, false);
    for (at, row) in rows.iter().enumerate() {
        let Some(value) = y.of(&row.measures) else { continue };
        let places = grid.places(at);
        let name = name_of(grid, &places, across);
        let curve = match curves.iter().position(|curve| curve.name == name) {
            Some(known) => &mut curves[known],
            None => {
                curves.push(Curve { name, points: Vec::new() });
                curves.last_mut().expect("it was just pushed")
            }
        };
        drawn += 1;
        let half_width = row.half_widths.get(y.field).map(|half_width| half_width / y.unit_size);
        with_intervals |= half_width.is_some();
        repeated =
            repeated.max(curve.add(places[across], value, half_width)).max(row.repetitions.len() as u32);
    }
    let key = &grid.keys()[across];
    let (scale, mut x) = axis(key);
    let places: Vec<f64> = match &key.numbers {
        Some((_, numbers)) => numbers.clone(),
        None => (0..key.values.len()).map(|place| place as f64).collect(),
    };
    x.log = key.numbers.as_ref().is_some_and(|(_, numbers)| is_geometric(numbers));
    let series: Vec<Series> = curves.into_iter().map(|curve| curve.series(&places, scale)).collect();
    let values = || series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let is_wide = least > 0.0 && most > WIDE * least && key.numbers.is_some();
    let mut caption = match drawn == rows.len() {
        true => format!("{drawn} points."),
        false => format!("{drawn} of {} points were measured.", rows.len()),
    };
    if repeated > 1 {
        caption += &format!(" Each is the mean of {repeated} repetitions");
        caption += if with_intervals { ", with its 95% confidence interval." } else { "." };
    }
    (!series.is_empty()).then(|| Figure {
        id: id.into(),
        title: format!("{} over {}", capitalised(y.title), key.name),
        x,
        y: Axis { log: is_wide, ..Axis::linear(y.title, y.unit) },
        series,
        marks: Vec::new(),
        caption,
    })
}

/// Draws the cumulative latency distribution of each point, over its repetitions.
fn distributions(grid: &Grid, repetitions: &[Vec<&Outcome>]) -> Option<Figure> {
    let mut curves: Vec<(String, Vec<&Distribution>)> = Vec::new();
    for (at, repetitions) in repetitions.iter().enumerate() {
        let name = name_of(grid, &grid.places(at), usize::MAX);
        let all = repetitions.iter().filter_map(|outcome| outcome.distribution.as_ref());
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(all),
            None => curves.push((name, all.collect())),
        }
    }
    curves.retain(|(_, all)| !all.is_empty());
    if curves.is_empty() || curves.len() > DISTRIBUTIONS {
        return None;
    }
    let series = curves.into_iter().map(|(name, all)| {
        let points = Distribution::cumulative(all.into_iter());
        Series { name, points, ..Series::default() }
    });
    Some(Figure {
        id: "sweep-distribution".into(),
        title: "Cumulative distribution of latency".into(),
        x: Axis::log("latency", "us"),
        y: Axis::linear("requests that took no longer", "%"),
        series: series.collect(),
        marks: Vec::new(),
        caption: "Of all requests, over all repetitions; 20 bins a decade.".into(),
    })
}

/// Returns a mark for each depth that is known to be a knee.
fn marks(knees: &[Knee]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for knee in knees.iter().filter(|knee| !knee.is_at_edge && knee.range.is_none()) {
        if !marks.iter().any(|mark| mark.x == knee.depth) {
            marks.push(Mark { x: knee.depth, y: None, label: "knee".into() });
        }
    }
    marks
}

/// Returns the key of the horizontal axis: first a depth, then a key with three numbers, words, two numbers.
fn across(grid: &Grid) -> Option<usize> {
    let keys = grid.keys();
    let has =
        |key: &Key, least: usize| key.numbers.as_ref().is_some_and(|(_, numbers)| numbers.len() >= least);
    let first = |least: usize| keys.iter().position(|key| key.name != SEED && has(key, least));
    let words =
        || keys.iter().position(|key| key.name != SEED && key.numbers.is_none() && key.values.len() > 1);
    let alone = || (keys.len() == 1 && has(&keys[0], 2)).then_some(0);
    grid.depth_key().or_else(|| first(CURVE)).or_else(words).or_else(|| first(2)).or_else(alone)
}

/// A curve for one combination of the other keys' values.
struct Curve {
    name: String,
    points: Vec<Repeated>,
}

/// A place on the horizontal axis with the sum of its values, one for each swept seed.
struct Repeated {
    place: usize,
    sum: f64,
    count: u32,
    half_width: Option<f64>,
}

impl Curve {
    /// Adds a value, and returns the number of values at its place.
    fn add(&mut self, place: usize, value: f64, half_width: Option<f64>) -> u32 {
        match self.points.iter_mut().find(|point| point.place == place) {
            Some(point) => {
                point.sum += value;
                point.count += 1;
                point.count
            }
            None => {
                self.points.push(Repeated { place, sum: value, count: 1, half_width });
                1
            }
        }
    }

    fn series(mut self, places: &[f64], scale: f64) -> Series {
        self.points.sort_by(|a, b| places[a.place].total_cmp(&places[b.place]));
        let mean = |point: &Repeated| point.sum / f64::from(point.count);
        let points = self.points.iter().map(|point| (places[point.place] / scale, mean(point)));
        let interval = |point: &Repeated| {
            let (mean, half_width) = (mean(point), point.half_width.unwrap_or(0.0));
            ((mean - half_width).max(0.0), mean + half_width)
        };
        let has_intervals = self.points.iter().any(|point| point.half_width.is_some());
        let intervals = self.points.iter().filter(|_| has_intervals).map(interval);
        Series { name: self.name, points: points.collect(), intervals: intervals.collect(), scatter: false }
    }
}

/// Returns the values of the other keys; empty without other keys.
fn name_of(grid: &Grid, places: &[usize], across: usize) -> String {
    let others = grid.keys().iter().zip(places).enumerate();
    let others = others.filter(|(at, (key, _))| *at != across && key.name != SEED && key.values.len() > 1);
    let names: Vec<String> = others
        .map(|(_, (key, place))| match &key.values[*place] {
            // A number needs the name of its key.
            value if key.numbers.is_none() => value.clone(),
            value => format!("{} {value}", key.name.rsplit('.').next().unwrap_or(&key.name)),
        })
        .collect();
    names.join(", ")
}

/// Returns the axis of a key's values, and the size of its unit.
fn axis(key: &Key) -> (f64, Axis) {
    let (scale, unit) = match key.numbers.as_ref().map(|(quantity, _)| *quantity) {
        Some(Quantity::Size) => (1.0, "B"),
        Some(Quantity::Time) => (1e3, "us"),
        Some(Quantity::Rate) => (1e6, "MB/s"),
        Some(Quantity::Share) => (0.01, "%"),
        Some(Quantity::Count) | None => (1.0, ""),
    };
    let names = if key.numbers.is_none() { key.values.clone() } else { Vec::new() };
    (scale, Axis { names, ..Axis::linear(&key.name, unit) })
}

/// Returns whether numbers, in order, grow by a constant factor.
fn is_geometric(numbers: &[f64]) -> bool {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let ratios: Vec<f64> = numbers.windows(2).map(|pair| pair[1] / pair[0]).collect();
    let like_first = |ratio: &f64| (ratio / ratios[0] - 1.0).abs() < 1e-6;
    numbers.len() >= CURVE && numbers[0] > 0.0 && ratios[0] > 1.0 && ratios.iter().all(like_first)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
