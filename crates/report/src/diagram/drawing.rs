//! The picture as SVG: the host, its link, the controller with its parts, and the domains as rows of sub-domains.
//!
//! Solid borders are certain, dashed ones less so, dotted ones open. On a wide drawing a request goes from left to
//! right, on a narrow one from the top to the bottom.

use super::{Certainty, DriveDiagram, Part};
use crate::svg::{MARGIN, escape, file, text, width, wrap};

/// Title of the picture.
pub(crate) const TITLE: &str = "Inside the drive, as its timing shows";

/// Font size, in pixels.
const SIZE: f64 = 12.0;
/// Height of a line of text, and of a row of domains.
const LINE: f64 = 22.0;
const ROW: f64 = 26.0;
/// Side of a sub-domain, and distance of two.
const SQUARE: f64 = 16.0;
const APART: f64 = 20.0;
/// Most sub-domains drawn one by one.
const SQUARES: u64 = 8;
/// Most domains drawn one by one.
const ROWS: u64 = 8;
const HOST: f64 = 56.0;
/// Least width of a file without its margins.
const NARROWEST: f64 = 520.0;

/// Where the parts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// For a desktop screen.
    Wide,
    /// For a phone.
    Narrow,
}

/// A rectangle.
#[derive(Clone, Copy)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn middle(self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// Draws the picture as the content of an SVG element. Returns it with its width and height.
pub(crate) fn content(diagram: &DriveDiagram, shape: Shape) -> (String, f64, f64) {
    let rows = Row::of(&diagram.domains);
    let names = diagram.controller.iter().map(|part| width(part.name, SIZE)).fold(0.0, f64::max);
    let values = diagram.controller.iter().map(|part| bold_width(&part.value)).fold(0.0, f64::max);
    let inside = Area { x: 0.0, y: 0.0, width: names + values + 44.0, height: 3.0 * LINE + 36.0 };
    let tree_height = rows.len() as f64 * ROW;
    let link = width(&diagram.link.value, SIZE) + 24.0;
    let mut out = String::new();
    match shape {
        Shape::Wide => {
            let height = inside.height.max(tree_height) + 8.0;
            let controller = Area { x: HOST + link, y: (height - inside.height) / 2.0, ..inside };
            let host = Area { x: 1.0, y: height / 2.0 - 17.0, width: HOST, height: 34.0 };
            let (_, y) = host.middle();
            out += &line(&diagram.link, host.x + HOST, y, controller.x, y);
            out += &label("middle", f64::midpoint(host.x + HOST, controller.x), y - 8.0, &diagram.link.value);
            out += &(boxed(host, "host") + &parts(controller, &diagram.controller, names));
            let spine = controller.x + controller.width + 24.0;
            out += &line(&diagram.domains, controller.x + controller.width, y, spine, y);
            let (drawn, right) = tree(diagram, &rows, spine, (height - tree_height) / 2.0);
            (out + &drawn, right, height)
        }
        Shape::Narrow => {
            let controller = Area { x: 1.0, y: 34.0 + 36.0, ..inside };
            let host = Area { x: controller.middle().0 - HOST / 2.0, y: 1.0, width: HOST, height: 34.0 };
            let x = host.middle().0;
            out += &line(&diagram.link, x, host.y + host.height, x, controller.y);
            out += &label("start", x + 8.0, host.y + host.height + 22.0, &diagram.link.value);
            out += &(boxed(host, "host") + &parts(controller, &diagram.controller, names));
            let (spine, top) = (controller.x + 20.0, controller.y + controller.height);
            out += &line(&diagram.domains, spine, top, spine, top + 12.0 + ROW / 2.0);
            let (drawn, right) = tree(diagram, &rows, spine, top + 12.0);
            (out + &drawn, right.max(controller.x + controller.width + 1.0), top + 16.0 + tree_height)
        }
    }
}

/// Renders the picture as a file.
pub(crate) fn svg(diagram: &DriveDiagram) -> String {
    let (drawn, width, height) = content(diagram, Shape::Wide);
    let inner = width.max(NARROWEST).ceil();
    let mut body = text("title", MARGIN, MARGIN + 20.0, TITLE);
    let mut y = MARGIN + 32.0;
    body += &format!("<g transform=\"translate({MARGIN} {y})\">{drawn}</g>\n");
    y += height.ceil() + 6.0;
    for line in wrap(&caption(diagram), 13.0, inner) {
        y += 18.0;
        body += &text("caption", MARGIN, y, &line);
    }
    file(TITLE, inner + 2.0 * MARGIN, y + MARGIN, &body)
}

/// Returns the caption: the numbers, and what the borders mean.
pub(crate) fn caption(diagram: &DriveDiagram) -> String {
    let mut text = diagram.summary(|part| part.value.clone()) + ".";
    if diagram.has(Certainty::Likely) {
        text += " Dashed: stated at less than 90%.";
    }
    if diagram.has(Certainty::Open) {
        text += " Dotted: open.";
    }
    text
}

/// A row of the tree of domains.
enum Row {
    Domain(String),
    /// Domains that are not drawn.
    More,
}

impl Row {
    /// Returns all of up to [`ROWS`] domains, the first and the last of more.
    fn of(domains: &Part) -> Vec<Self> {
        let named = |number: u64| Self::Domain(number.to_string());
        match domains.number {
            Some(count) if count <= ROWS => (1..=count.max(1)).map(named).collect(),
            Some(count) => {
                let first = (1..=ROWS / 2).map(named);
                let last = (count + 2 - ROWS / 2..=count).map(named);
                first.chain([Self::More]).chain(last).collect()
            }
            None => vec![named(1), Self::More, Self::Domain("?".into())],
        }
    }
}

/// Draws the domains below each other at a spine. Returns the right end too.
fn tree(diagram: &DriveDiagram, rows: &[Row], spine: f64, top: f64) -> (String, f64) {
    let names = rows.iter().map(|row| match row {
        Row::Domain(name) => width(&format!("domain {name}"), SIZE),
        Row::More => 0.0,
    });
    let squares = spine + 24.0 + names.fold(0.0, f64::max) + 14.0;
    let at = |row: usize| top + (row as f64 + 0.5) * ROW;
    let mut out = line(&diagram.domains, spine, at(0), spine, at(rows.len() - 1));
    let mut right = squares;
    for (number, row) in rows.iter().enumerate() {
        let y = at(number);
        match row {
            Row::More => out += &label("start", spine + 24.0, y + 4.0, "⋮"),
            Row::Domain(name) => {
                out += &line(&diagram.domains, spine, y, spine + 18.0, y);
                out += &label("start", spine + 24.0, y + 4.0, &format!("domain {name}"));
                let (drawn, end) = sub_domains(&diagram.sub_domains, squares, y);
                out += &drawn;
                right = right.max(end);
            }
        }
    }
    (out, right + 1.0)
}

/// Draws a row of squares, or one with their number. Returns the right end too.
fn sub_domains(part: &Part, left: f64, y: f64) -> (String, f64) {
    let drawn = part.number.filter(|count| *count <= SQUARES).unwrap_or(1);
    let square = |at: u64| {
        let area = Area { x: left + at as f64 * APART, y: y - SQUARE / 2.0, width: SQUARE, height: SQUARE };
        rectangle(part.certainty, area, "s s0")
    };
    let squares: String = (0..drawn).map(square).collect();
    let end = left + drawn as f64 * APART;
    let words = match part.number {
        Some(count) if count <= SQUARES => return (squares, end),
        Some(count) => format!("× {count}"),
        None => "?".into(),
    };
    (squares + &label("start", end + 4.0, y + 4.0, &words), end + 8.0 + width(&words, SIZE))
}

/// Draws the controller: a border, its name, and a line a part.
fn parts(area: Area, parts: &[Part], names: f64) -> String {
    let mut out = boxed(area, "");
    out += &named(area.x + 14.0, area.y + 22.0, "controller");
    for (at, part) in parts.iter().enumerate() {
        let y = area.y + 26.0 + (at as f64 + 0.8) * LINE;
        out += &label("start", area.x + 14.0, y, part.name);
        let x = area.x + 14.0 + names + 12.0;
        out += &named(x, y, &part.value);
        let end = x + bold_width(&part.value);
        if part.certainty == Certainty::Likely {
            out += &line(part, x, y + 4.0, end, y + 4.0);
        }
    }
    out
}

fn boxed(area: Area, name: &str) -> String {
    let (x, y) = area.middle();
    let name = if name.is_empty() { String::new() } else { label("middle", x, y + 4.0, name) };
    rectangle(Certainty::Certain, area, "s s6") + &name
}

fn rectangle(certainty: Certainty, area: Area, class: &str) -> String {
    let Area { x, y, width, height } = area;
    let fill = if certainty == Certainty::Certain && class == "s s0" { " bar" } else { "" };
    format!(
        "<g class=\"{class}{fill}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\"{}/></g>",
        dashes(certainty)
    )
}

fn line(part: &Part, from_x: f64, from_y: f64, to_x: f64, to_y: f64) -> String {
    format!(
        "<g class=\"s s6\"><path d=\"M{from_x:.1} {from_y:.1}L{to_x:.1} {to_y:.1}\"{}/></g>",
        dashes(part.certainty)
    )
}

fn dashes(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Certain => " stroke-width=\"1.8\"",
        Certainty::Likely => " stroke-width=\"1.4\" stroke-dasharray=\"5 3\"",
        Certainty::Open => " stroke-width=\"1.4\" stroke-dasharray=\"1 4\"",
    }
}

fn label(anchor: &str, x: f64, y: f64, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(text))
}

fn bold_width(text: &str) -> f64 {
    1.12 * width(text, SIZE)
}

fn named(x: f64, y: f64, text: &str) -> String {
    format!("<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(text))
}
