//! Comparison of several results on one page: a list, the tables of their comparison, and corresponding plots overlaid,
//! or next to each other on the same axes where there are too many curves.

use super::{figure, table};
use crate::comparison::{by_kind, groups, numbered};
use crate::document::{Document, Table};
use crate::svg::escape;
use flashlane_result::{Axis, Figure, Series};

/// Most curves in one plot: each needs its own colour.
const CURVES: usize = 7;

/// Renders the list and the comparisons.
pub(super) fn render(documents: &[&Document]) -> String {
    let (comparisons, _) = by_kind(documents);
    let tables: String = comparisons.iter().flat_map(|comparison| &comparison.tables).map(titled).collect();
    contents(documents) + &tables + &plots(documents)
}

/// Renders links to the results, each with its summary.
fn contents(documents: &[&Document]) -> String {
    let entry = |(at, document): (usize, &&Document)| {
        let (kind, name) = (document.kind, escape(&name(document)));
        let summary = escape(&document.summary);
        format!("<li><a href=\"#result-{}\">{kind}: {name}</a> {summary}</li>\n", at + 1)
    };
    let entries: String = documents.iter().enumerate().map(entry).collect();
    format!("<nav aria-label=\"Results\"><ol>\n{entries}</ol></nav>\n")
}

fn titled(all: &Table) -> String {
    let content = table::render(all, &|_| Vec::new());
    format!("<section><h2>{}</h2>\n{content}</section>\n", escape(&all.title))
}

/// Renders the figures that several results share, with the same axes.
fn plots(documents: &[&Document]) -> String {
    let all: Vec<(usize, &Figure)> = documents
        .iter()
        .enumerate()
        .flat_map(|(at, document)| document.figures.iter().map(move |figure| (at, figure)))
        .collect();
    let same = |a: &Axis, b: &Axis| (&a.unit, a.log) == (&b.unit, b.log);
    let is_same = |a: &(usize, &Figure), b: &(usize, &Figure)| {
        a.1.id == b.1.id && same(&a.1.x, &b.1.x) && same(&a.1.y, &b.1.y)
    };
    let mut drawn = String::new();
    let shared = groups(&all, is_same).into_iter().filter(|group| group.len() > 1);
    for (number, group) in shared.enumerate() {
        let members: Vec<(String, &Figure)> = group
            .iter()
            .map(|&at| all[at])
            .map(|(at, figure)| (numbered(at, documents[at]), figure))
            .collect();
        let id = format!("c{}", number + 1);
        drawn += &if members.iter().map(|(_, figure)| figure.series.len()).sum::<usize>() <= CURVES {
            let over = overlaid(&members);
            format!("<div class=\"figures\">{}</div>\n", figure::render(&over, &id, &figure::Group::ALONE))
        } else {
            next_to_each_other(&members, &id)
        };
    }
    if drawn.is_empty() {
        return drawn;
    }
    format!("<section class=\"compared\"><h2>Plots side by side</h2>\n{drawn}</section>\n")
}

/// Returns one plot with all curves. Marks are shown only in the results' own plots.
fn overlaid(members: &[(String, &Figure)]) -> Figure {
    let curves = |(name, figure): &(String, &Figure)| -> Vec<Series> {
        let is_only = figure.series.len() == 1;
        let named = |series: &Series| Series {
            name: if is_only { name.clone() } else { format!("{name}: {}", series.name) },
            ..series.clone()
        };
        figure.series.iter().map(named).collect()
    };
    Figure {
        series: members.iter().flat_map(curves).collect(),
        marks: Vec::new(),
        caption: String::new(),
        ..members[0].1.clone()
    }
}

/// Renders a plot for each, with the same range of both axes, zoomed together.
fn next_to_each_other(members: &[(String, &Figure)], id: &str) -> String {
    let figures: Vec<&Figure> = members.iter().map(|(_, figure)| *figure).collect();
    let group = figure::Group { name: id, members: &figures };
    let one = |(at, (name, figure)): (usize, &(String, &Figure))| {
        let named = Figure { title: name.clone(), caption: String::new(), ..(*figure).clone() };
        figure::render(&named, &format!("{id}-{}", at + 1), &group)
    };
    let drawn: String = members.iter().enumerate().map(one).collect();
    format!("<h3>{}</h3>\n<div class=\"figures\">\n{drawn}</div>\n", escape(&members[0].1.title))
}

/// Returns a name that distinguishes a document from others of its kind.
fn name(document: &Document) -> String {
    match document.subtitle.as_str() {
        workload if document.kind == "Run" && !workload.is_empty() => {
            format!("{}, {workload}", document.title)
        }
        _ => document.title.clone(),
    }
}
