//! The picture of a drive on the page, as a figure that shows its values and cannot be zoomed.

use super::chart;
use crate::diagram::DriveDiagram;
use crate::diagram::drawing::{Shape, TITLE, caption, content};
use crate::svg::escape;

/// Renders the picture as HTML.
pub(super) fn render(diagram: &DriveDiagram) -> String {
    let drawing = |(name, shape): (&str, Shape)| {
        let (drawn, width, height) = content(diagram, shape);
        let (width, height) = (width.ceil(), height.ceil());
        chart(name, TITLE, [width, height], &format!(" style=\"max-width:{width}px\""), &drawn)
    };
    let drawings: String = [("wide", Shape::Wide), ("narrow", Shape::Narrow)].map(drawing).concat();
    format!(
        "<section>\n<figure class=\"portrait\">\n<h3>{TITLE}</h3>\n<div class=\"plot still\">\n{drawings}</div>\n\
         <figcaption>{}</figcaption>\n</figure>\n</section>\n",
        escape(&caption(diagram))
    )
}
