//! `flashlane.score/1`: accuracy of the probe on drives of known structure.

use super::{Content, Reportable, cell};
use crate::document::{Cell, Column, Document, Row, Table, Tone};
use crate::format::{percent, plain_value};
use flashlane_result::score::{Mistake, Score, Tally};

impl Reportable for Score {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(score: &Score) -> Document {
    let mut tables = vec![feature_table(score)];
    tables.extend((!score.mistakes.is_empty()).then(|| mistake_table(&score.mistakes)));
    Document {
        kind: "Score",
        title: format!("{} random drives", plain_value("drives", &score.drives.into())),
        subtitle: "Findings of the probe about drives of known structure".into(),
        summary: match score.mistakes.len() {
            0 => "No wrong answer.".into(),
            1 => "One wrong answer.".into(),
            n => format!("{n} wrong answers."),
        },
        tables,
        ..Document::default()
    }
}

fn feature_table(score: &Score) -> Table {
    let row = |tally: &Tally| {
        let wrong = if tally.wrong == 0 { Tone::Plain } else { Tone::Bad };
        let share = tally.right as f64 / score.drives.max(1) as f64;
        Row::new(vec![
            Cell::exact(tally.feature.title(), tally.feature.name()),
            cell("right", tally.right),
            cell("wrong", tally.wrong).tone(wrong),
            cell("not_determined", tally.not_determined),
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
        rows: score.features.iter().map(row).collect(),
        ..Table::default()
    }
}

fn mistake_table(mistakes: &[Mistake]) -> Table {
    let row = |mistake: &Mistake| Row {
        cells: vec![
            cell("drive", mistake.drive),
            Cell::exact(mistake.feature.title(), mistake.feature.name()),
            Cell::text(&*mistake.answer),
        ],
        note: mistake.truth.clone(),
        ..Row::default()
    };
    Table {
        title: "Wrong answers".into(),
        columns: vec![
            Column::right("Drive", "drive"),
            Column::left("Feature", "feature"),
            Column::left("Answer", "answer"),
        ],
        rows: mistakes.iter().map(row).collect(),
        note_key: "truth",
        ..Table::default()
    }
}
