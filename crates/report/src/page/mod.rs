//! One self-contained page: works from a file, offline, without scripts; with them, curves answer questions.
//!
//! Every figure is drawn twice, for a desk and for a phone, because a scaled picture has unreadable letters;
//! the style shows the one that fits. The script only adds: values at the pointer or the arrow keys, and a
//! legend that hides curves. A content policy in the page forbids it any network.

mod comparison;
mod figure;

use crate::document::{Column, Document, Fact, Table, Tone};
use crate::svg::{self, escape};
use crate::wording::capitalised;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of the documents, one after the other; several are listed and compared at the top.
pub(crate) fn render(documents: &[Document]) -> String {
    let title = match documents {
        [] => "Nothing to report".into(),
        [one] => format!("{}: {}", one.kind, one.title),
        several => format!("{} results", several.len()),
    };
    let mut main = String::new();
    if documents.len() != 1 {
        main += &format!("<header class=\"top\"><h1>{}</h1></header>\n", escape(&title));
        main += &comparison::contents(documents);
        main += &comparison::tables(documents);
    }
    for (at, document) in documents.iter().enumerate() {
        main += &section(document, at);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{} – Flashlane</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n{main}</main>\n\
         <footer>Flashlane {}</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(&title),
        svg::STYLE,
        env!("CARGO_PKG_VERSION"),
    )
}

fn section(document: &Document, at: usize) -> String {
    let mut out = format!("<article id=\"result-{}\">\n<header class=\"top\">", at + 1);
    out += &format!("<p class=\"kind\">{}</p><h1>{}</h1>", document.kind, escape(&document.title));
    out += &paragraph("lead", &document.subtitle);
    out += "</header>\n";
    if let Some(reason) = &document.partial {
        out += &format!(
            "<p class=\"notice\"><strong>Partial result.</strong> {}</p>\n",
            escape(&sentence(reason))
        );
    }
    out += &facts(&document.facts);
    out += &paragraph("summary", &document.summary);
    out += &warnings(document);
    let tables: String = document.tables.iter().map(table).collect();
    out += &format!("<div class=\"tables\">\n{tables}</div>\n");
    if !document.figures.is_empty() {
        out += "<section><h2>Figures</h2>\n<div class=\"figures\">\n";
        for (number, plot) in document.figures.iter().enumerate() {
            out += &figure::render(plot, &format!("f{}-{}", at + 1, number + 1));
        }
        out += "</div></section>\n";
    }
    out + "</article>\n"
}

fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>\n", escape(text)) }
}

fn sentence(text: &str) -> String {
    let text = capitalised(text);
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

fn facts(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let fact = |fact: &Fact| {
        let value = toned(&fact.value, fact.tone);
        format!("<div><dt>{}</dt><dd>{value}</dd></div>\n", escape(&fact.label))
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

fn warnings(document: &Document) -> String {
    if document.warnings.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section class=\"notice\"><h2>Warnings</h2>\n<ul>\n");
    for warning in &document.warnings {
        let code = if warning.code.is_empty() {
            String::new()
        } else {
            format!(" <code>{}</code>", escape(&warning.code))
        };
        out += &format!("<li>{}{code}</li>\n", escape(&sentence(&warning.message)));
    }
    out + "</ul></section>\n"
}

fn table(table: &Table) -> String {
    let title = escape(&table.title);
    let first = usize::from(table.grouped());
    let (columns, span) = (&table.columns[first..], table.columns.len() - first);
    let mut out = format!("<section><h2>{title}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" ");
    out += &format!("aria-label=\"{title}\"><table>\n<thead><tr>");
    for column in columns {
        out += &format!("<th scope=\"col\"{}>{}</th>", side(column), breakable(&column.title));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (position, row) in table.rows.iter().enumerate() {
        if let Some(group) = table.group_begun(position) {
            let group = escape(group);
            out +=
                &format!("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{span}\">{group}</th></tr>\n");
        }
        out += if row.note.is_empty() { "<tr>" } else { "<tr class=\"noted\">" };
        for (at, (cell, column)) in row.cells[first..].iter().zip(columns).enumerate() {
            let tag = if at == 0 { "th scope=\"row\"" } else { "td" };
            out += &format!("<{tag}{}>{}</{}>", side(column), toned(&cell.text, cell.tone), &tag[..2]);
        }
        out += "</tr>\n";
        if !row.note.is_empty() {
            let note = escape(&sentence(&row.note));
            out += &format!("<tr class=\"note\"><td colspan=\"{span}\"><span>{note}</span></td></tr>\n");
        }
    }
    out + "</tbody></table></div></section>\n"
}

fn side(column: &Column) -> &'static str {
    if column.right { " class=\"r\"" } else { "" }
}

/// Specs and workloads have no spaces: they may be broken after their commas.
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
