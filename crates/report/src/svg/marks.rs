//! Marks: dashed lines with labels above the plot, and rings with labels beside them.

use super::lettering::{escape, width};
use super::scale::Scale;
use flashlane_result::Mark;

const SIZE: f64 = 12.0;
/// Height of a line of labels.
pub(super) const LINE: f64 = 16.0;
/// Lines of labels; labels that do not fit are only in the mark's tooltip.
const LINES: usize = 2;

/// A label above the plot, with its line (0 is nearest to the plot) and centre.
struct Label<'a> {
    text: &'a str,
    line: usize,
    centre: f64,
}

/// Labels of the vertical marks, side by side where they fit.
pub(super) struct MarkLabels<'a> {
    labels: Vec<Label<'a>>,
}

impl<'a> MarkLabels<'a> {
    /// Places the labels; `edges` are the leftmost and rightmost pixels that text may use.
    pub fn new(marks: &'a [Mark], x: &Scale, edges: (f64, f64)) -> Self {
        let mut placed: Vec<(f64, &str)> = marks
            .iter()
            .filter(|mark| mark.y.is_none() && !mark.label.is_empty())
            .filter_map(|mark| Some((x.place(mark.x)?, mark.label.as_str())))
            .collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ends = [f64::NEG_INFINITY; LINES];
        let mut labels = Vec::new();
        for (place, text) in placed {
            let half = width(text, SIZE) / 2.0;
            let centre = place.min(edges.1 - half).max(edges.0 + half);
            if let Some(line) = (0..LINES).find(|line| ends[*line] + 8.0 <= centre - half) {
                ends[line] = centre + half;
                labels.push(Label { text, line, centre });
            }
        }
        Self { labels }
    }

    /// Returns the height of the labels.
    pub fn height(&self) -> f64 {
        self.labels.iter().map(|label| label.line + 1).max().unwrap_or(0) as f64 * LINE
    }

    /// Draws the labels above a plot that begins at `top`.
    pub fn draw(&self, top: f64) -> String {
        let one = |label: &Label| {
            let y = top - 5.0 - label.line as f64 * LINE;
            format!(
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                label.centre,
                escape(label.text)
            )
        };
        self.labels.iter().map(one).collect()
    }
}

/// Draws the dashed lines, which are behind the curves.
pub(super) fn lines(marks: &[Mark], x: &Scale, y: &Scale) -> String {
    let line = |mark: &Mark| {
        let place = x.place(mark.x).filter(|_| mark.y.is_none())?;
        Some(format!(
            "<path class=\"mark\" d=\"M{place:.1} {:.1}V{:.1}\"><title>{}</title></path>",
            y.from,
            y.to,
            escape(&mark.label)
        ))
    };
    marks.iter().filter_map(line).collect()
}

/// Draws the rings and their labels, in front of the curves. A label goes where it covers the fewest points of
/// `curves`, and is only in the tooltip where it would cover another label.
pub(super) fn spots(marks: &[Mark], x: &Scale, y: &Scale, curves: &[(f64, f64)]) -> String {
    let mut out = String::new();
    let mut used: Vec<Rectangle> = Vec::new();
    for mark in marks {
        let Some((left, top)) = mark.y.and_then(|value| Some((x.place(mark.x)?, y.place(value)?))) else {
            continue;
        };
        out += &format!(
            "<circle class=\"spot\" cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"6\"><title>{}</title></circle>",
            escape(&mark.label)
        );
        let (wide, beside) = (width(&mark.label, SIZE), 11.0);
        let at = |left: f64, top: f64| Rectangle { left, top, right: left + wide, bottom: top + LINE };
        let within = |room: &Rectangle| {
            room.left >= x.from && room.right <= x.to && room.top >= y.to && room.bottom <= y.from
        };
        let room = [
            at(left - wide / 2.0, top - 9.0 - LINE),
            at(left + beside, top - LINE / 2.0),
            at(left - beside - wide, top - LINE / 2.0),
            at(left - wide / 2.0, top + 9.0),
        ]
        .into_iter()
        .filter(|room| within(room) && !used.iter().any(|other| room.overlaps(other)))
        .min_by_key(|room| curves.iter().filter(|point| room.contains(**point)).count());
        if let Some(room) = room.filter(|_| !mark.label.is_empty()) {
            let (left, top) = (room.left, room.bottom - 4.0);
            out += &format!(
                "<text class=\"halo\" x=\"{left:.1}\" y=\"{top:.1}\">{}</text>",
                escape(&mark.label)
            );
            used.push(room);
        }
    }
    out
}

/// Rectangle of a label.
#[derive(Clone, Copy)]
struct Rectangle {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rectangle {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }
}
