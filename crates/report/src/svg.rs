//! Figures as SVG, generated directly: a path per curve, text as text, colours by class.
//!
//! The plot follows the reader's light or dark setting by CSS inside the file, without CSS variables, which many
//! viewers other than browsers do not support. Colours are Okabe and Ito's, lightened for the dark setting; series
//! after the seventh are dashed. The legend and the marks' labels are above the plot, so that they cover no curve.

mod bars;
mod lettering;
mod marks;
mod palette;
mod plot;
mod scale;
mod thin;

pub(crate) use bars::is_bars;
pub(crate) use lettering::escape;
pub(crate) use palette::{class, dash_lengths, needs_legend, swatch};
pub(crate) use plot::{Frame, Plot};
pub(crate) use scale::{Scale, Spacing, is_bytes, spacing};

use flashlane_result::Figure;
pub(crate) use lettering::{width, wrap};

/// Colours and line styles, shared by files and page.
pub(crate) const STYLE: &str = include_str!("svg/chart.css");

const WIDTH: f64 = 760.0;
/// Around the content of a file.
pub(crate) const MARGIN: f64 = 20.0;
const PLOT_HEIGHT: f64 = 400.0;
/// Width of bold letters over that of others.
const BOLD: f64 = 1.16;

/// Renders a figure as a file: title, legend, plot and caption.
pub fn svg(figure: &Figure) -> String {
    svg_of_width(figure, WIDTH)
}

/// Like [`svg`], for a width in pixels: letters keep their size, and fewer ticks are labelled.
pub fn svg_of_width(figure: &Figure, width: f64) -> String {
    let inner = width - 2.0 * MARGIN;
    let plot_height = PLOT_HEIGHT.min(0.6 * width);
    let mut body = String::new();
    let mut y = MARGIN;
    for line in wrap(&figure.title, BOLD * 17.0, inner) {
        y += 20.0;
        body += &text("title", MARGIN, y, &line);
    }
    y += 10.0;
    if needs_legend(figure) {
        y = push_legend(&mut body, figure, y, inner);
    }
    let (drawn, height) = content(figure, Frame { width: inner, height: plot_height });
    body += &format!("<g transform=\"translate({MARGIN} {y})\">{drawn}</g>\n");
    y += height + 6.0;
    for line in wrap(&caption(figure), 13.0, inner) {
        y += 18.0;
        body += &text("caption", MARGIN, y, &line);
    }
    file(&figure.title, width, y + MARGIN, &body)
}

/// Renders a file of this size, in pixels, around the drawing `body`.
pub(crate) fn file(title: &str, width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"{title}\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        title = escape(title),
    )
}

/// Renders a figure as the content of an SVG element. Returns its height too: that of the frame, except for bars.
pub(crate) fn content(figure: &Figure, frame: Frame) -> (String, f64) {
    if is_bars(figure) {
        (bars::draw(figure, frame.width), bars::height(figure))
    } else {
        (Plot::new(figure, frame).draw(), frame.height)
    }
}

/// Returns the caption of a figure, with the number of points that cannot be drawn.
pub(crate) fn caption(figure: &Figure) -> String {
    let shown = |point: &&(f64, f64)| {
        scale::drawable(point.0, figure.x.log) && scale::drawable(point.1, figure.y.log)
    };
    let points = figure.series.iter().flat_map(|series| &series.points);
    let all = points.clone().count();
    let missing = all - points.filter(shown).count();
    let note = match missing {
        0 => String::new(),
        1 => " One point has no place on these axes and is not drawn.".into(),
        several => format!(" {several} points have no place on these axes and are not drawn."),
    };
    format!("{}{note}", figure.caption).trim().to_owned()
}

/// Draws swatches and names in as many rows as needed. Returns the next free height.
fn push_legend(body: &mut String, figure: &Figure, top: f64, most: f64) -> f64 {
    let (mut x, mut y) = (0.0, top + 14.0);
    for (at, series) in figure.series.iter().enumerate() {
        let wide = 32.0 + width(&series.name, 13.0) + 18.0;
        if x > 0.0 && x + wide > most {
            (x, y) = (0.0, y + 20.0);
        }
        let left = MARGIN + x;
        *body += &format!("<g transform=\"translate({left:.1} {:.1})\">{}</g>", y - 4.0, swatch(figure, at));
        *body += &text("legend", left + 32.0, y, &series.name);
        x += wide;
    }
    y + 16.0
}

/// Draws a line of text of a class.
pub(crate) fn text(class: &str, x: f64, y: f64, content: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escape(content))
}

#[cfg(test)]
mod tests;
