//! Figures as data: what a result carries so that a report can draw it without running anything.

use serde::{Deserialize, Deserializer, Serialize};

/// One plot: curves over a common pair of axes, with places marked on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Short, stable, usable as a file name: `fig3-2jobs`.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Places found on the curves: detected valleys, limits, published values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What to see in it, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity, without its unit: `offset`.
    pub label: String,
    /// Its unit: `sectors of 512 B`, `MB/s`, `us`; empty for a plain number.
    pub unit: String,
    /// Whether it is drawn to a logarithmic scale.
    #[serde(default)]
    pub log: bool,
    /// Of a horizontal axis of names: the name of each place, from 0; the series are then drawn as bars. Empty for an
    /// axis of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// One curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What the curve is: `8 sectors`, `2 jobs`.
    pub name: String,
    /// Its points, in the order in which they are joined.
    #[serde(deserialize_with = "whole_points")]
    pub points: Vec<(f64, f64)>,
    /// Drawn as single points rather than a line: published values, single samples.
    #[serde(default)]
    pub scatter: bool,
    /// Of each point the interval in which its value lies, from and to; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<(f64, f64)>,
}

/// JSON has no not-a-number: such a coordinate was written as null, and its point is left out.
fn whole_points<'de, D: Deserializer<'de>>(points: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points = Vec::<(Option<f64>, Option<f64>)>::deserialize(points)?;
    Ok(points.into_iter().filter_map(|(x, y)| x.zip(y)).collect())
}

/// A marked place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Where on the horizontal axis.
    pub x: f64,
    /// Where on the vertical axis; a vertical line where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// What it is; may be empty where a neighbour says it.
    #[serde(default)]
    pub label: String,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self { label: label.into(), unit: unit.into(), ..Self::default() }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Self { log: true, ..Self::linear(label, unit) }
    }
}
