//! `flashlane.study/1`: a paper's published numbers and measured ones.

use super::{Content, Reportable, cell};
use crate::document::{Cell, Column, Document, Row, Table, Tone};
use crate::format::unit;
use flashlane_result::study::{self, StudyResult, Verdict};

impl Reportable for StudyResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &StudyResult) -> Document {
    let all = result.rows.len();
    let reproduced = result.rows.iter().filter(|row| row.verdict == Verdict::Reproduced).count();
    let summary = match (all, all - reproduced) {
        (0, _) => "Nothing was compared.".into(),
        (_, 0) => format!("All {all} quantities reproduced."),
        (_, missed) => format!("{reproduced} of {all} quantities reproduced, {missed} missed."),
    };
    Document {
        kind: "Study",
        title: result.paper.clone(),
        subtitle: "Published numbers beside measured ones".into(),
        summary,
        tables: std::iter::once(row_table(&result.rows)).chain(result.tables.iter().map(table)).collect(),
        ..Document::default()
    }
}

fn row_table(rows: &[study::Row]) -> Table {
    let row = |row: &study::Row| {
        let verdict = match row.verdict {
            Verdict::Reproduced => Cell::exact("ok", "reproduced").tone(Tone::Good),
            Verdict::Missed => Cell::exact("MISSED", "missed").tone(Tone::Bad),
        };
        Row::new(vec![
            Cell::text(&*row.figure),
            Cell::text(&*row.quantity),
            cell("", &row.published),
            cell("", &row.measured),
            Cell::exact(unit(&row.unit), &*row.unit),
            Cell::exact(in_signs(&row.tolerance), &*row.tolerance),
            verdict,
        ])
    };
    Table {
        title: "Published and measured".into(),
        columns: vec![
            Column::grouped("Figure", "figure"),
            Column::left("Quantity", "quantity"),
            Column::right("Published", "published"),
            Column::right("Measured", "measured"),
            Column::left("Unit", "unit"),
            Column::right("Within", "tolerance"),
            Column::left("Verdict", "verdict"),
        ],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

fn table(of: &study::Table) -> Table {
    let row = |row: &study::TableRow| {
        let values = row.values.iter().map(|value| cell("", value));
        Row::new(std::iter::once(Cell::text(&*row.name)).chain(values).collect())
    };
    let columns = of.columns.iter().map(|name| Column::right(name, name));
    Table {
        title: of.title.clone(),
        columns: std::iter::once(Column::left("Form", "name")).chain(columns).collect(),
        rows: of.rows.iter().map(row).collect(),
        ..Table::default()
    }
}

/// Abbreviates `at least 1`, `at most 2` and `3.5 to 5.5` with signs, for the narrow column.
fn in_signs(tolerance: &str) -> String {
    tolerance.replace("at least ", "≥ ").replace("at most ", "≤ ").replace(" to ", "–")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_result::study::TableRow;

    #[test]
    fn tables_follow_the_rows_with_a_column_for_each_number() {
        let of = study::Table {
            figure: "rivals".into(),
            title: "forms of a drive".into(),
            columns: vec!["Transactions/s".into(), "p99 (ms)".into()],
            rows: vec![TableRow { name: "paced GC".into(), values: vec![21.0, 1.5] }],
        };
        let table = table(&of);
        let headings: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
        let cells: Vec<&str> = table.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(headings, ["Form", "Transactions/s", "p99 (ms)"]);
        assert_eq!(cells, ["paced GC", "21", "1.5"]);
    }
}
