//! Renders a document for a terminal: aligned tables in plain text, without colour, so that a pipe gets the same text.
//!
//! Long text is wrapped, in tables where it needs the fewest lines; numbers are never cut, nor are commands between
//! single quotes outside of tables, so that they can be copied. Widths are in terminal cells, not bytes.

use crate::diagram;
use crate::document::{Column, Document, Table};
use unicode_width::UnicodeWidthStr;

/// Cells between two columns.
const GAP: usize = 2;
/// Least width of a text column, even if the table then is too wide.
const NARROWEST: usize = 8;
/// Characters after which a word longer than its line is broken.
const BREAKS: [char; 3] = [',', '/', '-'];
const INDENT: usize = 4;
/// Note below a table with omitted details.
const MORE: &str = "There are more columns on a wider terminal, on the page of --out, and in CSV.";

/// Renders the document, in lines of at most `width` terminal cells unless a word is longer.
pub(crate) fn render(document: &Document, width: usize) -> String {
    let width = width.max(NARROWEST + INDENT);
    let mut out = Vec::new();
    if !document.verdict.is_empty() {
        push_wrapped(&mut out, &format!("Verdict: {}", document.verdict), width, 0);
    }
    push_wrapped(&mut out, &format!("{}: {}", document.kind, document.title), width, 0);
    push_wrapped(&mut out, &document.subtitle, width, 0);
    if let Some(reason) = &document.partial {
        push_wrapped(&mut out, &format!("Partial result: {reason}"), width, 0);
    }
    if !document.caution.is_empty() {
        out.push(String::new());
        push_wrapped(&mut out, &document.caution, width, 0);
    }
    push_advice(&mut out, document, width);
    if let Some(diagram) = &document.diagram {
        out.push(String::new());
        let picture = diagram::text::lines(diagram);
        // A broken picture shows nothing.
        if picture.iter().all(|line| line.width() <= width) {
            out.extend(picture);
        }
        push_wrapped(&mut out, &diagram::text::caption(diagram), width, 0);
    }
    push_facts(&mut out, document);
    for table in document.tables.iter().filter(|table| !table.is_for_page && !table.rows.is_empty()) {
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
            let code =
                if warning.code.name().is_empty() { String::new() } else { format!(" [{}]", warning.code) };
            push_wrapped(&mut out, &format!("- {}{code}", warning.message), width, 2);
        }
    }
    let lines: Vec<String> = out.iter().map(|line| one_line(line.trim_end())).collect();
    lines.join("\n") + "\n"
}

/// Renders the advice, which precedes the findings.
fn push_advice(out: &mut Vec<String>, document: &Document, width: usize) {
    if !document.headline.is_empty() {
        out.push(String::new());
        push_wrapped(out, &document.headline, width, 0);
    }
    for advice in &document.advice {
        out.push(String::new());
        push_wrapped(out, &format!("- {}", advice.text), width, 2);
        if !advice.evidence.is_empty() {
            let evidence = format!("{}{}", " ".repeat(INDENT), one_line(&advice.evidence));
            push_wrapped(out, &evidence, width, INDENT);
        }
        // In one line each, to be copied.
        out.extend(advice.commands.iter().map(|command| format!("{}{command}", " ".repeat(INDENT))));
    }
}

/// Renders the facts that are not rows of the main table.
fn push_facts(out: &mut Vec<String>, document: &Document) {
    let is_in_table = |label: &str| {
        let rows = document.tables.first().map_or(&[][..], |table| &table.rows);
        rows.iter().any(|row| row.cells.first().is_some_and(|cell| cell.text == label))
    };
    let facts: Vec<_> = document.facts.iter().filter(|fact| !is_in_table(&fact.label)).collect();
    let width = facts.iter().map(|fact| fact.label.width()).max().unwrap_or_default();
    out.extend((!facts.is_empty()).then(String::new));
    for fact in facts {
        let gap = " ".repeat(width - fact.label.width() + GAP);
        out.push(format!("{}{gap}{}", fact.label, fact.value.text));
    }
}

fn push_table(out: &mut Vec<String>, table: &Table, width: usize) {
    let whole = table;
    let table = &without_details(table, width);
    // A first column of groups becomes headings, to save its width.
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
    if table.columns.len() < whole.columns.len() {
        push_wrapped(out, MORE, width, 0);
    }
}

/// Removes detail columns, then minor ones, each last first, until the table fits.
fn without_details(table: &Table, width: usize) -> Table {
    let mut table = table.clone();
    loop {
        let narrowest = |at: usize| {
            let cells = table.rows.iter().map(|row| row.cells[at].text.as_str());
            let of = if table.columns[at].right { narrowest_number } else { narrowest_text };
            cells.chain([table.columns[at].title.as_str()]).map(of).max().unwrap_or(0) + GAP
        };
        let columns = usize::from(table.grouped())..table.columns.len();
        let detail = table.columns.iter().rposition(|column| column.is_detail);
        let least = detail.or_else(|| table.columns.iter().rposition(|column| column.is_minor));
        match least.filter(|_| columns.map(narrowest).sum::<usize>() > width + GAP) {
            Some(at) => {
                table.columns.remove(at);
                table.rows.iter_mut().for_each(|row| drop(row.cells.remove(at)));
            }
            None => return table,
        }
    }
}

/// Returns the widths of the columns from `first` on: that of the widest cell, reduced where wrapping adds the fewest
/// lines until the table fits.
fn column_widths(table: &Table, first: usize, width: usize) -> Vec<usize> {
    let columns: Vec<Vec<&str>> = (first..table.columns.len())
        .map(|at| {
            let cells = table.rows.iter().map(|row| row.cells[at].text.as_str());
            [table.columns[at].title.as_str()].into_iter().chain(cells).collect()
        })
        .collect();
    let right = |at: usize| table.columns[first + at].right;
    let of_all = |measured: &dyn Fn(usize, &str) -> usize| -> Vec<usize> {
        let widest = |(at, cells): (usize, &Vec<&str>)| cells.iter().map(|cell| measured(at, cell)).max();
        columns.iter().enumerate().map(|column| widest(column).unwrap_or(0)).collect()
    };
    let mut widths = of_all(&|_, cell| cell.width());
    let narrowest = of_all(&|at, cell| if right(at) { narrowest_number(cell) } else { narrowest_text(cell) });

    let heights = |at: usize, width: usize| -> Vec<usize> {
        columns[at].iter().map(|cell| wrap(cell, width, indent(right(at), width)).len()).collect()
    };
    let mut now: Vec<Vec<usize>> = columns.iter().map(|cells| vec![1; cells.len()]).collect();
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let narrower = (0..widths.len()).filter(|at| widths[*at] > narrowest[*at]).map(|at| {
            let after = heights(at, widths[at] - 1);
            let row = |row: usize| {
                let others = now.iter().enumerate().filter(|(other, _)| *other != at);
                others.map(|(_, heights)| heights[row]).max().unwrap_or(1).max(after[row])
            };
            let lines: usize = (0..after.len()).map(row).sum();
            (lines, usize::MAX - widths[at], at, after)
        });
        let Some((_, _, at, after)) = narrower.min() else { break };
        widths[at] -= 1;
        now[at] = after;
    }
    widths
}

/// Returns the least width of a text: its longest word, or part of one from [`pieces`].
fn narrowest_text(cell: &str) -> usize {
    let parts = cell.split_whitespace().flat_map(|word| word.split_inclusive(BREAKS));
    // Specs wrapped narrower would be hard to read.
    parts.map(UnicodeWidthStr::width).max().unwrap_or(0).max(cell.width().min(NARROWEST))
}

/// Returns the least width of a cell in a column of numbers: only words are wrapped.
fn narrowest_number(cell: &str) -> usize {
    if cell.starts_with(char::is_alphabetic) { narrowest_text(cell) } else { cell.width() }
}

/// Returns the indentation of the lines of a cell after its first.
fn indent(right: bool, width: usize) -> usize {
    if right || width < 2 * NARROWEST { 0 } else { 2 }
}

fn push_row(out: &mut Vec<String>, columns: &[Column], widths: &[usize], cells: &[&str]) {
    let cells = cells.iter().zip(widths).zip(columns);
    let wrapped: Vec<Vec<String>> =
        cells.map(|((cell, width), column)| wrap(cell, *width, indent(column.right, *width))).collect();
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
    if text.is_empty() {
        return;
    }
    let text = one_line(text);
    let parts = words(&text).flat_map(|word| match word.contains(' ') {
        true => vec![(word.to_owned(), true)],
        false => pieces(word, width.saturating_sub(indent)),
    });
    out.extend(wrap_parts(&text, parts, width, indent));
}

/// Returns the words of a text. What stands between single quotes is one, with the punctuation around it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let (mut end, mut is_quoted) = (rest.len(), false);
        let mut before = ' ';
        for (at, c) in rest.char_indices() {
            let next = rest[at + c.len_utf8()..].chars().next().unwrap_or(' ');
            match c {
                // An apostrophe stands behind a letter.
                '\'' if !is_quoted => is_quoted = !before.is_alphanumeric(),
                '\'' if !next.is_alphanumeric() => is_quoted = false,
                ' ' if !is_quoted => {
                    end = at;
                    break;
                }
                _ => {}
            }
            before = c;
        }
        // A quote that does not end quotes nothing.
        if is_quoted {
            end = rest.find(' ').unwrap_or(rest.len());
        }
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

/// Replaces control characters, which could control the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Wraps text into lines of at most `width` cells, those after the first indented.
fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let text = one_line(text);
    let parts = text.split_whitespace().flat_map(|word| pieces(word, width.saturating_sub(indent)));
    wrap_parts(&text, parts, width, indent)
}

/// Wraps text between its parts, each with whether it begins a word.
fn wrap_parts(
    text: &str,
    parts: impl Iterator<Item = (String, bool)>,
    width: usize,
    indent: usize,
) -> Vec<String> {
    let leading = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(leading)];
    let mut empty = true;
    for (word, begins) in parts {
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

/// Splits a word longer than a line into pieces that fit, after commas, slashes or hyphens; also returns whether each
/// piece begins the word.
fn pieces(word: &str, width: usize) -> Vec<(String, bool)> {
    if word.width() <= width {
        return vec![(word.to_owned(), true)];
    }
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for part in word.split_inclusive(BREAKS) {
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
    use crate::document::{Cell, Fact, Row};

    fn table() -> Table {
        let row = |a: &str, b: &str, n: &str| Row {
            cells: vec![Cell::text(a), Cell::text(b)],
            note: n.into(),
            ..Row::default()
        };
        Table {
            title: "T".into(),
            columns: vec![Column::left("Name", "name"), Column::right("Value", "value")],
            rows: vec![
                row("a rather long name that has to be wrapped", "1,024", "and a remark that is long, too"),
                row("日本語", "7", ""),
            ],
            ..Table::default()
        }
    }

    #[test]
    fn tables_fit_the_width_and_align_by_terminal_cells() {
        let mut lines = Vec::new();
        push_table(&mut lines, &table(), 24);
        assert!(lines.iter().all(|line| line.width() <= 24), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), &format!("日本語{}7", " ".repeat(24 - 6 - 1)));
        assert!(lines.contains(&"    and a remark that is".to_owned()), "{lines:#?}");
    }

    #[test]
    fn long_word_breaks_after_commas() {
        let lines = wrap("see random-read,size=4k,depth=32,area=1GiB there", 24, 2);
        assert_eq!(lines, ["see random-read,size=4k,", "  depth=32,area=1GiB", "  there"]);
    }

    #[test]
    fn quoted_commands_are_not_broken() {
        let mut lines = Vec::new();
        let text = "The lanes' table ('flashlane sdf rm \"lanes(./a)\" --damaged', or 'not closed at all";
        push_wrapped(&mut lines, text, 24, 2);
        let whole = "  ('flashlane sdf rm \"lanes(./a)\" --damaged',";
        assert_eq!(lines, ["The lanes' table", whole, "  or 'not closed at all"]);
    }

    #[test]
    fn escape_sequences_are_removed() {
        let hostile = "\x1b[31mred\r";
        let mut tables = vec![table()];
        tables[0].title = hostile.into();
        let facts = vec![Fact::new(hostile, hostile)];
        let document = Document { title: hostile.into(), facts, tables, ..Document::default() };
        assert!(!render(&document, 80).contains(['\x1b', '\r']));
    }
}
