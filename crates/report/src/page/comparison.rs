//! Several results on one page: a list of them, and those of one kind side by side.

use crate::document::{Cell, Column, Document, Row, Table};
use crate::svg::escape;

/// Links to the results, each with its answer.
pub(super) fn contents(documents: &[Document]) -> String {
    let entry = |(at, document): (usize, &Document)| {
        let (kind, name) = (document.kind, escape(&name(document)));
        let summary = escape(&document.summary);
        format!("<li><a href=\"#result-{}\">{kind}: {name}</a> {summary}</li>\n", at + 1)
    };
    let entries: String = documents.iter().enumerate().map(entry).collect();
    format!("<nav aria-label=\"Results\"><ol>\n{entries}</ol></nav>\n")
}

/// One table for each kind of which there are several.
pub(super) fn tables(documents: &[Document]) -> String {
    let mut kinds: Vec<&str> = documents.iter().map(|document| document.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let alike = |kind: &str| documents.iter().filter(|document| document.kind == kind).collect::<Vec<_>>();
    kinds.into_iter().map(alike).filter(|group| group.len() > 1).map(|group| side_by_side(&group)).collect()
}

/// The facts of like documents: a fact a row, a document a column.
fn side_by_side(documents: &[&Document]) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for fact in documents.iter().flat_map(|document| &document.facts) {
        if !labels.contains(&fact.label.as_str()) {
            labels.push(&fact.label);
        }
    }
    let value = |document: &Document, label: &str| {
        let fact = document.facts.iter().find(|fact| fact.label == label);
        fact.map_or_else(|| Cell::text("–"), |fact| Cell::text(fact.value.as_str()).tone(fact.tone))
    };
    let row = |label: &str, cells: Vec<Cell>| Row::new([vec![Cell::text(label)], cells].concat());
    let rows: Vec<Row> = labels
        .iter()
        .map(|label| row(label, documents.iter().map(|document| value(document, label)).collect()))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = documents.iter().map(|document| Column::left(&name(document), ""));
    super::table(&Table {
        title: format!("Side by side: {}", documents[0].kind.to_lowercase()),
        columns: std::iter::once(Column::left("", "")).chain(columns).collect(),
        rows,
        note_key: "",
    })
}

/// What tells a document from others of its kind.
fn name(document: &Document) -> String {
    match document.subtitle.as_str() {
        workload if document.kind == "Run" && !workload.is_empty() => {
            format!("{}, {workload}", document.title)
        }
        _ => document.title.clone(),
    }
}
