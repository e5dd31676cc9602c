//! One self-contained page: works from a file, offline, and, except for samples, without scripts.
//!
//! Every figure is drawn for a desktop and for a phone, because letters in a scaled picture are unreadable; the style
//! shows the one that fits. The script (`script/`, joined into one) adds values at the pointer, zoom, curves that can
//! be hidden, and the samples with their distributions. A content security policy forbids any network access.

mod comparison;
mod diagram;
mod figure;
mod samples;
mod section;
mod table;

use crate::document::{Document, Tone};
use crate::format::capitalised;
use crate::sample_runs::SampleRuns;
use crate::svg::{self, escape};

const STYLE: &str = include_str!("page/page.css");
/// In the order of their dependencies.
const SCRIPT: &str = concat!(
    include_str!("page/script/number.js"),
    include_str!("page/script/scale.js"),
    include_str!("page/script/curves.js"),
    include_str!("page/script/drawing.js"),
    include_str!("page/script/plot.js"),
    include_str!("page/script/gestures.js"),
    include_str!("page/script/figure.js"),
    include_str!("page/script/sample_runs.js"),
    include_str!("page/script/scatter_plot.js"),
    include_str!("page/script/overview.js"),
    include_str!("page/script/choice.js"),
    include_str!("page/script/explorer.js"),
    include_str!("page/script/start.js"),
);

/// A result to render.
pub(crate) struct Section<'a> {
    pub document: &'a Document,
    pub samples: Option<SampleRuns>,
}

/// Renders the page of the results, one after the other; several are listed and compared at the top.
pub(crate) fn render(sections: &[Section<'_>]) -> String {
    let title = match sections {
        [] => "Nothing to report".into(),
        [Section { document, .. }] => format!("{}: {}", document.kind, document.title),
        several => format!("{} results", several.len()),
    };
    let mut main = String::new();
    if sections.len() != 1 {
        let documents: Vec<&Document> = sections.iter().map(|section| section.document).collect();
        main += &format!("<header class=\"top\"><h1>{}</h1></header>\n", breakable(&title));
        main += &comparison::render(&documents);
    }
    let mut blocks = String::new();
    for (at, section) in sections.iter().enumerate() {
        let packed = section.samples.as_ref().map(SampleRuns::pack);
        main += &section::render(section, packed.as_ref(), at);
        blocks += &packed.as_ref().map_or_else(String::new, |packed| samples::blocks(packed, at));
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{} – Flashlane</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n{main}</main>\n\
         <footer>Flashlane {}</footer>\n<script>\n\"use strict\";\n(() => {{\n{SCRIPT}}})();\n</script>\n{blocks}</body>\n</html>\n",
        escape(&title),
        svg::STYLE,
        env!("CARGO_PKG_VERSION"),
    )
}

/// Renders a drawing for one of the two widths; the style shows the one that fits. `attributes` are further ones.
fn chart(fits: &str, label: &str, [width, height]: [f64; 2], attributes: &str, drawn: &str) -> String {
    format!(
        "<svg class=\"chart {fits}\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height}\"{attributes}>{drawn}</svg>\n",
        escape(label)
    )
}

fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>\n", escape(text)) }
}

fn sentence(text: &str) -> String {
    let text = capitalised(text);
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

/// Specs and workloads have no spaces: allows line breaks after commas.
fn breakable(text: &str) -> String {
    escape(text).replace(',', ",<wbr>")
}

fn toned(text: &str, tone: Tone) -> String {
    let text = breakable(text);
    match tone {
        Tone::Plain => text,
        Tone::Good => format!("<span class=\"good\">{text}</span>"),
        Tone::Bad => format!("<span class=\"bad\">{text}</span>"),
        Tone::Muted => format!("<span class=\"muted\">{text}</span>"),
    }
}

/// Escapes JSON for a script element: a name in it may contain `</script>`.
fn script_text(json: &str) -> String {
    json.replace('<', "\\u003c")
}
