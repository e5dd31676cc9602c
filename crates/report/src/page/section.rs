//! One result on the page: its summary, its tables with their figures, its samples, then the remaining tables.

use super::{Section, breakable, paragraph, sentence};
use super::{diagram, figure, samples, table, toned};
use crate::document::{Advice, Document, Fact, Table, belongs};
use crate::sample_runs::Packed;
use crate::svg::escape;

/// Most figures beside a table; more are shown below it.
const BESIDE: usize = 2;

/// Renders result `at` of the page, from 0.
pub(super) fn render(section: &Section<'_>, packed: Option<&Packed>, at: usize) -> String {
    let document = &section.document;
    let mut out = format!("<article id=\"result-{}\">\n<header class=\"top\">", at + 1);
    out += &format!("<p class=\"kind\">{}</p><h1>{}</h1>", document.kind, breakable(&document.title));
    out += &paragraph("lead", &document.subtitle);
    out += "</header>\n";
    if !document.verdict.is_empty() {
        let verdict = escape(&sentence(&document.verdict));
        out += &format!("<p class=\"notice\"><strong>Verdict:</strong> {verdict}</p>\n");
    }
    if let Some(reason) = &document.partial {
        out += &format!(
            "<p class=\"notice\"><strong>Partial result.</strong> {}</p>\n",
            escape(&sentence(reason))
        );
    }
    out += &paragraph("notice", &document.caution);
    out += &advice(document);
    out += &document.diagram.as_ref().map_or_else(String::new, diagram::render);
    let placement = FigurePlacement::new(document, at);
    let leading = placement.leading();
    if leading.is_empty() {
        out += &facts(&document.facts);
    }
    out += &paragraph("summary", &document.summary);
    out += &leading;
    out += &warnings(document);
    if !leading.is_empty() {
        out += &facts(&document.facts);
    }
    let with_figures = document.tables.iter().rposition(|table| placement.has_figures(table));
    let (first, rest) = document.tables.split_at(with_figures.map_or(0, |last| last + 1));
    out += &placement.tables(first);
    if let (Some(samples), Some(packed)) = (&section.samples, packed) {
        out += &samples::render(samples, packed, at);
    }
    out += &placement.tables(rest);
    out += &placement.unclaimed();
    out + "</article>\n"
}

/// Places the figures of a document.
struct FigurePlacement<'a> {
    document: &'a Document,
    at: usize,
}

impl<'a> FigurePlacement<'a> {
    fn new(document: &'a Document, at: usize) -> Self {
        Self { document, at }
    }

    /// Returns the figure's unique name on the page.
    fn anchor(&self, number: usize) -> String {
        format!("f{}-{}", self.at + 1, number + 1)
    }

    /// Renders the figures whose id is `wanted`.
    fn figures(&self, wanted: impl Fn(&str) -> bool) -> String {
        let chosen = self.document.figures.iter().enumerate().filter(|(_, figure)| wanted(&figure.id));
        let drawn: String = chosen
            .map(|(number, plot)| figure::render(plot, &self.anchor(number), &figure::Group::ALONE))
            .collect();
        if drawn.is_empty() { drawn } else { format!("<div class=\"figures\">\n{drawn}</div>\n") }
    }

    /// Renders the figures shown first.
    fn leading(&self) -> String {
        match self.figures(|id| self.leads(id)) {
            none if none.is_empty() => none,
            figures => format!("<section class=\"leading\">\n{figures}</section>\n"),
        }
    }

    fn leads(&self, id: &str) -> bool {
        self.document.leading.iter().any(|leading| belongs(id, leading))
    }

    /// Returns the anchors and titles of a row's figure.
    fn links(&self, id: &str) -> Vec<(String, String)> {
        let all = self.document.figures.iter().enumerate();
        let meant = all.filter(|(_, figure)| belongs(&figure.id, id));
        meant.map(|(number, figure)| (self.anchor(number), figure.title.clone())).collect()
    }

    /// Returns the groups of a table that have figures: `fig3` for figures `fig3…`.
    fn groups(&self, table: &Table) -> Vec<&'a str> {
        let names = (0..table.rows.len()).filter_map(|row| table.group_begun(row));
        let has = |name: &&str| self.document.figures.iter().any(|figure| belongs(&figure.id, name));
        // Takes the name from the document, which outlives the borrowed table.
        names.filter(has).filter_map(|name| self.own(name)).collect()
    }

    fn own(&self, name: &str) -> Option<&'a str> {
        let cells =
            self.document.tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.cells.first());
        cells.map(|cell| cell.text.as_str()).find(|text| *text == name)
    }

    fn has_figures(&self, table: &Table) -> bool {
        self.document.figures.iter().any(|figure| table.claims(&figure.id)) || !self.groups(table).is_empty()
    }

    fn tables(&self, tables: &[Table]) -> String {
        let drawn: String =
            tables.iter().filter(|table| !table.rows.is_empty()).map(|table| self.table(table)).collect();
        if drawn.is_empty() { drawn } else { format!("<div class=\"tables\">\n{drawn}</div>\n") }
    }

    fn table(&self, table: &Table) -> String {
        let title = escape(&table.title);
        if !self.groups(table).is_empty() {
            return format!(
                "<section class=\"wide\"><h2>{title}</h2>\n{}</section>\n",
                self.in_pieces(table)
            );
        }
        let content = table::render(table, &|id| self.links(id));
        match self.figures(|id| table.claims(id)) {
            none if none.is_empty() => format!("<section><h2>{title}</h2>\n{content}</section>\n"),
            figures => {
                let several =
                    self.document.figures.iter().filter(|figure| table.claims(&figure.id)).count() > BESIDE;
                let class = if several { "beside many" } else { "beside" };
                format!(
                    "<section class=\"wide\"><h2>{title}</h2>\n<div class=\"{class}\">{content}{figures}</div></section>\n"
                )
            }
        }
    }

    /// Renders a grouped table as one table per group, with the group's figures.
    fn in_pieces(&self, table: &Table) -> String {
        let mut pieces: Vec<Table> = Vec::new();
        for (position, row) in table.rows.iter().enumerate() {
            if table.group_begun(position).is_some() {
                pieces.push(Table { title: row.cells[0].text.clone(), rows: Vec::new(), ..table.clone() });
            }
            let piece = pieces.last_mut().expect("the first row begins a group");
            piece.rows.push(row.clone());
        }
        let piece = |piece: &mut Table| {
            let group = std::mem::take(&mut piece.title);
            // The group is in the heading.
            piece.columns.remove(0);
            piece.rows.iter_mut().for_each(|row| drop(row.cells.remove(0)));
            piece.title.clone_from(&group);
            format!(
                "<h3>{}</h3>\n<div class=\"beside\">{}{}</div>\n",
                escape(&group),
                table::render(piece, &|id| self.links(id)),
                self.figures(|id| belongs(id, &group))
            )
        };
        pieces.iter_mut().map(piece).collect()
    }

    /// Renders the figures that belong to no table.
    fn unclaimed(&self) -> String {
        let tables = &self.document.tables;
        let groups: Vec<&str> = tables.iter().flat_map(|table| self.groups(table)).collect();
        let is_free = |id: &str| {
            !self.leads(id)
                && !tables.iter().any(|table| table.claims(id))
                && !groups.iter().any(|group| belongs(id, group))
        };
        match self.figures(is_free) {
            none if none.is_empty() => none,
            figures => format!("<section class=\"wide\"><h2>Figures</h2>\n{figures}</section>\n"),
        }
    }
}

/// Renders the advice, which precedes the findings.
fn advice(document: &Document) -> String {
    if document.headline.is_empty() && document.advice.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section class=\"advice\">\n");
    if !document.headline.is_empty() {
        out += &format!("<h2>{}</h2>\n", escape(&sentence(&document.headline)));
    }
    out += "<ul>\n";
    for Advice { text, evidence, commands } in &document.advice {
        out += &format!("<li>{}", escape(&sentence(text)));
        out += &paragraph("evidence", &sentence(evidence));
        out.extend(commands.iter().map(|command| format!("<code>{}</code>", escape(command))));
        out += "</li>\n";
    }
    out + "</ul></section>\n"
}

fn facts(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let fact = |fact: &Fact| {
        let value = toned(&fact.value.text, fact.value.tone);
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
        let code = if warning.code.name().is_empty() {
            String::new()
        } else {
            format!(" <code>{}</code>", escape(warning.code.name()))
        };
        out += &format!("<li>{}{code}</li>\n", escape(&sentence(&warning.message)));
    }
    out + "</ul></section>\n"
}
