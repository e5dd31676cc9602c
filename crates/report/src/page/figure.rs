//! A figure on the page: two drawings, a legend of buttons, and its points for the script.

use crate::svg::{Frame, Plot, caption, class, escape, swatch, worth_a_legend};
use crate::wording::{capitalised, unit};
use flashlane_measure::figure::{Axis, Figure};
use serde_json::json;

/// For a desk, beside another figure or above it.
const WIDE: Frame = Frame { width: 560.0, height: 350.0 };
/// For a phone, at its own size.
const NARROW: Frame = Frame { width: 340.0, height: 290.0 };

/// The figure as HTML; `id` is its own on the page.
pub(super) fn render(figure: &Figure, id: &str) -> String {
    let mut out = format!("<figure id=\"{id}\">\n<h3 id=\"{id}-title\">{}</h3>\n", escape(&figure.title));
    out += &legend(figure);
    let (wide, narrow) = (Plot::new(figure, WIDE), Plot::new(figure, NARROW));
    out += &format!("<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{id}-title\">\n");
    out += &drawing(&wide, WIDE, "wide", figure);
    out += &drawing(&narrow, NARROW, "narrow", figure);
    out += "</div>\n";
    out += &points(figure, &wide);
    let caption = caption(figure);
    if !caption.is_empty() {
        out += &format!("<figcaption>{}</figcaption>\n", escape(&caption));
    }
    out + "</figure>\n"
}

fn legend(figure: &Figure) -> String {
    if !worth_a_legend(figure) {
        return String::new();
    }
    let entry = |(at, series): (usize, &flashlane_measure::figure::Series)| {
        format!(
            "<li><button type=\"button\" aria-pressed=\"true\" data-series=\"{at}\">\
             <svg width=\"24\" height=\"12\" viewBox=\"0 -6 24 12\" class=\"chart\" aria-hidden=\"true\">{}</svg>{}</button></li>",
            swatch(figure, at),
            escape(&series.name)
        )
    };
    let entries: String = figure.series.iter().enumerate().map(entry).collect();
    format!("<ul class=\"legend\" aria-label=\"Curves\">{entries}</ul>\n")
}

/// The scales go along, so that the script can find values under the pointer.
fn drawing(plot: &Plot<'_>, frame: Frame, name: &str, figure: &Figure) -> String {
    let scale = |scale: &crate::svg::Scale| {
        json!([scale.log, scale.low, scale.high, scale.from, scale.to]).to_string()
    };
    format!(
        "<svg class=\"chart {name}\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\" data-x=\"{}\" data-y=\"{}\">{}</svg>\n",
        escape(&figure.title),
        frame.width,
        frame.height,
        scale(&plot.x),
        scale(&plot.y),
        plot.draw()
    )
}

/// What the script needs to know of a figure: names, units and the points that are drawn.
fn points(figure: &Figure, plot: &Plot<'_>) -> String {
    let axis = |axis: &Axis| json!([capitalised(&axis.label), unit(&axis.unit)]);
    let series: Vec<_> = figure
        .series
        .iter()
        .enumerate()
        .map(|(at, series)| {
            let shown = plot.shown(series);
            let points: Vec<_> =
                shown.iter().map(|at| series.points[*at]).map(|(x, y)| [short(x), short(y)]).collect();
            json!({ "name": series.name, "class": class(figure, at), "points": points })
        })
        .collect();
    let data = json!({ "x": axis(&figure.x), "y": axis(&figure.y), "series": series }).to_string();
    // A name may hold `</script>`.
    format!("<script type=\"application/json\">{}</script>\n", data.replace('<', "\\u003c"))
}

/// Six significant digits are more than a curve shows.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
