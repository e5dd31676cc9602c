//! Horizontal bars for a figure over names: the name on the left, the value after the bar, the interval on it.
//!
//! Bars begin at zero, so that their lengths are proportional to their values. Several series give a group of bars per
//! name, or one bar of as many pieces where their values add up.

use super::lettering::{escape, width};
use super::palette::{class, dash_lengths};
use crate::format::{capitalised, number, time_ns, unit};
use flashlane_result::Figure;

/// Height of a bar, and of the gap between groups.
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;
/// Font size of names and values, in pixels.
const SIZE: f64 = 12.0;
const TOP: f64 = 26.0;

/// Returns whether a figure is drawn as bars.
pub(crate) fn is_bars(figure: &Figure) -> bool {
    !figure.x.names.is_empty()
}

/// Returns the height of the bars of a figure.
pub(crate) fn height(figure: &Figure) -> f64 {
    let groups = figure.x.names.len() as f64;
    TOP + groups * (bars_of_name(figure) * BAR + GAP) + 8.0
}

/// Returns the number of bars of each name.
fn bars_of_name(figure: &Figure) -> f64 {
    if figure.y.stacked { 1.0 } else { figure.series.len() as f64 }
}

/// Draws a bar of a series, or a piece of one. Those of series after the seventh, whose colours are used, are lighter.
fn piece(figure: &Figure, series: usize, from: f64, to: f64, top: f64) -> String {
    let again = if dash_lengths(figure, series).is_empty() { "" } else { " again" };
    format!(
        "<g class=\"{} bar{again}\" data-series=\"{series}\"><path d=\"M{from:.1} {:.1}H{to:.1}v{:.1}H{from:.1}z\"/></g>",
        class(figure, series),
        top + 1.0,
        BAR - 2.0
    )
}

/// A value that a bar shows, with its confidence interval, if any.
type Value = (f64, Option<(f64, f64)>);

/// The value of a series at a name, if it was measured.
fn value(figure: &Figure, series: usize, place: usize) -> Option<Value> {
    let points = figure.series[series].points.iter().enumerate();
    let (at, point) = points.into_iter().find(|(_, point)| point.0 == place as f64)?;
    Some((point.1, figure.series[series].intervals.get(at).copied()))
}

/// The sum of all series at a name.
fn sum(figure: &Figure, place: usize) -> f64 {
    let pieces = (0..figure.series.len()).filter_map(|series| value(figure, series, place));
    pieces.map(|(length, _)| length).sum()
}

/// The values that are written at the ends of bars: the sums where bars are stacked.
fn labelled_values(figure: &Figure) -> Vec<Value> {
    let places = 0..figure.x.names.len();
    match figure.y.stacked {
        true => places.map(|place| (sum(figure, place), None)).collect(),
        false => (0..figure.series.len())
            .flat_map(|series| places.clone().filter_map(move |at| value(figure, series, at)))
            .collect(),
    }
}

fn label(figure: &Figure, value: f64) -> String {
    match (figure.y.unit.as_str(), unit(&figure.y.unit)) {
        ("us", _) => time_ns(value * 1e3),
        (_, "") => number(value),
        (_, unit) => format!("{} {unit}", number(value)),
    }
}

/// Draws the bars as the content of an SVG element `wide` pixels wide.
pub(crate) fn draw(figure: &Figure, wide: f64) -> String {
    let names = &figure.x.names;
    let left = names.iter().map(|name| width(name, SIZE)).fold(0.0, f64::max).min(wide / 2.0) + 10.0;
    let all = labelled_values(figure);
    let labels = all.iter().map(|&(value, _)| width(&label(figure, value), SIZE)).fold(0.0, f64::max);
    let most = all
        .iter()
        .map(|&(value, interval)| interval.map_or(value, |(_, to)| to.max(value)))
        .fold(0.0, f64::max);
    let scale = (wide - left - labels - 14.0).max(20.0) / most.max(f64::MIN_POSITIVE);
    // The unit is shown at each bar.
    let mut out =
        format!("<text class=\"name\" x=\"0\" y=\"12\">{}</text>", escape(&capitalised(&figure.y.label)));
    for (at, name) in names.iter().enumerate() {
        let group = bars_of_name(figure) * BAR;
        let top = TOP + at as f64 * (group + GAP);
        out += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            top + group / 2.0 + 4.0,
            escape(name)
        );
        let place = NamePlace { at, left, top, scale };
        out += &if figure.y.stacked { stacked(figure, &place) } else { side_by_side(figure, &place) };
    }
    let bottom = height(figure) - 8.0 - GAP / 2.0;
    out + &format!("<path class=\"axis\" d=\"M{left:.1} {:.1}V{bottom:.1}\"/>", TOP - 4.0)
}

/// Where the bars of name `at` begin, and the pixels of a value of 1.
struct NamePlace {
    at: usize,
    left: f64,
    top: f64,
    scale: f64,
}

/// Draws the values of a name as one bar, with their sum.
fn stacked(figure: &Figure, &NamePlace { at, left, top, scale }: &NamePlace) -> String {
    let (mut out, mut from) = (String::new(), left);
    for series in 0..figure.series.len() {
        let length = value(figure, series, at).map_or(0.0, |(length, _)| length.max(0.0) * scale);
        out += &piece(figure, series, from, from + length, top);
        from += length;
    }
    out + &value_text(from, top + BAR / 2.0, &label(figure, sum(figure, at)))
}

/// Draws a bar for each value of a name, with its interval.
fn side_by_side(figure: &Figure, &NamePlace { at, left, top, scale }: &NamePlace) -> String {
    let mut out = String::new();
    for series in 0..figure.series.len() {
        let (y, middle) = (top + series as f64 * BAR, top + (series as f64 + 0.5) * BAR);
        let Some((length, interval)) = value(figure, series, at) else {
            out += &format!("<text x=\"{left:.1}\" y=\"{:.1}\">not measured</text>", middle + 4.0);
            continue;
        };
        let end = left + length.max(0.0) * scale;
        out += &piece(figure, series, left, end, y);
        let behind = match interval {
            Some((from, to)) if to > from => {
                let (from, to) = (left + from * scale, left + to * scale);
                out += &format!(
                    "<path class=\"interval\" d=\"M{from:.1} {middle:.1}H{to:.1}M{from:.1} {:.1}v8M{to:.1} {:.1}v8\"/>",
                    middle - 4.0,
                    middle - 4.0
                );
                end.max(to)
            }
            _ => end,
        };
        out += &value_text(behind, middle, &label(figure, length));
    }
    out
}

/// Writes a value behind its bar.
fn value_text(behind: f64, middle: f64, label: &str) -> String {
    format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", behind + 6.0, middle + 4.0, escape(label))
}
