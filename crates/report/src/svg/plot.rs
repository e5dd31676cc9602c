//! The plot: grid, axes, curves and marks in a frame of a given size.

use super::lettering::{escape, width};
use super::marks::{self, MarkLabels};
use super::palette::{class, dashes};
use super::scale::{Scale, Spacing, Tick, is_bytes, spacing};
use super::thin;
use crate::format::{capitalised, unit};
use flashlane_result::{Axis, Figure, Series};

/// Font size of the axes, in pixels.
const SIZE: f64 = 12.0;
/// Lines with this many points or fewer are drawn whole.
const WHOLE_LINE: usize = 1500;
/// Most single points drawn for one series.
const SCATTER_POINTS: usize = 3000;
/// Most single points drawn as hollow rings; more are drawn as dots.
const RINGS: usize = 120;
/// Distance in pixels from which the points of a line are shown on it.
const DOTS_APART: f64 = 6.0;

/// Size of a plot in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub width: f64,
    pub height: f64,
}

/// A figure laid out in a frame.
pub(crate) struct Plot<'a> {
    figure: &'a Figure,
    frame: Frame,
    pub x: Scale,
    pub y: Scale,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    mark_labels: MarkLabels<'a>,
}

impl<'a> Plot<'a> {
    /// Lays out axes and labels.
    pub fn new(figure: &'a Figure, frame: Frame) -> Self {
        Self::among(figure, &[], frame)
    }

    /// Lays out axes and labels, with axes that include `others` too.
    pub fn among(figure: &'a Figure, others: &[&Figure], frame: Frame) -> Self {
        let all = || std::iter::once(figure).chain(others.iter().copied());
        let points = || all().flat_map(|figure| &figure.series).flat_map(|series| &series.points);
        let marks = || all().flat_map(|figure| &figure.marks);
        let xs = || points().map(|point| point.0).chain(marks().map(|mark| mark.x));
        let ends = || all().flat_map(|figure| &figure.series).flat_map(|series| &series.intervals);
        let ys = || {
            let ends = ends().flat_map(|(from, to)| [*from, *to]);
            points().map(|point| point.1).chain(marks().filter_map(|mark| mark.y)).chain(ends)
        };

        let bottom = frame.height - 42.0;
        let y = Scale::over(ys(), figure.y.log, true).between(bottom, 26.0);
        let y_spacing = spacing(&figure.y, ys());
        // On the vertical axis only byte counts get ticks at powers of two.
        let y_spacing = if is_bytes(&figure.y) { y_spacing } else { Spacing::Decimal };
        let y_ticks = y.ticks(&figure.y, y_spacing, 36.0);

        let labels = y_ticks.iter().map(|tick| width(&tick.label, SIZE)).fold(18.0, f64::max);
        let left = (labels + 10.0).ceil().min(frame.width / 3.0);
        let x = Scale::over(xs(), figure.x.log, false).between(left, frame.width - 16.0);
        let apart = if is_bytes(&figure.x) { 56.0 } else { 40.0 };
        let mut x_ticks = x.ticks(&figure.x, spacing(&figure.x, points().map(|point| point.0)), apart);
        // Whole numbers, such as jobs or streams, get no ticks in between.
        if !figure.x.log && xs().all(|value| value.fract() == 0.0) {
            x_ticks.retain(|tick| tick.value.fract() == 0.0);
        }
        let mark_labels = MarkLabels::new(&figure.marks, &x, (left, frame.width));
        let y = y.between(bottom, 26.0 + mark_labels.height());
        Self { figure, frame, x, y, x_ticks, y_ticks, mark_labels }
    }

    /// Draws the plot as the content of an SVG element of the frame's size.
    pub fn draw(&self) -> String {
        let mut out = self.grid();
        out += &marks::lines(&self.figure.marks, &self.x, &self.y);
        out +=
            &format!("<path class=\"axis\" d=\"M{:.1} {:.1}H{:.1}\"/>", self.x.from, self.y.from, self.x.to);
        out += &self.names();
        out += &self.mark_labels.draw(self.y.to);
        let curves: Vec<String> = (0..self.figure.series.len()).map(|at| self.curve(at)).collect();
        out += &curves.concat();
        out += &marks::spots(&self.figure.marks, &self.x, &self.y, &self.places());
        if curves.iter().all(String::is_empty) {
            let (x, y) = ((self.x.from + self.x.to) / 2.0, (self.y.from + self.y.to) / 2.0);
            out += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">no data to draw</text>");
        }
        out
    }

    fn grid(&self) -> String {
        let mut out = String::new();
        for tick in &self.y_ticks {
            let Some(y) = self.y.place(tick.value) else { continue };
            let class = if tick.label.is_empty() { "minor" } else { "grid" };
            out += &format!("<path class=\"{class}\" d=\"M{:.1} {y:.1}H{:.1}\"/>", self.x.from, self.x.to);
            out += &label(self.x.from - 8.0, y + 4.0, "end", &tick.label);
        }
        let mut free = f64::NEG_INFINITY;
        for tick in &self.x_ticks {
            let Some(x) = self.x.place(tick.value) else { continue };
            let class = if tick.label.is_empty() { "minor" } else { "grid" };
            out += &format!("<path class=\"{class}\" d=\"M{x:.1} {:.1}V{:.1}\"/>", self.y.from, self.y.to);
            let half = width(&tick.label, SIZE) / 2.0;
            // A tick without a label needs no room.
            if !tick.label.is_empty() && x - half >= free {
                let centre = x.min(self.frame.width - half);
                out += &label(centre, self.y.from + 17.0, "middle", &tick.label);
                free = centre + half + 6.0;
            }
        }
        out
    }

    fn names(&self) -> String {
        let name = |axis: &Axis, ticks: &[Tick]| {
            // Ticks in KiB contain the unit.
            let unit_in_ticks = is_bytes(axis) && ticks.iter().any(|tick| tick.label.ends_with('B'));
            let label = capitalised(&axis.label);
            match unit(&axis.unit) {
                _ if unit_in_ticks => label,
                "" => label,
                unit => format!("{label} ({unit})"),
            }
        };
        let text = |x: f64, y: f64, anchor: &str, text: &str| {
            format!(
                "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                escape(text)
            )
        };
        text(0.0, 12.0, "start", &name(&self.figure.y, &self.y_ticks))
            + &text(
                (self.x.from + self.x.to) / 2.0,
                self.frame.height - 4.0,
                "middle",
                &name(&self.figure.x, &self.x_ticks),
            )
    }

    /// Returns the points of a series in pixels, with their indices, split where a point cannot be drawn.
    fn in_pixels(&self, series: &Series) -> Vec<Vec<(usize, (f64, f64))>> {
        let places: Vec<_> = series
            .points
            .iter()
            .enumerate()
            .map(|(at, point)| Some((at, (self.x.place(point.0)?, self.y.place(point.1)?))))
            .collect();
        places
            .split(Option::is_none)
            .filter(|piece| !piece.is_empty())
            .map(|piece| piece.iter().copied().flatten().collect())
            .collect()
    }

    /// Returns points that the curves cover, some pixels apart.
    fn places(&self) -> Vec<(f64, f64)> {
        let mut places = Vec::new();
        for piece in self.figure.series.iter().flat_map(|series| thinned(series, &self.in_pixels(series))) {
            places.extend(piece.first().map(|point| point.1));
            for pair in piece.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0].1, pair[1].1);
                let steps = ((x1 - x0).hypot(y1 - y0) / 5.0).clamp(1.0, 100.0).ceil() as u32;
                let share = |n: u32| f64::from(n) / f64::from(steps);
                places.extend((1..=steps).map(|n| (x0 + (x1 - x0) * share(n), y0 + (y1 - y0) * share(n))));
            }
        }
        places
    }

    /// Returns the indices of the points that are drawn.
    pub fn shown(&self, series: &Series) -> Vec<usize> {
        let pieces = self.in_pixels(series);
        thinned(series, &pieces).into_iter().flatten().map(|point| point.0).collect()
    }

    fn curve(&self, at: usize) -> String {
        let series = &self.figure.series[at];
        let pieces = thinned(series, &self.in_pixels(series));
        let points = || pieces.iter().flatten().map(|point| point.1);
        let count = points().count();
        if count == 0 {
            return String::new();
        }
        let mut out = format!("<g class=\"{}\" data-series=\"{at}\">", class(self.figure, at));
        if series.scatter && count <= RINGS {
            out += "<g stroke-width=\"1.8\">";
            out.extend(
                points()
                    .map(|(x, y)| format!("<circle class=\"hollow\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>")),
            );
            out += "</g>";
        } else if series.scatter {
            out += &format!("<path stroke-width=\"3\" stroke-opacity=\".5\" d=\"{}\"/>", dots(points()));
        } else {
            let line: String = pieces.iter().map(|piece| line(piece.iter().map(|point| point.1))).collect();
            out += &format!("<path stroke-width=\"2\"{} d=\"{line}\"/>", dashes(self.figure, at));
            let apart = (self.x.to - self.x.from) / count as f64;
            let lone = pieces.iter().filter(|piece| piece.len() == 1).flatten().map(|point| point.1);
            let dots = if apart >= DOTS_APART { dots(points()) } else { dots(lone) };
            if !dots.is_empty() {
                out += &format!("<path stroke-width=\"5\" d=\"{dots}\"/>");
            }
        }
        out += &self.intervals(series);
        out + "</g>"
    }

    /// Draws the intervals of a series as thin lines with ends, over the curve's points.
    fn intervals(&self, series: &Series) -> String {
        let one = |(point, (from, to)): (&(f64, f64), &(f64, f64))| {
            let x = self.x.place(point.0)?;
            // An end that a logarithmic axis cannot show is at the axis.
            let (from, to) = (self.y.place(*from).unwrap_or(self.y.from), self.y.place(*to)?);
            let (left, right) = (x - 4.0, x + 4.0);
            Some(format!(
                "M{x:.1} {from:.1}V{to:.1}M{left:.1} {from:.1}H{right:.1}M{left:.1} {to:.1}H{right:.1}"
            ))
        };
        let lines: String = series.points.iter().zip(&series.intervals).filter_map(one).collect();
        if lines.is_empty() { lines } else { format!("<path stroke-width=\"1.2\" d=\"{lines}\"/>") }
    }
}

fn thinned(series: &Series, pieces: &[Vec<(usize, (f64, f64))>]) -> Vec<Vec<(usize, (f64, f64))>> {
    if series.scatter {
        let all: Vec<(usize, (f64, f64))> = pieces.concat();
        let places: Vec<(f64, f64)> = all.iter().map(|point| point.1).collect();
        return vec![thin::scatter(&places, SCATTER_POINTS).into_iter().map(|at| all[at]).collect()];
    }
    let thin_line = |piece: &Vec<(usize, (f64, f64))>| {
        let places: Vec<(f64, f64)> = piece.iter().map(|point| point.1).collect();
        thin::line(&places, WHOLE_LINE).into_iter().map(|at| piece[at]).collect()
    };
    pieces.iter().map(thin_line).collect()
}

fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let step =
        |(at, (x, y)): (usize, (f64, f64))| format!("{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
    points.enumerate().map(step).collect()
}

/// Draws lines of length zero, which with round ends are dots, in a third of the bytes of circles.
fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect()
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(text))
}
