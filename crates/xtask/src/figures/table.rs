//! The table in `docs/figures.md`.

use super::{Figure, Goal};
use anyhow::{Context, Result};
use std::fmt::Write;

const BEGIN: &str = "<!-- figures: written by `cargo xtask figures` from here … -->";
const END: &str = "<!-- … to here -->";

/// A line of the table; `measured` is `None` before the first measurement.
pub struct Row<'a> {
    pub figure: &'a Figure,
    pub measured: Option<String>,
}

/// Returns the names and measured values of the table in `text`.
pub fn read(text: &str) -> Result<Vec<(String, String)>> {
    let (_, table, _) = split(text)?;
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let id = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        let measured = cells.get(4).filter(|cell| !cell.is_empty())?;
        Some((id.to_owned(), (*measured).to_owned()))
    });
    Ok(rows.collect())
}

/// Returns `text` with its table replaced.
pub fn replace(text: &str, rows: &[Row<'_>], machine: &str) -> Result<String> {
    let (before, _, after) = split(text)?;
    let mut table = String::from(
        "| figure | what | goal | aim | measured | command |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for Row { figure, measured } in rows {
        let (goal, aim) = match figure.goal {
            None => (String::new(), None),
            Some(Goal::AtLeast(value, aim)) => (format!("at least {}", number(value)), aim),
            Some(Goal::AtMost(value, aim)) => (format!("at most {}", number(value)), aim),
        };
        let aim = aim.map(number).unwrap_or_default();
        let measured = measured.as_deref().unwrap_or_default();
        let Figure { id, what, command, .. } = figure;
        writeln!(table, "| `{id}` | {what} | {goal} | {aim} | {measured} | `{command}` |")?;
    }
    Ok(format!("{before}{BEGIN}\n{table}\nLast measured on: {machine}.\n{END}{after}"))
}

fn split(text: &str) -> Result<(&str, &str, &str)> {
    let missing = |mark| format!("docs/figures.md lacks the line '{mark}'");
    let (before, rest) = text.split_once(BEGIN).with_context(|| missing(BEGIN))?;
    let (table, after) = rest.split_once(END).with_context(|| missing(END))?;
    Ok((before, table, after))
}

/// Formats a value for the table: whole numbers with digit groups, others with about three significant digits.
pub fn number(value: f64) -> String {
    if value.fract() != 0.0 && value.abs() < 1000.0 {
        let digits = if value.abs() >= 100.0 {
            0
        } else if value.abs() >= 10.0 {
            1
        } else {
            3
        };
        let text = format!("{value:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return text.into();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && digit != '-' && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: Figure = Figure {
        id: "speed",
        what: "requests a second",
        goal: Some(Goal::AtLeast(3e6, Some(8e6))),
        command: "cargo bench",
        read: |_| None,
    };

    #[test]
    fn written_table_is_read_back_and_other_text_kept() {
        let page = format!("# Figures\n\nWords.\n\n{BEGIN}\n{END}\n\nMore words.\n");
        let rows = [Row { figure: &FIGURE, measured: Some(number(4_123_456.0)) }];
        let written = replace(&page, &rows, "a machine").unwrap();
        assert!(written.starts_with("# Figures\n\nWords.\n") && written.ends_with("\n\nMore words.\n"));
        assert!(written.contains("| at least 3,000,000 | 8,000,000 | 4,123,456 |"), "{written}");
        assert_eq!(read(&written).unwrap(), [("speed".to_owned(), "4,123,456".to_owned())]);
        assert_eq!(replace(&written, &rows, "a machine").unwrap(), written);
        assert!(read("no markers").is_err());
    }

    #[test]
    fn numbers_have_digit_groups_or_three_digits() {
        for (value, text) in [
            (0.95, "0.95"),
            (1.0, "1"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1234.5, "1,234"),
            (1e6, "1,000,000"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
