//! `flashlane.study/1`: a paper's numbers, published beside measured.

use super::{Kind, items};
use crate::document::{Cell, Column, Document, Row, Table, Tone};
use crate::wording::{exact, number, percent, plain_value, unit};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.study/1", document, singles: None };

fn document(result: &Value) -> Document {
    let rows: Vec<&Value> = items(&result["rows"]).collect();
    let reproduced = rows.iter().filter(|row| row["verdict"] == "reproduced").count();
    let missed = rows.len() - reproduced;
    let summary = match (rows.len(), missed) {
        (0, _) => "Nothing was compared.".into(),
        (all, 0) => format!("All {all} quantities reproduced."),
        (all, _) => format!("{reproduced} of {all} quantities reproduced, {missed} missed."),
    };
    Document {
        kind: "Study",
        title: result["title"].as_str().or(result["paper"].as_str()).unwrap_or("unnamed paper").into(),
        subtitle: "Published numbers beside measured ones".into(),
        summary,
        tables: vec![row_table(&rows)],
        ..Document::default()
    }
}

fn row_table(rows: &[&Value]) -> Table {
    let row = |row: &&Value| {
        let plain = |key: &str| Cell::exact(plain_value("", &row[key]), exact(&row[key]));
        let verdict = match row["verdict"].as_str().unwrap_or("–") {
            "reproduced" => Cell::exact("ok", "reproduced").tone(Tone::Good),
            "missed" => Cell::exact("MISSED", "missed").tone(Tone::Bad),
            other => Cell::text(other).tone(Tone::Muted),
        };
        Row {
            cells: vec![
                plain("figure"),
                plain("quantity"),
                plain("published"),
                plain("measured"),
                unit_cell(row["unit"].as_str().unwrap_or_default()),
                Cell::exact(tolerance(&row["tolerance"]), exact(&row["tolerance"])),
                verdict,
            ],
            note: row["note"].as_str().unwrap_or_default().to_owned(),
            ..Row::default()
        }
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
        note_key: if rows.iter().any(|row| row["note"].is_string()) { "note" } else { "" },
        ..Table::default()
    }
}

fn unit_cell(name: &str) -> Cell {
    Cell::exact(unit(name), name)
}

/// A share reads as percent about the published value, a range as a range, words as they are.
fn tolerance(value: &Value) -> String {
    match value {
        Value::Number(share) => match share.as_f64().unwrap_or(f64::NAN) {
            0.0 => "exact".into(),
            share => format!("±{}", percent(share)),
        },
        Value::Array(range) if range.len() == 2 => {
            let end = |value: &Value| number(value.as_f64().unwrap_or(f64::NAN));
            format!("{}–{}", end(&range[0]), end(&range[1]))
        }
        other => in_signs(&plain_value("", other)),
    }
}

/// `at least 1`, `at most 2` and `3.5 to 5.5` in signs: the column is narrow and the quantity beside it is not.
fn in_signs(tolerance: &str) -> String {
    tolerance.replace("at least ", "≥ ").replace("at most ", "≤ ").replace(" to ", "–")
}
