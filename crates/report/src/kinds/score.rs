//! `flashlane.score/1`: how often the probe is right about drives whose inside is known.

use super::{Kind, items};
use crate::document::{Cell, Column, Document, Row, Table, Tone};
use crate::wording::{exact, percent, plain_name, plain_value};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.score/1", document, singles: None };

fn document(result: &Value) -> Document {
    let mistakes = items(&result["mistakes"]).count();
    let mut tables = vec![feature_table(result)];
    tables.extend((mistakes > 0).then(|| mistake_table(result)));
    Document {
        kind: "Score",
        title: format!("{} random drives", plain_value("drives", &result["drives"])),
        subtitle: "Findings of the probe about drives of known structure".into(),
        summary: match mistakes {
            0 => "No wrong answer.".into(),
            1 => "One wrong answer.".into(),
            n => format!("{n} wrong answers."),
        },
        tables,
        ..Document::default()
    }
}

fn feature_table(result: &Value) -> Table {
    let drives = result["drives"].as_f64().unwrap_or(0.0).max(1.0);
    let row = |feature: &Value| {
        let name = feature["feature"].as_str().unwrap_or_default();
        let count = |key: &str| Cell::exact(plain_value("", &feature[key]), exact(&feature[key]));
        let wrong = if feature["wrong"].as_u64() == Some(0) { Tone::Plain } else { Tone::Bad };
        let share = feature["right"].as_f64().unwrap_or(f64::NAN) / drives;
        Row::new(vec![
            Cell::exact(plain_name(name), name),
            count("right"),
            count("wrong").tone(wrong),
            count("not_determined"),
            Cell::exact(percent(share), share.to_string()),
        ])
    };
    Table {
        title: "Answers".into(),
        columns: vec![
            Column::left("Feature", "feature"),
            Column::right("Right", "right"),
            Column::right("Wrong", "wrong"),
            Column::right("Not determined", "not_determined"),
            Column::right("Share right", "right_share"),
        ],
        rows: items(&result["features"]).map(row).collect(),
        ..Table::default()
    }
}

fn mistake_table(result: &Value) -> Table {
    let row = |mistake: &Value| {
        let name = mistake["feature"].as_str().unwrap_or_default();
        let text = |key: &str| mistake[key].as_str().unwrap_or_default().to_owned();
        Row {
            cells: vec![
                Cell::exact(plain_value("", &mistake["drive"]), exact(&mistake["drive"])),
                Cell::exact(plain_name(name), name),
                Cell::text(text("answer")),
            ],
            note: text("truth"),
            ..Row::default()
        }
    };
    Table {
        title: "Wrong answers".into(),
        columns: vec![
            Column::right("Drive", "drive"),
            Column::left("Feature", "feature"),
            Column::left("Answer", "answer"),
        ],
        rows: items(&result["mistakes"]).map(row).collect(),
        note_key: "truth",
        ..Table::default()
    }
}
