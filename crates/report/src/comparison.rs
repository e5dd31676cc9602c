//! Several results of a kind side by side: their facts, and of their tables the values that differ.
//!
//! The comparison is a [`Document`] itself, so that terminal, CSV and page show it as any other.

use crate::document::{Cell, Column, Comparable, Document, Fact, Row, Table};
use flashlane_result::Warning;

/// Longest name of a result in the legend of a plot.
const NAME: usize = 32;
/// Group of the facts.
const FACTS: &str = "Result";
/// Name of the row with the subtitles.
const WORKLOAD: &str = "Workload";
/// Change in percent from which it is stated as a factor.
const FACTOR_FROM: f64 = 1000.0;

/// Compares the documents of each kind that several have. Returns the comparisons, and the documents that are the only
/// ones of their kind.
pub(crate) fn by_kind<'a>(documents: &[&'a Document]) -> (Vec<Document>, Vec<&'a Document>) {
    let kinds = groups(documents, |a, b| a.kind == b.kind);
    let (several, alone): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|kind| kind.len() > 1);
    let numbered = |kind: &Vec<usize>| kind.iter().map(|&at| (at, documents[at])).collect::<Vec<_>>();
    let comparisons = several.iter().map(|kind| of_kind(&numbered(kind))).collect();
    (comparisons, alone.iter().map(|kind| documents[kind[0]]).collect())
}

/// Returns the positions of equal elements, in groups in the order of their first ones.
pub(crate) fn groups<T>(all: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        match groups.iter_mut().find(|group| is_same(&all[group[0]], one)) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// Returns the number of a result among all, with its title, cut to [`NAME`].
pub(crate) fn numbered(at: usize, document: &Document) -> String {
    let name = &document.title;
    let cut: String = name.chars().take(NAME).collect();
    format!("{}. {cut}{}", at + 1, if cut.len() < name.len() { "…" } else { "" })
}

/// Compares documents of one kind, each with its position among all.
fn of_kind(documents: &[(usize, &Document)]) -> Document {
    let all: Vec<&Document> = documents.iter().map(|(_, document)| *document).collect();
    let warnings = documents.iter().flat_map(|(at, document)| {
        let of_it = move |warning: &Warning| Warning {
            message: format!("{}: {}", at + 1, warning.message),
            ..warning.clone()
        };
        document.warnings.iter().map(of_it)
    });
    Document {
        kind: "Comparison",
        title: format!("{} results of the kind {}", all.len(), all[0].kind),
        tables: [joined(&all), side_by_side(documents)].into_iter().flatten().collect(),
        warnings: warnings.collect(),
        ..Document::default()
    }
}

/// Joins the rows of the tables that can be joined.
fn joined(documents: &[&Document]) -> Option<Table> {
    let of = |document: &&Document| {
        document.tables.iter().find(|table| table.comparable == Comparable::Rows).cloned()
    };
    let mut tables = documents.iter().filter_map(of);
    let mut all = tables.next()?;
    all.rows
        .extend(tables.filter(|table| table.columns.len() == all.columns.len()).flat_map(|table| table.rows));
    Some(all)
}

/// A value of one document, with its group and its name there.
struct Entry {
    group: String,
    name: String,
    cell: Cell,
}

/// Returns a table with a row for each value, a column for each document, and the change where there are two.
fn side_by_side(documents: &[(usize, &Document)]) -> Option<Table> {
    let entries: Vec<Vec<Entry>> = documents.iter().map(|(_, document)| entries(document)).collect();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for entry in entries.iter().flatten() {
        let name = (entry.group.as_str(), entry.name.as_str());
        if !names.contains(&name) {
            // Behind the others of its group, which not every document has.
            let behind =
                names.iter().rposition(|(group, _)| *group == name.0).map_or(names.len(), |at| at + 1);
            names.insert(behind, name);
        }
    }
    let row = |(group, name): (&str, &str)| -> Option<Row> {
        let of = |entries: &Vec<Entry>| {
            let found = entries.iter().find(|entry| entry.group == group && entry.name == name);
            found.map_or_else(|| Cell::exact("–", ""), |entry| entry.cell.clone())
        };
        let cells: Vec<Cell> = entries.iter().map(of).collect();
        let differs = cells.iter().any(|cell| cell.text != cells[0].text);
        let change = (cells.len() == 2).then(|| change(&cells[0], &cells[1]));
        let named = [Cell::text(group), Cell::text(name)];
        (differs || (group == FACTS && name != WORKLOAD))
            .then(|| Row::new(named.into_iter().chain(cells).chain(change).collect()))
    };
    let rows: Vec<Row> = names.into_iter().filter_map(row).collect();
    // Only the number: the first row has the name, which would be too wide a heading.
    let of_document =
        |(at, _): &(usize, &Document)| Column::right(&(at + 1).to_string(), &format!("result_{}", at + 1));
    let change = (documents.len() == 2).then(|| Column::right("Change", "change_share"));
    (!rows.is_empty()).then(|| Table {
        title: "Side by side; of tables, what differs".into(),
        columns: [Column::grouped("Of", "group"), Column::left("", "name")]
            .into_iter()
            .chain(documents.iter().map(of_document))
            .chain(change)
            .collect(),
        rows,
        ..Table::default()
    })
}

/// Returns what a document has to compare: its subject, its facts, and the values of its tables.
fn entries(document: &Document) -> Vec<Entry> {
    let fact = |label: &str, cell: Cell| Entry { group: FACTS.into(), name: label.into(), cell };
    let (title, subtitle, headline) = (&document.title, &document.subtitle, &document.headline);
    let mut entries: Vec<Entry> = [("Device", title), (WORKLOAD, subtitle), ("Recommendation", headline)]
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(label, text)| fact(label, Cell::text(text.as_str())))
        .collect();
    entries.extend(document.facts.iter().map(|Fact { label, value }| fact(label, value.clone())));
    for table in &document.tables {
        let Comparable::Values { first, labels } = table.comparable else { continue };
        let is_shown = |&at: &usize| {
            let column = &table.columns[at];
            !column.is_detail && (column.right || table.columns.len() == labels + 1)
        };
        let values: Vec<usize> = (first + labels..table.columns.len()).filter(is_shown).collect();
        for &at in &values {
            let group = match values.len() {
                1 => table.title.clone(),
                _ => format!("{}: {}", table.title, table.columns[at].title),
            };
            entries.extend(table.rows.iter().map(|row| {
                let names = &row.cells[first..first + labels];
                let name: Vec<&str> = names.iter().map(|cell| cell.text.as_str()).collect();
                Entry { group: group.clone(), name: name.join(", "), cell: row.cells[at].clone() }
            }));
        }
    }
    entries
}

/// Returns the change from the first to the second value, relative to the first; empty where they are no numbers.
fn change(from: &Cell, to: &Cell) -> Cell {
    let number = |cell: &Cell| cell.exact.as_ref()?.parse::<f64>().ok();
    let Some((from, to)) = number(from).zip(number(to)) else { return Cell::default() };
    if from == to {
        return Cell::exact("0%", "0");
    }
    if from <= 0.0 || to < 0.0 {
        return Cell::default();
    }
    let share = to / from - 1.0;
    let text = match share * 100.0 {
        percent if percent >= FACTOR_FROM => format!("x {:.0}", share + 1.0),
        percent if percent.abs() < 0.05 => "0%".into(),
        percent if percent.abs() < 1.0 => format!("{percent:+.1}%"),
        // Not rounded to all of it.
        percent if percent < -99.0 && to > 0.0 => format!("{:+.1}%", percent.max(-99.9)),
        percent => format!("{percent:+.0}%"),
    };
    Cell::exact(text, format!("{share}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_is_relative_to_the_first() {
        let text = |from: &str, to: &str| change(&Cell::exact("", from), &Cell::exact("", to)).text;
        assert_eq!(text("100", "121"), "+21%");
        assert_eq!(text("100", "50.4"), "-50%");
        assert_eq!(text("1000", "1004"), "+0.4%");
        assert_eq!(text("100000", "100001"), "0%");
        assert_eq!(text("7", "7"), "0%");
        assert_eq!(text("1", "30"), "x 30");
        assert_eq!(text("1e9", "1"), "-99.9%", "something is left");
        assert_eq!(text("1", "0"), "-100%");
        for (from, to) in [("0", "1"), ("", "1"), ("1", ""), ("-1", "1"), ("1", "-1"), ("lru", "lru")] {
            assert_eq!(text(from, to), "", "{from} to {to} has no change");
        }
    }

    #[test]
    fn values_are_shown_where_they_differ_and_facts_always() {
        let document = |mean: &str, counts: &[(&str, &str)]| Document {
            kind: "Run",
            title: "sim:a".into(),
            subtitle: "random-read".into(),
            facts: vec![Fact::exact("Mean", mean, mean)],
            tables: vec![Table {
                title: "Counters".into(),
                columns: vec![Column::left("What", "name"), Column::left("Value", "value")],
                rows: counts
                    .iter()
                    .map(|(name, value)| Row::new(vec![Cell::text(*name), Cell::exact(*value, *value)]))
                    .collect(),
                comparable: Comparable::Values { first: 0, labels: 1 },
                ..Table::default()
            }],
            ..Document::default()
        };
        let first = document("5", &[("Reads", "1"), ("Writes", "2")]);
        let second = document("5", &[("Erases", "3"), ("Reads", "1"), ("Writes", "4")]);
        let probe = Document { kind: "Probe", ..Document::default() };
        let (comparisons, alone) = by_kind(&[&first, &probe, &second]);
        assert_eq!(alone.iter().map(|document| document.kind).collect::<Vec<_>>(), ["Probe"]);
        let [comparison] = &comparisons[..] else { panic!("{comparisons:?}") };
        let table = &comparison.tables[0];
        let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
        assert_eq!(titles, ["Of", "", "1", "3", "Change"], "numbered among all results");
        let rows: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(
            rows,
            [
                ["Result", "Device", "sim:a", "sim:a", ""],
                ["Result", "Mean", "5", "5", "0%"],
                ["Counters", "Writes", "2", "4", "+100%"],
                ["Counters", "Erases", "–", "3", ""],
            ]
        );
    }
}
