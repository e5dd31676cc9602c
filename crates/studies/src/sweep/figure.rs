//! The plot of a sweep: a metric over the first key with numbers enough, a curve for each combination of the others.

use super::grid::Grid;
use super::metric::Metric;
use super::result::PointRow;
use super::values::Key;
use flashlane_base::units::Quantity;
use flashlane_measure::figure::{Axis, Figure, Series};

/// Repetitions are drawn as their mean, not as curves.
const SEED: &str = "seed";
/// Values that make a curve rather than a pair of points.
const CURVE: usize = 3;
/// From this ratio of the largest to the smallest on, a logarithmic axis shows more.
const WIDE: f64 = 50.0;

/// The figure of a sweep: `y` over the first key with at least three numbers, else with two. None where there is no
/// such key, or nothing to draw.
pub fn figure(grid: &Grid, rows: &[PointRow], y: &Metric) -> Option<Figure> {
    let across = across(grid)?;
    let mut curves: Vec<Curve> = Vec::new();
    let (mut drawn, mut repeated) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        let Some(value) = (y.of)(&row.measures) else { continue };
        let places = grid.places(at);
        let name = name_of(grid, &places, across);
        let curve = match curves.iter().position(|curve| curve.name == name) {
            Some(known) => &mut curves[known],
            None => {
                curves.push(Curve { name, points: Vec::new() });
                curves.last_mut().expect("it was just put there")
            }
        };
        drawn += 1;
        repeated = repeated.max(curve.add(places[across], value));
    }
    let key = &grid.keys()[across];
    let (scale, mut x) = axis(key);
    let (_, numbers) = key.numbers.as_ref()?;
    x.log = is_geometric(numbers);
    let series: Vec<Series> = curves.into_iter().map(|curve| curve.series(numbers, scale)).collect();
    let values = || series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let mean_of =
        if repeated > 1 { format!(" Each point is the mean of {repeated} seeds.") } else { String::new() };
    (!series.is_empty()).then(|| Figure {
        id: "sweep".into(),
        title: format!("{} over {}", capitalised(y.title), key.name),
        x,
        y: Axis { label: y.title.into(), unit: y.unit.into(), log: least > 0.0 && most > WIDE * least, ..Axis::default() },
        series,
        marks: Vec::new(),
        caption: if drawn == rows.len() {
            format!("{drawn} points.{mean_of}")
        } else {
            format!("{drawn} of {} points were measured.{mean_of}", rows.len())
        },
    })
}

/// Which key goes along the horizontal axis.
fn across(grid: &Grid) -> Option<usize> {
    let keys = grid.keys();
    let has =
        |key: &Key, least: usize| key.numbers.as_ref().is_some_and(|(_, numbers)| numbers.len() >= least);
    let first = |least: usize| keys.iter().position(|key| key.name != SEED && has(key, least));
    let alone = || (keys.len() == 1 && has(&keys[0], 2)).then_some(0);
    first(CURVE).or_else(|| first(2)).or_else(alone)
}

/// A curve by the other keys' values.
struct Curve {
    name: String,
    /// Place on the horizontal axis, sum and count of the repetitions there.
    points: Vec<(usize, f64, u32)>,
}

impl Curve {
    /// Adds a value, and says how many there are now at its place.
    fn add(&mut self, place: usize, value: f64) -> u32 {
        match self.points.iter_mut().find(|point| point.0 == place) {
            Some((_, sum, count)) => {
                *sum += value;
                *count += 1;
                *count
            }
            None => {
                self.points.push((place, value, 1));
                1
            }
        }
    }

    fn series(self, numbers: &[f64], scale: f64) -> Series {
        let point = |(place, sum, count): (usize, f64, u32)| (numbers[place] / scale, sum / f64::from(count));
        let mut points: Vec<(f64, f64)> = self.points.into_iter().map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: self.name, points, scatter: false, ..Series::default() }
    }
}

fn name_of(grid: &Grid, places: &[usize], across: usize) -> String {
    let others = grid.keys().iter().zip(places).enumerate();
    let others = others.filter(|(at, (key, _))| *at != across && key.name != SEED && key.values.len() > 1);
    let names: Vec<String> = others
        .map(|(_, (key, place))| match &key.values[*place] {
            // A word says by itself what it is; a number does not.
            value if key.numbers.is_none() => value.clone(),
            value => format!("{} {value}", key.name.rsplit('.').next().unwrap_or(&key.name)),
        })
        .collect();
    if names.is_empty() { "all".into() } else { names.join(", ") }
}

/// What an axis over a key's numbers counts in, and that unit's size.
fn axis(key: &Key) -> (f64, Axis) {
    let (scale, unit) = match key.numbers.as_ref().map(|(quantity, _)| *quantity) {
        Some(Quantity::Size) => (1.0, "B"),
        Some(Quantity::Time) => (1e3, "us"),
        Some(Quantity::Rate) => (1e6, "MB/s"),
        Some(Quantity::Share) => (0.01, "%"),
        Some(Quantity::Count) | None => (1.0, ""),
    };
    (scale, Axis::linear(&key.name, unit))
}

/// Whether numbers, put in order, go up by one and the same factor.
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
