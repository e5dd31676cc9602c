//! Tables as HTML.

use super::{sentence, toned};
use crate::document::{Column, Row, Table};
use crate::svg::escape;

/// Renders the table without its title; `links` returns the anchors and titles of a row's figures.
pub(super) fn render(table: &Table, links: &dyn Fn(&str) -> Vec<(String, String)>) -> String {
    let title = escape(&table.title);
    let first = usize::from(table.grouped());
    let (columns, span) = (&table.columns[first..], table.columns.len() - first);
    let mut out =
        format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n");
    out += "<thead><tr>";
    for column in columns {
        out += &format!("<th scope=\"col\"{}>{}</th>", side(column), super::breakable(&column.title));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (position, row) in table.rows.iter().enumerate() {
        if let Some(group) = table.group_begun(position) {
            let group = escape(group);
            out +=
                &format!("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{span}\">{group}</th></tr>\n");
        }
        let note = note(row, links);
        out += if note.is_empty() { "<tr>" } else { "<tr class=\"noted\">" };
        for (at, (cell, column)) in row.cells[first..].iter().zip(columns).enumerate() {
            let tag = if at == 0 { "th scope=\"row\"" } else { "td" };
            out += &format!("<{tag}{}>{}</{}>", side(column), toned(&cell.text, cell.tone), &tag[..2]);
        }
        out += "</tr>\n";
        if !note.is_empty() {
            out += &format!("<tr class=\"note\"><td colspan=\"{span}\"><span>{note}</span></td></tr>\n");
        }
    }
    out + "</tbody></table></div>\n"
}

/// Renders the note below a row, with links to its figures.
fn note(row: &Row, links: &dyn Fn(&str) -> Vec<(String, String)>) -> String {
    let mut anchors: Vec<(String, String)> = row.figures.iter().flat_map(|id| links(id)).collect();
    anchors.dedup();
    let link = |(at, title): &(String, String)| format!("<a href=\"#{at}\">{}</a>", escape(title));
    let links: Vec<String> = anchors.iter().map(link).collect();
    let text = if row.note.is_empty() { String::new() } else { escape(&sentence(&row.note)) };
    match (text.is_empty(), links.is_empty()) {
        (_, true) => text,
        (true, false) => format!("See {}", links.join(", ")),
        (false, false) => format!("{text} See {}", links.join(", ")),
    }
}

fn side(column: &Column) -> &'static str {
    if column.right { " class=\"r\"" } else { "" }
}
