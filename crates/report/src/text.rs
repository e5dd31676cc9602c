//! A document on a terminal: aligned tables in plain text, no colour, so that a pipe gets what a person sees.
//!
//! Long text is wrapped, in tables within the widest left-aligned column; numbers are never cut. Columns are
//! counted in terminal cells, not in bytes.

use crate::document::{Column, Document, Table};
use unicode_width::UnicodeWidthStr;

/// Between two columns.
const GAP: usize = 2;
/// A column of text is not made narrower than this, even if the table then is too wide.
const NARROWEST: usize = 12;
const INDENT: usize = 4;

/// The document, in lines of at most `width` terminal cells wherever its words allow.
pub(crate) fn render(document: &Document, width: usize) -> String {
    let width = width.max(NARROWEST + INDENT);
    let mut out = Vec::new();
    push_wrapped(&mut out, &format!("{}: {}", document.kind, document.title), width, 0);
    push_wrapped(&mut out, &document.subtitle, width, 0);
    if let Some(reason) = &document.partial {
        push_wrapped(&mut out, &format!("Partial result: {reason}"), width, 0);
    }
    push_facts(&mut out, document);
    for table in &document.tables {
        out.push(String::new());
        out.push(table.title.clone());
        push_table(&mut out, table, width);
    }
    if !document.summary.is_empty() {
        out.push(String::new());
        push_wrapped(&mut out, &document.summary, width, 0);
    }
    if !document.warnings.is_empty() {
        out.push(String::new());
        out.push("Warnings".into());
        for warning in &document.warnings {
            let code = if warning.code.is_empty() { String::new() } else { format!(" [{}]", warning.code) };
            push_wrapped(&mut out, &format!("- {}{code}", warning.message), width, 2);
        }
    }
    let lines: Vec<&str> = out.iter().map(|line| line.trim_end()).collect();
    lines.join("\n") + "\n"
}

/// The facts that the main table does not have as rows.
fn push_facts(out: &mut Vec<String>, document: &Document) {
    let told = |label: &str| {
        let rows = document.tables.first().map_or(&[][..], |table| &table.rows);
        rows.iter().any(|row| row.cells.first().is_some_and(|cell| cell.text == label))
    };
    let facts: Vec<_> = document.facts.iter().filter(|fact| !told(&fact.label)).collect();
    let width = facts.iter().map(|fact| fact.label.width()).max().unwrap_or_default();
    out.extend((!facts.is_empty()).then(String::new));
    for fact in facts {
        let gap = " ".repeat(width - fact.label.width() + GAP);
        out.push(format!("{}{gap}{}", fact.label, fact.value));
    }
}

fn push_table(out: &mut Vec<String>, table: &Table, width: usize) {
    // A first column of groups becomes headings: the others need its room.
    let first = usize::from(table.grouped());
    let columns = &table.columns[first..];
    let widths = column_widths(table, first, width);
    let headers: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    push_row(out, columns, &widths, &headers);
    out.push(widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(&" ".repeat(GAP)));
    for (position, row) in table.rows.iter().enumerate() {
        if let Some(group) = table.group_begun(position) {
            out.extend((position > 0).then(String::new));
            push_wrapped(out, &format!("[{group}]"), width, 0);
        }
        let cells: Vec<&str> = row.cells[first..].iter().map(|cell| cell.text.as_str()).collect();
        push_row(out, columns, &widths, &cells);
        if !row.note.is_empty() {
            push_wrapped(out, &format!("{}{}", " ".repeat(INDENT), one_line(&row.note)), width, INDENT);
        }
    }
}

/// Each column from `first` on as wide as its widest cell; where that is too much, the widest text gives way.
fn column_widths(table: &Table, first: usize, width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = (first..table.columns.len())
        .map(|at| {
            let cells = table.rows.iter().map(|row| row.cells[at].text.width());
            cells.chain([table.columns[at].title.width()]).max().unwrap_or(0)
        })
        .collect();
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let text = (0..widths.len()).filter(|at| widths[*at] > NARROWEST && has_words(table, first + *at));
        match text.max_by_key(|at| widths[*at]) {
            Some(widest) => widths[widest] -= 1,
            None => break,
        }
    }
    widths
}

/// Whether a column can be wrapped: one of text, or of numbers among which words stand.
fn has_words(table: &Table, at: usize) -> bool {
    let phrase = |text: &str| text.width() > NARROWEST && text.contains(' ');
    !table.columns[at].right || table.rows.iter().any(|row| phrase(&row.cells[at].text))
}

fn push_row(out: &mut Vec<String>, columns: &[Column], widths: &[usize], cells: &[&str]) {
    let indent = |column: &Column| if column.right { 0 } else { 2 };
    let cells = cells.iter().zip(widths).zip(columns);
    let wrapped: Vec<Vec<String>> =
        cells.map(|((cell, width), column)| wrap(&one_line(cell), *width, indent(column))).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut text = String::new();
        for (at, lines) in wrapped.iter().enumerate() {
            let cell = lines.get(line).map_or("", String::as_str);
            let padding = " ".repeat(widths[at].saturating_sub(cell.width()));
            let parts = if columns[at].right { [&padding, cell] } else { [cell, &padding] };
            text.push_str(if at == 0 { "" } else { "  " });
            text.extend(parts);
        }
        out.push(text);
    }
}

fn push_wrapped(out: &mut Vec<String>, text: &str, width: usize, indent: usize) {
    if !text.is_empty() {
        out.extend(wrap(text, width, indent));
    }
}

/// Control characters would move the cursor, or do worse, on a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Lines of at most `width` cells, those after the first indented.
fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let text = one_line(text);
    let leading = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(leading)];
    let mut empty = true;
    for (word, begins) in text.split_whitespace().flat_map(|word| pieces(word, width.saturating_sub(indent)))
    {
        let line = lines.last_mut().expect("there is always a first line");
        let space = usize::from(!empty && begins);
        if !empty && line.width() + space + word.width() > width {
            lines.push(" ".repeat(indent) + &word);
        } else {
            line.push_str(&" ".repeat(space));
            line.push_str(&word);
        }
        empty = false;
    }
    lines
}

/// A word, or one that is longer than a line in pieces that fit, best after a comma or slash; with each whether it
/// begins the word.
fn pieces(word: &str, width: usize) -> Vec<(String, bool)> {
    if word.width() <= width {
        return vec![(word.to_owned(), true)];
    }
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for part in word.split_inclusive([',', '/']) {
        match pieces.last_mut() {
            Some((last, _)) if last.width() + part.width() <= width => last.push_str(part),
            _ => pieces.push((part.to_owned(), pieces.is_empty())),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Row};

    fn table() -> Table {
        let row =
            |a: &str, b: &str, n: &str| Row { cells: vec![Cell::text(a), Cell::text(b)], note: n.into() };
        Table {
            title: "T".into(),
            columns: vec![Column::left("Name", "name"), Column::right("Value", "value")],
            rows: vec![
                row("a rather long name that has to be wrapped", "1,024", "and a remark that is long, too"),
                row("日本語", "7", ""),
            ],
            note_key: "",
        }
    }

    #[test]
    fn tables_keep_to_the_width_and_align_by_terminal_cells() {
        let mut lines = Vec::new();
        push_table(&mut lines, &table(), 24);
        assert!(lines.iter().all(|line| line.width() <= 24), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), &format!("日本語{}7", " ".repeat(24 - 6 - 1)));
        assert!(lines.contains(&"    and a remark that is".to_owned()), "{lines:#?}");
    }

    #[test]
    fn a_long_word_breaks_where_a_reader_would() {
        let lines = wrap("see random-read,size=4k,depth=32,area=1GiB there", 24, 2);
        assert_eq!(lines, ["see random-read,size=4k,", "  depth=32,area=1GiB", "  there"]);
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let document = Document { title: "\x1b[31mred\n".into(), ..Document::default() };
        assert!(!render(&document, 80).contains('\x1b'));
    }
}
