//! The picture of a drive on the page, as a figure that shows its values and cannot be zoomed.

use crate::portrait::{Portrait, Shape, TITLE, content, legend};
use crate::svg::escape;

/// Renders the picture as HTML.
pub(super) fn render(portrait: &Portrait) -> String {
    let drawing = |(name, shape): (&str, Shape)| {
        let (drawn, width, height) = content(portrait, shape);
        format!(
            "<svg class=\"chart {name}\" role=\"img\" aria-label=\"{TITLE}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             style=\"max-width:{width:.0}px\">{drawn}</svg>\n"
        )
    };
    let drawings: String = [("wide", Shape::Wide), ("narrow", Shape::Narrow)].map(drawing).concat();
    format!(
        "<section>\n<figure class=\"portrait\">\n<h3>{TITLE}</h3>\n<div class=\"plot still\">\n{drawings}</div>\n\
         <figcaption>{}</figcaption>\n</figure>\n</section>\n",
        escape(&legend(portrait))
    )
}
