//! Figures as data, which a report draws without running anything.

use serde::{Deserialize, Deserializer, Serialize};

/// One plot: curves over a common pair of axes, with marks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Short, stable, usable as a file name: `fig3-2jobs`.
    pub id: String,
    /// Title in one line.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Marked points: detected valleys, limits, published values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Caption of a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity, without its unit: `offset`.
    pub label: String,
    /// Unit of the quantity: `sectors of 512 B`, `MB/s`, `us`; empty for a plain number.
    pub unit: String,
    /// Whether the scale is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// For a horizontal axis of names: the name of each position, from 0; the series are then drawn as bars. Empty for
    /// an axis of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Of a vertical axis, with bars: the values of the series add up, and are drawn as one bar.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
}

/// One curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the curve: `8 sectors`, `2 jobs`.
    pub name: String,
    /// Points in the order of the line.
    #[serde(deserialize_with = "whole_points")]
    pub points: Vec<(f64, f64)>,
    /// Drawn as single points rather than a line: published values, single samples.
    #[serde(default)]
    pub scatter: bool,
    /// Interval of each point's value, from and to; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<(f64, f64)>,
}

/// Drops points with a null coordinate, which stands for not-a-number.
fn whole_points<'de, D: Deserializer<'de>>(points: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points = Vec::<(Option<f64>, Option<f64>)>::deserialize(points)?;
    Ok(points.into_iter().filter_map(|(x, y)| x.zip(y)).collect())
}

/// A marked point or vertical line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position; a vertical line where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Label; may be empty where a neighbour explains it.
    #[serde(default)]
    pub label: String,
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self { label: label.into(), unit: unit.into(), ..Self::default() }
    }

    /// Creates a logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Self { log: true, ..Self::linear(label, unit) }
    }
}
