//! A figure on the page: two drawings, a legend of buttons, and its data for the script.

use super::chart;
use crate::format::{capitalised, unit};
use crate::svg::{
    Frame, Plot, caption, class, content, dash_lengths, escape, is_bars, is_bytes, needs_legend, spacing,
    swatch,
};
use crate::svg::{Scale, Spacing};
use flashlane_result::{Axis, Figure, Series};
use serde_json::json;

/// For a desktop screen.
const WIDE: Frame = Frame { width: 560.0, height: 350.0 };
/// For a phone.
const NARROW: Frame = Frame { width: 340.0, height: 290.0 };
/// For selecting the points in the data: enough for zooming into a wide drawing.
const ENLARGED: Frame = Frame { width: 4480.0, height: 2800.0 };

/// Figures with the same range of both axes.
pub(super) struct Group<'a> {
    /// Name on the page; empty for a single figure.
    pub name: &'a str,
    pub members: &'a [&'a Figure],
}

impl Group<'_> {
    /// A single figure.
    pub const ALONE: Self = Group { name: "", members: &[] };
}

/// Renders the figure as HTML; `id` is unique on the page.
pub(super) fn render(figure: &Figure, id: &str, group: &Group<'_>) -> String {
    let group_name =
        if group.name.is_empty() { String::new() } else { format!(" data-group=\"{}\"", escape(group.name)) };
    let mut out =
        format!("<figure id=\"{id}\"{group_name}>\n<h3 id=\"{id}-title\">{}</h3>\n", escape(&figure.title));
    out += &legend(figure);
    if is_bars(figure) {
        return out + &bars(figure) + &below(figure);
    }
    out += &format!("<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{id}-title\">\n");
    for (name, frame) in [("wide", WIDE), ("narrow", NARROW)] {
        out += &drawing(&Plot::among(figure, group.members, frame), frame, name, figure);
    }
    out += "</div>\n";
    out += &points(figure, &Plot::among(figure, group.members, ENLARGED));
    out + &below(figure)
}

fn below(figure: &Figure) -> String {
    let caption = caption(figure);
    if caption.is_empty() {
        return "</figure>\n".into();
    }
    format!("<figcaption>{}</figcaption>\n</figure>\n", escape(&caption))
}

/// Renders bars, which show their values and cannot be zoomed.
fn bars(figure: &Figure) -> String {
    let drawing = |(name, frame): (&str, Frame)| {
        let (drawn, height) = content(figure, frame);
        chart(name, &figure.title, [frame.width, height], "", &drawn)
    };
    let drawings: String = [("wide", WIDE), ("narrow", NARROW)].map(drawing).concat();
    format!("<div class=\"plot still\">\n{drawings}</div>\n")
}

fn legend(figure: &Figure) -> String {
    if !needs_legend(figure) {
        return String::new();
    }
    // Curves can be hidden, bars cannot.
    let state = if is_bars(figure) { " disabled" } else { " aria-pressed=\"true\"" };
    let entry = |(at, series): (usize, &Series)| {
        format!(
            "<li><button type=\"button\"{state} data-series=\"{at}\">\
             <svg width=\"24\" height=\"12\" viewBox=\"0 -6 24 12\" class=\"chart\" aria-hidden=\"true\">{}</svg>{}</button></li>",
            swatch(figure, at),
            escape(&series.name)
        )
    };
    let entries: String = figure.series.iter().enumerate().map(entry).collect();
    format!("<ul class=\"legend\" aria-label=\"Curves\">{entries}</ul>\n")
}

/// Renders a drawing with its scales, so that the script can find values at the pointer.
fn drawing(plot: &Plot<'_>, frame: Frame, name: &str, figure: &Figure) -> String {
    let scale = |scale: &Scale| json!([scale.log, scale.low, scale.high, scale.from, scale.to]).to_string();
    let scales = format!(" data-x=\"{}\" data-y=\"{}\"", scale(&plot.x), scale(&plot.y));
    chart(name, &figure.title, [frame.width, frame.height], &scales, &plot.draw())
}

/// Renders the data for the script: axes, curves with their points, marks.
fn points(figure: &Figure, plot: &Plot<'_>) -> String {
    let all = || figure.series.iter().flat_map(|series| &series.points);
    let axis = |axis: &Axis, values: &mut dyn Iterator<Item = f64>, only_bytes: bool| {
        let values: Vec<f64> = values.collect();
        let is_binary = spacing(axis, values.iter().copied()) == Spacing::Binary;
        json!({
            "label": capitalised(&axis.label), "unit": unit(&axis.unit), "log": axis.log, "bytes": is_bytes(axis),
            "binary": is_binary && (is_bytes(axis) || !only_bytes),
            "whole": !only_bytes && !axis.log && values.iter().all(|value| value.fract() == 0.0),
        })
    };
    let x = axis(&figure.x, &mut all().map(|point| point.0), false);
    let y = axis(&figure.y, &mut all().map(|point| point.1), true);
    let series: Vec<_> = figure
        .series
        .iter()
        .enumerate()
        .map(|(at, series)| {
            let shown = plot.shown(series);
            let points: Vec<_> =
                shown.iter().map(|at| series.points[*at]).map(|(x, y)| [short(x), short(y)]).collect();
            let interval =
                |at: &usize| series.intervals.get(*at).map(|(from, to)| [short(*from), short(*to)]);
            let intervals: Vec<_> = shown.iter().filter_map(interval).collect();
            json!({
                "name": series.name, "class": class(figure, at), "dashes": dash_lengths(figure, at),
                "scatter": series.scatter, "points": points, "intervals": intervals,
            })
        })
        .collect();
    let data = json!({ "x": x, "y": y, "series": series, "marks": figure.marks }).to_string();
    format!("<script type=\"application/json\">{}</script>\n", super::script_text(&data))
}

/// Rounds to eight significant digits, enough at any zoom.
fn short(value: f64) -> f64 {
    format!("{value:.7e}").parse().unwrap_or(value)
}
